"""Labels that made old objects due as soon as they were written: when each was, and when too many were at once.

Another tool's annotation that gives an object its time is one of them. An object that is gone still counts for a while: a
labelling may go on after its first objects went. What follows from too many is decided in `backlog`.
"""

from __future__ import annotations

import bisect
import math
from typing import Final

from skoupa.facts.rows import Uid

LABELLING_SECONDS: Final = 600
RETROACTIVE_LIMIT: Final = 50
# Labels of objects that are gone count as long as they can be part of a labelling that still goes on.
_FORGET_SECONDS: Final = 2 * LABELLING_SECONDS


class LateLabels:
    def __init__(self) -> None:
        # For each object that a late label made due: when that was written, and when it was seen here.
        self.written: dict[Uid, tuple[int, float]] = {}
        # Those of them whose label this process saw being written: they were part of no earlier labelling.
        self.witnessed: set[Uid] = set()
        # Overdue through an annotation when they were first seen, and nobody knows since when: of any labelling, or of none.
        self.unclear: set[Uid] = set()
        # When those of them that are gone went.
        self.gone: dict[Uid, float] = {}
        self.newest_seen = -math.inf
        # All the times of writing, in order.
        self._moments: list[int] = []

    def add(self, uid: Uid, moment: int, now: float, *, witnessed: bool) -> None:
        self.newest_seen = now
        self.written[uid] = (moment, now)
        if witnessed:
            self.witnessed.add(uid)
        bisect.insort(self._moments, moment)

    def knows(self, uid: Uid) -> bool:
        return uid in self.written or uid in self.unclear

    def take_out(self, uid: Uid) -> bool:
        """Whether it was known."""
        unclear = uid in self.unclear
        known = self.written.pop(uid, None)
        self.gone.pop(uid, None)
        self.witnessed.discard(uid)
        self.unclear.discard(uid)
        if known is not None:
            del self._moments[bisect.bisect_left(self._moments, known[0])]
        return unclear or known is not None

    def went(self, uid: Uid, now: float) -> bool:
        """Whether it was known."""
        if uid in self.unclear:
            self.unclear.discard(uid)
            return True
        if uid not in self.written:
            return False
        self.gone[uid] = now
        return True

    def between(self, start: int, end: int) -> int:
        """How many were written then."""
        return bisect.bisect_right(self._moments, end) - bisect.bisect_left(self._moments, start)

    def crowd_at(self, moment: int, *, since: float) -> tuple[int, int] | None:
        """The first and the last of too many around this moment, of those written `since`."""
        moments = self._moments
        first = bisect.bisect_left(moments, max(moment - LABELLING_SECONDS, since))
        last = bisect.bisect_right(moments, moment + LABELLING_SECONDS)
        for start in range(first, last - RETROACTIVE_LIMIT):
            begin, end = moments[start], moments[start + RETROACTIVE_LIMIT]
            if begin <= moment <= end and end - begin <= LABELLING_SECONDS:
                return begin, end
        return None

    def is_left(self, start: int, end: int) -> bool:
        """Whether an object that is there may be of the labelling between these times."""
        there = (uid for uid in self.written if uid not in self.gone)
        return bool(self.unclear) or any(self._belongs(uid, start, end) for uid in there)

    def forget_gone(self, now: float) -> None:
        for uid in [uid for uid, at in self.gone.items() if at < now - _FORGET_SECONDS]:
            self.take_out(uid)

    def forget_gone_of(self, start: int, end: int) -> None:
        """Those of the labelling between these times that are gone."""
        for uid in [uid for uid in self.gone if self._belongs(uid, start, end)]:
            self.take_out(uid)

    def _belongs(self, uid: Uid, start: int, end: int) -> bool:
        return may_belong(self.written[uid][0], start, end, witnessed=uid in self.witnessed)


def may_belong(moment: int, start: int, end: int, *, witnessed: bool) -> bool:
    """Whether a label that was written then may be of the labelling between these times.

    Only where it was seen being written is there an upper end: a manager that writes again while nobody looks gives old
    labels a newer time.
    """
    return start <= moment and (not witnessed or moment <= end + LABELLING_SECONDS)
