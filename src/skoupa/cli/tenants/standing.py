"""Tenants for commands that are about something else: which are being deleted, and what goes with them.

One list where the feature is on and the kind is served, and none otherwise. All of a tenant is read only where an object of one that is
being deleted is asked about: then what goes with it and what stays is known as `tenant plan` knows it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from skoupa.cli.installed import Installed
from skoupa.cli.tenants.register import TenantPlan, plan_of, tenants_of
from skoupa.cli.terminal.tenant_shapes import DeletedTenant, TenantPhase
from skoupa.controller.tenancy.definition import GOING, definition_stands
from skoupa.controller.tenancy.standings import not_begun, readiness
from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.judge.tenants import Deleted, Doomed
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Settings
from skoupa.tenants.ids import Ids
from skoupa.tenants.ownership import (
    Belongs,
    Candidate,
    Ownership,
    StandsFor,
    is_namespace,
)
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.told import Standing
from skoupa.tenants.volumes import VIEWS, stands_for


class TenantsKnown:
    """All Tenants that there are, and the Namespaces that were learned; `defined`: their definition is not being deleted."""

    def __init__(
        self, client: Client, tenants: Iterable[Tenant], *, settings: Settings, defined: bool = True
    ) -> None:
        self._client = client
        self._defined = defined
        self._settings = settings
        self.tenants = {one.name: one for one in tenants}
        self._ids = Ids(self.tenants.values())
        self.ownership = Ownership(settings.tenants, self.tenants.values())
        self._plans: dict[str, TenantPlan] = {}
        self._unread: dict[str, None] = {}

    def learn(self, rows: Iterable[Row]) -> None:
        for row in rows:
            if is_namespace(row.resource):
                self.ownership.learn(_candidate(row))

    def deleted(self, *, namespace: str = "") -> list[DeletedTenant]:
        """Those that are being deleted; with a Namespace only whose that is."""
        whose = self.ownership.in_namespace(namespace) if namespace else self.tenants.keys()
        found = [self.tenants[name] for name in sorted(whose) if name in self.tenants]
        return [self._told(one) for one in found if one.is_leaving]

    async def claims(self, rows: Iterable[Row]) -> list[Deleted]:
        """Those of `rows` that go with a Tenant that is being deleted, for the mechanism to claim."""
        doomed: dict[str, dict[Uid, Doomed]] = {}
        for row in rows:
            whose = None if row.namespace else self.ownership.of(await self.candidate(row))
            if not isinstance(whose, Belongs) or not self.takes(self.tenants[whose.tenant]):
                continue
            plan = await self.plan(whose.tenant)
            if not plan.blocked and any(one.belonging.uid == uid_text(row.uid) for one in plan.going):
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
        found = dict.fromkeys(gap for plan in self._plans.values() for gap in plan.gaps)
        return list(self._unread | found)

    def standing(self, tenant: Tenant) -> tuple[TenantPhase, str]:
        """As its controller would say, asked here, since a status may be old or missing; empty: nothing is in the way."""
        if tenant.is_leaving and not self._defined:
            return "Waiting", GOING
        stand = self._not_begun(tenant)
        if stand is None:
            return ("Verifying" if _status(tenant).get("phase") == "Verifying" else "Deleting"), ""
        return stand.phase, "" if stand.reason == "Active" else stand.why

    def takes(self, tenant: Tenant) -> bool:
        """Whether what it had goes, now or after its grace."""
        if not (tenant.is_leaving and tenant.is_ours and self._defined):
            return False
        stand = self._not_begun(tenant)
        return stand is None or stand.reason == "Grace"

    def _not_begun(self, tenant: Tenant) -> Standing | None:
        return not_begun(tenant, self._ids, settings=self._settings, now=self._client.clock.now())

    def _told(self, tenant: Tenant) -> DeletedTenant:
        status = _status(tenant)
        phase, _ = self.standing(tenant)
        return DeletedTenant(
            name=tenant.name,
            phase=phase,
            text=tenant.announced,
            since=whole_seconds(tenant.deleted_at),
            remaining=_number(status.get("remainingObjects")),
            kept=_number(status.get("keptObjects")),
            blockers=texts_of(tenant, "blockers"),
        )

    async def candidate(self, row: Row) -> Candidate:
        view = VIEWS.get((row.resource.group, row.resource.kind))
        if view is None:
            return _candidate(row)
        try:
            claim = stands_for(await self._client.get(row.resource, row.name, view=view))
            if claim is not None:
                await self.learn_place(claim.namespace)
        except SkoupaError as error:
            self._unread[f"which claim {row.resource.kind} {row.name} is for ({error.brief})"] = None
            return _candidate(row)
        return _candidate(row, claim)

    async def learn_place(self, name: str) -> None:
        """The Namespace of a claim, whose labels say as much as its name; one that is not there has only its name."""
        try:
            place = (await self._client.find(NAMESPACES, name, view=METADATA)).metadata
        except NotFound:
            return
        except SkoupaError as error:
            self._unread[f"the Namespace {name}, which says whose its claims are ({error.brief})"] = None
            return
        owners = tuple(one.uid for one in place.owner_references or ())
        self.ownership.learn(
            Candidate(resource=NAMESPACES, name=name, labels=place.labels or {}, owners=owners)
        )


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
        defined = not any(one.is_leaving for one in tenants) or await definition_stands(client)
    except SkoupaError as error:
        untold(error)
        return None
    return TenantsKnown(client, tenants, settings=settings, defined=defined) if tenants else None


def settings_of_tenants(installed: Installed) -> Settings:
    """Where nobody may see them there may be somebody who looks after Tenants all the same: their finalizers tell."""
    if installed.known:
        return installed.settings
    on = msgspec.structs.replace(installed.settings.features, tenants=True)
    return msgspec.structs.replace(installed.settings, features=on)


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


def texts_of(tenant: Tenant, field: str) -> tuple[str, ...]:
    found = _status(tenant).get(field)
    return tuple(map(str, found)) if isinstance(found, list) else ()


def _number(found: Any) -> int | None:
    return found if isinstance(found, int) and not isinstance(found, bool) else None
