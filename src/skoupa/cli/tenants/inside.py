"""Namespaces that stay for what is inside them: looked into as the controller does right before it deletes one.

What is protected or shared in it holds it, and a volume for a claim in it that is not the tenant's alone; a volume of the tenant's for a
claim in a Namespace that stays, stays with it. Brakes are not asked: they say what stands still now, and not what belongs to whom.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from skoupa.controller.tenancy.last_look import LastLook
from skoupa.facts.rows import Extraction
from skoupa.judge.brakes import NO_BRAKES, BrakeGuard
from skoupa.judge.protection import Protection
from skoupa.judge.tenants import NAME, TenantMechanism
from skoupa.kube.client import Client
from skoupa.kube.objects import Partial
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim
from skoupa.settings import Settings
from skoupa.sweep.parents import FreshLook
from skoupa.tenants.census import Belonging, Census, Kept
from skoupa.tenants.ownership import is_namespace
from skoupa.tenants.tenant import Tenant

# As many as are looked into at the same time.
_AT_A_TIME: Final = 32
# Nobody knows whether anything is in there that keeps it.
_UNREAD: Final = frozenset({"keeps-unknown", "tenant-unsure"})


async def stays_inside(
    client: Client, census: Census, tenant: Tenant, going: Sequence[Belonging], *, settings: Settings
) -> tuple[dict[str, Kept], list[str]]:
    """By uid, those of `going` that stay with what is in there, and what could not be looked into."""
    places = [one for one in going if is_namespace(one.resource)]
    look = _Look(client, census, tenant, settings)
    waiting = iter(places)

    async def work() -> None:
        for place in waiting:
            await look.into(place)

    async with asyncio.TaskGroup() as group:
        for _ in range(min(_AT_A_TIME, len(places))):
            group.create_task(work())
    return look.found, list(look.gaps.values())


def for_claims_in(places: Iterable[Kept], going: Sequence[Belonging]) -> dict[str, Kept]:
    """By uid, volumes for claims in those of `places` that are Namespaces: without the volume their data would go."""
    staying = {one.called for one in places}
    found = {}
    for one in going:
        place = f"Namespace {one.claimed_in}"
        if one.claimed_in and place in staying:
            why = f"it is for a claim in the {place}, which stays"
            found[one.uid] = Kept(called=one.called, tenants=(one.tenant,), why=why)
    return found


class _Look:
    def __init__(self, client: Client, census: Census, tenant: Tenant, settings: Settings) -> None:
        self._client = client
        self._census = census
        self._tenant = tenant
        protection = Protection(
            settings.protect, namespace_label=lambda _: None, home=settings.lease.namespace
        )
        self._last = LastLook(
            client,
            TenantMechanism(),
            settings=settings,
            protection=protection,
            kind=lambda: None,
            discovery=lambda: census.discovery,
            waits=lambda _: "",
        )
        self._last.suppose(tuple(census.tenants.values()), census.ownership)
        self._extraction = Extraction()
        self._fresh = FreshLook(
            client,
            protection=protection,
            brakes=BrakeGuard(lambda: NO_BRAKES),
            extraction=self._extraction,
            ignore=settings.cascade.ignore_kinds,
            of_tenant=self._last.inside,
        )
        self.found: dict[str, Kept] = {}
        self.gaps: dict[str, str] = {}

    async def into(self, place: Belonging) -> None:
        row = self._extraction.row(place.resource, Partial(metadata=place.metadata))
        claim = Claim(
            mechanism=NAME,
            rule=self._tenant.rule,
            due=0.0,
            reason=reason("tenant-gone", tenant=self._tenant.name, proof=place.proof),
            propagation="Orphan",
        )
        now = self._client.clock.now()
        holds = await self._fresh.inside(row, claim, discovery=self._census.discovery, now=now)
        told = [one.reason for one in (*holds, *await self._last.around(row, claim))]
        known = [one for one in told if one.code not in _UNREAD]
        if known:
            self.found[place.uid] = Kept(
                called=place.called, tenants=(self._tenant.name,), why=render(known[0])
            )
        for facts in (dict(one.facts) for one in told if one.code in _UNREAD):
            # Of each kind once: what may not be read in one place may seldom be in another.
            kinds = facts.get("kinds", "what their volumes are for")
            self.gaps.setdefault(kinds, f"{kinds} ({facts['why']})")
