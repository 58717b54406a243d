"""Where a feature is off, what it once put on objects of the cluster is taken off, once, and nothing else is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from skoupa.clock import Clock
from skoupa.errors import Conflict, Forbidden, SkoupaError
from skoupa.facts.store import Delta
from skoupa.kube.backoff import Backoff
from skoupa.settings import Settings


class Releasing:
    """A part of the engine for a feature that is off; `told` hears in words what can't be done for lack of rights.

    `release` says whether that was all: else it is done again when something wakes it. `denied` says what the right that is missing is
    for; empty: for nothing that matters.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        settings: Settings,
        standing_by: Callable[[], bool],
        told: Callable[[str], None],
        release: Callable[[], Awaitable[bool]],
        denied: Callable[[], str],
    ) -> None:
        self._clock = clock
        self._enforcing = settings.mode == "enforce" and not settings.namespaces
        self._standing_by = standing_by
        self._told = told
        self._release = release
        self._denied = denied
        self._leads = self._done = False
        self._woken = asyncio.Event()
        self.error: SkoupaError | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        """It follows nothing."""

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow()] if self._enforcing else []

    def arrange(self) -> None:
        """After every look at the kinds: the one that it is about may be among them by now."""
        self._woken.set()

    def take_over(self) -> None:
        self._leads, self._done = True, False
        self._woken.set()

    def learn(self, deltas: Sequence[Delta]) -> None:
        """Nothing of it is in the store."""

    def close(self) -> None:
        """Nothing is open."""

    async def _follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._woken.wait()
            self._woken.clear()
            if not self._leads or self._standing_by() or self._done:
                continue
            try:
                self._done = await self._release()
            except Forbidden:
                if why := self._denied():
                    self._told(why)
                self._done = True
            except SkoupaError as error:
                # Somebody wrote in between: that is no trouble.
                self.error = None if isinstance(error, Conflict) else error
                self._woken.set()
                await self._clock.sleep(backoff.next())
            else:
                self.error = None
                backoff.reset()
