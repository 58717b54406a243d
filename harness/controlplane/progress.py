"""Says on standard error what takes long, and for how long already.

On a terminal one line is drawn again and again; elsewhere (a CI log) a line comes every fifteen seconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_TERMINAL_SECONDS = 0.5
_LOG_SECONDS = 15.0
_WIDTH = 110
_CLEAR_LINE = "\r\x1b[2K"


class Progress:
    def __init__(self, stream: TextIO | None = None, *, every: float | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = self._stream.isatty()
        self._every = every or (_TERMINAL_SECONDS if self._terminal else _LOG_SECONDS)
        self._title = ""
        self._detail = ""
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        """A line that stays."""
        with self._lock:
            self._write(f"{_CLEAR_LINE if self._terminal else ''}{text}\n")

    def now(self, detail: str) -> None:
        """What the current step is doing; shown at the next turn."""
        self._detail = detail

    @contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Shows `title`, the elapsed time and the latest detail until the block ends."""
        began = time.monotonic()
        self._title, self._detail = title, ""
        ended = threading.Event()
        painter = threading.Thread(target=self._paint, args=(began, ended), daemon=True)
        self.say(f"{title} ...")
        painter.start()
        outcome = "failed after"
        try:
            yield
            outcome = "done in"
        finally:
            ended.set()
            painter.join()
            self.say(f"{title}: {outcome} {_elapsed(began)}")

    def _paint(self, began: float, ended: threading.Event) -> None:
        while not ended.wait(self._every):
            line = f"  {_elapsed(began)}  {self._title}{f': {self._detail}' if self._detail else ''}"
            with self._lock:
                self._write(f"{_CLEAR_LINE}{line[:_WIDTH]}" if self._terminal else f"{line}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _elapsed(began: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    return f"{minutes} min {seconds:02} s" if minutes else f"{seconds} s"
