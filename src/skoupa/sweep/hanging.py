"""Deletes that hang: a webhook that does not answer must not make everything else wait.

A delete that took long marks its object, and its place: a kind in a namespace. A quick answer takes the mark away, and so
do a few minutes in which nothing there took long. What is marked is tried a few at a time; the rest of it waits on the agenda, not in a worker's hands. Only the first wave of a
place that begins to hang may keep all workers, once, until the server gives up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.kube.resources import Resource

# Far more than a busy server takes, far less than the time-out of a webhook.
LONG_SECONDS: Final = 3.0
MOST_IN_A_PLACE: Final = 4
# Half of it at least is waited; with the longest back-off after a failure it stays under a minute.
WAIT_SECONDS: Final = 30.0
FORGOTTEN_SECONDS: Final = 300.0

Place = tuple[Resource, str]


class Hanging:
    """`most` marked ones may be under way at once; `there`: an object is still known, so that somebody will try again."""

    def __init__(self, clock: Clock, *, most: int, there: Callable[[Uid], bool]) -> None:
        self._clock = clock
        self._most = max(1, most)
        self._there = there
        self._objects: dict[Uid, Place] = {}
        # When something there last took long.
        self._places: dict[Place, float] = {}
        self._under_way: dict[Uid, Place] = {}
        self._in_place: Counter[Place] = Counter()

    def enter(self, row: Row) -> bool:
        """Whether it may be tried now; `leave` ends it."""
        if not self._places:
            return True
        place = _place(row)
        if row.uid not in self._objects and not self._is_marked(place):
            return True
        if len(self._under_way) >= self._most or self._in_place[place] >= MOST_IN_A_PLACE:
            return False
        self._under_way[row.uid] = place
        self._in_place[place] += 1
        return True

    def leave(self, row: Row) -> None:
        place = self._under_way.pop(row.uid, None)
        if place is not None:
            self._in_place[place] -= 1
            if not self._in_place[place]:
                del self._in_place[place]

    def answered(self, row: Row, seconds: float) -> None:
        """How long the server took, or did not answer at all."""
        place = _place(row)
        if seconds >= LONG_SECONDS:
            self._places[place] = self._clock.monotonic()
            if self._there(row.uid):
                self._objects[row.uid] = place
        elif self._places:
            self._objects.pop(row.uid, None)
            self._places.pop(place, None)

    def learn(self, deltas: Iterable[Delta]) -> None:
        """What is gone hangs no more."""
        if not self._objects:
            return
        for delta in deltas:
            if delta.after is None and delta.before is not None:
                self._objects.pop(delta.before.uid, None)

    def _is_marked(self, place: Place) -> bool:
        at = self._places.get(place)
        if at is not None and self._clock.monotonic() > at + FORGOTTEN_SECONDS:
            del self._places[place]
            at = None
        return at is not None

    @property
    def places(self) -> list[str]:
        """Where deletes hang, in words."""
        return sorted(
            f"{resource.qualified} in {namespace}" if namespace else resource.qualified
            for resource, namespace in tuple(self._places)
            if self._is_marked((resource, namespace))
        )


def _place(row: Row) -> Place:
    return row.resource, row.namespace
