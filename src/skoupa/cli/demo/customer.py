"""A customer of the demo's cluster whose contract ends: the Tenant is deleted, and what was its goes with it.

Another customer's id begins with the same digits: what is that one's stays, and at the end somebody counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from skoupa.cli.demo.rules import HOUR
from skoupa.clock import Clock
from skoupa.errors import NotFound
from skoupa.kinds.tenant import TENANTS, tenant_definitions
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.kube.timestamps import whole_seconds

CLUSTER_ROLES: Final = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="clusterroles",
    kind="ClusterRole",
    namespaced=False,
)
STORAGE_CLASSES: Final = Resource(
    group="storage.k8s.io", version="v1", plural="storageclasses", kind="StorageClass", namespaced=False
)
LEAVING: Final = "424242"
NEIGHBOUR: Final = "4242421"
_CONTRACT_ENDS_SECONDS: Final = 14.2 * HOUR
_LOOK_SECONDS: Final = 10.0
_AGE_SECONDS: Final = 60 * 24 * HOUR


def customers(now: float) -> list[dict[str, Any]]:
    """The kind, and two customers with what is theirs."""
    objects = tenant_definitions()
    for tenant in (LEAVING, NEIGHBOUR):
        objects.append(_object(TENANTS.api_version, "Tenant", tenant, now=now))
        for part in ("web", "data"):
            namespace = f"{tenant}-{part}"
            objects.append(_object("v1", "Namespace", namespace, now=now))
            objects.append(_object("v1", "ConfigMap", "settings", namespace=namespace, now=now))
        objects.append(_object(CLUSTER_ROLES.api_version, "ClusterRole", f"{tenant}-admin", now=now))
        objects.append(_object("storage.k8s.io/v1", "StorageClass", f"{tenant}-fast", now=now))
    return objects


async def leave(client: Client, tell: Callable[[str], None]) -> None:
    """Once."""
    clock: Clock = client.clock
    await clock.sleep(_CONTRACT_ENDS_SECONDS)
    found = await client.get(TENANTS, LEAVING, view=METADATA)
    await client.delete(TENANTS, LEAVING, uid=found.metadata.uid, propagation="Background")
    tell(f"the contract of customer {LEAVING} is over: its Tenant is deleted, and what was its goes with it")
    while await _is_there(client):
        await clock.sleep(_LOOK_SECONDS)
    left = [await _of(client, tenant) for tenant in (LEAVING, NEIGHBOUR)]
    tell(
        f"customer {LEAVING} is gone: {left[0]} of its objects are left, and {NEIGHBOUR} still has its {left[1]}"
    )


async def _is_there(client: Client) -> bool:
    try:
        await client.get(TENANTS, LEAVING, view=METADATA)
    except NotFound:
        return False
    return True


async def _of(client: Client, tenant: str) -> int:
    """Namespaces, classes and roles."""
    count = 0
    for resource in (NAMESPACES, STORAGE_CLASSES, CLUSTER_ROLES):
        found = await everything(client, resource, METADATA)
        count += sum(item.metadata.name.startswith(f"{tenant}-") for item in found.items)
    return count


def _object(api_version: str, kind: str, name: str, *, now: float, namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "creationTimestamp": whole_seconds(now - _AGE_SECONDS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}
