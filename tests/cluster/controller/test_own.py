"""A TTL label on what belongs to Skoupa is ignored and told on a real server; a Tenant is the users', and goes by it."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.errors import NotFound
from skoupa.kinds.brake import BRAKES, BrakeSpec, Scope, manifest
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.cluster.commands import skoupa
from tests.cluster.controller.objects import AuditLog, People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually, exists
from tests.unit.controller.stage import definition

pytestmark = pytest.mark.cluster

CLEANUP_POLICIES = Resource(
    group=names.KYVERNO_GROUP,
    version="v2",
    plural="cleanuppolicies",
    kind=names.CLEANUP_POLICY_KIND,
    namespaced=True,
)
TENANTS = Resource(
    group=names.TENANT_GROUP, version="v1alpha1", plural="tenants", kind=names.TENANT_KIND, namespaced=False
)


@pytest.fixture
async def kinds(kind: None, boss: Client) -> AsyncIterator[None]:
    """Beside Brake. Other tests of this control plane do without them."""
    made = [
        await boss.create(CUSTOM_RESOURCE_DEFINITIONS, definition(one)) for one in (CLEANUP_POLICIES, TENANTS)
    ]
    for resource in (CLEANUP_POLICIES, TENANTS):

        async def served(wanted: Resource = resource) -> bool:
            try:
                await everything(boss, wanted, METADATA)
            except NotFound:
                return False
            return True

        await eventually(served, what=f"{resource.qualified} to be served")
    yield
    for one in made:
        name, uid = one["metadata"]["name"], one["metadata"]["uid"]
        await boss.delete(CUSTOM_RESOURCE_DEFINITIONS, name, uid=uid, propagation="Background")

    async def gone() -> bool:
        left = [await exists(boss, CUSTOM_RESOURCE_DEFINITIONS, one["metadata"]["name"]) for one in made]
        return not any(left)

    await eventually(gone, what="the kinds to go")


@pytest.fixture
def running(kinds: None, yard: Yard) -> Yard:
    """Processes that end before the kinds are taken away."""
    return yard


async def test_a_label_on_what_belongs_to_skoupa_is_ignored_and_told_and_a_tenant_goes_by_it(
    plane: ControlPlane, people: People, running: Yard, audit: AuditLog
) -> None:
    await pull_labelled(people)
    await people.make("tidy", "1s", resource=CLEANUP_POLICIES)
    await people.make("ours", "1s", labels={names.PART_OF_LABEL: names.COMPONENT})
    await people.make(names.STATE_CONFIG_MAP, "1s")
    for resource in (BRAKES, CLEANUP_POLICIES, TENANTS):
        await people.label(resource.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1s")
    own = {
        "idle": (BRAKES, "a Brake"),
        "tidy": (CLEANUP_POLICIES, "a CleanupPolicy"),
        "ours": (CONFIG_MAPS, "the ConfigMap ours"),
        names.STATE_CONFIG_MAP: (CONFIG_MAPS, f"the ConfigMap {names.STATE_CONFIG_MAP}"),
        **{
            one.qualified: (CUSTOM_RESOURCE_DEFINITIONS, f"the definition of {one.qualified}")
            for one in (BRAKES, CLEANUP_POLICIES, TENANTS)
        },
    }
    process = await running.started()
    await people.make("acme", "1s", resource=TENANTS)
    await people.gone("acme", resource=TENANTS)
    for name, (resource, what) in own.items():
        told = await process.says("label problem", name=name, kind=resource.qualified)
        assert told["level"] == "warning"
        assert told["why"] == (
            f"cleanup.kyverno.io/ttl is ignored on {what}: Skoupa's own objects do not go by a label"
        )
        where = people.namespace if resource.namespaced else "default"
        event = await people.event(name, "SkoupaLabelProblem", kind=resource.kind, namespace=where)
        assert (event["type"], event["message"]) == ("Warning", told["why"])
        assert await people.there(name, resource=resource)
        metric = f'skoupa_invalid_labels_total{{kind="{resource.qualified}",reason="ttl-on-own"}}'
        assert await process.metric(metric) >= 1
    deleted = {entry["objectRef"]["name"] for entry in audit.entries() if entry["verb"] == "delete"}
    assert deleted & {"acme", *own} == {"acme"}

    planned = await skoupa("plan", "-A", "-o", "json", kubeconfig=plane.kubeconfig)
    document = json.loads(planned.out)
    remarks = {item["name"]: [note["code"] for note in item["notes"]] for item in document["remarks"]}
    assert {name: remarks.get(name) for name in own} == {name: ["ttl-on-own"] for name in own}
    assert not [item for item in document["items"] if item["name"] in own]


async def pull_labelled(people: People) -> None:
    """A Brake that holds nothing."""
    brake = manifest("idle", BrakeSpec(scope=Scope(namespace=f"not-{people.namespace}")))
    brake["metadata"]["labels"] = {names.TTL_LABEL: "1s"}
    await people.client.create(BRAKES, brake)


async def test_the_namespace_that_it_lives_in_never_goes_by_a_label(people: People, yard: Yard) -> None:
    process = await yard.started()
    try:
        await people.label(yard.home, resource=NAMESPACES, ttl="1s")
        held = await process.says("held", name=yard.home)
        assert held["why"] == (
            f"the Namespace {yard.home} belongs to Skoupa itself and goes by no label and no policy"
        )
        assert await process.metric('skoupa_holds{reason="protected-own"}') >= 1
        await people.make("last", "1s")
        await people.gone("last")
        assert await people.there(yard.home, resource=NAMESPACES)
    finally:
        await people.label(yard.home, resource=NAMESPACES, ttl=None)
