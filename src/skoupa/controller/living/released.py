"""Where the feature is off, Alive is let go: Skoupa's own finalizer is taken off, once, and nothing else is done.

It signals nothing: Alive is neither made nor deleted here, and finalizers of participants stay where they are. Where its deletion was
asked for, and only our finalizer is left, that deletion is over with it; this is written down before, as it would be with the feature on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from skoupa import names
from skoupa.alive.reading import read_alive
from skoupa.clock import Clock
from skoupa.controller.living.existence import Existence
from skoupa.controller.living.statistics import Statistics, statistics
from skoupa.errors import Conflict, Forbidden, NotFound, SkoupaError
from skoupa.facts.store import Delta
from skoupa.kinds.alive import ALIVES
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.settings import Settings

_DENIED: Final = "no permission to get and patch alives.skoupa.dev: the finalizer of features.alive, which is off, can't be taken off"


class ReleasedAlive:
    """`told` hears in words what can't be done for lack of rights."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        existence: Existence,
        standing_by: Callable[[], bool],
        told: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._enforcing = settings.mode == "enforce" and not settings.namespaces
        self._existence = existence
        self._standing_by = standing_by
        self._told = told
        self._leads = self._done = False
        self._woken = asyncio.Event()
        self.error: SkoupaError | None = None

    @property
    def announced(self) -> str:
        """Nobody looks after it here."""
        return ""

    def statistics(self) -> Statistics:
        return statistics(None, guarded=False)

    def open(self, group: asyncio.TaskGroup) -> None:
        """It follows nothing."""

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow()] if self._enforcing else []

    def arrange(self) -> None:
        """A kind that comes later has no Alive of ours."""

    def take_over(self) -> None:
        self._leads, self._done = True, False
        self._woken.set()

    def learn(self, deltas: Sequence[Delta]) -> None:
        """It is no object that a feed tells of."""

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
                await self._release()
                self._done = True
            except Forbidden:
                if self._existence.known:
                    # Of one that we never looked after nothing has to be taken off.
                    self._told(_DENIED)
                self._done = True
            except SkoupaError as error:
                # Somebody wrote it meanwhile: that is no trouble.
                self.error = None if isinstance(error, Conflict) else error
                self._woken.set()
                await self._clock.sleep(backoff.next())
            else:
                self.error = None
                backoff.reset()

    async def _release(self) -> None:
        try:
            found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
        except NotFound:
            await self._existence.gone_unwatched()
            return
        alive = read_alive(found)
        if names.ALIVE_FINALIZER not in alive.finalizers:
            if alive.since is None:
                await self._existence.forget(alive)
        elif alive.since is None:
            await self._existence.take_off(alive)
            await self._existence.forget(alive)
        elif alive.waited_for:
            # It is remembered that this one is going: whoever switches the feature on again brings none back.
            await self._existence.note(alive)
            await self._existence.take_off(alive)
        else:
            await self._existence.end(alive)
