"""Which re-creation loops are backed off, kept across restarts: a new leader would else let each begin anew.

Only those whose next try waits, and no more than a hundred, the last ones: the rest would cost more than the few
deletions that they would be late by. What changed within a moment is written once. Who may write no state forgets.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.recreation.loops import BackedOff, Recreations
from skoupa.controller.state import RECREATIONS, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.kube.backoff import Backoff

WRITE_SECONDS: Final = 2.0
MOST: Final = 100


class RecreationMemory:
    """`acting`: this replica may write state."""

    def __init__(
        self, recreations: Recreations, state: State, *, clock: Clock, acting: Callable[[], bool]
    ) -> None:
        self._recreations = recreations
        self._state = state
        self._clock = clock
        self._acting = acting
        self._written: list[BackedOff] = []

    def recall(self) -> None:
        """As the one wrote it who led before; what is known here and newer stays."""
        kept: list[BackedOff] | None = self._state.get(RECREATIONS, list[BackedOff])
        self._written = kept or []
        self._recreations.recall(self._written, self._clock.now())

    async def follow(self) -> None:
        """Never returns."""
        backoff = Backoff(self._clock)
        while True:
            await self._recreations.news.wait()
            await self._clock.sleep(WRITE_SECONDS)
            self._recreations.news.clear()
            if not self._acting():
                # Whoever leads now deletes, and writes; what is known here counts when it is read again.
                continue
            try:
                await self.write_down()
            except SkoupaError:
                self._recreations.news.set()
                await self._clock.sleep(backoff.next())
            else:
                backoff.reset()

    async def write_down(self) -> None:
        """What changed since it was written last; also at an orderly end."""
        present = self._recreations.backed_off(self._clock.now(), most=MOST)
        if present == self._written:
            return
        try:
            await self._state.put(RECREATIONS, present)
        except Forbidden:
            return
        self._written = present
