"""Since when nobody needs an object, as an observer sees it: kept in the ledger, for it writes nothing onto objects.

Read once at the start, and written a moment after something changed. Without a ledger it is kept in memory alone, and a restart begins
anew. A mark on the object that an enforcing Skoupa left counts where it is the later one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid, pack_uid, uid_text
from skoupa.judge.retention import unneeded_since
from skoupa.kube.backoff import Backoff
from skoupa.ledger.store import Store

_GATHER_SECONDS: Final = 1.0


class ObservedMoments:
    """`on_read` hears that it is known now what was written before."""

    def __init__(self, clock: Clock, store: Callable[[], Store], *, on_read: Callable[[], None]) -> None:
        self._clock = clock
        self._store = store
        self._on_read = on_read
        self._moments: dict[Uid, float] = {}
        self._unwritten: dict[Uid, float | None] = {}
        self._read = False
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def want(self, uid: Uid, moment: float | None) -> None:
        if moment is None:
            self._moments.pop(uid, None)
        else:
            self._moments[uid] = moment
        self._unwritten[uid] = moment
        self._news.set()

    def is_settled(self, row: Row) -> bool:  # noqa: ARG002 - of all of them
        return self._read

    def mark(self, row: Row, now: float) -> float | None:
        found = (unneeded_since(row, now), self._moments.get(row.uid))
        return max((moment for moment in found if moment is not None), default=None)

    def is_marked(self, row: Row) -> bool:
        return row.uid in self._moments

    def leave(self, row: Row) -> None:
        """What was known of it is forgotten already, and nothing is written onto it."""

    def forget(self, uid: Uid) -> None:
        if uid in self._moments:
            self.want(uid, None)

    def doubt(self) -> None:
        """Another may act now; what is seen is seen all the same."""

    def heed_time(self) -> None:
        """Nothing is refused here."""

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            if self._read:
                await self._news.wait()
                await self._clock.sleep(_GATHER_SECONDS)
                self._news.clear()
            unwritten, self._unwritten = self._unwritten, {}
            try:
                if not self._read:
                    known = await self._store().unneeded()
                    self._moments = {pack_uid(uid): since for uid, since in known.items()} | self._moments
                    self._read = True
                    self._on_read()
                elif unwritten:
                    await self._store().note_unneeded({uid_text(uid): at for uid, at in unwritten.items()})
            except SkoupaError as error:
                self.error = error
                self._unwritten = unwritten | self._unwritten
                self._news.set()
                await self._clock.sleep(backoff.next())
            else:
                self.error = None
                backoff.reset()
