"""Tenant: a customer of the cluster, as KubeZoo declares it; what it had goes when it is deleted (seed 002).

Its name is its id. Clusters that have the kind from KubeZoo keep that one: then a status that its schema does not know is lost,
and nothing else. Whether a Tenant may be deleted with what it had is decided elsewhere (`tenants/`).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final, Literal

import msgspec

from skoupa import names
from skoupa.kinds.conditions import Conditions
from skoupa.kinds.definition import AGE, Column, Definition, Version, document, resource
from skoupa.kinds.schema import about
from skoupa.kube.objects import Metadata

# How many of each a status names; the others are only counted.
SAMPLE_SIZE: Final = 20
# The value of the label `skoupa.dev/leaving`.
LEAVING_MARK: Final = "true"

# Groups whose objects never get the label of `tenants.label`: see `tenants.labels`.
NEVER_LABELLED: Final = frozenset(
    {"admissionregistration.k8s.io", "apiregistration.k8s.io", "rbac.authorization.k8s.io"}
)

Phase = Literal["Active", "Refused", "Waiting", "Deleting", "Verifying"]

_Count = Annotated[int, msgspec.Meta(ge=0)]
_Time = Annotated[datetime, msgspec.Meta(tz=True)]
_Texts = Annotated[tuple[str, ...], msgspec.Meta(max_length=SAMPLE_SIZE)]


class TenantSpec(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What is to be known of the tenant."""

    id: Annotated[
        int | str | None,
        about("The id once more. Where it differs from the name, nothing is deleted with the Tenant."),
    ] = None
    quota: Annotated[
        dict[str, Any] | None,
        about(
            "KubeZoo's limits for the tenant. They are taken so that its manifests can be applied, and mean nothing here."
        ),
    ] = None


class Remaining(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Objects of one kind that are still there."""

    kind: Annotated[str, about("The kind, as kubectl shows it.")]
    count: Annotated[_Count, about("How many of them.")]


class Volume(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Data that stays where it is: its object says Retain, or its driver had not taken it away when that went."""

    name: Annotated[str, about("The PersistentVolume, or the content of a snapshot.")]
    handle: Annotated[str, about("Where the data is, in the words of its driver.")]
    claim: Annotated[str | None, about("The claim that it was for, as NAMESPACE/NAME.")] = None


class TenantStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """How its deletion goes."""

    phase: Annotated[
        Phase | None,
        about(
            "Active; of a deleted one Refused, Waiting (to be confirmed, or grace), Deleting or Verifying."
        ),
    ] = None
    remaining_objects: Annotated[_Count | None, about("How many objects in no namespace are left.")] = None
    remaining: Annotated[tuple[Remaining, ...], about("How many are left of each kind.", keys=("kind",))] = ()
    blockers: Annotated[
        _Texts, about("Objects that do not go, with their finalizers or what holds them, and since when.")
    ] = ()
    kept: Annotated[_Texts, about("Objects that stay although their names mean the tenant, and why.")] = ()
    kept_objects: Annotated[_Count | None, about("How many stay.")] = None
    volumes: Annotated[
        Annotated[tuple[Volume, ...], msgspec.Meta(max_length=SAMPLE_SIZE)],
        about(
            "Data that stays where it is: its object says Retain, or its driver had not taken it away when that went.",
            keys=("name",),
        ),
    ] = ()
    observed_generation: Annotated[
        _Count | None, about("The generation of the Tenant that this status is about.")
    ] = None
    looked_at: Annotated[_Time | None, about("When all kinds were last read.")] = None
    conditions: Conditions = ()


class TenantShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A tenant of the cluster. When it is deleted, what belongs to it in the cluster goes, and nothing of anybody else's.

    `kubectl get tenant` shows how far that is.
    """

    spec: TenantSpec | None = None
    status: TenantStatus | None = None


TENANT: Final = Definition(
    group=names.TENANT_GROUP,
    kind=names.TENANT_KIND,
    plural="tenants",
    namespaced=False,
    versions=(
        Version(
            name="v1alpha1",
            shape=TenantShape,
            columns=(
                Column(name="Phase", path=".status.phase", description="How far its deletion is."),
                Column(
                    name="Remaining",
                    path=".status.remainingObjects",
                    type="integer",
                    description="How many objects in no namespace are left.",
                ),
                Column(
                    name="Message",
                    path='.status.conditions[?(@.type=="Ready")].message',
                    description="What it waits for.",
                ),
                AGE,
            ),
        ),
    ),
)
TENANTS: Final = resource(TENANT)


def own_finalizers(metadata: Metadata) -> frozenset[str]:
    """Those on a Tenant that are Skoupa's to take off: KubeZoo's too, unless the server tells that another program put it there."""
    found = metadata.finalizers or ()
    if names.TENANT_FINALIZER not in found:
        return frozenset()
    key = f'"v:\\"{names.KUBEZOO_TENANT_FINALIZER}\\""'.encode()
    theirs = any(
        key in bytes(entry.fields_v1) and entry.manager != names.COMPONENT
        for entry in metadata.managed_fields or ()
    )
    return frozenset({names.TENANT_FINALIZER} | (set() if theirs else {names.KUBEZOO_TENANT_FINALIZER}))


def tenant_definitions() -> list[dict[str, Any]]:
    """In a cluster that has KubeZoo somebody else brought it, and it stays as it is."""
    return [document(TENANT)]
