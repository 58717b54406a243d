"""What the label `skoupa.dev/ttl-after` says: how long after which moment an object may go.

One or more of `<moment>-<duration>`, joined by dots: `finished-1h`, `succeeded-1h.failed-7d`, `unused-30m`. A duration is
that of the TTL label; each moment is named at most once, and `succeeded` and `failed` say more than `finished` beside them.
A text outside this grammar is a Problem: what its writer probably meant is worked out only to suggest it, never acted
on. When these moments come is for others to know.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final

import msgspec

from skoupa import names
from skoupa.expr.durations import parse_duration, render_duration
from skoupa.expr.instants import looks_like_time
from skoupa.expr.readings import Caution, CautionCode, Problem, ProblemCode, quoted

# What the API server takes as the value of a label.
LONGEST: Final = 63


class Moment(StrEnum):
    FINISHED = "finished"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNUSED = "unused"


class TtlAfter(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds after each moment that is named; None: it is not. A label names at least one, and never `created`."""

    finished: int | None = None
    succeeded: int | None = None
    failed: int | None = None
    unused: int | None = None
    created: int | None = None
    warnings: tuple[Caution, ...] = ()

    @property
    def on_finish(self) -> bool:
        """Whether it counts from the end of something."""
        return not (self.finished is self.succeeded is self.failed is None)


_MOMENTS: Final = frozenset(str(moment) for moment in Moment)
EXAMPLES: Final = "finished-1h, succeeded-1h.failed-7d or unused-30m"
_WHAT_TO_WRITE: Final = f"write one or more of {', '.join(Moment)} with its time, such as {EXAMPLES}"
_WORDS: Final = {
    Moment.FINISHED: (
        "finished finish finishes finishing completed complete completion done ended end over terminated stopped"
    ),
    Moment.SUCCEEDED: "succeeded succeed succeeds success successful successfully ok passed",
    Moment.FAILED: "failed fail fails failure failing error errored",
    Moment.UNUSED: "unused unneeded unreferenced unmounted idle",
}
_MEANT: Final = {word: moment for moment, words in _WORDS.items() for word in words.split()}
_CREATED: Final = frozenset({"created", "creation", "create", "age", "born"})
_WORD: Final = re.compile(r"[a-z]+")
# Between the pieces people put all kinds of signs, and words.
_BETWEEN: Final = re.compile(r"^(?:[\s.,;:=+&/_-]|after|for|and)*|(?:[\s.,;:=+&/_-]|after|for|and)*$")
_FIRST_DIGITS: Final = re.compile(r"[0-9]")


# Few values label many objects.
@lru_cache(maxsize=4096)
def parse_ttl_after(text: str) -> TtlAfter | Problem:
    """The value of the label, or what to write instead."""
    if len(text) > LONGEST:
        what = f"{quoted(text)} is longer than the {LONGEST} characters that a label may have"
        return Problem(code=ProblemCode.TOO_LONG, what=what, instead=_WHAT_TO_WRITE)
    seconds: dict[str, int] = {}
    warnings: list[Caution] = []
    for part in text.split("."):
        word, _, length = part.partition("-")
        lasts = parse_duration(length)
        if word not in _MOMENTS or isinstance(lasts, Problem) or word in seconds:
            return _problem(text)
        seconds[word] = lasts
        warnings += _cautions(word, length, lasts)
    return TtlAfter(warnings=tuple(warnings), **seconds)


def render_ttl_after(after: TtlAfter) -> str:
    """In its own grammar; more than the API server takes only where somebody writes four endless times."""
    named = ((moment, getattr(after, moment.value)) for moment in Moment)
    return ".".join(f"{moment}-{render_duration(lasts)}" for moment, lasts in named if lasts is not None)


def _cautions(word: str, length: str, seconds: int) -> Iterator[Caution]:
    if length.endswith("s"):
        told = f"{quoted(length)} counts in seconds; the smallest unit meant for this label is a minute (1m)"
        yield Caution(CautionCode.SECONDS, told)
    if not seconds:
        yield Caution(CautionCode.ZERO, f"the object goes as soon as it is {word}")


class _Piece(msgspec.Struct, frozen=True):
    """A moment as a person would read it, and what stands for its time. `word` is how it is written."""

    moment: Moment
    word: str
    length: str


def _problem(text: str) -> Problem:
    shown, cleaned = quoted(text), text.strip().lower()
    if not cleaned:
        return Problem(code=ProblemCode.EMPTY, what="the value is empty", instead=_WHAT_TO_WRITE)
    pieces = _pieces(text.strip())
    if pieces is None:
        return _without_moment(text)
    if len({piece.moment for piece in pieces}) < len(pieces):
        return _twice(shown, pieces)
    written: list[str] = []
    code, what = ProblemCode.MOMENT_SPELLING, "is not written as <moment>-<duration>, joined by dots"
    for piece in pieces:
        lasts = parse_duration(piece.length)
        if isinstance(lasts, Problem):
            if not lasts.suggestion:
                return _about_time(shown, piece, lasts)
            code, what = lasts.code, f"has a time that is none: {lasts.what}"
        written.append(f"{piece.moment}-{piece.length if isinstance(lasts, int) else lasts.suggestion}")
    unknown = next((piece for piece in pieces if piece.word != piece.moment), None)
    if unknown is not None:
        code = ProblemCode.MOMENT_SPELLING
        what = f"has {quoted(unknown.word)}, which is none of {', '.join(Moment)}"
        if unknown.word.lower() == unknown.moment:
            what = f"has {quoted(unknown.word)}, and moments are written in lower case"
    suggestion = ".".join(written)
    if isinstance(parse_ttl_after(suggestion) if suggestion != text else None, TtlAfter):
        return Problem(
            code=code, what=f"{shown} {what}", instead=f"write {suggestion}", suggestion=suggestion
        )
    return Problem(code=code, what=f"{shown} {what}", instead=_WHAT_TO_WRITE)


def _pieces(text: str) -> list[_Piece] | None:
    """What a person would take it to say, or None where a person would find no moment in it."""
    lowered = text.lower()
    found = [(match, moment) for match in _WORD.finditer(lowered) if (moment := _moment(match))]
    if not found or len(lowered) != len(text):
        return None
    pieces = []
    for index, (match, moment) in enumerate(found):
        end = found[index + 1][0].start() if index + 1 < len(found) else len(text)
        # As it was written: 1M is not 1m.
        length = _BETWEEN.sub("", text[match.end() : end])
        pieces.append(_Piece(moment, text[match.start() : match.end()], length))
    before = _BETWEEN.sub("", text[: found[0][0].start()])
    if before and len(pieces) == 1 and not pieces[0].length:
        # 1h-after-finished.
        return [msgspec.structs.replace(pieces[0], length=before)]
    return None if before else pieces


def _moment(match: re.Match[str]) -> Moment | None:
    word, before = match[0], match.string[: match.start()].rstrip()
    if before[-1:].isdecimal() or len(word) < 2:
        # A unit: 7seconds.
        return None
    near = difflib.get_close_matches(word, _MEANT, n=1, cutoff=0.85) if len(word) > 4 else ()
    return _MEANT.get(word) or (_MEANT[near[0]] if near else None)


def _without_moment(text: str) -> Problem:
    shown, cleaned = quoted(text), text.strip()
    words = set(_WORD.findall(cleaned.lower()))
    if words & _CREATED:
        what = f"{shown} counts from creation, which is no moment of this label"
        return Problem(code=ProblemCode.NO_MOMENT, what=what, instead=f"use the label {names.TTL_LABEL}")
    if looks_like_time(cleaned):
        return _a_date(shown, cleaned)
    lasts = parse_duration(cleaned)
    meant = cleaned if isinstance(lasts, int) else lasts.suggestion
    if meant:
        each = [f"{moment}-{meant}" for moment in Moment]
        instead = f"write {', '.join(each[:-1])} or {each[-1]}"
        return Problem(code=ProblemCode.NO_MOMENT, what=f"{shown} does not say after what", instead=instead)
    code = ProblemCode.MOMENT_SPELLING if _FIRST_DIGITS.search(cleaned) else ProblemCode.NOT_UNDERSTOOD
    what = f"{shown} is not made of moments ({', '.join(Moment)}) and durations"
    return Problem(code=code, what=what, instead=_WHAT_TO_WRITE)


def _twice(shown: str, pieces: list[_Piece]) -> Problem:
    counted = [piece.moment for piece in pieces]
    twice = next(moment for moment in counted if counted.count(moment) > 1)
    return Problem(
        code=ProblemCode.MOMENT_TWICE,
        what=f"{shown} says {twice} more than once",
        instead=f"write {twice} once, with the time that is meant",
    )


def _about_time(shown: str, piece: _Piece, problem: Problem) -> Problem:
    """The time of one moment is not understood, and nobody can guess it."""
    moment = piece.moment
    if problem.code is ProblemCode.EMPTY:
        what, instead = f"{shown} has no time for {moment}", f"write a duration after it, such as {moment}-1h"
        return Problem(code=problem.code, what=what, instead=instead)
    if problem.code is ProblemCode.NEVER:
        what, instead = (
            f"{shown} has no end for {moment}",
            f"leave {moment} out: without it nothing goes by it",
        )
        return Problem(code=problem.code, what=what, instead=instead)
    if looks_like_time(piece.length):
        return _a_date(shown, piece.length)
    instead = problem.instead
    if problem.code is not ProblemCode.TOO_LONG:
        instead = f"{instead} after {moment}-"
    return Problem(code=problem.code, what=f"in {shown}, {problem.what}", instead=instead)


def _a_date(shown: str, date: str) -> Problem:
    return Problem(
        code=ProblemCode.TIME_FORMAT,
        what=f"{shown} has a date ({quoted(date)}), and this label counts from a moment",
        instead=f"write a duration, such as {EXAMPLES}; a date goes into the label {names.TTL_LABEL}",
    )
