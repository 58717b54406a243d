"""Before the first sweep of a process: what the state says, and whether a backlog has to be held.

A cluster that was never swept may be full of forgotten labels; and a setting that is switched on later (a maximum
lifetime, another tool's annotations) can make as many due at once. Nothing is swept before that is known. State is
written only by who acts. What comes to be read later is counted by `first_readings`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.backlog import OVERDUE_SECONDS, Backlog, Mass
from skoupa.controller.state import (
    ACCEPTED,
    FIRST_START,
    FIRST_SWEEP,
    MASS_LABELLINGS,
    READINGS,
    READINGS_HELD,
    State,
)
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.store import Store
from skoupa.kube.backoff import Backoff
from skoupa.settings import Settings

PATIENCE_SECONDS: Final = 300.0


class FirstLook:
    """`failing` says that some kind can't be read so far; `accept` releases what Brakes stand for."""

    def __init__(
        self,
        backlog: Backlog,
        state: State,
        *,
        clock: Clock,
        settings: Settings,
        store: Store,
        acting: Callable[[], bool],
        stopping: Callable[[], bool],
        failing: Callable[[], bool],
        accept: Callable[[], Awaitable[None]],
    ) -> None:
        self._backlog = backlog
        self._state = state
        self._clock = clock
        self._settings = settings
        self._store = store
        self._acting = acting
        self._stopping = stopping
        self._failing = failing
        self._accept = accept
        self.error: SkoupaError | None = None

    async def assess(self) -> None:
        """After the state was read."""
        backlog, now = self._backlog, self._clock.now()
        accepted = self._state.get(ACCEPTED, int)
        if accepted is not None:
            backlog.accept(accepted)
        backlog.remember(self._state.get(MASS_LABELLINGS, list[Mass]) or ())
        remembered = bool(backlog.masses)
        if remembered and await self._until_all_seen():
            backlog.end_what_is_over()
        if self._settings.accept_backlog:
            await self._accept_all(now)
        if accepted is not None or remembered:
            await self.put(MASS_LABELLINGS, backlog.masses)
        await self._assess_first_start()

    async def _accept_all(self, now: float) -> None:
        heaped = bool(self._backlog.masses) or self._state.get(FIRST_SWEEP, int) is None
        heaped = heaped or bool(self._state.get(READINGS_HELD, list[Any]))
        self._backlog.accept(now)
        await self.put(ACCEPTED, int(now))
        if heaped and self._acting():
            try:
                await self._accept()
            except SkoupaError as error:
                self.error = error

    async def _assess_first_start(self) -> None:
        readings = msgspec.to_builtins(
            {
                "maximumLifetime": self._settings.ttl.maximum_lifetime,
                "compat": self._settings.compat,
                "ttl": self._settings.features.ttl,
            }
        )
        known = self._state.get(READINGS, dict[str, Any])
        if known is not None:
            known.setdefault("ttl", True)
        swept = self._state.get(FIRST_SWEEP, int) is not None
        anew = swept and known not in (None, readings) and not self._settings.accept_backlog
        if not swept or anew:
            await self._count(anew=anew)
        if known != readings:
            await self.put(READINGS, readings)

    async def _count(self, *, anew: bool) -> None:
        seen = await self._until_all_seen()
        now = self._clock.now()
        held = None if anew else self._state.get(FIRST_START, tuple[float, int])
        if held is not None:
            # Whoever keeps or deletes some of them has not let go the others.
            self._backlog.remember_first_start(*held)
        count = self._backlog.assess_first_start(self._store, now, anew=anew)
        if count and held is None:
            await self.put(FIRST_START, (now - OVERDUE_SECONDS, count))
            if anew:
                await self.put(FIRST_SWEEP, None)
        elif not count and seen:
            await self.put(FIRST_SWEEP, int(now))

    async def _until_all_seen(self) -> bool:
        """A backlog can only be told from what was read; kinds that fail for long are counted at the next start."""
        patience = self._clock.monotonic() + PATIENCE_SECONDS
        while self._failing() and self._clock.monotonic() < patience and not self._stopping():
            await self._clock.sleep(1.0)
        return not self._failing()

    async def read_state(self) -> bool:
        """Tries until it can be read; where that is not allowed the cluster counts as never swept."""
        backoff = Backoff(self._clock)
        while not self._stopping():
            try:
                await self._state.read()
            except Forbidden as error:
                self.error = error
            except SkoupaError as error:
                self.error = error
                await self._clock.sleep(backoff.next())
                continue
            return True
        return False

    async def put(self, key: str, value: Any) -> bool:
        """Writes state, where this process may write at all; whether nothing is left to be written."""
        if not self._acting():
            return True
        try:
            await self._state.put(key, value)
        except SkoupaError as error:
            self.error = error
            return False
        return True
