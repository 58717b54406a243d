"""The last look around something that goes with its tenant: whether that is still deleted, and still its only owner.

All Tenants are read freshly, for one that came since may own as well, and one whose finalizers were taken off keeps what it had.
That reading is good for two seconds, as long as any look around is. Of a Namespace the volumes are asked for too: with a claim in
it its volume goes, whosever that is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any, Final

from skoupa import names
from skoupa.controller.tenancy.definition import GOING, definition_stands
from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Row, uid_text
from skoupa.judge.cascade import called, is_definition, is_namespace
from skoupa.judge.protection import Protection
from skoupa.judge.tenants import TenantMechanism, is_shared
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import everything, pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold
from skoupa.settings import Settings
from skoupa.sweep.sharing import SharedReading
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.ownership import Belongs, Candidate, Ownership
from skoupa.tenants.ownership import is_shared as says_shared
from skoupa.tenants.tenant import Tenant, read_tenant
from skoupa.tenants.volumes import VIEWS, Data, is_retained, stands_for

_GOOD_SECONDS: Final = 2.0
_Volumes = list[tuple[Resource, Data]]


class LastLook:
    """`waits` says why a Tenant may not be taken yet; `kind` is how Tenants are served, None: not at all."""

    def __init__(
        self,
        client: Client,
        mechanism: TenantMechanism,
        *,
        settings: Settings,
        protection: Protection,
        kind: Callable[[], Resource | None],
        discovery: Callable[[], Discovery],
        waits: Callable[[Tenant], str],
    ) -> None:
        self._client = client
        self._mechanism = mechanism
        self._settings = settings
        self._protection = protection
        self._kind = kind
        self._discovery = discovery
        self._waits = waits
        self._tenants: SharedReading[tuple[Tenant, ...]] = SharedReading(
            client.clock, longest=_GOOD_SECONDS, shortest=_GOOD_SECONDS
        )
        self._volumes: SharedReading[_Volumes] = SharedReading(client.clock, longest=0.0, shortest=0.0)
        self._counted = Ownership(settings.tenants, ())
        self._known: tuple[tuple[Tenant, ...], Ownership] | None = None

    async def before(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        deleted = self._mechanism.of(claim.rule)
        if deleted is None:
            return (_not_gone(claim, "nobody claims it any more"),)
        try:
            tenants = await self._tenants.get(self._read)
        except SkoupaError as error:
            return (Hold(reason=reason("tenant-unsure", why=f"Tenants can't be read: {error.message}")),)
        tenant = next((one for one in tenants if one.uid == deleted.uid), None)
        if tenant is None:
            return (_not_gone(claim, "it is not there any more"),)
        if not tenant.is_leaving or not tenant.is_ours:
            return (_not_gone(claim, "nobody deletes it, or its finalizers were taken off"),)
        why = refusal(
            tenant, Ids(tenants), settings=self._settings.tenants, protect=self._settings.protect
        ) or self._waits(tenant)
        if why:
            return (_not_gone(claim, why),)
        hold = self._still_its(row, tenant, self._ownership(tenants))
        return (hold,) if hold is not None else ()

    def _still_its(self, row: Row, tenant: Tenant, ownership: Ownership) -> Hold | None:
        if (row.resource.group, row.resource.kind) in VIEWS:
            # Its claim stands in no metadata: it goes in the very state in which that was read, and in no other.
            return None
        candidate = Candidate(
            resource=row.resource,
            name=row.name,
            labels=dict(row.labels),
            owners=tuple(uid_text(one.uid) for one in row.owners),
        )
        whose = ownership.of(candidate)
        if isinstance(whose, Belongs) and whose.tenant == tenant.name:
            return None
        why = "nothing says so any more" if whose is None or isinstance(whose, Belongs) else whose.why
        return Hold(reason=reason("tenant-unsure", why=why))

    def inside(self, row: Row, inside: Row, claim: Claim) -> Hold | None:
        if is_shared(inside):
            return Hold(reason=reason("tenant-shared", object=called(inside), key=names.SHARED_LABEL))
        if not is_definition(row):
            return None
        if self._known is None:
            return Hold(reason=reason("tenant-unsure", why="whose what is inside it is has not been read"))
        ownership, tenant = self._known[1], claim.rule.partition("/")[2]
        whose = ownership.in_namespace(inside.namespace) if inside.namespace else {tenant}
        others = ownership.by_name(inside.name) - {tenant} if not inside.namespace else frozenset()
        if whose != {tenant} or others:
            return Hold(reason=reason("tenant-others-inside", object=called(inside), tenant=tenant))
        if not inside.namespace and not inside.deleted_at:
            # It goes by a delete of its own, so that what hangs on it stays.
            return Hold(reason=reason("has-instances", object=called(inside)))
        return None

    async def around(self, row: Row, claim: Claim) -> tuple[Hold, ...]:
        if not is_namespace(row):
            return ()
        try:
            volumes = await self._volumes.get(self._read_volumes)
        except SkoupaError as error:
            return (Hold(reason=reason("tenant-unsure", why=f"volumes can't be read: {error.message}")),)
        tenant = claim.rule.partition("/")[2]
        assert self._known is not None, "it was looked at before"
        for resource, found in volumes:
            claimed = stands_for(found)
            if claimed is None or claimed.namespace != row.name or is_retained(found):
                continue
            metadata = found.metadata
            candidate = Candidate(
                resource=resource, name=metadata.name, labels=metadata.labels or {}, stands_for=claimed
            )
            whose = self._known[1].of(candidate)
            called_so = f"{resource.kind} {metadata.name}"
            if says_shared(metadata.labels):
                return (Hold(reason=reason("tenant-shared", object=called_so, key=names.SHARED_LABEL)),)
            # One that is only meant for a claim there is nobody's yet; with the claim nothing happens to it.
            if claimed.bound and not (isinstance(whose, Belongs) and whose.tenant == tenant):
                return (Hold(reason=reason("tenant-others-inside", object=called_so, tenant=tenant)),)
        return ()

    def _ownership(self, tenants: tuple[Tenant, ...]) -> Ownership:
        """With what the census knew of Namespaces by their labels."""
        if self._known is None or self._known[0] is not tenants:
            self._known = (tenants, self._counted.among(tenants))
        return self._known[1]

    def learn(self, counted: Ownership) -> None:
        """What the last census was told of Namespaces; whoever looks around something meanwhile goes on with that."""
        self._counted = counted
        if self._known is not None:
            tenants = self._known[0]
            self._known = (tenants, counted.among(tenants))

    def suppose(self, tenants: tuple[Tenant, ...], counted: Ownership) -> None:
        """For who deletes nothing, and asks what would hold: that these are all Tenants, and all that is known of Namespaces."""
        self._known = (tenants, counted)

    async def _read(self) -> tuple[Tenant, ...]:
        kind = self._kind()
        if kind is None:
            raise SkoupaError("the server has no such kind")
        if not await definition_stands(self._client):
            raise SkoupaError(GOING)
        found = await everything(self._client, kind, WHOLE)
        if found.undecodable:
            raise SkoupaError(found.undecodable[0].why)
        return tuple(map(read_tenant, found.items))

    async def _read_volumes(self) -> _Volumes:
        found: _Volumes = []
        for resource in self._discovery().preferred():
            view: Any = VIEWS.get((resource.group, resource.kind))
            if view is None or not resource.may("list"):
                continue
            read: _Volumes = []
            try:
                async with aclosing(pages(self._client, resource, view)) as listing:
                    async for page in listing:
                        if page.undecodable:
                            raise SkoupaError(page.undecodable[0].why)
                        read = [*([] if page.first else read), *((resource, one) for one in page.items)]
            except NotFound as error:
                raise SkoupaError(f"{resource.qualified} is not found") from error
            found += read
        return found


def _not_gone(claim: Claim, why: str) -> Hold:
    return Hold(reason=reason("tenant-not-gone", tenant=claim.rule.partition("/")[2], why=why))
