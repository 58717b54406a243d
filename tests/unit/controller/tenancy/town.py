"""A town of tenants on the stage: each with objects of every sort, and neighbours with names that look alike."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from skoupa import names
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT, TENANTS
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.unit.controller.stage import ALL_VERBS, PRIORITIES, Play, Stage, definition

RBAC = "rbac.authorization.k8s.io"


def clustered(group: str, plural: str, kind: str, version: str = "v1") -> Resource:
    return Resource(group=group, version=version, plural=plural, kind=kind, namespaced=False, verbs=ALL_VERBS)


CLASSES = clustered("storage.k8s.io", "storageclasses", "StorageClass")
ROLES = clustered(RBAC, "clusterroles", "ClusterRole")
BINDINGS = clustered(RBAC, "clusterrolebindings", "ClusterRoleBinding")
HOOKS = clustered(
    "admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"
)
VOLUMES = clustered("", "persistentvolumes", "PersistentVolume")
SERVICES = clustered("apiregistration.k8s.io", "apiservices", "APIService")
# A kind that the administrator has brought, of which tenants have objects.
CITIES = clustered("geo.example", "cities", "City")
KINDS = (CLASSES, ROLES, BINDINGS, HOOKS, VOLUMES, PRIORITIES, SERVICES)
LISTED = (NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS, *KINDS, CITIES)
ON = {"tenants": True}


async def bring_tenants(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
    await stage.settle()


async def tenant(stage: Stage, name: str, **spec: Any) -> dict[str, Any]:
    return await make(stage, TENANTS, name, spec=spec)


async def make(stage: Stage, resource: Resource, name: str, **body: Any) -> dict[str, Any]:
    """A custom kind is told with its version."""
    metadata = {"name": name, **body.pop("metadata", {})}
    whole = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata, **body}
    return await stage.people.create(resource, whole)


async def city(stage: Stage, *ids: str) -> None:
    """The kind Tenant, a kind of the administrator, and tenants with all that they have."""
    await bring_tenants(stage)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(CITIES))
    await stage.settle()
    for one in ids:
        await tenant(stage, one)
        await furnish(stage, one)


async def furnish(stage: Stage, one: str) -> None:
    people = stage.people
    await stage.namespace(f"{one}-default")
    await stage.make("app", namespace=f"{one}-default")
    await people.create(HOOKS, {"metadata": {"name": f"{one}-hook"}, "webhooks": []})
    await people.create(PRIORITIES, {"metadata": {"name": f"{one}-high"}, "value": 1})
    await people.create(CLASSES, {"metadata": {"name": f"{one}-fast"}, "provisioner": "x"})
    await people.create(ROLES, {"metadata": {"name": f"{one}-admin"}, "rules": []})
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": f"{one}-admin"}
    await people.create(BINDINGS, {"metadata": {"name": f"{one}-admin"}, "roleRef": reference})
    await make(stage, CITIES, f"{one}-athens")
    own = foos(one)
    await people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(own))
    await stage.settle()
    await make(stage, own, f"{one}-foo")
    await stage.settle()


def foos(one: str) -> Resource:
    """A kind of the tenant's own, of no namespace."""
    return clustered(f"{one}-shop.example", "foos", "Foo")


async def leave(stage: Stage, name: str) -> None:
    """Somebody deletes the Tenant."""
    found = await stage.people.get(TENANTS, name, view=WHOLE)
    uid = found["metadata"]["uid"]
    await stage.people.delete(TENANTS, name, uid=uid, propagation="Background")
    await stage.settle()


async def gone(stage: Stage, name: str) -> Play:
    """The whole story of one that is deleted."""
    play = await stage.play()
    await stage.later(10)
    await leave(stage, name)
    await stage.later(600)
    return play


def lives(stage: Stage, name: str) -> bool:
    return name in stage.found(TENANTS)


def everything(stage: Stage) -> set[str]:
    """All of the town that is in no namespace, as KIND/NAME."""
    return {f"{kind.kind}/{name}" for kind in LISTED for name in stage.found(kind)}


def things_of(stage: Stage, one: str) -> set[str]:
    """What has the id somewhere in front."""
    return {
        called
        for called in everything(stage)
        if called.partition("/")[2].startswith(f"{one}-") or f".{one}-" in called
    }


def owner(stage: Stage, name: str, resource: Resource = PRIORITIES) -> list[dict[str, Any]]:
    found = next(one for one in stage.cluster.objects(resource) if one["metadata"]["name"] == name)
    return [
        {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": name,
            "uid": found["metadata"]["uid"],
        }
    ]


def status(stage: Stage, name: str) -> dict[str, Any]:
    found = next(one for one in stage.cluster.objects(TENANTS) if one["metadata"]["name"] == name)
    said: dict[str, Any] = found.get("status") or {}
    return said


def ready(stage: Stage, name: str) -> dict[str, Any]:
    """The condition that says what it waits for."""
    return next(one for one in status(stage, name)["conditions"] if one["type"] == "Ready")


def deleted(play: Play) -> list[str]:
    """Requests that delete, in their order, as PLURAL/NAME."""
    return ["/".join(request.path.split("/")[-2:]) for _, request in play.sent("DELETE")]


def order_of(names_: Iterable[str], wanted: Iterable[str]) -> list[int]:
    listed = list(names_)
    return [listed.index(one) for one in wanted]


SHARED: dict[str, Any] = {names.SHARED_LABEL: "true"}
CONFIGS = CONFIG_MAPS
