"""After the delete somebody looks: what is still terminating a good while later is reported with what blocks it.

Objects are watched here from the moment that the server took their delete until they are gone; one report for each
`stuck_after` that passes.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable

from skoupa.facts.rows import Row, Uid


class Aftermath:
    def __init__(self, *, stuck_after: float, find: Callable[[Uid], Row | None]) -> None:
        self._stuck_after = stuck_after
        self._find = find
        self._heap: list[tuple[float, int, Uid]] = []
        self._order = itertools.count()

    def __len__(self) -> int:
        return len(self._heap)

    def watch(self, uid: Uid, *, now: float) -> None:
        heapq.heappush(self._heap, (now + self._stuck_after, next(self._order), uid))

    def next_time(self) -> float | None:
        return self._heap[0][0] if self._heap else None

    def take_stuck(self, now: float) -> list[Row]:
        """Objects whose time is over and that are still there; each is looked at again later."""
        stuck: list[Row] = []
        while self._heap and self._heap[0][0] <= now:
            uid = heapq.heappop(self._heap)[2]
            row = self._find(uid)
            if row is not None:
                stuck.append(row)
                self.watch(uid, now=now)
        return stuck
