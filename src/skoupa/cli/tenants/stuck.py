"""What of a deleted tenant hangs on finalizers of others, and which of these may be taken off by force.

Only of a Tenant whose deletion is under way in every respect (not refused, confirmed, its grace over), of what is the tenant's by the
rule, on its way out for a while, and neither kept, protected, shared, used by others nor held by a Brake. Where it is not known whose
something is, none may. All of that is asked of each object once more right before (`Stuck.still`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from skoupa import names
from skoupa.cli.tenants.guarded import Guarded
from skoupa.cli.tenants.register import tenant_there, tenants_of
from skoupa.cli.worlds import World
from skoupa.controller.braking.look import look as look_for_brakes
from skoupa.controller.tenancy.definition import GOING, definition_stands
from skoupa.controller.tenancy.standings import readiness
from skoupa.expr.durations import render_duration
from skoupa.facts.rows import Row
from skoupa.judge.brakes import BrakeGuard, Pulled
from skoupa.judge.tenants import NAME
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim
from skoupa.settings import Settings
from skoupa.tenants.census import Belonging, Census
from skoupa.tenants.foreign import Hanging, hanging_inside, hanging_of, whose
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.ownership import Belongs, Candidate, is_namespace
from skoupa.tenants.reading import take_census
from skoupa.tenants.sharing import Shared, shared_by
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.volumes import VIEWS, Data, stands_for


class Stuck(msgspec.Struct, frozen=True, kw_only=True):
    """One finalizer of one object; `why` it stays, empty: it may be taken off. `own`: Kubernetes or Skoupa put it on."""

    hanging: Hanging
    finalizer: str
    why: str = ""
    own: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.hanging.metadata.uid, self.finalizer

    def claim(self, tenant: Tenant) -> Claim:
        hanging = self.hanging
        return Claim(
            mechanism=NAME,
            rule=tenant.rule,
            due=tenant.deleted_at,
            reason=reason(
                "tenant-finalizer-forced",
                tenant=tenant.name,
                proof=hanging.proof,
                finalizer=self.finalizer,
                since=whole_seconds(hanging.since),
            ),
        )


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`refused`: why none may be taken off at all."""

    tenant: Tenant
    census: Census | None = None
    found: tuple[Stuck, ...] = ()
    gaps: tuple[str, ...] = ()
    refused: str = ""

    @property
    def stuck(self) -> tuple[Stuck, ...]:
        return tuple(one for one in self.found if not one.why)

    @property
    def left(self) -> tuple[Stuck, ...]:
        return tuple(one for one in self.found if one.why)

    @property
    def holds_some(self) -> bool:
        """Whether somebody has to decide about some of those that stay on: nobody takes them off by itself."""
        return any(not one.own for one in self.left)


class Looking:
    """`shortest`: what is on its way out for less than so many seconds may still be cleaned up by whom it waits for."""

    def __init__(self, world: World, name: str, settings: Settings, *, shortest: int) -> None:
        self._world = world
        self._client = world.client
        self._name = name
        self._settings = settings
        self._shortest = shortest
        self.brakes = BrakeGuard(lambda: self._pulled)
        self._pulled = Pulled(unknown="they are not read yet")

    async def look(self) -> Look:
        await tenant_there(self._client, self._name)
        tenants, tenant, why = await self.tenant()
        if why:
            return Look(tenant=tenant, refused=why)
        census = await take_census(
            self._client, tenants, settings=self._settings.tenants, wanted=[self._name]
        )
        if unknown := _unknown(census, self._name):
            return Look(tenant=tenant, census=census, refused=unknown)
        await self.read_brakes(census.discovery)
        inside, gaps = await hanging_inside(self._client, census, self._name)
        all_of_it = [*hanging_of(census, self._name), *inside]
        used = await self._used(census)
        guarded = Guarded(self._settings, namespace_keeps=_keeps(census.of(self._name)))
        found = [
            self._judged(one, finalizer, tenant=tenant, used=used, guarded=guarded)
            for one in sorted(all_of_it, key=lambda one: (one.since, one.called))
            for finalizer in one.metadata.finalizers or ()
        ]
        return Look(tenant=tenant, census=census, found=tuple(found), gaps=(*census.missing(), *gaps))

    async def tenant(self) -> tuple[list[Tenant], Tenant, str]:
        """All that there are, the one that is meant, and why nothing of it may be forced now; empty: it may."""
        tenants = await tenants_of(self._client)
        tenant = next((one for one in tenants if one.name == self._name), Tenant(name=self._name, uid=""))
        if not await definition_stands(self._client):
            return tenants, tenant, GOING
        return tenants, tenant, self._not_now(tenant, tenants)

    def _not_now(self, tenant: Tenant, tenants: Sequence[Tenant]) -> str:
        settings = self._settings
        if not tenant.is_leaving:
            return (
                f"the Tenant {tenant.name} is not being deleted; skoupa tenant delete {tenant.name} does that"
            )
        if not tenant.is_ours:
            return f"the Tenant {tenant.name} has no finalizer of Skoupa any more, so that what it had stays"
        if why := refusal(tenant, Ids(tenants), settings=settings.tenants, protect=settings.protect):
            return f"nothing goes with the Tenant {tenant.name}: {why}"
        return readiness(tenant, settings=settings, now=self._world.now()).why

    async def read_brakes(self, discovery: Discovery) -> None:
        found = await look_for_brakes(self._client, discovery, home=self._settings.lease.namespace)
        self._pulled, _ = found.believed(acting=True)

    async def _used(self, census: Census) -> Shared:
        if not self._settings.tenants.keep_used:
            return Shared()
        return await shared_by(
            self._client,
            census,
            [one for one in census.of(self._name) if one.is_leaving],
            going=[self._name],
            leaving=True,
        )

    def _judged(
        self, one: Hanging, finalizer: str, *, tenant: Tenant, used: Shared, guarded: Guarded
    ) -> Stuck:
        stuck = Stuck(hanging=one, finalizer=finalizer)
        if owned := whose(finalizer):
            return msgspec.structs.replace(stuck, why=owned, own=True)
        uid = one.metadata.uid
        seconds = int(self._world.now() - one.since)
        why = used.used.get(uid) or used.unknown.get(uid)
        why = why or self._held(stuck, guarded.row(one.resource, one.metadata), tenant, guarded)
        if not why and seconds < self._shortest:
            why = f"it is on its way out for less than {render_duration(self._shortest)} (--stuck-for)"
        return msgspec.structs.replace(stuck, why=why)

    def _held(self, stuck: Stuck, row: Row, tenant: Tenant, guarded: Guarded) -> str:
        now = self._world.now()
        if why := guarded.from_everything(row, now):
            return why
        holds = self.brakes.holds(row, stuck.claim(tenant), now)
        return render(holds[0].reason) if holds else ""

    async def still(
        self, stuck: Stuck, found: Mapping[str, Any], census: Census, shown: Tenant
    ) -> tuple[Row, str]:
        """The object as it is now, and why this finalizer stays on it; empty: it may go."""
        await self.read_brakes(census.discovery)
        resource = stuck.hanging.resource
        tenants, tenant, why = await self.tenant()
        row = Guarded(self._settings).row_of(resource, found)
        if why or tenant.uid != shown.uid:
            return row, why or f"the Tenant {tenant.name} is another one by now"
        if found["metadata"].get("uid") != stuck.hanging.metadata.uid:
            return row, "it is another one of that name"
        if not row.deleted_at:
            return row, "nobody deletes it"
        ownership = census.ownership.among(tenants)
        keeps: dict[str, str] = {}
        if row.namespace:
            place = (await self._client.get(NAMESPACES, row.namespace, view=METADATA)).metadata
            ownership.learn(
                Candidate(
                    resource=NAMESPACES,
                    name=place.name,
                    labels=place.labels or {},
                    owners=tuple(one.uid for one in place.owner_references or ()),
                )
            )
            if ownership.in_namespace(row.namespace) != {tenant.name} or place.deletion_timestamp is None:
                return row, f"its Namespace {row.namespace} is not one any more that goes with the tenant"
            kept = (place.labels or {}).get(names.KEEP_LABEL)
            if kept is not None:
                keeps[row.namespace] = kept
        else:
            candidate = _candidate(stuck.hanging, found)
            if is_namespace(resource):
                ownership.learn(candidate)
            whose_now = ownership.of(candidate)
            if not isinstance(whose_now, Belongs) or whose_now.tenant != tenant.name:
                return row, "nothing says any more that it is the tenant's alone"
        return row, self._held(stuck, row, tenant, Guarded(self._settings, namespace_keeps=keeps))


def _candidate(hanging: Hanging, found: Mapping[str, Any]) -> Candidate:
    metadata = found["metadata"]
    resource = hanging.resource
    data = (resource.group, resource.kind) in VIEWS
    return Candidate(
        resource=resource,
        name=str(metadata["name"]),
        labels=metadata.get("labels") or {},
        owners=tuple(str(one.get("uid", "")) for one in metadata.get("ownerReferences") or ()),
        stands_for=stands_for(msgspec.json.decode(msgspec.json.encode(found), type=Data)) if data else None,
    )


def _unknown(census: Census, name: str) -> str:
    if why := census.unread.get(NAMESPACES.qualified):
        return f"Namespaces can't be read ({why}), and whose those are decides about what is in them"
    gaps = census.foreign_gaps(name)
    if gaps:
        groups = ", ".join(f"{gap.where} ({gap.why})" for gap in gaps)
        return f"the server does not tell all of its kinds, so that who else uses what is not known: {groups}"
    return ""


def _keeps(belongings: Sequence[Belonging]) -> dict[str, str]:
    return {
        one.metadata.name: kept
        for one in belongings
        if is_namespace(one.resource)
        and (kept := (one.metadata.labels or {}).get(names.KEEP_LABEL)) is not None
    }
