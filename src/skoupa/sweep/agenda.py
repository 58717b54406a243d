"""When to look at what: due times of any number of objects in one structure, earliest first.

An entry is a promise to look, not a decision: whoever takes it judges anew and adds the next look. So nothing is ever
removed: an entry that is not true any more is simply found to be so when its time comes. An object has at most one
entry within the next hour, the earliest that was asked for, and few in each later one: neither an object that is
refreshed every minute nor one that is looked at every minute may collect entries. Further away they cost one pointer
each and get their exact time before their hour begins, a part at a time. An object that has a next look has an entry
that is no later, whatever was taken apart before and however often the clock was set.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Final

from skoupa.facts.rows import Uid

HOUR: Final = 3600
# Of an hour that is still to come so many are taken apart at a time: nobody else gets a turn meanwhile.
PART: Final = 2000

# (due, uid), or (due, b"", number, uid) where a server's uids are texts: what is compared is always of one type.
_Entry = tuple[float, bytes] | tuple[float, bytes, int, str]


class _Hour:
    """Objects to be looked at within one hour that is far away.

    For most of them that is planned once, when they come to be known. Few are looked at before, and maybe very often.
    """

    __slots__ = ("again", "planned")

    def __init__(self) -> None:
        self.planned: list[Uid] = []
        self.again: set[Uid] = set()

    def __len__(self) -> int:
        return len(self.planned) + len(self.again)

    def take(self, most: int) -> list[Uid]:
        first = max(0, len(self.planned) - most)
        taken = self.planned[first:]
        del self.planned[first:]
        while self.again and len(taken) < most:
            taken.append(self.again.pop())
        return taken


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
        self._far: dict[int, _Hour] = {}
        self._far_hours: list[int] = []
        # Found to be of a later hour, while the first one is taken apart.
        self._put_off: dict[int, set[Uid]] = {}

    def __len__(self) -> int:
        far = sum(map(len, self._far.values())) + sum(map(len, self._put_off.values()))
        return len(self._overdue) + len(self._when) + far

    def plan(self, due: float, uid: Uid, *, now: float, instead_of: float | None = None) -> None:
        """For an object that came to be known, or got another time.

        `instead_of` is the look that was planned before, where one was: far ones share the entry of their hour. Only for
        an object that is not taken: one that is has no entry left to share.
        """
        if self._is_near(due, uid, now):
            self._add_near(due, uid, now)
        else:
            hour = int(due // HOUR)
            if hour not in self._far or instead_of is None or int(instead_of // HOUR) != hour:
                self._far_hour(hour).planned.append(uid)

    def add(self, due: float, uid: Uid, *, now: float) -> None:
        """For an object that was looked at, or has to be."""
        if self._is_near(due, uid, now):
            self._add_near(due, uid, now)
        else:
            self._far_hour(int(due // HOUR)).again.add(uid)

    def _is_near(self, due: float, uid: Uid, now: float) -> bool:
        # Where the hour of the earlier look was taken apart, that one is exact, and no hour has an entry to share.
        return due - now <= HOUR or due < self._when.get(uid, due)

    def _add_near(self, due: float, uid: Uid, now: float) -> None:
        if due <= now:
            heapq.heappush(self._overdue, self._entry(due, uid))
        elif due < self._when.get(uid, float("inf")):
            self._when[uid] = due
            heapq.heappush(self._near, self._entry(due, uid))

    def _entry(self, due: float, uid: Uid) -> _Entry:
        return (due, uid) if isinstance(uid, bytes) else (due, b"", next(self._order), uid)

    def _far_hour(self, hour: int) -> _Hour:
        found = self._far.get(hour)
        if found is None:
            found = self._far[hour] = _Hour()
            heapq.heappush(self._far_hours, hour)
        return found

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
        """Hours that begin within the next hour are taken apart into exact times; those that have begun, as a whole."""
        room = PART
        while self._far_hours:
            first = self._far_hours[0]
            begun = first * HOUR <= now
            if first * HOUR - now > HOUR or not (begun or room > 0):
                break
            hour = self._far[first]
            uids = hour.take(len(hour) if begun else room)
            room -= len(uids)
            for uid in uids:
                due = self._due_of(uid)
                if due is not None and due - now < 2 * HOUR:
                    self._add_near(due, uid, now)
                elif due is not None:
                    self._put_off.setdefault(int(due // HOUR), set()).add(uid)
            if not hour:
                heapq.heappop(self._far_hours)
                del self._far[first]
                self._place_again()

    def _place_again(self) -> None:
        """These were changed. Mostly whoever changed them added the new time; who has it gets no second entry."""
        put_off, self._put_off = self._put_off, {}
        for number, uids in put_off.items():
            hour = self._far_hour(number)
            uids.difference_update(hour.planned, hour.again)
            hour.planned.extend(uids)
