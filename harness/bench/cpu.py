"""The CPU that a command takes, user and system, whoever else uses the machine meanwhile."""

from __future__ import annotations

import os
import resource
import subprocess
import sys


def python_cpu(*arguments: str, rounds: int) -> float:
    """Seconds of `python ARGUMENTS`, the best of several rounds."""
    # Everybody's second call: with its bytecode on disk, as it is after any installation.
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}

    def once() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, *arguments], check=False, capture_output=True, text=True, env=environment
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            raise RuntimeError(f"python {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    return min(once() for _ in range(rounds))
