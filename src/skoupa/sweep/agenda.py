"""When to look at what: due times of any number of objects in one structure, earliest first.

An entry is a promise to look, not a decision: whoever takes it judges anew and adds the next look. So nothing is ever
removed: an entry that is not true any more is simply found to be so when its time comes. An object has at most one
entry within the next hour, the earliest that was asked for: an object that is refreshed every minute must not collect
entries. Further away they cost one pointer each and get their exact time when their hour begins. An object that has a
next look has an entry that is no later, whatever was taken apart before and however often the clock was set.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Final

from skoupa.facts.rows import Uid

HOUR: Final = 3600

# (due, uid), or (due, b"", number, uid) where a server's uids are texts: what is compared is always of one type.
_Entry = tuple[float, bytes] | tuple[float, bytes, int, str]


class Agenda:
    """`due_of` gives an object's next look as it is now, None when it has none any more."""

    def __init__(self, *, due_of: Callable[[Uid], float | None]) -> None:
        self._due_of = due_of
        self._order = itertools.count()
        # Wanted at once, whatever the clock is set to since then; their times are only their order. A backlog may be long,
        # so these have no place in `_when`; they are gone in a moment.
        self._overdue: list[_Entry] = []
        self._near: list[_Entry] = []
        # The entry of `_near` that counts; all others of that object are void.
        self._when: dict[Uid, float] = {}
        self._far: dict[int, list[Uid]] = {}
        self._far_hours: list[int] = []

    def __len__(self) -> int:
        return len(self._overdue) + len(self._when) + sum(len(uids) for uids in self._far.values())

    def add(self, due: float, uid: Uid, *, now: float, instead_of: float | None = None) -> None:
        """`instead_of` is the look that was planned before, where one was: far ones share the entry of their hour.

        Only for an object that is not taken: one that is has no entry left to share.
        """
        # Where the hour of the earlier look was taken apart, that one is exact, and no hour has an entry to share.
        if due - now <= HOUR or due < self._when.get(uid, due):
            self._add_near(due, uid, now)
        else:
            self._add_far(int(due // HOUR), uid, instead_of=instead_of)

    def _add_near(self, due: float, uid: Uid, now: float) -> None:
        if due <= now:
            heapq.heappush(self._overdue, self._entry(due, uid))
        elif due < self._when.get(uid, float("inf")):
            self._when[uid] = due
            heapq.heappush(self._near, self._entry(due, uid))

    def _entry(self, due: float, uid: Uid) -> _Entry:
        return (due, uid) if isinstance(uid, bytes) else (due, b"", next(self._order), uid)

    def _add_far(self, hour: int, uid: Uid, *, instead_of: float | None) -> None:
        uids = self._far.get(hour)
        if uids is None:
            self._far[hour] = [uid]
            heapq.heappush(self._far_hours, hour)
        elif instead_of is None or int(instead_of // HOUR) != hour:
            uids.append(uid)

    def take_due(self, now: float, *, most: int) -> list[Uid]:
        """Up to `most` objects whose time has come, earliest first; they leave the agenda."""
        self._bring_near(now)
        taken: list[Uid] = []
        while len(taken) < most:
            heap = self._earlier(now)
            if not heap:
                break
            entry = heapq.heappop(heap)
            uid = entry[-1]
            if heap is self._near:
                if self._when.get(uid) != entry[0]:
                    continue
                del self._when[uid]
            taken.append(uid)
        return taken

    def _earlier(self, now: float) -> list[_Entry]:
        """The one of the two from which to take now; empty: nothing is due."""
        near, overdue = self._near, self._overdue
        if near and near[0][0] <= now and (not overdue or near[0] < overdue[0]):
            return near
        return overdue

    def next_time(self, now: float) -> float | None:
        """When the next entry has to be looked at."""
        self._bring_near(now)
        if self._overdue:
            return min(now, self._overdue[0][0])
        near = self._near[0][0] if self._near else None
        far = float(self._far_hours[0] * HOUR - HOUR) if self._far_hours else None
        return min((moment for moment in (near, far) if moment is not None), default=None)

    def _bring_near(self, now: float) -> None:
        """Hours that begin within the next hour are taken apart into exact times."""
        while self._far_hours and self._far_hours[0] * HOUR - now <= HOUR:
            later: dict[int, set[Uid]] = {}
            for uid in self._far.pop(heapq.heappop(self._far_hours)):
                due = self._due_of(uid)
                if due is not None and due - now < 2 * HOUR:
                    self._add_near(due, uid, now)
                elif due is not None:
                    later.setdefault(int(due // HOUR), set()).add(uid)
            self._put_off(later)

    def _put_off(self, later: dict[int, set[Uid]]) -> None:
        """These were changed. Mostly whoever changed them added the new time; who has it gets no second entry."""
        for hour, uids in later.items():
            known = self._far.get(hour)
            if known is None:
                known = self._far[hour] = []
                heapq.heappush(self._far_hours, hour)
            uids.difference_update(known)
            known.extend(uids)
