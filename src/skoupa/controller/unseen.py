"""What was known and can't be read any more: a right was lost while running.

What is not seen is not deleted, and looks like what is not there. So how much was known, and when it was due, is
remembered until it can be read again, or its kind is gone. Only times are kept, no objects: nothing here is acted on.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterator

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.kube.resources import Resource


class Place(msgspec.Struct, frozen=True):
    """A kind, and the namespace it was read in; empty: everywhere."""

    resource: Resource
    namespace: str

    def __str__(self) -> str:
        return f"{self.resource.qualified} in {self.namespace}" if self.namespace else self.resource.qualified


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """`known` objects have a time; `dues` are the times of those that nobody kept or protected, the earliest first."""

    place: Place
    why: str
    known: int
    dues: tuple[float, ...]


class Unseen:
    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._lost: dict[Place, Lost] = {}
        self._told: set[Place] = set()

    def __iter__(self) -> Iterator[Lost]:
        return iter(self._lost.values())

    def note(self, place: Place, *, why: str, now: float) -> None:
        """Called while what was known of it is still there."""
        if place in self._lost:
            return
        judge, protection = self._knowledge.judge, self._knowledge.protection
        timed = [
            (due, row)
            for row in self._knowledge.store.of_kind(place.resource)
            if place.namespace in {"", row.namespace} and (due := judge.due(row, now)) is not None
        ]
        dues = sorted(due for due, row in timed if next(protection.reasons(row, now), None) is None)
        self._lost[place] = Lost(place=place, why=why, known=len(timed), dues=tuple(dues))

    def forget(self, *, but: Collection[Place]) -> None:
        self._lost = {place: lost for place, lost in self._lost.items() if place in but}

    def kinds(self) -> set[str]:
        return {place.resource.qualified for place in self._lost}

    def overdue(self, now: float) -> tuple[int, float]:
        """How many of them are due by now, and for how long the first of them."""
        count = sum(bisect.bisect_right(lost.dues, now) for lost in self._lost.values())
        first = min((lost.dues[0] for lost in self._lost.values() if lost.dues), default=now)
        return count, max(0.0, now - first)

    def news(self) -> tuple[list[Lost], list[Place]]:
        """What was lost, and what came back, since this was last asked. A kind that is gone does not come back."""
        lost = [lost for place, lost in self._lost.items() if place not in self._told]
        served = {resource.qualified for resource in self._knowledge.discovery.resources}
        back = [place for place in self._told - self._lost.keys() if place.resource.qualified in served]
        self._told = set(self._lost)
        return lost, back
