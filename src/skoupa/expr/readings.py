"""What a written lifetime turns out to mean: a duration, a time, never, or a Problem with what to write instead.

All of these are values. Reading never raises: a text that is not understood is a Problem, and whoever reads it keeps
the object. Seconds are whole and times are seconds since the epoch, UTC. Codes are public: they appear in metrics and
JSON output, sentences may change.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

_SHOWN_LENGTH = 80


class ProblemCode(StrEnum):
    """Why a text is not understood."""

    EMPTY = "Empty"
    NO_UNIT = "NoUnit"
    UNKNOWN_UNIT = "UnknownUnit"
    UNIT_SPELLING = "UnitSpelling"
    DECIMAL = "Decimal"
    UNIT_ORDER = "UnitOrder"
    NEGATIVE = "Negative"
    TOO_LONG = "TooLong"
    NEVER = "Never"
    TIME_FORMAT = "TimeFormat"
    NO_SUCH_TIME = "NoSuchTime"
    OUT_OF_RANGE = "OutOfRange"
    NOT_UNDERSTOOD = "NotUnderstood"
    NO_MOMENT = "NoMoment"
    MOMENT_SPELLING = "MomentSpelling"
    MOMENT_TWICE = "MomentTwice"


class CautionCode(StrEnum):
    """Why a text that is understood may still not be what its writer wants."""

    SECONDS = "Seconds"
    ZERO = "Zero"
    ODD_SPELLING = "OddSpelling"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`suggestion` is the bare text to write where there is exactly one; `instead` is the sentence about it."""

    code: ProblemCode
    what: str
    instead: str
    suggestion: str = ""

    def __str__(self) -> str:
        return f"{self.what}; {self.instead}"


class Caution(msgspec.Struct, frozen=True):
    code: CautionCode
    text: str


class After(msgspec.Struct, frozen=True):
    """So many seconds after creation (or the last refresh)."""

    seconds: int
    warnings: tuple[Caution, ...] = ()


class At(msgspec.Struct, frozen=True):
    """At this time, whenever the object was made."""

    epoch_seconds: int
    warnings: tuple[Caution, ...] = ()


class Never(msgspec.Struct, frozen=True):
    """Stays: somebody said so."""


def due_time(lifetime: After | At, *, since: int) -> int:
    """When an object goes that was created, or refreshed, at `since`."""
    return since + lifetime.seconds if isinstance(lifetime, After) else lifetime.epoch_seconds


def quoted(text: str) -> str:
    """A foreign text for a message: short, on one line, nothing that a terminal would obey."""
    if len(text) > _SHOWN_LENGTH:
        text = text[:_SHOWN_LENGTH] + "…"
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return f'"{text}"'
