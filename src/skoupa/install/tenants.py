"""What Tenants need in a cluster: their kind where nobody brought it, and rights.

RBAC can't say "what is in no namespace", so each kind that the server itself brings is named; those of others have to be granted, and
are held and told until they are. A right to delete is one for all mechanisms: with `features.tenants` a TTL label on a Namespace
lets that go as well. Where the feature is off the finalizers on Tenants are taken off, and that needs a right too.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.install.labelling import Manifest
from skoupa.install.rights import DELETE_TENANTS, LABEL_TENANTS, READ, REPORT, Right, RoleName
from skoupa.judge.mechanism import Interest
from skoupa.kinds.tenant import NEVER_LABELLED, TENANTS, tenant_definitions
from skoupa.settings import Settings

# Those of the server itself, but machines and what drivers and the server make; then those that many clusters have.
KINDS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("", ("namespaces", "persistentvolumes")),
    (
        "admissionregistration.k8s.io",
        (
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
            "validatingwebhookconfigurations",
        ),
    ),
    ("apiextensions.k8s.io", ("customresourcedefinitions",)),
    ("apiregistration.k8s.io", ("apiservices",)),
    ("certificates.k8s.io", ("certificatesigningrequests", "clustertrustbundles")),
    ("flowcontrol.apiserver.k8s.io", ("flowschemas", "prioritylevelconfigurations")),
    ("networking.k8s.io", ("ingressclasses",)),
    ("node.k8s.io", ("runtimeclasses",)),
    ("rbac.authorization.k8s.io", ("clusterrolebindings", "clusterroles")),
    ("resource.k8s.io", ("deviceclasses",)),
    ("scheduling.k8s.io", ("priorityclasses",)),
    ("storage.k8s.io", ("csidrivers", "storageclasses", "volumeattributesclasses")),
    ("groupsnapshot.storage.k8s.io", ("volumegroupsnapshotclasses", "volumegroupsnapshotcontents")),
    ("snapshot.storage.k8s.io", ("volumesnapshotclasses", "volumesnapshotcontents")),
    ("quota.kubezoo.io", ("clusterresourcequotas",)),
)


def interests(settings: Settings) -> tuple[Interest, ...]:
    """All kinds are read: what is inside a Namespace too, before it goes."""
    return (Interest(verbs=("list",)),) if settings.features.tenants else ()


def tenant_rights(settings: Settings) -> Iterator[Right]:
    if settings.namespaces:
        return
    if settings.features.tenants:
        yield _right(("list", "watch"), "", "Tenants are read and followed")
        yield from _each_kind(DELETE_TENANTS, "delete", "what a deleted Tenant had goes")
    if settings.mode != "enforce":
        return
    if settings.features.tenants:
        why = "their finalizers are put on, and taken off when nothing of them is left"
        yield _right(("patch",), "", why, writes=True)
        yield _right(("patch",), "/status", "how far a deletion is stands in their status", writes=True)
        if settings.tenants.label:
            yield from _each_kind(
                LABEL_TENANTS, "patch", "`tenants.label` is written on what belongs to a tenant"
            )
    else:
        yield _right(("list", "patch"), "", "finalizers of features.tenants are taken off", writes=True)


def _each_kind(role: RoleName, verb: str, why: str) -> Iterator[Right]:
    for group, plurals in KINDS:
        # Who changes a role needs all rights that are in it: that is granted to nobody for the sake of a label.
        if verb == "patch" and group in NEVER_LABELLED:
            continue
        yield Right(role=role, group=group, resources=plurals, verbs=(verb,), namespaced=False, why=why)


def _right(verbs: tuple[str, ...], below: str, why: str, *, writes: bool = False) -> Right:
    return Right(
        role=REPORT if writes else READ,
        group=TENANTS.group,
        resources=(f"{TENANTS.plural}{below}",),
        verbs=verbs,
        namespaced=False,
        why=why,
    )


def brought() -> tuple[Manifest, ...]:
    return tuple(tenant_definitions())
