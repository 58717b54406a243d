"""What keeps a deleted tenant on a real server: each is named, nothing foreign is touched, and it goes on once that is mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa.errors import NotFound
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import (
    API_SERVICES,
    CONFIG_MAPS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    Resource,
)
from tests.cluster.commands import Said, skoupa
from tests.cluster.controller.impatient import IMPATIENT
from tests.cluster.controller.objects import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from tests.cluster.controller.running import Yard
from tests.cluster.controller.tenants import (
    bring_tenants,
    foos,
    leave,
    make_tenant,
    new_id,
    structural,
    take_tenants_away,
    until_held,
    until_left,
    until_served,
)
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import PRIORITIES

pytestmark = pytest.mark.cluster

ON: dict[str, Any] = {"features__tenants": "true"}
USER = "keeper-of-tenants"
# All but to delete.
HARMLESS = {
    "apiGroups": ["*"],
    "resources": ["*"],
    "verbs": ["get", "list", "watch", "create", "update", "patch"],
}
NON_RESOURCE = {"nonResourceURLs": ["*"], "verbs": ["get"]}


def converted(kind: Resource) -> dict[str, Any]:
    """Two versions, and whoever converts between them is down; stored is the one that the server does not prefer."""
    made = structural(kind)
    (version,) = made["spec"]["versions"]
    made["spec"]["versions"] = [version, {**version, "name": "v2", "storage": False}]
    made["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": {"url": "https://127.0.0.1:9/convert"},
        },
    }
    return made


async def mend_conversion(client: Client, kind: Resource) -> None:
    patch = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
    await client.merge_patch(CUSTOM_RESOURCE_DEFINITIONS, kind.qualified, patch)


async def make(client: Client, kind: Resource, name: str, **body: Any) -> None:
    whole = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, **body}
    await client.create(kind, whole)


async def make_api(client: Client, group: str) -> None:
    """Served by nobody."""
    spec = {
        "group": group,
        "version": "v1",
        "groupPriorityMinimum": 1,
        "versionPriority": 1,
        "insecureSkipTLSVerify": True,
        "service": {"name": "nowhere", "namespace": "default"},
    }
    await client.create(API_SERVICES, {"metadata": {"name": f"v1.{group}"}, "spec": spec})


async def is_there(client: Client, kind: Resource, name: str) -> bool:
    try:
        found = await client.get(kind, name, view=METADATA)
    except NotFound:
        return False
    return found.metadata.deletion_timestamp is None


def may_delete(*kinds: Resource) -> dict[str, Any]:
    return {
        "apiGroups": [one.group for one in kinds],
        "resources": [one.plural for one in kinds],
        "verbs": ["delete"],
    }


async def told(client: Client, name: str, *words: str) -> None:
    """The status has all of them."""
    seen: dict[str, Any] = {}

    async def so() -> bool:
        found: dict[str, Any] = await client.get(TENANTS, name, view=WHOLE)
        seen.clear()
        seen.update(found.get("status") or {})
        return all(word in str(seen) for word in words)

    try:
        await eventually(so, what=f"the status to tell {words}", seconds=90, patiently=True)
    except AssertionError as error:
        raise AssertionError(f"{error}: {seen}") from error


async def told_elsewhere(plane: ControlPlane, folder: Path, name: str) -> None:
    """Commands that are about something else say it too."""
    settings = folder / "settings.yaml"
    settings.write_text("features: {tenants: true}\n")

    async def ask(*words: str) -> Said:
        return await skoupa(*words, "--config", str(settings), kubeconfig=plane.kubeconfig)

    planned = await ask("plan", "configmaps", "-A")
    assert planned.out.startswith(f"The Tenant {name} is being deleted since "), planned.err
    explained = await ask("explain", f"priorityclass/{name}-high", f"configmap/{name}-place/stuck")
    explained_high, inside = explained.out.split("\n\n")
    assert f"tenant: {name}, since its name begins with {name}-" in explained_high
    assert "goes with that Tenant, which is being deleted since " in explained_high
    assert f"in the way: PriorityClass {name}-high: " in explained_high
    assert f"Goes along with its Namespace {name}-place, which is being deleted" in inside
    assert f"in the way: Namespace {name}-place waits for " in inside


async def test_whatever_keeps_a_tenant_is_named_and_it_goes_on_once_that_is_mended(
    boss: Client, plane: ControlPlane, yard: Yard, tmp_path: Path
) -> None:
    one, other = new_id(), new_id()
    own, foreign = foos(f"{one}-own.example"), foos(f"city{other}.example")
    await bring_tenants(boss)
    allowed = may_delete(NAMESPACES, CUSTOM_RESOURCE_DEFINITIONS, API_SERVICES, own)
    await boss.create(CLUSTER_ROLES, {"metadata": {"name": USER}, "rules": [HARMLESS, NON_RESOURCE, allowed]})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": USER}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
    await boss.create(
        CLUSTER_ROLE_BINDINGS, {"metadata": {"name": USER}, "roleRef": reference, "subjects": [subject]}
    )
    await yard.started(program=IMPATIENT, kubeconfig=plane.kubeconfig_for(user=USER), **ON)
    await make_tenant(boss, one)
    await until_held(boss, one)
    for name in (one, other):
        await make(boss, PRIORITIES, f"{name}-high", value=1)
        await boss.create(NAMESPACES, {"metadata": {"name": f"{name}-place"}})
        body = {"metadata": {"name": "stuck", "finalizers": ["example.com/never"]}}
        await boss.create(CONFIG_MAPS, body, namespace=f"{name}-place")
    for kind in (own, foreign):
        await boss.create(CUSTOM_RESOURCE_DEFINITIONS, converted(kind))
        await until_served(boss, kind)
    await make(boss, own, f"{one}-foo")
    # Of a kind of the cluster: whether the tenant has some of it can't be read while nobody converts.
    await make(boss, foreign, f"{other}-foo")
    await make_api(boss, f"{one}-api.example")
    await make_api(boss, f"api{other}.example")

    # An API server that is away could have anything, so nothing goes; the tenant's own keeps nobody.
    await leave(boss, one)
    await told(boss, one, "PartialDiscovery", f"api{other}.example")
    assert await is_there(boss, API_SERVICES, f"v1.{one}-api.example")
    assert await is_there(boss, NAMESPACES, f"{one}-place")
    found = await boss.get(API_SERVICES, f"v1.api{other}.example", view=METADATA)
    await boss.delete(
        API_SERVICES, f"v1.api{other}.example", uid=found.metadata.uid, propagation="Background"
    )

    # All that hangs at once, by its name and with what it waits for.
    await told(
        boss,
        one,
        f"PriorityClass {one}-high: no permission: delete {PRIORITIES.qualified}",
        f"Namespace {one}-place waits for ",
        "example.com/never",
        foreign.qualified,
        own.qualified,
    )
    assert not await is_there(boss, API_SERVICES, f"v1.{one}-api.example")
    await told_elsewhere(plane, tmp_path, one)
    for kind, name in (
        (PRIORITIES, f"{one}-high"),
        (PRIORITIES, f"{other}-high"),
        (NAMESPACES, f"{other}-place"),
        (CUSTOM_RESOURCE_DEFINITIONS, foreign.qualified),
    ):
        assert await is_there(boss, kind, name)

    # Mended one after the other.
    rules = {"rules": [HARMLESS, NON_RESOURCE, allowed, may_delete(PRIORITIES)]}
    await boss.merge_patch(CLUSTER_ROLES, USER, rules)
    await boss.merge_patch(CONFIG_MAPS, "stuck", {"metadata": {"finalizers": None}}, namespace=f"{one}-place")
    for kind in (own, foreign):
        await mend_conversion(boss, kind)
    await until_left(boss, one, seconds=180)
    for kind, name in (
        (PRIORITIES, f"{one}-high"),
        (NAMESPACES, f"{one}-place"),
        (CUSTOM_RESOURCE_DEFINITIONS, own.qualified),
    ):
        assert not await is_there(boss, kind, name)
    for kind, name in (
        (PRIORITIES, f"{other}-high"),
        (NAMESPACES, f"{other}-place"),
        (CUSTOM_RESOURCE_DEFINITIONS, foreign.qualified),
        (foreign, f"{other}-foo"),
    ):
        assert await is_there(boss, kind, name)
    await boss.merge_patch(
        CONFIG_MAPS, "stuck", {"metadata": {"finalizers": None}}, namespace=f"{other}-place"
    )
    for kind, name in (
        (PRIORITIES, f"{other}-high"),
        (CUSTOM_RESOURCE_DEFINITIONS, foreign.qualified),
    ):
        left = await boss.get(kind, name, view=METADATA)
        await boss.delete(kind, name, uid=left.metadata.uid, propagation="Background")
    await take_tenants_away(boss)
