"""Where the feature is off, Alive is let go: Skoupa's own finalizer is taken off, once, and nothing else is done.

It signals nothing: Alive is neither made nor deleted here, and finalizers of participants stay where they are. Where its deletion was
asked for, and only our finalizer is left, that deletion is over with it; this is written down before, as it would be with the feature on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.alive.reading import read_alive
from skoupa.controller.living.existence import Existence
from skoupa.controller.living.statistics import Statistics, statistics
from skoupa.controller.releasing import Releasing
from skoupa.errors import NotFound
from skoupa.kinds.alive import ALIVES
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.settings import Settings

_DENIED: Final = "no permission to get and patch alives.skoupa.dev: the finalizer of features.alive, which is off, can't be taken off"


class ReleasedAlive(Releasing):
    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        existence: Existence,
        standing_by: Callable[[], bool],
        told: Callable[[str], None],
    ) -> None:
        super().__init__(
            clock=client.clock,
            settings=settings,
            standing_by=standing_by,
            told=told,
            release=self._let_go,
            denied=self._what_for,
        )
        self._client = client
        self._existence = existence

    @property
    def announced(self) -> str:
        """Nobody looks after it here."""
        return ""

    def statistics(self) -> Statistics:
        return statistics(None, guarded=False)

    def _what_for(self) -> str:
        # Of one that we never looked after nothing has to be taken off.
        return _DENIED if self._existence.known else ""

    async def _let_go(self) -> bool:
        """A kind that comes later has no Alive of ours."""
        try:
            found = await self._client.get(ALIVES, names.ALIVE_NAME, view=WHOLE)
        except NotFound:
            await self._existence.gone_unwatched()
            return True
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
        return True
