"""What was known and can't be read any more: a right was lost, while running or before.

What is not seen is not deleted, and looks like what is not there. So how much was known, and when it was due, is
remembered until it can be read again, or its kind is gone. Only times are kept, no objects: nothing here is acted on.
"""

from __future__ import annotations

import bisect
from collections.abc import Collection, Iterable, Iterator
from typing import Final

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.blind_kinds import NO_RIGHT, NO_RIGHT_ANY_MORE, sees_kept
from skoupa.controller.sight.ever_read import EverRead, Place
from skoupa.errors import Forbidden
from skoupa.facts.feeds import Feed
from skoupa.kube.resources import NAMESPACES

_LOST: Final = f"{NO_RIGHT_ANY_MORE}; where that is meant, name them in cascade.ignoreKinds"


class Lost(msgspec.Struct, frozen=True, kw_only=True):
    """`known` objects have a time; `dues` are the times of those that nobody kept or protected, the earliest first."""

    place: Place
    why: str
    known: int
    dues: tuple[float, ...]


class Unseen:
    """`ever` is what was ever read, also by processes before this one."""

    def __init__(self, knowledge: Knowledge, *, ever: EverRead) -> None:
        self._knowledge = knowledge
        self._ever = ever
        # By this process, by kind and namespace.
        self._read_here: set[tuple[str, str]] = set()
        self._lost: dict[Place, Lost] = {}
        self._told: set[Place] = set()

    def __iter__(self) -> Iterator[Lost]:
        return iter(self._lost.values())

    def note_read(self, feeds: Iterable[Feed]) -> None:
        for feed in feeds:
            if sees_kept(feed) and feed.health.synced_at is not None:
                self._read_here.add((feed.resource.qualified, feed.scope.namespace))

    def lost_before(self, feeds: Iterable[Feed], *, closed: Collection[Place]) -> list[Place]:
        """Places that were read before this process began, and may not be any more; `closed` where no feed is."""
        never = {_place(feed) for feed in feeds if _never_allowed(feed)}
        return [
            place
            for place in never.union(closed)
            if self._ever.lost(place) and (place.resource.qualified, place.namespace) not in self._read_here
        ]

    def remember(self, feeds: Collection[Feed], *, closed: Collection[Place], now: float) -> None:
        """Called while what was known of what is lost is still there."""
        gaps = {gap.group for gap in self._knowledge.discovery.gaps}
        untold = {place for place in self._lost if place.resource.group in gaps}
        self._lost = {place: lost for place, lost in self._lost.items() if place in untold.union(closed)}
        # Namespaces that the settings name can be read without a list.
        otherwise = {NAMESPACES.qualified} if self._knowledge.settings.namespaces else set()
        for place in [_place(feed) for feed in feeds if feed.health.synced_at is not None]:
            if place in closed and place.resource.qualified not in otherwise:
                self._note(place, why=NO_RIGHT, now=now)
        for place in self.lost_before(feeds, closed=closed):
            if place.resource.qualified not in otherwise:
                namespaces = place.resource.qualified == NAMESPACES.qualified
                self._note(place, why=NO_RIGHT_ANY_MORE if namespaces else _LOST, now=now)

    def _note(self, place: Place, *, why: str, now: float) -> None:
        if place in self._lost:
            return
        judge, protection = self._knowledge.judge, self._knowledge.protection
        timed = [
            (due, row)
            for row in self._knowledge.store.of_kind(place.resource)
            if place.namespace in {"", row.namespace} and (due := judge.due(row, now)) is not None
        ]
        dues = sorted(due for due, row in timed if not protection.reasons(row, now))
        self._lost[place] = Lost(place=place, why=why, known=len(timed), dues=tuple(dues))

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


def _place(feed: Feed) -> Place:
    return Place(feed.resource, feed.scope.namespace)


def _never_allowed(feed: Feed) -> bool:
    return isinstance(feed.health.error, Forbidden) and feed.health.synced_at is None
