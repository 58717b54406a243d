"""Labels that made old objects due as soon as they were written: when each was, and when too many were at once.

An object that is gone still counts for a while: a labelling may go on after its first objects went. What follows from too
many is decided in `backlog`.
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
        # When those of them that are gone went.
        self.gone: dict[Uid, float] = {}
        self.newest_seen = -math.inf
        # All the times of writing, in order.
        self._moments: list[int] = []

    def add(self, uid: Uid, moment: int, now: float) -> None:
        self.newest_seen = now
        self.written[uid] = (moment, now)
        bisect.insort(self._moments, moment)

    def take_out(self, uid: Uid) -> None:
        known = self.written.pop(uid, None)
        self.gone.pop(uid, None)
        if known is not None:
            del self._moments[bisect.bisect_left(self._moments, known[0])]

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

    def newest(self) -> int:
        """When the newest label of an object that is there was written; 0: there is none."""
        return max((at for uid, (at, _) in self.written.items() if uid not in self.gone), default=0)

    def forget_gone(self, now: float) -> None:
        for uid in [uid for uid, at in self.gone.items() if at < now - _FORGET_SECONDS]:
            self.take_out(uid)

    def forget_gone_since(self, moment: int) -> None:
        """Those that are gone and were written then or later."""
        for uid in [uid for uid in self.gone if moment <= self.written[uid][0]]:
            self.take_out(uid)
