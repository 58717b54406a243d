"""What `skoupa tenant` prints for programs."""

from __future__ import annotations

from skoupa.cli.tenants.register import TenantPlan
from skoupa.cli.terminal.shape import Shape
from skoupa.tenants.census import Belonging
from skoupa.tenants.order import STEPS

API_VERSION = "skoupa.dev/v1alpha1"


class ToldObject(Shape, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    resource: str
    name: str
    uid: str
    why: str
    step: str = ""
    inside: int | None = None
    deleted_already: bool = False
    data_stays_at: str | None = None


class ToldKept(Shape, frozen=True, kw_only=True):
    object: str
    why: str


class PlanDocument(Shape, frozen=True, kw_only=True):
    """`refused` is empty where it may be taken, `blocked` where nothing keeps it from going now; `gaps` are what could not be read. With `selector` there is no `tenant`."""

    api_version: str = API_VERSION
    kind: str = "TenantPlan"
    tenant: str
    selector: str | None = None
    exists: bool
    refused: str
    blocked: str
    objects: tuple[ToldObject, ...]
    kept: tuple[ToldKept, ...]
    with_keep_label: int
    grants_elsewhere: tuple[str, ...]
    gaps: tuple[str, ...]


class LeaksDocument(Shape, frozen=True, kw_only=True):
    api_version: str = API_VERSION
    kind: str = "TenantLeaks"
    tenants: dict[str, tuple[ToldObject, ...]]
    disputed: dict[str, tuple[ToldKept, ...]]
    gaps: tuple[str, ...]


def told(one: Belonging, *, step: str = "", inside: int | None = None) -> ToldObject:
    return ToldObject(
        kind=one.resource.kind,
        resource=one.resource.qualified,
        name=one.metadata.name,
        uid=one.uid,
        why=one.proof,
        step=step,
        inside=inside,
        deleted_already=one.is_leaving,
        data_stays_at=one.volume.handle if one.volume is not None else None,
    )


def document(plan: TenantPlan, *, selector: str | None = None) -> PlanDocument:
    return PlanDocument(
        tenant=plan.tenant.name if selector is None else "",
        selector=selector,
        exists=plan.there,
        refused=plan.refused,
        blocked=plan.blocked,
        objects=tuple(told(one.belonging, step=STEPS[one.step], inside=one.inside) for one in plan.going),
        kept=tuple(ToldKept(object=one.called, why=one.why) for one in plan.kept),
        with_keep_label=plan.labelled_keep,
        grants_elsewhere=plan.grants,
        gaps=plan.gaps,
    )
