"""All kinds read, for all tenants that are under way together: what of each is left, who else uses it, what Namespaces wait for.

While something is certain to be there still nothing is read to learn that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.tenancy.deletion import Deletion
from skoupa.controller.tenancy.inside import inside_namespaces
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.settings import Settings
from skoupa.tenants.census import Census, take_census
from skoupa.tenants.ownership import Ownership
from skoupa.tenants.sharing import shared_by
from skoupa.tenants.tenant import Tenant

_OBSERVED_SECONDS: Final = 600.0


class TenantCounting:
    """`on_counted` hears what was told of Namespaces; who is not `acting` looks seldom."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        acting: Callable[[], bool],
        on_counted: Callable[[Ownership], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._settings = settings
        self._acting = acting
        self._on_counted = on_counted

    async def all_hang(self, deletions: Sequence[Deletion]) -> bool:
        """Whether of each something is certain to be there still: then all kinds need not be read to learn that."""
        for deletion in deletions:
            if not await self._hangs(deletion):
                return False
        for deletion in deletions:
            deletion.plan_look()
        return True

    async def _hangs(self, deletion: Deletion) -> bool:
        for one in deletion.hanging():
            try:
                found = await self._client.find(one.resource, one.metadata.name, view=METADATA)
            except SkoupaError:
                continue
            if found.metadata.uid == one.uid:
                return True
        return False

    async def count(self, under_way: Sequence[Deletion], tenants: Sequence[Tenant]) -> None:
        at = self._clock.now()
        census = await take_census(
            self._client,
            tenants,
            settings=self._settings.tenants,
            wanted=[one.tenant.name for one in under_way],
        )
        self._on_counted(census.ownership)
        for deletion in under_way:
            deletion.counted(census, at)
        if self._settings.tenants.keep_used:
            await self._ask_for_users(census, under_way)
        for deletion in under_way:
            deletion.settled()
            deletion.inside = await inside_namespaces(self._client, deletion.left, now=at)
            if not self._acting():
                deletion.plan_look(_OBSERVED_SECONDS)

    async def _ask_for_users(self, census: Census, under_way: Sequence[Deletion]) -> None:
        """Of what may go at all."""
        going = [one for one in under_way if one.blocked(self._settings.tenants) is None]
        asked = [one for deletion in going for one in deletion.to_send()]
        shared = await shared_by(self._client, census, asked, going=[one.tenant.name for one in going])
        for deletion in going:
            deletion.answered(used=shared.used, unknown=shared.unknown)
