"""All kinds read, for all tenants that are under way together: what of each is left, who else uses it, what Namespaces wait for.

While something is certain to be there still nothing is read to learn that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.tenancy.deletion import HANGING, Deletion
from skoupa.controller.tenancy.inside import inside_namespaces
from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.settings import Settings
from skoupa.tenants.census import Belonging, Census
from skoupa.tenants.labels import labelled
from skoupa.tenants.ownership import Ownership
from skoupa.tenants.reading import take_census
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
        known: Callable[[], Discovery],
        on_counted: Callable[[Ownership], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._settings = settings
        self._acting = acting
        self._known = known
        self._on_counted = on_counted

    async def all_hang(self, deletions: Sequence[Deletion]) -> bool:
        """Whether of each something is certain to be there still, or has just gone: then all kinds need not be read to learn that."""
        looking = _Looking(self._client, deletions)
        for deletion in deletions:
            # Where the last of it has just gone, a reading would only have to be repeated.
            if not deletion.is_restless and not await looking.hangs(deletion):
                return False
        for deletion in deletions:
            deletion.plan_look()
        return True

    async def count(
        self, looked_at: Sequence[Deletion], under_way: Sequence[Deletion], tenants: Sequence[Tenant]
    ) -> None:
        """Of all that are `under_way`; where all that have to be looked at are new a label tells of these what can be sent at once."""
        at, began = self._clock.now(), self._clock.monotonic()
        labels = self._by_label(looked_at)
        claims = {uid: name for one in under_way for uid, name in one.bound.items()}
        under_way, others = (looked_at, under_way) if labels else (under_way, under_way)
        census = await take_census(
            self._client,
            tenants,
            settings=self._settings.tenants,
            wanted=[one.tenant.name for one in under_way],
            ownership=Ownership(self._settings.tenants, tenants, claims=claims),
            # Where nothing is to be sent any more nobody has to be asked either.
            ask_for_users=self._settings.tenants.keep_used
            and any(one.census is None or one.to_send() for one in under_way),
            labels=labels,
            known=self._known(),
        )
        self._on_counted(census.ownership)
        for deletion in under_way:
            deletion.counted(census, at, began=began)
        if self._settings.tenants.keep_used:
            await self._ask_for_users(census, under_way, others)
        for deletion in under_way:
            deletion.settled()
            deletion.inside = await inside_namespaces(self._client, deletion.left, now=at)
            if not self._acting():
                deletion.plan_look(_OBSERVED_SECONDS)

    def _by_label(self, looked_at: Sequence[Deletion]) -> str:
        """The selector of a first reading; every other is whole, and only such a one tells that nothing is left."""
        if not all(one.is_new for one in looked_at):
            return ""
        return labelled(self._settings.tenants.label, [one.tenant.name for one in looked_at])

    async def _ask_for_users(
        self, census: Census, under_way: Sequence[Deletion], others: Sequence[Deletion]
    ) -> None:
        """Of what may go at all; who goes with one of the `others` is nobody else."""
        going = [one for one in under_way if one.blocked(self._settings.tenants) is None]
        asked = [one for deletion in going for one in deletion.to_send()]
        along = [
            one for one in others if one.census is not None and one.blocked(self._settings.tenants) is None
        ]
        shared = await shared_by(self._client, census, asked, going=[one.tenant.name for one in along])
        for deletion in going:
            deletion.answered(used=shared.used, unknown=shared.unknown)


class _Looking:
    """For some of each deletion, one by one; a kind of which many would be looked for is listed once, for the time that this takes."""

    def __init__(self, client: Client, deletions: Sequence[Deletion]) -> None:
        self._client = client
        self._most = max(1, HANGING // len(deletions))
        firsts = [found[0].resource for one in deletions if (found := one.hanging()) and not one.is_restless]
        self._many = {kind.qualified for kind, number in Counter(firsts).items() if number > HANGING}
        self._listed: dict[str, frozenset[str] | None] = {}

    async def hangs(self, deletion: Deletion) -> bool:
        for one in deletion.hanging()[: self._most]:
            there = await self._is_there(one)
            if there is False:
                deletion.gone(one.uid)
                if deletion.is_restless:
                    return True
            elif there:
                deletion.hangs(one.uid)
                return True
        return False

    async def _is_there(self, one: Belonging) -> bool | None:
        """None: nobody can tell."""
        if one.resource.qualified in self._many:
            there = await self._all_of(one.resource)
            return None if there is None else one.uid in there
        try:
            found = await self._client.find(one.resource, one.metadata.name, view=METADATA)
        except NotFound:
            return False
        except SkoupaError:
            return None
        return True if found.metadata.uid == one.uid else None

    async def _all_of(self, resource: Resource) -> frozenset[str] | None:
        kind = resource.qualified
        if kind not in self._listed:
            try:
                found = await everything(self._client, resource, METADATA)
            except SkoupaError:
                self._listed[kind] = None
            else:
                uids = frozenset(item.metadata.uid for item in found.items)
                self._listed[kind] = None if found.undecodable else uids
        return self._listed[kind]


def postponed(looked_at: Sequence[Deletion], under_way: Sequence[Deletion]) -> bool:
    """Whether those that are to be looked for wait for others, of which something goes from moment to moment."""
    if not any(one.is_busy for one in under_way):
        return False
    told = [one.postpone() for one in looked_at]
    return all(told)
