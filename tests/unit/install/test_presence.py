"""The way out: what is named, in which order, and what a Brake's finalizer needs."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.install.labelling import labelled
from skoupa.install.presence import Found, look, removal, removal_order
from skoupa.kinds import definitions
from skoupa.kinds.alive import ALIVES
from skoupa.kinds.brake import BRAKES, BrakeSpec, Scope, manifest
from skoupa.kinds.tenant import TENANTS, tenant_definitions
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.sim.asking import on_cluster

pytestmark = pytest.mark.unit

FREEING = 'kubectl patch brakes.skoupa.dev stop --type=merge -p \'{"metadata":{"finalizers":null}}\''


def found(resource: str, name: str, **rest: Any) -> Found:
    values: dict[str, Any] = {"api_version": "v1", "kind": "", "namespace": "", "meaning": "", "command": ""}
    return Found(resource=resource, name=name, **{**values, **rest})


def test_a_brake_is_freed_after_the_controller_is_stopped_and_before_its_definition_goes() -> None:
    pieces = removal_order(
        [
            found("customresourcedefinitions.apiextensions.k8s.io", "brakes.skoupa.dev"),
            found("brakes.skoupa.dev", "stop", finalizers=("skoupa.dev/brake",)),
            found("deployments.apps", "skoupa", namespace="skoupa"),
            found("namespaces", "skoupa"),
        ]
    )
    assert removal(pieces) == [
        "kubectl delete deployments.apps skoupa -n skoupa",
        FREEING,
        "kubectl delete brakes.skoupa.dev stop",
        "kubectl delete customresourcedefinitions.apiextensions.k8s.io brakes.skoupa.dev",
        "kubectl delete namespaces skoupa",
    ]


def test_a_brake_that_waits_for_a_controller_that_is_gone_is_freed_too() -> None:
    waiting = found("brakes.skoupa.dev", "stop", finalizers=("skoupa.dev/brake",), terminating=True)
    assert removal([waiting]) == [FREEING]


def test_brakes_are_found_whoever_made_them_and_say_what_their_finalizer_means() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = Client(cluster, cluster.clock)
        for definition in definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
        await cluster.clock.sleep(2)
        for name, finalizers in (("stop", ["skoupa.dev/brake"]), ("plain", [])):
            body = manifest(name, BrakeSpec(scope=Scope(all=True)))
            body["metadata"]["finalizers"] = finalizers
            await client.create(BRAKES, body)
        presence = await look(client, discovery=await discover(client), home="skoupa")
        told = {one.name: one.meaning for one in presence.found if one.resource == BRAKES.qualified}
        assert told["plain"] == "what it holds is not held any more"
        assert "its finalizer skoupa.dev/brake is removed by the controller" in told["stop"]

    on_cluster(work)


def test_alive_is_freed_and_never_deleted_by_the_way() -> None:
    """Everybody who takes part would clean up what people still need."""
    left = '{"metadata":{"finalizers":["dns.example.com/cleanup"]}}'
    pieces = removal_order(
        [
            found("customresourcedefinitions.apiextensions.k8s.io", "alives.skoupa.dev"),
            found("customresourcedefinitions.apiextensions.k8s.io", "kindprofiles.skoupa.dev"),
            found("alives.skoupa.dev", "cluster", finalizers=("skoupa.dev/alive", "dns.example.com/cleanup")),
        ]
    )
    assert removal(pieces) == [
        f"kubectl patch alives.skoupa.dev cluster --type=merge -p '{left}'",
        "kubectl delete customresourcedefinitions.apiextensions.k8s.io kindprofiles.skoupa.dev",
    ]


def test_alive_is_found_whoever_made_it_and_says_what_deleting_it_means() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = Client(cluster, cluster.clock)
        for definition in definitions():
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, labelled(definition))
        await cluster.clock.sleep(2)
        by_hand = {"apiVersion": "skoupa.dev/v1alpha1", "kind": "Alive", "metadata": {"name": "cluster"}}
        await client.create(ALIVES, by_hand)
        presence = await look(client, discovery=await discover(client), home="skoupa")
        told = {one.name: one for one in presence.found}
        for name in ("cluster", "alives.skoupa.dev"):
            assert "this cluster is about to die" in told[name].meaning
            assert told[name].command == "kubectl get alives.skoupa.dev cluster -o yaml"
        assert not any("alives" in command for command in removal(presence.found) if "delete" in command)

    on_cluster(work)


def test_the_definition_of_alive_goes_like_others_where_there_is_none_for_certain() -> None:
    kind = found("customresourcedefinitions.apiextensions.k8s.io", "alives.skoupa.dev")
    delete = "kubectl delete customresourcedefinitions.apiextensions.k8s.io alives.skoupa.dev"
    assert removal([kind]) == [delete]
    assert removal([kind], [("alives.skoupa.dev", "forbidden")]) == []


TENANT_DEFINITION = "tenants.tenant.kubezoo.io"


async def with_tenants(cluster: EmbeddedCluster, *, brought: bool) -> Client:
    """One that Skoupa has put both finalizers on, one of which the other is KubeZoo's, and one that has nothing of Skoupa."""
    client = Client(cluster, cluster.clock)
    (definition,) = tenant_definitions()
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, labelled(definition) if brought else definition)
    await cluster.clock.sleep(2)
    both = {"metadata": {"finalizers": [names.KUBEZOO_TENANT_FINALIZER, names.TENANT_FINALIZER]}}
    kubezoo = {"metadata": {"finalizers": [names.KUBEZOO_TENANT_FINALIZER]}}
    for name in ("111111", "222222", "333333"):
        body = {"apiVersion": TENANTS.api_version, "kind": TENANTS.kind, "metadata": {"name": name}}
        await client.create(TENANTS, {**body, "spec": {"id": name}})
    for name in ("222222", "333333"):
        await client.merge_patch(TENANTS, name, kubezoo, manager="kubezoo")
    for name in ("111111", "222222"):
        await client.merge_patch(TENANTS, name, both)
    return client


@pytest.mark.parametrize("brought", [True, False])
def test_tenants_are_freed_and_neither_they_nor_their_kind_are_deleted_by_the_way(*, brought: bool) -> None:
    """They are customers, with whose deletion everything of theirs goes; without a controller they could never be deleted."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await with_tenants(cluster, brought=brought)
        presence = await look(client, discovery=await discover(client), home="skoupa")
        told = {one.name: one for one in presence.found}
        tenants = {"111111", "222222", *(["333333"] if brought else [])}
        assert set(told) == {*tenants, *([TENANT_DEFINITION] if brought else [])}
        assert "can't be deleted any more" in told["111111"].meaning
        stopping = found("deployments.apps", "skoupa", namespace="skoupa")
        stop, *freeing = removal([stopping, *presence.found])
        assert stop == "kubectl delete deployments.apps skoupa -n skoupa"
        left = '{"metadata":{"finalizers":["kubezoo.io/tenant"]}}'
        assert freeing == [
            f'kubectl patch {TENANTS.qualified} 111111 --type=merge -p \'{{"metadata":{{"finalizers":null}}}}\'',
            f"kubectl patch {TENANTS.qualified} 222222 --type=merge -p '{left}'",
        ]
        assert not any(one.command.startswith("kubectl delete") for one in presence.found)

    on_cluster(work)


def test_the_kind_of_tenants_goes_like_others_where_there_is_none_for_certain() -> None:
    kind = found(CUSTOM_RESOURCE_DEFINITIONS.qualified, TENANT_DEFINITION)
    delete = f"kubectl delete {CUSTOM_RESOURCE_DEFINITIONS.qualified} {TENANT_DEFINITION}"
    assert removal([kind]) == [delete]
    assert removal([kind], [(TENANT_DEFINITION, "forbidden")]) == []
