"""Before the first sweep of a process: what the state says, and whether a backlog has to be held.

A cluster that was never swept may be full of forgotten labels; and a setting that is switched on later (a maximum
lifetime, another tool's annotations) can make as many due at once. Nothing is swept before that is known, as far as it can
be: kinds that fail are waited for a while. What is read for the first time later is counted by `first_readings`, so one
kind that never answers does not make a cluster count as never swept. State is written only by who acts.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.backlogs.accept_once import AcceptOnce
from skoupa.controller.backlogs.backlog import OVERDUE_SECONDS, Backlog
from skoupa.controller.backlogs.first_readings import FirstReadings
from skoupa.controller.backlogs.masses import Mass
from skoupa.controller.state import (
    ACCEPT_USED,
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
from skoupa.judge.cascade import waived
from skoupa.kube.backoff import Backoff
from skoupa.kube.resources import Resource
from skoupa.settings import Settings

# With kinds that are counted when they come, or held by what is remembered.
PATIENCE_SECONDS: Final = 60.0
# With all of them where a setting gives old objects a time: what comes later is counted by itself, not with the others.
LONG_PATIENCE_SECONDS: Final = 300.0
# A list that fails once is read a moment later.
TELL_SECONDS: Final = 10.0
NOT_WRITTEN: Final = (
    "acceptBacklog (--accept-backlog) has no effect: that it counted can't be written down in the ConfigMap skoupa-state, so it "
    "would count at every start; start again once it can ({why})"
)


class FirstLook:
    """`failing` are kinds that can't be read so far; `first_readings` counts what can't be counted now.

    `accept_once` says whether `acceptBacklog` counts; `overdue`, how much would go then, and `allow` lets so much pass the ceilings.
    """

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
        failing: Callable[[], Collection[Resource]],
        accept_once: AcceptOnce,
        overdue: Callable[[], Awaitable[int]],
        allow: Callable[[int], Awaitable[None]],
        first_readings: Callable[[], FirstReadings],
    ) -> None:
        self._backlog = backlog
        self._state = state
        self._clock = clock
        self._settings = settings
        self._store = store
        self._acting = acting
        self._stopping = stopping
        self._failing = failing
        self._accept_once = accept_once
        self._overdue = overdue
        self._allow = allow
        self._first_readings = first_readings
        self.error: SkoupaError | None = None
        # Kinds that are waited for, and when that ends by the clock that never jumps: nothing goes until then.
        self.awaited: tuple[str, float] | None = None
        # Whether what the state tells of labellings is known: to write it before would be to forget it.
        self.knows_masses = False
        # When all that was overdue was last accepted.
        self._accepted_at = -math.inf
        # How many go since this start accepted them, or would if it enforced; None: it accepts nothing.
        self.accepted: int | None = None
        # Why a setting does not do what it says; empty: it does.
        self.doubt = ""

    async def assess(self) -> None:
        """After the state was read."""
        backlog, now = self._backlog, self._clock.now()
        accepted = self._state.get(ACCEPTED, int)
        if accepted is not None:
            self._accepted_at = accepted
            backlog.accept(accepted)
        backlog.remember(self._state.get(MASS_LABELLINGS, list[Mass]) or ())
        self.knows_masses = True
        held = self._state.get(FIRST_START, tuple[float, int])
        if held is not None and self._state.get(FIRST_SWEEP, int) is None and self._is_unaccepted(held):
            # Before anything is waited for: a Brake ends itself that stands for a backlog of which nothing is known.
            backlog.remember_first_start(*held)
        remembered = bool(backlog.masses)
        if remembered and await self._until_all_seen() and not self._first_readings().misses_something:
            backlog.end_what_is_over()
        if self._settings.accept_backlog:
            self.doubt = self._accept_once.doubt()
            if not self.doubt:
                await self._accept_all(now)
        elif (anew_from := self._accept_once.anew()) is not None:
            await self.put(ACCEPT_USED, anew_from)
        if accepted is not None or remembered:
            await self.put(MASS_LABELLINGS, backlog.masses)
        await self._assess_first_start()

    async def _accept_all(self, now: float) -> None:
        heaped = bool(self._backlog.masses) or self._state.get(FIRST_SWEEP, int) is None
        heaped = heaped or bool(self._state.get(READINGS_HELD, list[Any]))
        if self._settings.mode == "enforce" and not self._acting():
            self.doubt = NOT_WRITTEN.format(why="another replica leads by now")
            return
        if not await self.put_together({ACCEPTED: int(now), ACCEPT_USED: True}):
            self.doubt = NOT_WRITTEN.format(why=self.error)
            return
        self._accepted_at = now
        self._backlog.accept(now)
        await self._first_readings().accept()
        self.accepted = await self._overdue()
        if heaped and self._acting():
            try:
                await self._allow(self.accepted)
            except SkoupaError as error:
                self.error = error

    async def _assess_first_start(self) -> None:
        readings = msgspec.to_builtins(
            {
                "maximumLifetime": self._settings.ttl.maximum_lifetime,
                "compat": self._settings.compat,
                "ttl": self._settings.features.ttl,
                "retention": self._settings.features.retention,
            }
        )
        known = self._state.get(READINGS, dict[str, Any])
        if known is not None:
            known.setdefault("ttl", True)
            known.setdefault("retention", False)
        swept = self._state.get(FIRST_SWEEP, int) is not None
        anew = swept and known not in (None, readings) and self.accepted is None
        if not swept or anew:
            await self._count(anew=anew)
        if anew and not self._stopping() and not await self._first_readings().write_down():
            # Who starts next counts anew: what is not written down would go uncounted.
            return
        if known != readings and not self._stopping():
            await self.put(READINGS, readings)

    async def _count(self, *, anew: bool) -> None:
        held = None if anew else self._state.get(FIRST_START, tuple[float, int])
        unaccepted = anew or (held is not None and self._is_unaccepted(held))
        if held is not None and self._assess(held, anew=unaccepted):
            # Whoever keeps or deletes some of them has not let go the others.
            return
        if held is not None and unaccepted:
            # While it is waited for, its Brake stands.
            self._backlog.remember_first_start(*held)
        seen = await self._seen(anew=anew, held=held is not None and unaccepted)
        if self._stopping() or self._is_released(anew=anew):
            return
        if anew:
            # In the same moment: what is read a moment later is in neither count else.
            self._first_readings().count_again()
        count = self._assess(held, anew=unaccepted)
        now = self._clock.now()
        if count and held is None:
            await self.put(FIRST_START, (now - OVERDUE_SECONDS, count))
            if anew:
                await self.put(FIRST_SWEEP, None)
        elif not count and held is not None and not seen:
            # What is left of it may be of a kind that can't be read now, and was before.
            self._backlog.remember_first_start(*held)
        elif not count:
            await self.put(FIRST_SWEEP, int(now))

    def _is_released(self, *, anew: bool) -> bool:
        """Whether somebody let it go while it was waited for; what is counted anew nobody has seen yet."""
        return not anew and self._state.get(FIRST_SWEEP, int) is not None

    def _is_unaccepted(self, held: tuple[float, int]) -> bool:
        """Whoever accepted a backlog has not seen one that was found later."""
        return self._accepted_at < held[0] + OVERDUE_SECONDS

    def _assess(self, held: tuple[float, int] | None, *, anew: bool) -> int:
        if held is not None:
            self._backlog.remember_first_start(*held)
        return self._backlog.assess_first_start(self._store, self._clock.now(), anew=anew)

    async def _seen(self, *, anew: bool, held: bool) -> bool:
        """Whether all is that this count needs."""
        if anew:
            return await self._until_all_seen(LONG_PATIENCE_SECONDS)
        if self._accepted_at > -math.inf and not held:
            return True
        return await self._until_all_seen(waived_too=held)

    async def _until_all_seen(self, seconds: float = PATIENCE_SECONDS, *, waived_too: bool = True) -> bool:
        """Whether all is, as far as it is waited for."""
        began = self._clock.monotonic()
        while (kinds := self._unseen(waived_too=waived_too)) and not self._stopping():
            now = self._clock.monotonic()
            if now - began >= seconds:
                break
            if now - began >= TELL_SECONDS:
                self.awaited = (", ".join(kinds), began + seconds)
            await self._clock.sleep(1.0)
        self.awaited = None
        return not kinds

    def _unseen(self, *, waived_too: bool) -> list[str]:
        ignored = () if waived_too else self._settings.cascade.ignore_kinds
        return sorted({kind.qualified for kind in self._failing() if not waived(kind, ignored)})

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

    async def write_masses(self) -> SkoupaError | None:
        """Once more at an orderly end: labels of which the server does not tell when they were written are late only here."""
        if not self.knows_masses or not self._backlog.masses:
            return None
        return None if await self.put(MASS_LABELLINGS, self._backlog.masses) else self.error

    async def put(self, key: str, value: Any) -> bool:
        return await self.put_together({key: value})

    async def put_together(self, values: Mapping[str, Any]) -> bool:
        """Writes state, where this process may write at all; whether nothing is left to be written."""
        if not self._acting():
            return True
        try:
            await self._state.put_together(values)
        except SkoupaError as error:
            self.error = error
            return False
        return True
