"""SIGTERM as an interrupt: whoever ends a command from outside gets the same sentence and exit code as with Ctrl-C.

Commands with an orderly end of their own (`run`, `sweep`) put their handlers in front of this one.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_heard: list[int] = []


@contextmanager
def termination_interrupts() -> Iterator[None]:
    _heard.clear()
    here = threading.current_thread() is threading.main_thread()
    # Who had it ignored before the start (nohup and the like) meant it.
    if not here or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def was_terminated() -> bool:
    """For commands to which Ctrl-C is a usual end."""
    return bool(_heard)


def _interrupt(number: int, frame: FrameType | None) -> None:
    _heard.append(number)
    handler = signal.getsignal(signal.SIGINT)
    # Jobs in the background of a script have SIGINT ignored; that was not said about this signal.
    if callable(handler):
        handler(signal.SIGINT, frame)
    else:
        raise KeyboardInterrupt
