"""Hears of kinds that come and go: definitions and API services are watched, all else about them is left to discovery.

Where they can't be watched, kinds are still looked at now and then; that is the poorer way, and is said. Nothing here
holds anything: a kind that nobody has noticed yet is late, not lost.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource

# How often kinds are looked at without a hint, and how often a right to be told is tried again.
POLL_SECONDS: Final = 300.0
# A watch that breaks and stands again within seconds is nobody's business.
LASTING_SECONDS: Final = 10.0


class KindNews:
    """`changed` hears of each change; `poorer` has the words for what can't be watched now, by this one and others."""

    def __init__(
        self, client: Client, resource: Resource, *, changed: Callable[[], None], poorer: set[str]
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._resource = resource
        self._changed = changed
        self._poorer = poorer
        self._said = ""
        self._behind_since: float | None = None
        self._synced = False

    async def follow(self) -> None:
        """Ends only where the server has no such thing."""
        while not await self._follow_once():
            await self._clock.sleep(POLL_SECONDS)

    async def _follow_once(self) -> bool:
        """Until it is refused; whether there is nothing to follow."""
        events = watch.watch(self._client, self._resource, METADATA)
        async with aclosing(events):
            async for event in events:
                match event:
                    case watched.Interrupted(error, _) if isinstance(error, NotFound):
                        # A server without definitions or aggregation has no kinds that come and go that way.
                        return True
                    case watched.Interrupted(error, _):
                        self._note(error)
                        if isinstance(error, Forbidden):
                            return False
                    case watched.Synced():
                        self._well()
                        if self._synced:
                            self._changed()
                        self._synced = True
                    case watched.Changed():
                        self._well()
                        self._changed()
                    case watched.Progressed() | watched.Resumed():
                        self._well()
                    case _:
                        pass
        return False

    def _note(self, error: SkoupaError) -> None:
        now = self._clock.monotonic()
        if self._behind_since is None:
            self._behind_since = now
        refused = isinstance(error, Forbidden)
        if self._said or not (refused or now - self._behind_since >= LASTING_SECONDS):
            return
        kind, minutes = self._resource.qualified, f"{POLL_SECONDS / 60:.0f}"
        why = (isinstance(error, ApiError) and error.status.message) or error.message
        what = f"no permission to watch {kind}" if refused else f"{kind} can't be watched ({why})"
        self._said = f"{what}: new kinds are noticed every {minutes} min"
        self._poorer.add(self._said)

    def _well(self) -> None:
        self._behind_since = None
        self._poorer.discard(self._said)
        self._said = ""
