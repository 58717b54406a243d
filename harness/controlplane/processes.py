"""Processes that cannot outlive their owner: the owner's side of the supervisor (see supervisor.py).

The owner may be any Python process, at any moment, in any state: what ends the processes is the end of a
pipe, not code that the owner must reach. One object belongs to one process; a fork of it can't use or end it.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from harness.controlplane.errors import ControlPlaneError, ProcessEndedError

_SCRIPT = Path(__file__).with_name("supervisor.py")
_END_SECONDS = 20.0


class Processes:
    def __init__(self, *, logs: Path, remove: Path | None = None) -> None:
        """Logs go to `logs`; the directory `remove` goes when the last process has ended."""
        self._logs = logs
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._asked = 0
        self._supervisor = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_SCRIPT), *([str(remove)] if remove is not None else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            cwd="/",
        )

    def start(self, name: str, argv: Sequence[str | Path]) -> int:
        """Starts a process and returns its pid. A name can be used again once its process has ended."""
        return int(
            self._ask(do="start", name=name, argv=[str(word) for word in argv], log=str(self.log(name)))[
                "pid"
            ]
        )

    def check(self, name: str) -> None:
        """Raises ProcessEndedError when the process does not run."""
        returncode = self._ask(do="poll", name=name)["returncode"]
        if returncode is not None:
            raise ProcessEndedError(name, returncode=returncode, log=self.log(name))

    def stop(self, name: str, *, number: signal.Signals = signal.SIGKILL, grace: float = 10.0) -> None:
        """Ends a process: by `number`, and by SIGKILL when it still runs after `grace` seconds."""
        self._ask(do="stop", name=name, signal=int(number), grace=grace)

    def close(self) -> None:
        """Ends all of them, the youngest first, and waits until they are gone. May be called twice."""
        if os.getpid() != self._pid:
            return
        assert self._supervisor.stdin is not None
        assert self._supervisor.stdout is not None
        with self._lock:
            # Broken when the supervisor was killed; its children died with it.
            with contextlib.suppress(BrokenPipeError):
                self._supervisor.stdin.close()
            try:
                self._supervisor.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                self._supervisor.kill()
                self._supervisor.wait()
            self._supervisor.stdout.close()

    def log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _ask(self, **request: Any) -> dict[str, Any]:
        if os.getpid() != self._pid:
            raise ControlPlaneError(
                "a control plane belongs to the process that made it, not to a fork of it"
            )
        assert self._supervisor.stdin is not None
        assert self._supervisor.stdout is not None
        with self._lock:
            self._asked += 1
            try:
                self._supervisor.stdin.write(json.dumps({**request, "id": self._asked}).encode() + b"\n")
                self._supervisor.stdin.flush()
                answer = self._answer(self._supervisor.stdout)
            except (BrokenPipeError, ValueError) as error:
                raise ControlPlaneError("the control plane was stopped") from error
        if "error" in answer:
            raise ControlPlaneError(f"cannot {request['do']} {request['name']}: {answer['error']}")
        return answer

    def _answer(self, answers: IO[bytes]) -> dict[str, Any]:
        while line := answers.readline():
            answer: dict[str, Any] = json.loads(line)
            # An earlier one belongs to a caller who was interrupted while it waited.
            if answer["id"] == self._asked:
                return answer
        raise ControlPlaneError("the control plane's supervisor was killed, and its processes with it")
