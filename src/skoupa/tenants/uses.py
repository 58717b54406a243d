"""Which fields of the server's own kinds name an object in no namespace that a tenant may have: whoever has such a field uses it.

A table and no search: custom kinds are not asked, and what they use has to be labelled `skoupa.dev/shared`. Who makes Pods is asked for
the template of these: a CronJob between two runs, or a Deployment with no replicas, has none that could be asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec

Kind = tuple[str, str]

_RBAC: Final = "rbac.authorization.k8s.io"
_STORAGE: Final = "storage.k8s.io"
_ADMISSION: Final = "admissionregistration.k8s.io"
_SNAPSHOT: Final = "snapshot.storage.k8s.io"


class Field(msgspec.Struct, frozen=True):
    """Of which kind, and where in it the name stands; `[]` is each of a list."""

    user: Kind
    path: tuple[str, ...]


_MAKERS: Final = (
    ("", "ReplicationController"),
    ("apps", "DaemonSet"),
    ("apps", "Deployment"),
    ("apps", "StatefulSet"),
    ("batch", "Job"),
)


def _by_pods(*path: str) -> tuple[Field, ...]:
    """Where the spec of a Pod names it, and who makes Pods by theirs."""
    template = ("spec", "template", "spec", *path)
    return (
        Field(("", "Pod"), ("spec", *path)),
        *(Field(maker, template) for maker in _MAKERS),
        Field(("batch", "CronJob"), ("spec", "jobTemplate", *template)),
    )


USES: Final[dict[Kind, tuple[Field, ...]]] = {
    (_RBAC, "ClusterRole"): (
        Field((_RBAC, "RoleBinding"), ("roleRef",)),
        Field((_RBAC, "ClusterRoleBinding"), ("roleRef",)),
    ),
    (_STORAGE, "StorageClass"): (
        Field(("", "PersistentVolumeClaim"), ("spec", "storageClassName")),
        Field(("", "PersistentVolume"), ("spec", "storageClassName")),
        Field(("apps", "StatefulSet"), ("spec", "volumeClaimTemplates", "[]", "spec", "storageClassName")),
    ),
    (_STORAGE, "VolumeAttributesClass"): (
        Field(("", "PersistentVolumeClaim"), ("spec", "volumeAttributesClassName")),
    ),
    (_STORAGE, "CSIDriver"): (
        Field(("", "PersistentVolume"), ("spec", "csi", "driver")),
        Field((_STORAGE, "StorageClass"), ("provisioner",)),
        Field((_SNAPSHOT, "VolumeSnapshotClass"), ("driver",)),
        *_by_pods("volumes", "[]", "csi", "driver"),
    ),
    ("certificates.k8s.io", "ClusterTrustBundle"): _by_pods(
        "volumes", "[]", "projected", "sources", "[]", "clusterTrustBundle", "name"
    ),
    ("scheduling.k8s.io", "PriorityClass"): _by_pods("priorityClassName"),
    ("node.k8s.io", "RuntimeClass"): _by_pods("runtimeClassName"),
    ("networking.k8s.io", "IngressClass"): (
        Field(("networking.k8s.io", "Ingress"), ("spec", "ingressClassName")),
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): (
        Field(("flowcontrol.apiserver.k8s.io", "FlowSchema"), ("spec", "priorityLevelConfiguration", "name")),
    ),
    (_ADMISSION, "ValidatingAdmissionPolicy"): (
        Field((_ADMISSION, "ValidatingAdmissionPolicyBinding"), ("spec", "policyName")),
    ),
    (_ADMISSION, "MutatingAdmissionPolicy"): (
        Field((_ADMISSION, "MutatingAdmissionPolicyBinding"), ("spec", "policyName")),
    ),
    (_SNAPSHOT, "VolumeSnapshotClass"): (
        Field((_SNAPSHOT, "VolumeSnapshot"), ("spec", "volumeSnapshotClassName")),
    ),
    ("resource.k8s.io", "DeviceClass"): (
        Field(
            ("resource.k8s.io", "ResourceClaim"),
            ("spec", "devices", "requests", "[]", "exactly", "deviceClassName"),
        ),
        Field(
            ("resource.k8s.io", "ResourceClaim"),
            ("spec", "devices", "requests", "[]", "firstAvailable", "[]", "deviceClassName"),
        ),
        Field(
            ("resource.k8s.io", "ResourceClaimTemplate"),
            ("spec", "spec", "devices", "requests", "[]", "exactly", "deviceClassName"),
        ),
        Field(
            ("resource.k8s.io", "ResourceClaimTemplate"),
            ("spec", "spec", "devices", "requests", "[]", "firstAvailable", "[]", "deviceClassName"),
        ),
    ),
}
_ENDED: Final = frozenset({"Succeeded", "Failed"})
_FINISHED: Final = frozenset({"Complete", "Failed"})


# Of an object that is read for its metadata these are read along where it may name others.
READ_ALONG: Final = frozenset({"spec", "roleRef"})


def used_by(user: Kind) -> list[tuple[Field, Kind]]:
    """What an object of the kind may name, and of which kind that is; none where that does not all stand in `READ_ALONG`."""
    found = [(field, kind) for kind, fields in USES.items() for field in fields if field.user == user]
    return found if all(field.path[0] in READ_ALONG for field, _ in found) else []


def names_in(found: Any, field: Field) -> Iterator[str]:
    """The names that an object of the kind of the field has there; one that has ended uses nothing any more."""
    if _has_ended(found, field.user):
        return
    for value in _at(found, field.path):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict) and value.get("kind") == "ClusterRole":
            yield str(value.get("name", ""))


def _has_ended(found: Any, user: Kind) -> bool:
    status = found.get("status") or {}
    if user == ("batch", "Job"):
        said = status.get("conditions") or ()
        return any(one.get("type") in _FINISHED and one.get("status") == "True" for one in said)
    return user == ("", "Pod") and status.get("phase") in _ENDED


def _at(value: Any, path: tuple[str, ...]) -> Iterator[Any]:
    if not path:
        yield value
    elif path[0] == "[]":
        for one in value if isinstance(value, list) else ():
            yield from _at(one, path[1:])
    elif isinstance(value, dict) and path[0] in value:
        yield from _at(value[path[0]], path[1:])
