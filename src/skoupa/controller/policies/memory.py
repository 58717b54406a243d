"""Writes down when each policy ran, which is what must survive a restart; many runs of the same second in one write.

A run that is not settled is written as if it had not begun: one that was interrupted is run again. Of one that is settled stands
there what it could not delete. Now and then it is written that all policies are known: one that comes later is found by its age.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.policies.settling import Settling
from skoupa.controller.state import POLICIES, POLICIES_SEEN, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.kube.backoff import Backoff
from skoupa.runs.book import Book
from skoupa.runs.known import Known
from skoupa.runs.ticks import Ticks

# Many policies run in the same second: one write tells of all.
WRITE_SECONDS: Final = 1.0
# A ConfigMap holds a megabyte, and not all of it is ours.
_MOST_REMEMBERED: Final = 6000
_MOST_FAILING: Final = 5000
# A policy that nobody has seen is younger than this, or was made while nobody led.
SEEN_SECONDS: Final = 3600.0


class PolicyMemory:
    def __init__(
        self,
        clock: Clock,
        *,
        state: State,
        book: Book,
        ticks: Ticks,
        settling: Settling,
        acting: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._state = state
        self._book = book
        self._ticks = ticks
        self._settling = settling
        self._acting = acting
        self._unwritten = asyncio.Event()
        self._written: dict[str, Known] | None = None
        self._seen = 0.0
        self.error: SkoupaError | None = None

    def read(self) -> dict[str, Known]:
        return self._state.get(POLICIES, dict[str, Known]) or {}

    def all_seen(self) -> float | None:
        """By when all policies that there were had been seen and written down; None: never."""
        found: int | None = self._state.get(POLICIES_SEEN, int)
        return found

    def read_all(self) -> tuple[dict[str, Known], float | None]:
        return self.read(), self.all_seen()

    def changed(self) -> None:
        self._unwritten.set()

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._until_news()
            await self._clock.sleep(WRITE_SECONDS)
            self._unwritten.clear()
            try:
                await self.write_down()
            except SkoupaError as error:
                self.error = error
                self._unwritten.set()
                await self._clock.sleep(backoff.next())
            else:
                backoff.reset()

    async def write_down(self) -> None:
        """What changed since it was written last; also at an orderly end."""
        if not self._acting():
            return
        whole, moment = self._book.whole and not self._book.doubt(), self._clock.now()
        if whole:
            self._ticks.keep_only({entry.uid for entry in self._book})
        known = self._present()
        if known == self._written and moment - self._seen < SEEN_SECONDS:
            return
        # Who may write no state has none after a restart either.
        with suppress(Forbidden):
            await self._state.put(POLICIES, known)
            if whole:
                await self._state.put(POLICIES_SEEN, int(moment))
        self.error, self._written, self._seen = None, known, moment

    async def _until_news(self) -> None:
        try:
            async with self._clock.timeout(SEEN_SECONDS):
                await self._unwritten.wait()
        except TimeoutError:
            return

    def _present(self) -> dict[str, Known]:
        unsettled = self._settling.unsettled
        known = {**self._ticks.remembered(), **unsettled}
        room = _MOST_FAILING
        for uid in self._settling.last:
            if uid in known and uid not in unsettled:
                failing = self._settling.failing.get(uid, ())[:room]
                room -= len(failing)
                known[uid] = msgspec.structs.replace(known[uid], failing=failing)
        return dict(list(known.items())[-_MOST_REMEMBERED:])
