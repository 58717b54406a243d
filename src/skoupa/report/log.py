"""Log lines: a constant event name and key/values, one line per decision.

JSON for machines, text for people; both are written whole, so that lines of two replicas in one pipe do not mix.
Reasons are rendered here as everywhere; whole objects are never logged, so no Secret can be.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Literal, TextIO

import msgspec

from skoupa.clock import Clock
from skoupa.kube.timestamps import micro_time

Level = Literal["info", "warning", "error"]


class Log:
    def __init__(
        self, clock: Clock, *, form: Literal["json", "text"] = "json", stream: TextIO | None = None
    ) -> None:
        self._clock = clock
        self._stream = stream or sys.stderr
        self._write: Callable[[dict[str, object]], str] = _json if form == "json" else _text

    def __call__(self, event: str, *, level: Level = "info", **facts: object) -> None:
        line: dict[str, object] = {"time": micro_time(self._clock.now()), "level": level, "event": event}
        line.update((key, str(value)) for key, value in facts.items() if value not in ("", None))
        self._stream.write(self._write(line) + "\n")
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
