"""Two ways in which very many objects become due at once by mistake, and are held until somebody has looked.

First start: a cluster that Skoupa never swept may be full of forgotten labels. Retroactive labels: a TTL that slipped
into `commonLabels` makes everything old due at once. What became due through a label that was written late waits until
no more such labels arrive, so that the first of many is not gone before the others are seen. Where the server does not
tell when a label was written, it counts as written when it was first seen here. Accepting the backlog releases what is
there then; labels that are written later are counted anew.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa import names
from skoupa.facts.rows import NOBODY_KNOWS, Row, Uid
from skoupa.facts.store import Delta
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

OVERDUE_SECONDS: Final = 3600
FIRST_START_LIMIT: Final = 100
OLD_SECONDS: Final = 3600
LABELLING_SECONDS: Final = 600
RETROACTIVE_LIMIT: Final = 50
SETTLE_SECONDS: Final = 10
MOST_MASSES: Final = 10
# Labels of objects that are gone count as long as they can be part of a labelling that still goes on.
_FORGET_SECONDS: Final = 2 * LABELLING_SECONDS


class Mass(msgspec.Struct, kw_only=True, rename="camel"):
    """One labelling of many objects: when its labels were written, and how many."""

    start: int
    end: int
    count: int


class Backlog:
    """`due` gives an object's due time; `may_go` says that nobody keeps or protects it.

    `starting` says that the first lists are not complete yet, so that what is seen was mostly there before.
    """

    def __init__(
        self,
        *,
        due: Callable[[Row, float], float | None],
        may_go: Callable[[Row, float], bool],
        starting: Callable[[], bool],
    ) -> None:
        self._due = due
        self._may_go = may_go
        self._starting = starting
        self._first_start: tuple[float, int] | None = None
        # Labels written up to then were accepted.
        self._accepted_at = -math.inf
        self.masses: list[Mass] = []
        # For each object that a late label made due: when that was written, and when it was seen here.
        self._written: dict[Uid, tuple[int, float]] = {}
        self._gone: dict[Uid, float] = {}
        # All the times of writing, in order.
        self._moments: list[int] = []
        self._newest_seen = -math.inf

    def accept(self, at: float) -> None:
        self._accepted_at = max(self._accepted_at, at)
        self._first_start = None
        self.masses = [mass for mass in self.masses if mass.end > self._accepted_at]

    def remember(self, masses: Iterable[Mass]) -> None:
        """Masses that were written down before a restart; what was counted since may be the same ones."""
        for mass in masses:
            same = next((own for own in self.masses if _touch(own, mass)), None)
            if same is not None:
                same.start, same.end = min(same.start, mass.start), max(same.end, mass.end)
                same.count = max(same.count, mass.count)
            elif mass.end > self._accepted_at:
                self.masses.append(mass)
        # Labels of an unknown time make a new one at each restart. A mass has no upper end: the earliest says it all.
        self.masses.sort(key=lambda mass: mass.start)
        while len(self.masses) > MOST_MASSES:
            last = self.masses.pop()
            self.masses[-1].end = max(self.masses[-1].end, last.end)
            self.masses[-1].count = max(self.masses[-1].count, last.count)

    def assess_first_start(self, rows: Iterable[Row], now: float) -> int:
        """Called once on a cluster that was never swept; how many objects are held, 0 when there are few."""
        if self._accepted_at > -math.inf:
            return 0
        before = now - OVERDUE_SECONDS
        # Whatever holds some of them now: a right that is granted later must not let a thousand go at once.
        overdue = sum(
            1
            for row in rows
            if (due := self._due(row, now)) is not None and due < before and self._may_go(row, now)
        )
        if overdue <= FIRST_START_LIMIT:
            return 0
        self._first_start = (before, overdue)
        return overdue

    def learn(self, deltas: Iterable[Delta], now: float) -> bool:
        """Whether a new labelling of many was found, a known one grew, or one is over."""
        grown = False
        for delta in deltas:
            row, before = delta.after, delta.before
            if row is None:
                if before is not None and before.uid in self._written:
                    self._gone[before.uid] = now
                    grown = self._end_masses() or grown
                continue
            # A manager that owns the label and writes something else gives it a new time: the label itself counts.
            if before is not None and before.label(names.TTL_LABEL) == row.label(names.TTL_LABEL):
                continue
            self._take_out(row.uid)
            moment = self._moment(row, now)
            if moment and self._is_retroactive(row, moment, now):
                self._newest_seen = now
                self._written[row.uid] = (moment, now)
                grown = self._count(moment) or grown
        if len(self._gone) > 1000:
            self._forget_gone(now)
        return grown

    def _moment(self, row: Row, now: float) -> int:
        """When its label was written; 0 where that is no matter."""
        if row.labelled_at != NOBODY_KNOWS:
            return row.labelled_at
        # At a restart all of these are new here: those that stay anyway must not make a mass of the others.
        stays = self._starting() and (row.deleted_at or not self._may_go(row, now))
        return 0 if stays else int(now)

    def _is_retroactive(self, row: Row, moment: int, now: float) -> bool:
        """Old, and due (almost) as soon as its label was written."""
        due = self._due(row, now)
        return due is not None and due <= moment + LABELLING_SECONDS and moment - row.created >= OLD_SECONDS

    def _count(self, moment: int) -> bool:
        bisect.insort(self._moments, moment)
        if moment <= self._accepted_at:
            return False
        for mass in self.masses:
            if mass.start - LABELLING_SECONDS <= moment <= mass.end + LABELLING_SECONDS:
                mass.start, mass.end = min(mass.start, moment), max(mass.end, moment)
                mass.count = max(mass.count, self._between(mass.start, mass.end))
                return True
        return self._found_mass(moment)

    def _found_mass(self, moment: int) -> bool:
        """Whether some ten minutes around this moment saw too many."""
        moments = self._moments
        first = bisect.bisect_left(moments, max(moment - LABELLING_SECONDS, self._accepted_at + 1))
        last = bisect.bisect_right(moments, moment + LABELLING_SECONDS)
        for start in range(first, last - RETROACTIVE_LIMIT):
            begin, end = moments[start], moments[start + RETROACTIVE_LIMIT]
            if begin <= moment <= end and end - begin <= LABELLING_SECONDS:
                self.masses.append(Mass(start=begin, end=end, count=self._between(begin, end)))
                return True
        return False

    def _end_masses(self) -> bool:
        """One whose objects are all gone, or have lost the label again, is over: the next label is a wish again."""
        newest = max((at for uid, (at, _) in self._written.items() if uid not in self._gone), default=0)
        going_on = [mass for mass in self.masses if mass.start <= newest]
        ended = len(going_on) < len(self.masses)
        self.masses = going_on
        return ended

    def _between(self, start: int, end: int) -> int:
        return bisect.bisect_right(self._moments, end) - bisect.bisect_left(self._moments, start)

    def _take_out(self, uid: Uid) -> None:
        known = self._written.pop(uid, None)
        self._gone.pop(uid, None)
        if known is not None:
            del self._moments[bisect.bisect_left(self._moments, known[0])]

    def _forget_gone(self, now: float) -> None:
        for uid in [uid for uid, at in self._gone.items() if at < now - _FORGET_SECONDS]:
            self._take_out(uid)

    def hold(self, row: Row, now: float) -> Hold | None:
        if self._first_start is not None:
            before, count = self._first_start
            due = self._due(row, now)
            if due is not None and due < before:
                return Hold(reason=reason("first-start-backlog", count=count))
        moment, seen = self._written.get(row.uid, (0, 0.0))
        if moment <= max(0, self._accepted_at):
            return None
        for mass in self.masses:
            # No upper end: a manager that writes again after a restart gives old labels a newer time.
            if mass.start <= moment:
                return Hold(reason=reason("retroactive-label", count=mass.count))
        settled = min(max(self._newest_seen, moment), seen + LABELLING_SECONDS) + SETTLE_SECONDS
        if settled > now:
            return Hold(reason=reason("just-labelled", seconds=SETTLE_SECONDS), until=settled)
        return None


def _touch(one: Mass, other: Mass) -> bool:
    return one.start <= other.end + LABELLING_SECONDS and other.start <= one.end + LABELLING_SECONDS
