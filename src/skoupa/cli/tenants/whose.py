"""What is said of one object: whose it is, by which proof, and whether it goes with that Tenant or stays.

Of a Tenant that lives that is as much as the object and the settings tell; who uses it, and what is in it, `tenant plan` asks.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.cli.tenants.guarded import Guarded
from skoupa.cli.tenants.standing import TenantsKnown, texts_of
from skoupa.cli.terminal.tenant_shapes import ItemTenant
from skoupa.facts.rows import Row, uid_text
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Settings
from skoupa.tenants.ownership import NEVER, NOBODY, Belongs, is_shared
from skoupa.tenants.tenant import Tenant

_NO_CONTROLLER: Final = "no controller of Skoupa looks after that Tenant (features.tenants, mode: enforce), or its finalizers were taken off"


class Whose:
    def __init__(self, known: TenantsKnown, settings: Settings, *, now: float) -> None:
        self._known = known
        self._guarded = Guarded(settings)
        self._now = now

    async def about(self, row: Row) -> ItemTenant | None:
        """Whose it is and what follows; None: it is nobody's, and nobody says otherwise."""
        if (row.resource.group, row.resource.kind) == (TENANTS.group, TENANTS.kind):
            tenant = self._known.tenants.get(row.name)
            return None if tenant is None else self._of_itself(tenant)
        if row.namespace:
            return self._of_a_kind_brought(row, await self._inside(row))
        candidate = await self._known.candidate(row)
        whose = self._known.ownership.of(candidate)
        if isinstance(whose, Belongs):
            return await self._of(row, self._known.tenants[whose.tenant], whose.proof)
        told = None if whose is None else _disputed(whose.tenants, whose.why)
        return self._of_an_owner(row, self._known.ownership.owners_of(candidate), told)

    def _of_an_owner(self, row: Row, owners: list[str], told: ItemTenant | None) -> ItemTenant | None:
        """What is said of it, and that Kubernetes would collect it with a Tenant that is none of its business."""
        if not owners or (row.resource.group, row.resource.kind) in NEVER:
            return told
        name = owners[0]
        before = f"{told.text}; it has" if told is not None else "is nobody's, but has"
        text = (
            f"{before} the Tenant {name} among its owners: when that is deleted it waits until somebody takes the owner reference off, "
            "since Kubernetes would collect the object with it"
        )
        return msgspec.structs.replace(
            _nobodys(text), blockers=self._blockers(row, self._known.tenants[name])
        )

    async def _inside(self, row: Row) -> ItemTenant | None:
        whose = self._known.ownership.in_namespace(row.namespace)
        if not whose:
            return None
        place = f"the Namespace {row.namespace}"
        if len(whose) > 1 or NOBODY in whose:
            return _disputed(tuple(sorted(whose - {NOBODY})), f"{place} is no single tenant's, or shared")
        tenant = self._known.tenants[next(iter(whose))]
        proof = f"it is in {place}, which is that tenant's"
        return await self._of(row, tenant, proof)

    async def _of(self, row: Row, tenant: Tenant, proof: str) -> ItemTenant:
        phase, why = self._known.standing(tenant)
        blockers: tuple[str, ...] = ()
        if held := self._of_itself_held(row):
            stays, text = True, held
        elif phase == "Refused" or (phase == "Active" and why):
            stays, text = True, why
        elif not tenant.is_ours:
            stays, text = True, f"stays when that Tenant is deleted: {_NO_CONTROLLER}"
        elif phase == "Active":
            unless = f"unless others use or hold it then: skoupa tenant plan {tenant.name}"
            stays, text = False, f"goes when that Tenant is deleted, {unless}"
        elif phase == "Waiting":
            stays, text = False, f"that Tenant is deleted, and waits: {why}"
        else:
            stays, text = await self._with_it(row, tenant)
            blockers = self._blockers(row, tenant)
        return ItemTenant(
            name=tenant.name, phase=phase, proof=proof, text=text, stays=stays, blockers=blockers
        )

    def _of_itself_held(self, row: Row) -> str:
        """What is written on the object, or in the settings, and keeps it from going with whatever Tenant; empty: nothing."""
        stays = f"stays when that Tenant is deleted, and so does its Namespace {row.namespace}"
        if is_shared(dict(row.labels)):
            place = (
                f"{stays}, for which that Tenant waits"
                if row.namespace
                else "stays when that Tenant is deleted"
            )
            return f"{place}: it is labelled as shared"
        why = self._guarded.from_tenants(row, self._now)
        waits = f"{stays}, for which" if row.namespace else "stays when that Tenant is deleted, and"
        return f"{waits} that Tenant waits: {why}" if why else ""

    def _of_a_kind_brought(self, row: Row, told: ItemTenant | None) -> ItemTenant | None:
        """What is said of it, and that it keeps a definition of somebody else's and its Tenant."""
        brought = [
            name
            for name in sorted(self._known.tenants)
            if self._known.ownership.is_own_group(name, row.resource.group)
            and (told is None or told.name != name)
        ]
        if not brought:
            return told
        name = brought[0]
        keeps = (
            f"while it is there the definition {row.resource.qualified} stays, which that Tenant brought, and so "
            "does that Tenant when it is deleted"
        )
        if told is None:
            return _nobodys(f"is not of the Tenant {name}: {keeps}")
        return msgspec.structs.replace(told, text=f"{told.text}; its kind is of the Tenant {name}: {keeps}")

    async def _with_it(self, row: Row, tenant: Tenant) -> tuple[bool, str]:
        """Of one that is being deleted, as a plan of it knows."""
        called = f"Namespace {row.namespace}" if row.namespace else f"{row.resource.kind} {row.name}"
        plan = await self._known.plan(tenant.name)
        since = whole_seconds(tenant.deleted_at)
        kept = next((one.why for one in plan.kept if one.called == called), "")
        if kept:
            of_it = f"its {called} stays: " if row.namespace else ""
            return True, f"stays although that Tenant is being deleted since {since}: {of_it}{kept}"
        if plan.blocked:
            return (
                False,
                f"that Tenant is being deleted since {since}, and nothing of it goes: {plan.blocked}",
            )
        uid = uid_text(row.uid)
        going = any(
            one.belonging.called == called if row.namespace else one.belonging.uid == uid
            for one in plan.going
        )
        if not going and plan.gaps:
            unread = f"not all kinds could be read: skoupa tenant plan {tenant.name}"
            return (
                False,
                f"whether it goes with that Tenant, which is being deleted since {since}, is not known ({unread})",
            )
        if not going:
            return True, f"is not among what goes with that Tenant, which is being deleted since {since}"
        return False, f"goes with that Tenant, which is being deleted since {since}"

    def _blockers(self, row: Row, tenant: Tenant) -> tuple[str, ...]:
        called = f"Namespace {row.namespace}" if row.namespace else f"{row.resource.kind} {row.name}"
        return tuple(
            one for one in texts_of(tenant, "blockers") if one.startswith((f"{called} ", f"{called}:"))
        )

    def _of_itself(self, tenant: Tenant) -> ItemTenant:
        phase, why = self._known.standing(tenant)
        if tenant.is_leaving:
            text = tenant.announced
        elif why:
            text = why
        elif not tenant.is_ours:
            text = f"nothing would go with it: {_NO_CONTROLLER}"
        else:
            text = f"what belongs to it goes when it is deleted (skoupa tenant plan {tenant.name})"
        return ItemTenant(
            name=tenant.name,
            phase=phase,
            proof="",
            text=text,
            stays=not tenant.is_leaving,
            blockers=texts_of(tenant, "blockers") if tenant.is_leaving else (),
        )


def _disputed(tenants: tuple[str, ...], why: str) -> ItemTenant:
    of = " and ".join(tenants)
    return _nobodys(f"is nobody's, and stays when a Tenant is deleted{f' ({of})' if of else ''}: {why}")


def _nobodys(text: str) -> ItemTenant:
    return ItemTenant(name="", phase="Active", proof="", text=text, stays=True)
