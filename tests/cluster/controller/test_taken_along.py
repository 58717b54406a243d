"""What a real server takes along by itself: Namespaces as owners, what is defined, tokens, Pods of a node, new kinds."""

from __future__ import annotations

import secrets
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from tests.cluster.controller.objects import People, grant
from tests.cluster.controller.running import Skoupa, Yard
from tests.cluster.controller.test_rights import EVENTS, OWN
from tests.cluster.reaching import eventually, exists
from tests.unit.controller.stage import definition, owned_by

pytestmark = pytest.mark.cluster

KEEP = {names.KEEP_LABEL: "true"}
ACCOUNTS = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)
NODES = Resource(version="v1", plural="nodes", kind="Node", namespaced=False)
SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)


async def made_once_served(people: People, name: str, **given: Any) -> dict[str, Any]:
    async def made() -> dict[str, Any] | None:
        try:
            return await people.make(name, **given)
        except SkoupaError:
            return None

    found = await eventually(made, what="the new kind to be served")
    assert found is not None
    return found


async def drop(client: Client, resource: Resource, name: str, *, namespace: str = "") -> None:
    found = await client.get(resource, name, namespace=namespace, view=METADATA)
    uid = found.metadata.uid
    await client.delete(resource, name, namespace=namespace, uid=uid, propagation="Background")


async def test_a_namespace_that_owns_another_with_something_kept_in_it_stays(
    sweeping: Skoupa, people: People
) -> None:
    boss, parent, child = people.client, f"{people.namespace}-parent", f"{people.namespace}-child"
    owner = await people.make(parent, resource=NAMESPACES)
    await people.make(child, resource=NAMESPACES, ownerReferences=[owned_by(owner)])
    await boss.create(CONFIG_MAPS, {"metadata": {"name": "deed", "labels": KEEP}}, namespace=child)
    await people.label(parent, resource=NAMESPACES, ttl="1s")
    held = await sweeping.says("held", name=parent)
    assert f"ConfigMap {child}/deed" in held["why"]
    assert await exists(boss, CONFIG_MAPS, "deed", namespace=child)
    await drop(boss, CONFIG_MAPS, "deed", namespace=child)
    await people.gone(parent, resource=NAMESPACES, seconds=90)


async def test_a_definition_stays_while_there_are_objects_of_its_kind(
    sweeping: Skoupa, people: People
) -> None:
    boss, deed = people.client, f"deed-{people.namespace}"
    group = f"{people.namespace}.example"
    tenants = Resource(group=group, version="v1", plural="tenants", kind="Tenant", namespaced=False)
    await boss.create(CUSTOM_RESOURCE_DEFINITIONS, definition(tenants))
    acme = await made_once_served(people, "acme", resource=tenants)
    metadata = {"name": deed, "ownerReferences": [owned_by(acme)]}
    await boss.create(CONFIG_MAPS, {"metadata": metadata}, namespace="kube-system")
    await people.label(tenants.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1s")
    held = await sweeping.says("held", name=tenants.qualified)
    assert held["why"].startswith("there are objects of the kind that it defines, Tenant acme for one")
    await drop(boss, CONFIG_MAPS, deed, namespace="kube-system")
    await drop(boss, tenants, "acme")
    await people.gone(tenants.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, seconds=90)


async def test_a_service_account_stays_for_its_kept_token(sweeping: Skoupa, people: People) -> None:
    await people.make("robot", resource=ACCOUNTS)
    await people.make(
        "robot-token",
        resource=SECRETS,
        labels=KEEP,
        annotations={"kubernetes.io/service-account.name": "robot"},
        body={"type": "kubernetes.io/service-account-token"},
    )
    await people.label("robot", resource=ACCOUNTS, ttl="1s")
    held = await sweeping.says("held", name="robot")
    assert held["why"] == f"deleting it would take along Secret {people.namespace}/robot-token, which is kept"
    await people.label("robot-token", resource=SECRETS, keep=None)
    await people.gone("robot", resource=ACCOUNTS, seconds=60)
    await people.gone("robot-token", resource=SECRETS, seconds=60)


async def test_a_node_stays_for_a_kept_pod_on_it(sweeping: Skoupa, people: People) -> None:
    node = f"node-{people.namespace}"
    await people.make(node, resource=NODES)
    spec = {
        "nodeName": node,
        "automountServiceAccountToken": False,
        "terminationGracePeriodSeconds": 0,
        "containers": [{"name": "a", "image": "a"}],
    }
    await people.make("worker", resource=PODS, labels=KEEP, body={"spec": spec})
    await people.label(node, resource=NODES, ttl="1s")
    held = await sweeping.says("held", name=node)
    assert held["why"] == f"deleting it would take along Pod {people.namespace}/worker, which is kept"
    await people.label("worker", resource=PODS, keep=None)
    await people.gone(node, resource=NODES, seconds=60)


async def test_a_kept_object_of_a_new_kind_holds_for_who_may_not_watch_definitions(
    plane: ControlPlane, people: People, yard: Yard
) -> None:
    """As an install for some namespaces has it: everything in that namespace, nothing in the cluster."""
    user, boss = f"sweeper-{secrets.token_hex(4)}", people.client
    await grant(boss, user, [*OWN, EVENTS], namespace=yard.home)
    await grant(boss, user, [("list watch delete", "*", "*")], namespace=people.namespace)
    process = await yard.started(
        kubeconfig=plane.kubeconfig_for(user=user), namespaces=f"{people.namespace},{yard.home}"
    )
    group = f"{people.namespace}.example"
    widgets = Resource(group=group, version="v1", plural="widgets", kind="Widget", namespaced=True)
    made = await boss.create(CUSTOM_RESOURCE_DEFINITIONS, definition(widgets))
    owner = await people.make("config")
    await made_once_served(people, "deed", resource=widgets, labels=KEEP, ownerReferences=[owned_by(owner)])
    await people.label("config", ttl="1s")
    held = await process.says("held", name="config")
    assert held["why"] == f"deleting it would take along Widget {people.namespace}/deed, which is kept"
    assert await people.there("deed", resource=widgets)
    await people.label("deed", resource=widgets, keep=None)
    await people.gone("config")
    await people.remove(made, resource=CUSTOM_RESOURCE_DEFINITIONS)
