"""How a fault edits an answer: the date in its head, or its body, bytes in, bytes out, and perhaps an ending.

Editors are pure: no I/O, no clock. The invariant: what comes out does not depend on how the body was cut into
pieces on its way in. Editors of lines hold back at most one incomplete line; editors of bytes hold back
nothing. Slow, OtherClock and the scripted answers leave the body as it is and have no editor.
"""

from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime, parsedate_to_datetime
from typing import Protocol, TypeAlias

import msgspec

from harness.faultproxy.faults import (
    Close,
    Cut,
    CutLine,
    Duplicate,
    EndWatch,
    Fault,
    HalfClose,
    Headers,
    InjectLine,
    OtherClock,
    Reset,
    Silence,
    WatchError,
    error_line,
)
from harness.faultproxy.framing import ResponseHead

Ending: TypeAlias = Cut | EndWatch


class Edit(msgspec.Struct, frozen=True):
    """What goes to the client now, and the ending behind it, if this was the last."""

    out: bytes = b""
    ending: Ending | None = None


class Editor(Protocol):
    """`start` comes before the first piece, `finish` behind the last; nothing is called after an ending.

    With `keeps_head` the ending of `start` comes even before the head of the answer.
    """

    by_lines: bool
    keeps_head: bool

    def start(self) -> Edit: ...

    def feed(self, data: bytes) -> Edit: ...

    def finish(self) -> Edit: ...


class ByteCut:
    by_lines = False

    def __init__(self, count: int, ending: Ending) -> None:
        self.keeps_head = count == 0
        self._left = count
        self._ending = ending

    def start(self) -> Edit:
        return Edit(ending=None if self._left else self._ending)

    def feed(self, data: bytes) -> Edit:
        taken = data[: self._left]
        self._left -= len(taken)
        return Edit(taken, None if self._left else self._ending)

    def finish(self) -> Edit:
        return Edit(ending=self._ending)


class LineEdit:
    """Edits line by line: `on_line` gets the number of lines before it, `at_end` the number of lines seen."""

    by_lines = True
    keeps_head = False

    def __init__(
        self, *, at_start: Edit, on_line: Callable[[int, bytes], Edit], at_end: Callable[[int], Edit]
    ) -> None:
        self._at_start = at_start
        self._on_line = on_line
        self._at_end = at_end
        self._seen = 0
        self._incomplete = b""

    def start(self) -> Edit:
        return self._at_start

    def feed(self, data: bytes) -> Edit:
        *lines, self._incomplete = (self._incomplete + data).split(b"\n")
        out = bytearray()
        for line in lines:
            edit = self._on_line(self._seen, line + b"\n")
            self._seen += 1
            out += edit.out
            if edit.ending is not None:
                return Edit(bytes(out), edit.ending)
        return Edit(bytes(out))

    def finish(self) -> Edit:
        end = self._at_end(self._seen)
        return Edit(self._incomplete + end.out, end.ending)


def editor_of(fault: Fault | None) -> Editor | None:
    match fault:
        case (
            Reset(after_bytes=int(count))
            | HalfClose(after_bytes=int(count))
            | Close(after_bytes=int(count))
            | Silence(after_bytes=int(count))
        ):
            return ByteCut(count, fault)
        case (
            Reset(after_lines=int(count))
            | HalfClose(after_lines=int(count))
            | Close(after_lines=int(count))
            | Silence(after_lines=int(count))
            | EndWatch(after_lines=count)
        ):
            return _lines_then(count, fault)
        case CutLine(lines=count):
            return _cut_line(count)
        case Duplicate():
            return LineEdit(
                at_start=Edit(), on_line=lambda _, line: Edit(line + line), at_end=lambda _: Edit()
            )
        case WatchError(after_lines=count):
            return _insert(count, Edit(error_line(fault) + b"\n", EndWatch()))
        case InjectLine(line=line, after_lines=count):
            return _insert(count, Edit(line + b"\n", EndWatch() if fault.end else None))
        case _:
            return None


def head_of(head: ResponseHead, fault: Fault | None) -> ResponseHead:
    """The head that the client gets."""
    if not isinstance(fault, OtherClock):
        return head
    headers: Headers = tuple(
        (name, _later(value, fault.ahead) if name.lower() == "date" else value)
        for name, value in head.headers
    )
    return msgspec.structs.replace(head, headers=headers)


def _later(date: str, seconds: float) -> str:
    return format_datetime(parsedate_to_datetime(date) + timedelta(seconds=seconds), usegmt=True)


def _lines_then(count: int, ending: Ending) -> Editor:
    return LineEdit(
        at_start=Edit(ending=None if count else ending),
        on_line=lambda before, line: Edit(line, ending if before + 1 == count else None),
        at_end=lambda _: Edit(ending=ending),
    )


def _cut_line(count: int) -> Editor:
    return LineEdit(
        at_start=Edit(),
        on_line=lambda before, line: Edit(line) if before < count else Edit(line[: len(line) // 2], Close()),
        at_end=lambda _: Edit(ending=Close()),
    )


def _insert(count: int, inserted: Edit) -> Editor:
    return LineEdit(
        at_start=Edit() if count else inserted,
        on_line=lambda before, line: (
            Edit(line + inserted.out, inserted.ending) if before + 1 == count else Edit(line)
        ),
        at_end=lambda seen: inserted if seen < count else Edit(),
    )
