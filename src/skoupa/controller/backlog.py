"""Two ways in which very many objects become due at once by mistake, and are held until somebody has looked.

First start: a cluster that Skoupa never swept may be full of forgotten labels. Retroactive labels: a TTL that slipped
into `commonLabels` makes everything old due at once. What became due through a label that was written late waits a
moment, so that the first of many is not gone before the others are seen. `acceptBacklog` releases both.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

OVERDUE_SECONDS: Final = 3600
FIRST_START_LIMIT: Final = 100
OLD_SECONDS: Final = 3600
LABELLING_SECONDS: Final = 600
RETROACTIVE_LIMIT: Final = 50
SETTLE_SECONDS: Final = 10


class Mass(msgspec.Struct, kw_only=True, rename="camel"):
    """One labelling of many objects: when its labels were written, and how many."""

    start: int
    end: int
    count: int


class Backlog:
    """`due` gives an object's due time. Nothing is held while `accepted`."""

    def __init__(self, *, due: Callable[[Row, float], float | None], accepted: bool) -> None:
        self._due = due
        self.accepted = accepted
        self._first_start: tuple[float, int] | None = None
        self.masses: list[Mass] = []
        self._recent: deque[tuple[int, Uid]] = deque()
        self._seen: dict[Uid, float] = {}

    def assess_first_start(self, rows: Iterable[Row], now: float) -> int:
        """Called once on a cluster that was never swept; how many objects are held, 0 when there are few."""
        overdue = sum(
            1 for row in rows if (due := self._due(row, now)) is not None and due < now - OVERDUE_SECONDS
        )
        if self.accepted or overdue <= FIRST_START_LIMIT:
            return 0
        self._first_start = (now - OVERDUE_SECONDS, overdue)
        return overdue

    def learn(self, deltas: Iterable[Delta], now: float) -> bool:
        """Whether a new labelling of many was found, or a known one grew."""
        grown = False
        for delta in deltas:
            row = delta.after
            if row is None:
                if delta.before is not None:
                    self._seen.pop(delta.before.uid, None)
                continue
            if not row.labelled_at or not self._is_retroactive(row, now):
                continue
            if delta.before is not None and delta.before.labelled_at == row.labelled_at:
                continue
            self._seen[row.uid] = now
            grown = self._count(row) or grown
        return grown

    def _is_retroactive(self, row: Row, now: float) -> bool:
        """Old, and due (almost) as soon as its label was written."""
        due = self._due(row, now)
        return (
            due is not None
            and due <= row.labelled_at + LABELLING_SECONDS
            and row.labelled_at - row.created >= OLD_SECONDS
        )

    def _count(self, row: Row) -> bool:
        for mass in self.masses:
            if mass.start - LABELLING_SECONDS <= row.labelled_at <= mass.end + LABELLING_SECONDS:
                mass.start, mass.end = min(mass.start, row.labelled_at), max(mass.end, row.labelled_at)
                mass.count += 1
                return True
        self._recent.append((row.labelled_at, row.uid))
        newest = max(moment for moment, _ in self._recent)
        self._recent = deque(
            (moment, uid) for moment, uid in self._recent if moment >= newest - LABELLING_SECONDS
        )
        uids = {uid for _, uid in self._recent}
        if len(uids) <= RETROACTIVE_LIMIT:
            return False
        moments = [moment for moment, _ in self._recent]
        self.masses.append(Mass(start=min(moments), end=max(moments), count=len(uids)))
        self._recent.clear()
        return True

    def hold(self, row: Row, now: float) -> Hold | None:
        if self.accepted:
            return None
        if self._first_start is not None:
            before, count = self._first_start
            due = self._due(row, now)
            if due is not None and due < before:
                return Hold(reason=reason("first-start-backlog", count=count))
        if not row.labelled_at or not self._is_retroactive(row, now):
            return None
        for mass in self.masses:
            if mass.start <= row.labelled_at <= mass.end:
                return Hold(reason=reason("retroactive-label", count=mass.count))
        settled = max(self._seen.get(row.uid, 0.0), row.labelled_at) + SETTLE_SECONDS
        if settled > now:
            return Hold(reason=reason("just-labelled", seconds=SETTLE_SECONDS), until=settled)
        return None
