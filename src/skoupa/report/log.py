"""Log lines: a constant event name and key/values, one line per decision.

JSON for machines, text for people; both are written whole, so that lines of two replicas in one pipe do not mix.
Reasons are rendered here as everywhere; whole objects are never logged, so no Secret can be.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Final, Literal, Protocol

import msgspec

from skoupa.clock import Clock
from skoupa.kube.timestamps import micro_time

Level = Literal["info", "warning", "error"]
# What a pipe takes whole, whoever else writes to it.
_WHOLE_BYTES: Final = 4096


class Lines(Protocol):
    def write(self, text: str, /) -> object: ...

    def flush(self) -> None: ...


class Log:
    def __init__(
        self, clock: Clock, *, form: Literal["json", "text"] = "json", stream: Lines | None = None
    ) -> None:
        self._clock = clock
        self._stream: Lines = stream or sys.stderr
        self._write: Callable[[dict[str, object]], str] = _json if form == "json" else _text

    def __call__(self, event: str, *, level: Level = "info", **facts: object) -> None:
        line: dict[str, object] = {"time": micro_time(self._clock.now()), "level": level, "event": event}
        for key, value in facts.items():
            if isinstance(value, str):
                if value:
                    line[key] = value
            elif value is not None:
                line[key] = str(value)
        self._stream.write(self._write(line) + "\n")
        if level != "info":
            self._stream.flush()


class Together:
    """Lines of one turn of the event loop, written in as few pieces as they fit into: each write costs as much as many lines.

    Whoever ends the loop flushes.
    """

    def __init__(self, stream: Lines) -> None:
        self._stream = stream
        self._lines: list[str] = []

    def write(self, text: str) -> None:
        self._lines.append(text)
        if len(self._lines) > 1:
            return
        try:
            asyncio.get_running_loop().call_soon(self.flush)
        except RuntimeError:
            self.flush()

    def flush(self) -> None:
        lines, self._lines = self._lines, []
        piece, size = "", 0
        for line in lines:
            length = len(line) if line.isascii() else len(line.encode(errors="replace"))
            if piece and size + length > _WHOLE_BYTES:
                self._stream.write(piece)
                self._stream.flush()
                piece, size = "", 0
            piece, size = piece + line, size + length
        if piece:
            self._stream.write(piece)
            self._stream.flush()


_encode = msgspec.json.Encoder().encode


def _json(line: dict[str, object]) -> str:
    return _encode(line).decode()


def _text(line: dict[str, object]) -> str:
    time, level, event, *facts = line.items()
    said = " ".join(f"{key}={_one_word(str(value))}" for key, value in facts)
    return f"{time[1]} {level[1]:7} {event[1]} {said}".rstrip()


def _one_word(value: str) -> str:
    """Quoted where it has to be: texts of others may hold line breaks, and things that a terminal obeys."""
    return value if value.isprintable() and not {" ", '"', "'"} & set(value) else ascii(value)
