"""Where the feature is off, Tenants are let go: finalizers that it once put on are taken off, and nothing else is done.

KubeZoo's own finalizer is taken off where we put it on, as far as the server tells who did: what another program wrote stays its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.releasing import Releasing
from skoupa.controller.tenancy.book import kind_in
from skoupa.errors import Conflict, NotFound
from skoupa.kinds.tenant import own_finalizers
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.settings import Settings

_DENIED: Final = "no permission to list and patch tenants.tenant.kubezoo.io: finalizers of features.tenants, which is off, can't be taken off"


class ReleasedTenants(Releasing):
    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
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
        self._knowledge = knowledge

    @property
    def announced(self) -> tuple[str, ...]:
        """Nobody looks after them here."""
        return ()

    def _what_for(self) -> str:
        return _DENIED

    async def _let_go(self) -> bool:
        """One that is made from here on gets none."""
        kind = kind_in(self._knowledge.discovery)
        if kind is None:
            return False
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
        return not self._woken.is_set()
