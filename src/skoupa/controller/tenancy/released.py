"""Where the feature is off, Tenants are let go: finalizers that it once put on are taken off, and nothing else is done.

KubeZoo's own finalizer is taken off where we put it on, as far as the server tells who did: what another program wrote stays its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.tenancy.book import kind_in
from skoupa.errors import Conflict, Forbidden, NotFound, SkoupaError
from skoupa.facts.store import Delta
from skoupa.kinds.tenant import own_finalizers
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.settings import Settings

_DENIED: Final = "no permission to list and patch tenants.tenant.kubezoo.io: finalizers of features.tenants, which is off, can't be taken off"


class ReleasedTenants:
    """`told` hears in words what can't be done for lack of rights."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        standing_by: Callable[[], bool],
        told: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._enforcing = settings.mode == "enforce" and not settings.namespaces
        self._knowledge = knowledge
        self._standing_by = standing_by
        self._told = told
        self._leads = self._done = False
        self._woken = asyncio.Event()
        self.error: SkoupaError | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        """It follows nothing."""

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow()]

    def arrange(self) -> None:
        """After every look at the kinds: Tenant may be one of them by now."""
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
        while self._enforcing:
            await self._woken.wait()
            self._woken.clear()
            if not self._leads or self._standing_by() or self._done:
                continue
            try:
                await self._release()
            except Forbidden:
                self._told(_DENIED)
                self._done = True
            except SkoupaError as error:
                self.error = error
                self._woken.set()
                await self._clock.sleep(backoff.next())
            else:
                self.error = None
                backoff.reset()

    async def _release(self) -> None:
        kind = kind_in(self._knowledge.discovery)
        if kind is None:
            return
        for found in (await everything(self._client, kind, METADATA)).items:
            metadata = found.metadata
            before = list(metadata.finalizers or ())
            ours = own_finalizers(metadata)
            left = [one for one in before if one not in ours]
            if left == before:
                continue
            patch = {
                "uid": metadata.uid,
                "resourceVersion": metadata.resource_version,
                "finalizers": left or None,
            }
            try:
                await self._client.merge_patch(kind, metadata.name, {"metadata": patch})
            except NotFound:
                continue
            except Conflict:
                # Somebody wrote in between: all are looked at once more.
                self._woken.set()
        # One that is made from here on gets none.
        self._done = not self._woken.is_set()
