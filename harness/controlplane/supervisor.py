"""The process that owns a control plane's processes, so that none of them outlives who asked for it.

It is a script of its own that needs the standard library alone. Requests come as JSON lines on standard
input, one answer each on standard output. When the input ends (its owner stopped, crashed or was killed), or
its owner is no longer its parent, it kills what it started, the youngest first (the API server before etcd),
removes the directory it was given, and ends. On Linux its children die with it, even when it is killed itself.
It lives in a session of its own: a Ctrl-C in the terminal reaches the owner, which then decides.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

_PR_SET_PDEATHSIG = 1
_END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# The end of the input is noticed at once. A signal, and an owner that died but had forked (the fork holds the
# pipe open), are found by looking.
_LOOK_SECONDS = 0.2


class _EndedError(Exception):
    """The owner is gone, or a signal asked to end."""


class Supervisor:
    def __init__(self, *, remove: str | None) -> None:
        self._remove = remove
        self._owner = os.getppid()
        self._asked_to_end = False
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        # Unbuffered: select() has to see every line that was not read yet.
        self._requests = os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
        # Found before the first fork: the child between fork and exec should do as little as possible.
        self._prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

    def run(self) -> None:
        for number in _END_SIGNALS:
            signal.signal(number, self._end)
        try:
            while True:
                self._answer(json.loads(self._next_line()))
        except (_EndedError, BrokenPipeError):
            pass
        finally:
            for name in reversed(self._children):
                self._stop(name, number=signal.SIGKILL, grace=0)
            if self._remove is not None:
                shutil.rmtree(self._remove, ignore_errors=True)

    def _next_line(self) -> bytes:
        while not select.select([self._requests], [], [], _LOOK_SECONDS)[0]:
            if self._asked_to_end or os.getppid() != self._owner:
                raise _EndedError
        line = self._requests.readline()
        if not line.endswith(b"\n"):
            raise _EndedError
        return line

    def _answer(self, request: dict[str, Any]) -> None:
        answer: dict[str, Any]
        try:
            match request["do"]:
                case "start":
                    answer = {"pid": self._start(request["name"], request["argv"], log=request["log"])}
                case "poll":
                    answer = {"returncode": self._children[request["name"]].poll()}
                case "stop":
                    answer = {
                        "returncode": self._stop(
                            request["name"], number=request["signal"], grace=request["grace"]
                        )
                    }
                case other:
                    answer = {"error": f"unknown request {other!r}"}
        except OSError as error:
            answer = {"error": str(error)}
        os.write(sys.stdout.fileno(), json.dumps({**answer, "id": request["id"]}).encode() + b"\n")

    def _start(self, name: str, argv: list[str], *, log: str) -> int:
        if name in self._children and self._children[name].poll() is None:
            raise FileExistsError(f"{name} is running already")
        with Path(log).open("ab") as output:
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=self._die_with_us if self._prctl else None,  # noqa: PLW1509 -- this process has one thread
            )
        # A restarted process is the youngest again.
        self._children.pop(name, None)
        self._children[name] = child
        return child.pid

    def _die_with_us(self) -> None:
        # The signal is tied to the thread that forks; this process has one thread, so it is tied to its life.
        assert self._prctl is not None
        self._prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    def _stop(self, name: str, *, number: int, grace: float) -> int:
        child = self._children[name]
        if child.poll() is None:
            child.send_signal(number)
            try:
                return child.wait(grace if number != signal.SIGKILL else None)
            except subprocess.TimeoutExpired:
                child.kill()
        return child.wait()

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        # No exception from here: it could strike between a fork and the note of whom was forked.
        self._asked_to_end = True


if __name__ == "__main__":
    Supervisor(remove=sys.argv[1] if len(sys.argv) > 1 else None).run()
