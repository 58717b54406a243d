"""Writes down when each policy ran, which is all that must survive a restart; many runs of the same second in one write.

A run that is not settled is written as if it had not begun: one that was interrupted is run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.policy_settling import Settling
from skoupa.controller.state import POLICIES, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.kube.backoff import Backoff
from skoupa.runs.book import Book
from skoupa.runs.ticks import Known, Ticks

# Many policies run in the same second: one write tells of all.
WRITE_SECONDS: Final = 1.0
# A ConfigMap holds a megabyte, and not all of it is ours.
_MOST_REMEMBERED: Final = 6000


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
        self.error: SkoupaError | None = None

    def read(self) -> dict[str, Known]:
        return self._state.get(POLICIES, dict[str, Known]) or {}

    def changed(self) -> None:
        self._unwritten.set()

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        written: dict[str, Known] | None = None
        while True:
            await self._unwritten.wait()
            await self._clock.sleep(WRITE_SECONDS)
            self._unwritten.clear()
            if not self._acting():
                continue
            if self._book.whole and not self._book.doubt():
                self._ticks.keep_only({entry.uid for entry in self._book})
            known = {**self._ticks.remembered(), **self._settling.unsettled}
            known = dict(list(known.items())[-_MOST_REMEMBERED:])
            if known == written:
                continue
            try:
                await self._state.put(POLICIES, known)
            except Forbidden:
                # Who may write no state has none after a restart either.
                written = known
            except SkoupaError as error:
                self.error = error
                self._unwritten.set()
                await self._clock.sleep(backoff.next())
            else:
                self.error, written = None, known
                backoff.reset()
