"""What is known of each object that decides with others, remembered until somebody says that it may be another now.

Working it out for a hundred thousand takes seconds, and who decides must not keep everybody else waiting for so long: it is put together
beforehand, a few at a time, and what changed meanwhile is worked out anew when it is asked for. What is remembered is of the very row
that it was worked out of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row, Uid
from skoupa.judge.grouping import Member

AT_A_TIME: Final = 500


class Gathered:
    """`made` works it out; None: it is not known yet, and asked again the next time."""

    def __init__(self, clock: Clock, made: Callable[[Row, float], Member | None]) -> None:
        self._clock = clock
        self._made = made
        self._known: dict[Uid, tuple[Row, Member]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, row: Row, now: float) -> Member | None:
        known = self._known.get(row.uid)
        if known is not None and known[0] is row:
            return known[1]
        member = self._made(row, now)
        if member is not None:
            self._known[row.uid] = (row, member)
        return member

    def doubt(self, uid: Uid) -> None:
        self._known.pop(uid, None)

    def doubt_all(self) -> None:
        self._known.clear()

    async def gather(self, rows: Iterable[Row]) -> None:
        """Beforehand, so that who asks next hardly waits. The first that is not known ends it: nothing is decided on the others then."""
        made = 0
        for row in rows:
            known = self._known.get(row.uid)
            if known is not None and known[0] is row:
                continue
            if self.of(row, self._clock.now()) is None:
                return
            made += 1
            if made % AT_A_TIME == 0:
                await self._clock.sleep(0.0)
