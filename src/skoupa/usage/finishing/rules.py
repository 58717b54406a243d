"""The words in which the table of finishing is written: how an object of some kind shows that it has ended, and when.

One `FinishRule` is all that is known of a kind, wherever it comes from. Paths are those of `usage/paths.py`, from the top of
the object. A rule never names the creation of an object: when something ended is not known from when it began.
"""

from __future__ import annotations

from enum import Enum

import msgspec


class Outcome(Enum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    # It has ended, and nobody says how.
    UNKNOWN = "unknown"


class Field(msgspec.Struct, frozen=True, gc=False):
    """The text at a path is one of these."""

    at: str
    values: tuple[str, ...]


class Condition(msgspec.Struct, frozen=True, gc=False):
    """`status.conditions` has one of this type with this status and, where reasons are given, one of them."""

    type: str
    status: str = "True"
    reasons: tuple[str, ...] = ()


class Present(msgspec.Struct, frozen=True, gc=False):
    """There is something at a path; neither nothing, nor an empty text, nor false."""

    at: str


class Absent(msgspec.Struct, frozen=True, gc=False):
    """There is nothing at a path."""

    at: str


Test = Field | Condition | Present | Absent


class Sign(msgspec.Struct, frozen=True, gc=False):
    """It has ended so where all of these are true."""

    outcome: Outcome
    tests: tuple[Test, ...]


class TimeAt(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The time at the end of a path; of many the latest. `unless`: only where there is nothing at these paths."""

    at: str
    unless: tuple[str, ...] = ()


class TimeOf(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """The time of a condition: of the one that decided where no type is given, else of that type and status."""

    type: str = ""
    status: str = ""
    field: str = "lastTransitionTime"


class Latest(msgspec.Struct, frozen=True, gc=False):
    """The latest of what is known of these, where all of `when` are true.

    `every`: only where each item of the list on this path has a time.
    """

    of: tuple[TimeAt | TimeOf, ...]
    when: tuple[Test, ...] = ()
    every: str = ""


Time = TimeAt | TimeOf | Latest


class Count(Enum):
    """How the kind's own time is written."""

    SECONDS = "seconds"
    # As Go writes it, `720h0m0s`.
    GO_DURATION = "duration"
    # A point in time.
    TIME = "time"


class OwnTtl(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Where the kind itself says how long to keep what has ended; it counts where all of `when` are true."""

    at: str
    when: tuple[Test, ...] = ()
    count: Count = Count.SECONDS


class Caution(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Something to heed before it goes; `holds`: as long as this is so it must stay.

    With a `label` only while that has one of `values`; with a `finalizer` (one that begins so) only while it is there and the
    annotation `until`, if that is named, has none of `values`. With neither always.
    """

    why: str
    holds: bool = True
    label: str = ""
    finalizer: str = ""
    until: str = ""
    values: tuple[str, ...] = ()


class FinishRule(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """How objects of one kind end.

    `unless`: while one of these is true nothing has ended. `times` are tried in order, and none counts that lies before
    `started` or the creation. `certain_time`: without a time it has not ended. `generation_at` leads to the generation that
    the status speaks of, where an older one means that the status is not about what is wanted now.
    """

    kind: str
    signs: tuple[Sign, ...]
    times: tuple[Time, ...] = ()
    unless: tuple[Test, ...] = ()
    started: tuple[str, ...] = ()
    own_ttl: tuple[OwnTtl, ...] = ()
    cautions: tuple[Caution, ...] = ()
    certain_time: bool = False
    generation_at: str = ""


def succeeded(*tests: Test) -> Sign:
    return Sign(Outcome.SUCCEEDED, tests)


def failed(*tests: Test) -> Sign:
    return Sign(Outcome.FAILED, tests)


def ended(*tests: Test) -> Sign:
    return Sign(Outcome.UNKNOWN, tests)
