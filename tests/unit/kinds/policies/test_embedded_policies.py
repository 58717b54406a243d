"""The embedded cluster serves the kinds of policies too; it knows no CEL, and what that lets through is a problem to the reader."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.errors import Invalid
from skoupa.kinds.definition import resource
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLEANUP_POLICY
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.policy.reading import read_policy
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.sim.asking import on_cluster

pytestmark = pytest.mark.unit

SPEC: dict[str, Any] = {
    "schedule": "@daily",
    "match": {"any": [{"resources": {"kinds": ["Pod"]}}]},
    "context": [{"name": "a", "apiCall": {"urlPath": "/api/v1/namespaces/default/pods"}}],
}


async def installed(cluster: EmbeddedCluster) -> Client:
    client = Client(cluster, cluster.clock)
    for definition in policy_definitions():
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    for definition in policy_definitions():
        while not await established(client, definition["metadata"]["name"]):
            await cluster.clock.sleep(0.1)
    return client


async def established(client: Client, name: str) -> bool:
    found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=WHOLE)
    conditions = (found.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)


def body(kind: Resource, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {"name": name},
        "spec": SPEC | spec,
    }


async def refused(client: Client, **spec: Any) -> bool:
    try:
        await client.create(CLEANUP_POLICIES, body(CLEANUP_POLICIES, "bad", **spec), namespace="default")
    except Invalid:
        return True
    return False


def test_a_policy_is_served_in_its_versions_filled_in_and_refused_by_its_schema() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await installed(cluster)
        discovery = await discover(client)
        for short in ("cleanpol", "ccleanpol", "dpol", "ndpol", "gctxentry"):
            assert discovery.resolve(short)
        oldest = resource(CLEANUP_POLICY, "v1alpha1")
        await client.create(oldest, body(oldest, "one"), namespace="default")
        found = await client.get(CLEANUP_POLICIES, "one", namespace="default", view=WHOLE)
        assert found["apiVersion"] == "kyverno.io/v2"
        assert found["spec"]["context"][0]["apiCall"]["method"] == "GET"
        reading = read_policy(found, discovery=discovery)
        assert reading.policy is not None
        assert reading.policy.uid == found["metadata"]["uid"]
        assert reading.policy.created is not None
        assert await refused(client, schedule=5)
        assert await refused(client, deletionPropagationPolicy="background")
        assert await refused(client, match=None)
        compared = {"key": "a", "value": "a"}
        assert await refused(client, conditions={"all": [{**compared, "operator": "Equal"}]})
        assert not await refused(client, conditions={"all": [{**compared, "operator": "equals"}]})

    on_cluster(work)


def test_what_only_cel_would_refuse_is_a_problem_to_the_reader() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await installed(cluster)
        wrong = body(CLEANUP_POLICIES, "one", schedule="@every 1h", match={"any": [], "all": []})
        made = await client.create(CLEANUP_POLICIES, wrong, namespace="default")
        assert [problem.path for problem in read_policy(made).problems] == [
            "spec.schedule",
            "spec.match",
            "spec.match",
        ]

    on_cluster(work)
