"""The Tenants of a cluster, as a command finds them, and what one had as a plan."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from itertools import chain
from typing import Any

import msgspec

from skoupa import names
from skoupa.cli.tenants.company import in_company
from skoupa.cli.tenants.grants import grants_elsewhere
from skoupa.cli.tenants.guarded import Guarded
from skoupa.cli.tenants.inside import for_claims_in, stays_inside
from skoupa.controller.weighing.counting import Counting
from skoupa.controller.weighing.weight import count_inside
from skoupa.errors import NotFound, SkoupaError, UsageError
from skoupa.facts.rows import Extraction, uid_text
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything, pages
from skoupa.kube.objects import METADATA, WHOLE, Partial
from skoupa.settings import Settings
from skoupa.tenants.blocking import blocked
from skoupa.tenants.census import Belonging, Census, Kept
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.order import step
from skoupa.tenants.reading import take_census
from skoupa.tenants.selected import Selected
from skoupa.tenants.sharing import shared_by
from skoupa.tenants.tenant import Tenant, read_tenant


class Going(msgspec.Struct, frozen=True, kw_only=True):
    """One that would go: in which step, and how many objects are in it, None: none can be."""

    belonging: Belonging
    step: int
    inside: int | None = None


class TenantPlan(msgspec.Struct, frozen=True, kw_only=True):
    """`refused` says why nothing would go, `blocked` why nothing does as things are now. `grants` are bindings elsewhere that name its accounts or Namespaces."""

    tenant: Tenant
    there: bool
    refused: str
    blocked: str = ""
    going: tuple[Going, ...]
    kept: tuple[Kept, ...]
    labelled_keep: int
    grants: tuple[str, ...]
    gaps: tuple[str, ...]


def named(name: str) -> str:
    """What was typed, if it may be a name at all: without one the server would tell of all Tenants."""
    if not name.strip():
        raise UsageError(f"{name!r} is no name of a Tenant", advice="kubectl get tenants lists them")
    return name


async def tenant_there(client: Client, name: str) -> dict[str, Any]:
    """As the server has it."""
    try:
        found: dict[str, Any] = await client.get(TENANTS, name, view=WHOLE)
    except NotFound as error:
        raise UsageError(
            f"there is no Tenant {name}",
            advice=f"kubectl get tenants lists them; what is left of one that is gone: skoupa tenant plan {name}",
        ) from error
    return found


async def tenants_of(client: Client) -> list[Tenant]:
    """All of them; a cluster without the kind has none, and one in a namespace is nobody that counts."""
    try:
        found = await everything(client, TENANTS, WHOLE)
    except NotFound:
        return []
    if found.undecodable:
        raise SkoupaError(f"a Tenant can't be understood: {found.undecodable[0].why}")
    return [read_tenant(one) for one in found.items if not one["metadata"].get("namespace")]


async def plan_of(client: Client, name: str, settings: Settings) -> TenantPlan:
    tenants = await tenants_of(client)
    known = next((one for one in tenants if one.name == name), None)
    tenant = known or Tenant(name=name, uid="")
    everybody = tenants if known is not None else [*tenants, tenant]
    refused = refusal(tenant, Ids(everybody), settings=settings.tenants, protect=settings.protect)
    if refused:
        # What names like those would mean is nobody's to tell.
        return TenantPlan(
            tenant=tenant,
            there=known is not None,
            refused=refused,
            going=(),
            kept=(),
            labelled_keep=0,
            grants=(),
            gaps=(),
        )
    census = await take_census(client, everybody, settings=settings.tenants, wanted=[name])
    return await _planned(client, census, tenant, settings, there=known is not None)


async def plan_of_selected(client: Client, selector: str, settings: Settings) -> TenantPlan:
    """What a tenant would have whose rule is that label; there is no such Tenant."""
    tenants = await tenants_of(client)
    rule = Selected(settings.tenants, tenants, selector)
    tenant = Tenant(name=rule.tenant, uid="")
    census = await take_census(
        client, tenants, settings=settings.tenants, wanted=[tenant.name], ownership=rule
    )
    return await _planned(client, census, tenant, settings, there=False)


async def _planned(
    client: Client, census: Census, tenant: Tenant, settings: Settings, *, there: bool
) -> TenantPlan:
    name = tenant.name
    belongings = census.of(name)
    protected = _protected(belongings, settings, client.clock.now())
    going = [one for one in belongings if not one.is_shared and one.uid not in protected]
    unsure: tuple[str, ...] = ()
    used: tuple[Kept, ...] = ()
    if settings.tenants.keep_used:
        others = await shared_by(client, census, going, going=[name])
        used = tuple(
            Kept(called=one.called, tenants=(name,), why=others.used[one.uid])
            for one in going
            if one.uid in others.used
        )
        unsure = tuple(
            f"{one.called}: {others.unknown[one.uid]}" for one in going if one.uid in others.unknown
        )
        going = [one for one in going if one.uid not in others.used]
    company, gaps_of_company = await in_company(client, census, name, going)
    going = [one for one in going if one.uid not in company]
    insides, gaps_of_insides = await stays_inside(client, census, tenant, going, settings=settings)
    going = [one for one in going if one.uid not in insides]
    waiting = for_claims_in([*protected.values(), *insides.values()], going)
    going = [one for one in going if one.uid not in waiting]
    shared = tuple(
        Kept(called=one.called, tenants=(name,), why=f"it has the label {names.SHARED_LABEL}")
        for one in belongings
        if one.is_shared
    )
    kept_inside, gaps_of_keeps = await _labelled_keep(client, census, name, going)
    grants, gaps_of_grants = await grants_elsewhere(client, census, name)
    number = sum(not one.is_shared for one in belongings) - len(used)
    nothing = blocked(census, name, number, settings.tenants)
    stays = (used, protected.values(), company.values(), insides.values(), waiting.values())
    gaps = (census.missing(), unsure, gaps_of_company, gaps_of_insides, gaps_of_keeps, gaps_of_grants)
    return TenantPlan(
        tenant=tenant,
        there=there,
        refused="",
        blocked=nothing[1] if nothing is not None else "",
        going=tuple(await _weighed(client, census, going)),
        kept=(*census.disputed_with(name), *shared, *chain.from_iterable(stays)),
        labelled_keep=kept_inside,
        grants=grants,
        gaps=tuple(dict.fromkeys(chain.from_iterable(gaps))),
    )


def _protected(belongings: Sequence[Belonging], settings: Settings, now: float) -> dict[str, Kept]:
    """By uid: what the settings, or being Skoupa's own, keep from going with any tenant."""
    guarded = Guarded(settings)
    found = {
        one.uid: guarded.from_tenants(guarded.row(one.resource, one.metadata), now)
        for one in belongings
        if not one.is_shared
    }
    return {
        one.uid: Kept(called=one.called, tenants=(one.tenant,), why=why)
        for one in belongings
        if (why := found.get(one.uid))
    }


async def _weighed(client: Client, census: Census, going: Sequence[Belonging]) -> list[Going]:
    rows = Extraction()
    containers = [rows.row(one.resource, Partial(metadata=one.metadata)) for one in going]
    weights = await count_inside(containers, counting=Counting(client), discovery=census.discovery)
    inside = {uid_text(uid): weight.total for uid, weight in weights.items()}
    found = [
        Going(belonging=one, step=step(one, census.ownership), inside=inside.get(one.uid)) for one in going
    ]
    return sorted(
        found, key=lambda one: (one.step, one.belonging.resource.qualified, one.belonging.metadata.name)
    )


async def _labelled_keep(
    client: Client, census: Census, name: str, going: Sequence[Belonging]
) -> tuple[int, list[str]]:
    """How many of what goes has a keep label, which does not hold against this."""
    number = sum(_keeps(one.metadata.labels) for one in going)
    gaps: list[str] = []
    for resource in census.discovery.preferred():
        if not resource.namespaced or not resource.may("list"):
            continue
        try:
            async with aclosing(
                pages(client, resource, METADATA, scope=Scope(labels=names.KEEP_LABEL))
            ) as listing:
                found = 0
                async for page in listing:
                    found = (0 if page.first else found) + sum(
                        census.ownership.in_namespace(one.metadata.namespace) == {name}
                        and _keeps(one.metadata.labels)
                        for one in page.items
                    )
                number += found
        except SkoupaError as error:
            gaps.append(f"{resource.qualified} with {names.KEEP_LABEL} ({error.brief})")
    return number, gaps


def _keeps(labels: dict[str, str] | None) -> bool:
    return (labels or {}).get(names.KEEP_LABEL, "false") != "false"
