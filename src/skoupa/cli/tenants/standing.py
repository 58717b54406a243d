"""Tenants for commands that are about something else: which are being deleted, whose an object is, and what that means for it.

One list where the feature is on and the kind is served, and none otherwise. All of a tenant is read only where an object of one that is
being deleted is asked about: then what goes with it and what stays is known as `tenant plan` knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from skoupa.cli.tenants.register import TenantPlan, plan_of, tenants_of
from skoupa.cli.terminal.tenant_shapes import DeletedTenant, ItemTenant, TenantPhase
from skoupa.controller.tenancy.standings import not_begun, readiness
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.judge.tenants import Deleted, Doomed
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Settings
from skoupa.tenants.ids import Ids
from skoupa.tenants.ownership import (
    NOBODY,
    Belongs,
    Candidate,
    Disputed,
    Ownership,
    StandsFor,
    is_namespace,
    is_shared,
)
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.volumes import VIEWS, stands_for

_NO_CONTROLLER: Final = "no controller of Skoupa looks after that Tenant (features.tenants, mode: enforce)"


class TenantsKnown:
    """All Tenants that there are, and the Namespaces that were learned."""

    def __init__(self, client: Client, tenants: Iterable[Tenant], *, settings: Settings) -> None:
        self._client = client
        self._settings = settings
        self.tenants = {one.name: one for one in tenants}
        self._ids = Ids(self.tenants.values())
        self.ownership = Ownership(settings.tenants, self.tenants.values())
        self._plans: dict[str, TenantPlan] = {}

    def learn(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if is_namespace(row.resource):
                self.ownership.learn(_candidate(row))

    def deleted(self, *, namespace: str = "") -> list[DeletedTenant]:
        """Those that are being deleted; with a Namespace only whose that is."""
        whose = self.ownership.in_namespace(namespace) if namespace else self.tenants.keys()
        found = [self.tenants[name] for name in sorted(whose) if name in self.tenants]
        return [self._told(one) for one in found if one.is_leaving]

    async def about(self, row: Row) -> ItemTenant | None:
        """Whose it is and what follows; None: it is nobody's, and nobody says otherwise."""
        if (row.resource.group, row.resource.kind) == (TENANTS.group, TENANTS.kind):
            tenant = self.tenants.get(row.name)
            return None if tenant is None else self._of_itself(tenant)
        if row.namespace:
            return await self._inside(row)
        whose = self.ownership.of(await self._candidate(row))
        if isinstance(whose, Disputed):
            return self._nobodys(whose.tenants, whose.why)
        return None if whose is None else await self._of(row, self.tenants[whose.tenant], whose)

    async def claims(self, rows: Iterable[Row]) -> list[Deleted]:
        """Those of `rows` that go with a Tenant that is being deleted, for the mechanism to claim."""
        doomed: dict[str, dict[Uid, Doomed]] = {}
        for row in rows:
            whose = None if row.namespace else self.ownership.of(await self._candidate(row))
            if not isinstance(whose, Belongs) or not self._takes(self.tenants[whose.tenant]):
                continue
            plan = await self.plan(whose.tenant)
            if any(one.belonging.uid == uid_text(row.uid) for one in plan.going):
                doomed.setdefault(whose.tenant, {})[row.uid] = Doomed(proof=whose.proof)
        now = self._client.clock.now()
        return [
            Deleted(
                name=name,
                uid=self.tenants[name].uid,
                due=readiness(self.tenants[name], settings=self._settings, now=now).due,
                objects=objects,
            )
            for name, objects in doomed.items()
        ]

    async def plan(self, name: str) -> TenantPlan:
        """Of a Tenant that there is, read once."""
        if name not in self._plans:
            self._plans[name] = await plan_of(self._client, name, self._settings)
        return self._plans[name]

    def gaps(self) -> list[str]:
        return [gap for plan in self._plans.values() for gap in plan.gaps]

    async def _inside(self, row: Row) -> ItemTenant | None:
        whose = self.ownership.in_namespace(row.namespace)
        if not whose:
            return None
        place = f"the Namespace {row.namespace}"
        if len(whose) > 1 or NOBODY in whose:
            return self._nobodys(tuple(sorted(whose - {NOBODY})), f"{place} is no single tenant's, or shared")
        tenant = self.tenants[next(iter(whose))]
        proof = f"it is in {place}, which is that tenant's"
        return await self._of(row, tenant, Belongs(tenant=tenant.name, proof=proof, lasting=False))

    async def _of(self, row: Row, tenant: Tenant, whose: Belongs) -> ItemTenant:
        phase, why = self._standing(tenant)
        blockers: tuple[str, ...] = ()
        if is_shared(dict(row.labels)) and not row.namespace:
            stays, text = True, "stays when that Tenant is deleted: it is labelled as shared"
        elif phase == "Refused" or (phase == "Active" and why):
            stays, text = True, why
        elif not tenant.is_ours:
            stays, text = True, f"stays when that Tenant is deleted: {_NO_CONTROLLER}"
        elif phase == "Active":
            stays, text = False, f"goes when that Tenant is deleted (skoupa tenant plan {tenant.name})"
        elif phase == "Waiting":
            stays, text = False, f"that Tenant is deleted, and waits: {why}"
        else:
            stays, text = await self._with_it(row, tenant)
            blockers = self._blockers(row, tenant)
        return ItemTenant(
            name=tenant.name, phase=phase, proof=whose.proof, text=text, stays=stays, blockers=blockers
        )

    async def _with_it(self, row: Row, tenant: Tenant) -> tuple[bool, str]:
        """Of one that is being deleted, as a plan of it knows."""
        called = f"Namespace {row.namespace}" if row.namespace else f"{row.resource.kind} {row.name}"
        plan = await self.plan(tenant.name)
        since = whole_seconds(tenant.deleted_at)
        kept = next((one.why for one in plan.kept if one.called == called), "")
        if kept:
            of_it = f"its {called} stays: " if row.namespace else ""
            return True, f"stays although that Tenant is being deleted since {since}: {of_it}{kept}"
        uid = uid_text(row.uid)
        going = any(
            one.belonging.called == called if row.namespace else one.belonging.uid == uid
            for one in plan.going
        )
        if not going:
            return True, f"is not among what goes with that Tenant, which is being deleted since {since}"
        return False, f"goes with that Tenant, which is being deleted since {since}"

    def _blockers(self, row: Row, tenant: Tenant) -> tuple[str, ...]:
        called = f"Namespace {row.namespace}" if row.namespace else f"{row.resource.kind} {row.name}"
        return tuple(
            one for one in _texts(tenant, "blockers") if one.startswith((f"{called} ", f"{called}:"))
        )

    def _nobodys(self, tenants: tuple[str, ...], why: str) -> ItemTenant:
        of = " and ".join(tenants)
        text = f"is nobody's, and stays when a Tenant is deleted{f' ({of})' if of else ''}: {why}"
        return ItemTenant(name="", phase="Active", proof="", text=text, stays=True)

    def _of_itself(self, tenant: Tenant) -> ItemTenant:
        phase, why = self._standing(tenant)
        if tenant.is_leaving:
            text = tenant.announced
        elif why:
            text = why
        elif not tenant.is_ours:
            text = f"nothing would go with it: {_NO_CONTROLLER}"
        else:
            text = f"what belongs to it goes when it is deleted: skoupa tenant plan {tenant.name}"
        return ItemTenant(
            name=tenant.name,
            phase=phase,
            proof="",
            text=text,
            stays=not tenant.is_leaving,
            blockers=_texts(tenant, "blockers") if tenant.is_leaving else (),
        )

    def _standing(self, tenant: Tenant) -> tuple[TenantPhase, str]:
        """As its controller would say, asked here, since a status may be old or missing; empty: nothing is in the way."""
        stand = not_begun(tenant, self._ids, settings=self._settings, now=self._client.clock.now())
        if stand is None:
            return ("Verifying" if _status(tenant).get("phase") == "Verifying" else "Deleting"), ""
        return stand.phase, "" if stand.reason == "Active" else stand.why

    def _takes(self, tenant: Tenant) -> bool:
        """Whether what it had goes, now or after its grace."""
        if not (tenant.is_leaving and tenant.is_ours):
            return False
        stand = not_begun(tenant, self._ids, settings=self._settings, now=self._client.clock.now())
        return stand is None or stand.reason == "Grace"

    def _told(self, tenant: Tenant) -> DeletedTenant:
        status = _status(tenant)
        phase, _ = self._standing(tenant)
        return DeletedTenant(
            name=tenant.name,
            phase=phase,
            text=tenant.announced,
            since=whole_seconds(tenant.deleted_at),
            remaining=_number(status.get("remainingObjects")),
            kept=_number(status.get("keptObjects")),
            blockers=_texts(tenant, "blockers"),
        )

    async def _candidate(self, row: Row) -> Candidate:
        view = VIEWS.get((row.resource.group, row.resource.kind))
        if view is None:
            return _candidate(row)
        whole = await self._client.get(row.resource, row.name, view=view)
        return _candidate(row, stands_for(whole))


async def tenants_known(
    client: Client,
    discovery: Discovery,
    settings: Settings,
    *,
    untold: Callable[[SkoupaError], None] = lambda _: None,
) -> TenantsKnown | None:
    """None: the feature is off, there is no such kind, or (`untold` hears why) nobody may know."""
    served = any(one.qualified == TENANTS.qualified for one in discovery.preferred())
    if not settings.features.tenants or not served:
        return None
    try:
        tenants = await tenants_of(client)
    except SkoupaError as error:
        untold(error)
        return None
    return TenantsKnown(client, tenants, settings=settings) if tenants else None


def _candidate(row: Row, claim: StandsFor | None = None) -> Candidate:
    return Candidate(
        resource=row.resource,
        name=row.name,
        labels=dict(row.labels),
        owners=tuple(uid_text(owner.uid) for owner in row.owners),
        stands_for=claim,
    )


def _status(tenant: Tenant) -> Mapping[str, Any]:
    return tenant.status if isinstance(tenant.status, Mapping) else {}


def _texts(tenant: Tenant, field: str) -> tuple[str, ...]:
    found = _status(tenant).get(field)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _number(found: Any) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) else None
