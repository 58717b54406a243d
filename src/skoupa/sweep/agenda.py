"""When to look at what: due times of any number of objects in one structure, earliest first.

An entry is a promise to look, not a decision: whoever takes it judges anew. So nothing is ever removed: an entry that
is not true any more is simply found to be so when its time comes. Whoever learns that a due time changed adds a new
one. Entries further than an hour away cost one pointer each and get their exact time when their hour begins.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Final

from skoupa.facts.rows import Uid

HOUR: Final = 3600


class Agenda:
    """`due_of` gives an object's due time as it is now, None when it has none any more."""

    def __init__(self, *, due_of: Callable[[Uid], float | None]) -> None:
        self._due_of = due_of
        # The number keeps entries of one moment in order, and uids from being compared.
        self._near: list[tuple[float, int, Uid]] = []
        self._order = itertools.count()
        self._far: dict[int, list[Uid]] = {}
        self._far_hours: list[int] = []

    def __len__(self) -> int:
        return len(self._near) + sum(len(uids) for uids in self._far.values())

    def add(self, due: float, uid: Uid, *, now: float) -> None:
        if due - now <= HOUR:
            heapq.heappush(self._near, (due, next(self._order), uid))
            return
        hour = int(due // HOUR)
        uids = self._far.get(hour)
        if uids is None:
            self._far[hour] = [uid]
            heapq.heappush(self._far_hours, hour)
        else:
            uids.append(uid)

    def take_due(self, now: float, *, most: int) -> list[Uid]:
        """Up to `most` objects whose time has come, earliest first; they leave the agenda."""
        self._bring_near(now)
        taken: list[Uid] = []
        while self._near and self._near[0][0] <= now and len(taken) < most:
            taken.append(heapq.heappop(self._near)[2])
        return taken

    def next_time(self, now: float) -> float | None:
        """When the next entry has to be looked at."""
        self._bring_near(now)
        near = self._near[0][0] if self._near else None
        far = float(self._far_hours[0] * HOUR - HOUR) if self._far_hours else None
        return min((moment for moment in (near, far) if moment is not None), default=None)

    def _bring_near(self, now: float) -> None:
        """Hours that begin within the next hour are taken apart into exact times."""
        while self._far_hours and self._far_hours[0] * HOUR - now <= HOUR:
            for uid in self._far.pop(heapq.heappop(self._far_hours)):
                due = self._due_of(uid)
                # Later than this hour: it was changed, and whoever changed it added the new time.
                if due is not None and due - now <= 2 * HOUR:
                    heapq.heappush(self._near, (due, next(self._order), uid))
