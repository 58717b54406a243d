"""Deletes that hang: a webhook that does not answer must not make everything else wait.

A delete that took long marks its object, and its place: a kind in a namespace. A quick answer takes the mark away. What
is marked is tried a few at a time; the rest of it waits on the agenda, not in a worker's hands. Only the first wave of a
place that begins to hang may keep all workers, once, until the server gives up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.kube.resources import Resource

# Far more than a busy server takes, far less than the time-out of a webhook.
LONG_SECONDS: Final = 3.0
MOST_IN_A_PLACE: Final = 4
# Half of it at least is waited; with the longest back-off after a failure it stays under a minute.
WAIT_SECONDS: Final = 30.0

Place = tuple[Resource, str]


class Hanging:
    """`most` marked ones may be under way at once."""

    def __init__(self, *, most: int) -> None:
        self._most = max(1, most)
        self._objects: dict[Uid, Place] = {}
        # Of each of them some object is marked.
        self._places: set[Place] = set()
        self._under_way: dict[Uid, Place] = {}
        self._in_place: Counter[Place] = Counter()

    def enter(self, row: Row) -> bool:
        """Whether it may be tried now; `leave` ends it."""
        if not self._objects:
            return True
        place = _place(row)
        if row.uid not in self._objects and place not in self._places:
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
        if seconds >= LONG_SECONDS:
            self._objects[row.uid] = _place(row)
            self._places.add(_place(row))
        elif self._objects:
            self._objects.pop(row.uid, None)
            self._places.discard(_place(row))

    def learn(self, deltas: Iterable[Delta]) -> None:
        """What is gone hangs no more."""
        if not self._objects:
            return
        for delta in deltas:
            if delta.after is None and delta.before is not None:
                place = self._objects.pop(delta.before.uid, None)
                if place is not None and place not in self._objects.values():
                    self._places.discard(place)

    @property
    def places(self) -> list[str]:
        """Where deletes hang, in words."""
        return sorted(
            f"{resource.qualified} in {namespace}" if namespace else resource.qualified
            for resource, namespace in self._places
        )


def _place(row: Row) -> Place:
    return row.resource, row.namespace
