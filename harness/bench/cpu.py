"""The CPU that a command takes, user and system, whoever else uses the machine meanwhile."""

from __future__ import annotations

import resource
import subprocess
import sys

from harness.bench import installed


def python_cpu(*arguments: str, rounds: int) -> float:
    """Seconds of `python ARGUMENTS`, the best of several rounds."""

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments],
            check=False,
            capture_output=True,
            text=True,
            env=installed.environment(),
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(f"python {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(rounds))
