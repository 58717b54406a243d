"""`skoupa` as a process of its own, for what only a process has: signals, a terminal, a full disk behind its output."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import msgspec

SKOUPA = (sys.executable, "-m", "skoupa")
# Long enough for a machine with much to do; nothing here waits for it to pass.
DEADLINE = 120


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    left_out = {"KUBECONFIG", "HOME", "SKOUPA_DEBUG", "NO_COLOR", "PYTHONUNBUFFERED"}
    return {**{key: value for key, value in os.environ.items() if key not in left_out}, **changes}


def started(
    *args: str, before: Sequence[str] = (), stdout: int | IO[Any] = subprocess.PIPE
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*before, *SKOUPA, *args],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(TZ="UTC"),
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> Ended:
    try:
        out, err = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Ended(code=process.returncode, out=out or "", err=err)


def waiting_on(
    path: Path, *args: str, before: Sequence[str] = (), send: signal.Signals = signal.SIGTERM
) -> Ended:
    """Starts a command that reads `path`, a pipe that nobody writes to, and sends a signal once it does."""
    os.mkfifo(path)
    process = started(*args, before=before)
    with path.open("w", encoding="utf-8"):  # returns when the other side has opened it too
        process.send_signal(send)
        return ended(process)


class OnTerminal:
    """`skoupa` on a terminal of a given size; `seen` grows while it runs."""

    def __init__(self, *args: str, size: tuple[int, int] = (40, 120), env: Mapping[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        termios.tcsetwinsize(self._ours, size)
        self.process = subprocess.Popen(
            [*SKOUPA, *args],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(**env),
            start_new_session=True,
            preexec_fn=lambda: os.close(os.open(os.ttyname(0), os.O_RDWR)),  # noqa: PLW1509 - makes it the terminal of the session
        )
        os.close(theirs)
        self.seen = ""
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                piece = os.read(self._ours, 65536)
            except OSError:
                return
            if not piece:
                return
            with self._grown:
                self.seen += piece.decode(errors="replace")
                self._grown.notify_all()

    def until(self, holds: Callable[[str], bool]) -> None:
        with self._grown:
            in_time = self._grown.wait_for(lambda: holds(self.seen), DEADLINE)
        if not in_time:
            self.process.kill()
            self.end()
        assert in_time, self.seen[-2000:]

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        try:
            return self.process.wait(DEADLINE)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(DEADLINE)
            os.close(self._ours)
