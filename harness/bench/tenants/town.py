"""A cluster of many tenants, as manifests: of each the same number of objects in no namespace, of the kinds that tenants have.

Nothing here is random. No Namespace has anything in it: what is measured is what becomes of objects in none.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from harness.bench.usage.templates import written
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT
from skoupa.kube.resources import Resource

Body = dict[str, Any]

OBJECTS_EACH: Final = 100
CITIES: Final = Resource(
    group="geo.example", version="v1", plural="cities", kind="City", namespaced=False, verbs=("list",)
)
_RBAC: Final = "rbac.authorization.k8s.io"
_MOMENT: Final = "2026-01-01T00:00:00Z"
# How many of each kind a tenant has.
_EACH: Final = {
    ("v1", "Namespace"): 10,
    ("v1", "PersistentVolume"): 5,
    ("storage.k8s.io/v1", "StorageClass"): 5,
    ("scheduling.k8s.io/v1", "PriorityClass"): 10,
    (f"{_RBAC}/v1", "ClusterRole"): 20,
    (f"{_RBAC}/v1", "ClusterRoleBinding"): 20,
    (CITIES.api_version, CITIES.kind): 30,
}
KINDS: Final = frozenset(kind for _, kind in _EACH)


def tenant_name(place: int) -> str:
    return f"{100_000 + place}"


def definitions() -> Iterator[Body]:
    """Of the kinds that a server does not have by itself."""
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    yield document(TENANT)
    yield {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": CITIES.qualified},
        "spec": {
            "group": CITIES.group,
            "names": {"plural": CITIES.plural, "kind": CITIES.kind, "singular": "city"},
            "scope": "Cluster",
            "versions": [{"name": CITIES.version, "served": True, "storage": True, "schema": schema}],
        },
    }


def objects(tenants: int) -> Iterator[Body]:
    """`OBJECTS_EACH` of each tenant, without the Tenants themselves."""
    for place in range(tenants):
        name = tenant_name(place)
        for (version, kind), number in _EACH.items():
            for index in range(number):
                yield written(_body(version, kind, name, index))


def _body(version: str, kind: str, tenant: str, index: int) -> Body:
    name = f"{tenant}-{kind.lower()}-{index:03d}"
    metadata = {
        "name": name,
        "creationTimestamp": _MOMENT,
        "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/managed-by": "Helm"},
        "annotations": {
            "meta.helm.sh/release-name": name,
            "meta.helm.sh/release-namespace": f"{tenant}-default",
        },
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **_rest(kind, tenant, index)}


def _rest(kind: str, tenant: str, index: int) -> Body:
    match kind:
        case "PersistentVolume":
            return {"spec": _volume(tenant, index)}
        case "StorageClass":
            return {"provisioner": "disks.example", "reclaimPolicy": "Retain"}
        case "PriorityClass":
            return {"value": index}
        case "ClusterRole":
            return {
                "rules": [{"apiGroups": [""], "resources": ["pods", "services"], "verbs": ["get", "list"]}]
            }
        case "ClusterRoleBinding":
            role = f"{tenant}-clusterrole-{index:03d}"
            account = {"kind": "ServiceAccount", "name": "default", "namespace": f"{tenant}-namespace-000"}
            return {
                "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
                "subjects": [account],
            }
        case _:
            return {}


def _volume(tenant: str, index: int) -> Body:
    return {
        "capacity": {"storage": "10Gi"},
        "accessModes": ["ReadWriteOnce"],
        "persistentVolumeReclaimPolicy": "Retain",
        "storageClassName": f"{tenant}-storageclass-{index:03d}",
        "csi": {"driver": "disks.example", "volumeHandle": f"vol-{tenant}-{index}"},
    }
