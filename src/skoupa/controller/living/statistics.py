"""Alive as numbers, for metrics: all series are there also while they are 0, so that somebody can alert on them."""

from __future__ import annotations

from collections import Counter
from typing import Final, get_args

import msgspec

from skoupa.alive.course import Course
from skoupa.alive.reading import Alive
from skoupa.kinds.alive_status import ParticipantState, Phase

UNKNOWN: Final = "Unknown"


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """`phases` has one that is 1. `unguarded` is 0 also where nobody here looks."""

    phases: dict[str, float]
    participants: dict[str, float]
    remaining: float
    unguarded: float


def statistics(seen: tuple[Alive, Course] | None, *, guarded: bool) -> Statistics:
    """None: there is none, or this replica does not look after it."""
    phases: dict[str, float] = dict.fromkeys((*get_args(Phase), UNKNOWN), 0.0)
    counts = Counter(one.state for one in seen[1].participants) if seen is not None else Counter()
    phases[seen[1].phase if seen is not None else UNKNOWN] = 1.0
    return Statistics(
        phases=phases,
        participants={state: float(counts[state]) for state in get_args(ParticipantState)},
        remaining=float((seen[1].remaining if seen is not None else 0) or 0),
        unguarded=float(seen is not None and not guarded),
    )
