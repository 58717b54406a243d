"""One decision about one object, as the ledger keeps it.

There is one row per cluster and uid: a second decision about the same object is written over the first one and counts
an attempt. A row knows labels and reasons, never content: Secret data can be in a `Body` (the trash) only.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from skoupa.clock import Clock
from skoupa.model.verdicts import Claim, Hold, Propagation

Result = Literal[
    "intended",
    "deleted",
    "terminating",
    "gone",
    "failed",
    "braked",
    "would-delete",
    "still-there",
    "gone-by-unknown",
]
InTrash = Literal["none", "kept", "purged", "forgotten"]
# The server took our delete. No later news about the same uid can take that back.
DELETIONS: Final = ("deleted", "terminating")
# What a window of a brake counts: also what may have been a deletion of ours.
COUNTED: Final = (*DELETIONS, "intended", "gone-by-unknown")

# Decisions that are about a finalizer, which each of them names.
_FORCED: Final = frozenset({"finalizer-forced", "tenant-finalizer-forced"})
_DIGITS: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_TIME_DIGITS: Final = 9
_CHANCE_DIGITS: Final = 6
_LONGEST_ERROR: Final = 1000
_LONGEST_KEY: Final = 600


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """`at` is when it was decided; `author` wrote the rule, where that is known; `run` is the run of a policy.

    `weight` is how many objects it counts for, `epoch` the lease of who decided, `attempts` how often a delete was
    intended, `told` whether its Event was written, `restored_as` the uid of what was restored from it.
    `kept` is its size in the trash: 0 when it was never there, -1 when it was purged, and below that, as a negative time,
    since when it is forgotten. `unkept` says why the last try put nothing there, where that was not wanted: what is there
    all the same is from an earlier one. `partly`: some of it, or of what went along, is not in the trash; None: not known.
    `beside` are the others, by mechanism and rule, who claimed it too and of whose allowances it used as much.
    """

    id: str
    cluster: str
    at: float
    api_version: str
    kind: str
    resource: str
    namespace: str
    name: str
    uid: str
    labels: tuple[tuple[str, str], ...] = ()
    mechanism: str
    rule: str
    author: str = ""
    run: str = ""
    due: float = 0.0
    claims: tuple[Claim, ...] = ()
    holds: tuple[Hold, ...] = ()
    propagation: Propagation = "Background"
    weight: int = 1
    epoch: int = 0
    outcome: Result = "intended"
    attempts: int = 0
    finished_at: float | None = None
    error: str = ""
    told: bool = False
    restored_as: str = ""
    kept: int = 0
    unkept: str = ""
    partly: bool | None = None
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def finalizer(self) -> str:
        """What was taken off it, where the row is about that and not about the object itself; else empty."""
        why = self.claims[0].reason if self.claims else None
        return dict(why.facts).get("finalizer", "") if why is not None and why.code in _FORCED else ""

    @property
    def in_trash(self) -> InTrash:
        if self.forgotten_at is not None:
            return "forgotten"
        return "purged" if self.kept < 0 else "kept" if self.kept else "none"

    @property
    def forgotten_at(self) -> float | None:
        """Since when what was kept of it is too old, or too much, to be kept any longer."""
        return float(-self.kept) if self.kept < -1 else None


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """A manifest in the trash, opaque here. `part` is "" for the object itself, else names a dependent of it.

    `form` says how `data` is to be read (encoding, and the key it is encrypted with). `partly`, when it is written: not
    all that belongs to it is in the trash.
    """

    part: str = ""
    form: str
    data: bytes
    partly: bool = False


class Unkept(msgspec.Struct, frozen=True):
    """It goes without being put into the trash, or is gone (`FOUND_GONE`)."""

    why: str


# An `unkept` that leaves what an earlier try kept, whatever came of that: there is nothing newer.
FOUND_GONE: Final = "it was gone already, or on its way, when it was about to be kept"


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """One deletion as the windows of the brakes count it."""

    at: float
    mechanism: str
    rule: str
    run: str
    namespace: str
    resource: str
    weight: int
    beside: tuple[tuple[str, str], ...] = ()


class Ids:
    """Ids of 15 letters and digits that sort by time; those of one process never meet, those of several hardly ever."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = -1

    def next(self) -> str:
        # Chance comes from the clock, so that a simulation repeats itself.
        chance = int((self._clock.jitter(2.0) - 1.0) * 32**_CHANCE_DIGITS)
        number = int(self._clock.now() * 1000) * 32**_CHANCE_DIGITS + chance
        self._last = max(number, self._last + 1)
        return id_text(self._last)


def id_text(number: int) -> str:
    digits = []
    for _ in range(_TIME_DIGITS + _CHANCE_DIGITS):
        number, digit = divmod(number, 32)
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))


def clean(text: str) -> str:
    """As a database can store and index it: PostgreSQL takes no NUL, and no more than 2704 bytes in an index."""
    return text[:_LONGEST_KEY].replace("\0", "")


def error_text(error: str) -> str:
    return error[:_LONGEST_ERROR].replace("\0", "").encode(errors="replace").decode()
