"""The three stories of the proposal (seed 003) and a policy for a whole namespace, on a real server with kube-controller-manager beside."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.errors import AlreadyExists, SkoupaError
from skoupa.kinds.definition import document
from skoupa.kinds.retention.policy import RETENTION_POLICIES, RETENTION_POLICY
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.kube.timestamps import whole_seconds
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.test_ttl_after import DEPLOYMENTS, ON, after, template
from tests.cluster.reaching import eventually
from tests.cluster.test_finishing import CONTAINER, JOBS, end_pod
from tests.unit.controller.stage import definition

pytestmark = pytest.mark.cluster

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
POD = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}


async def test_story_1_old_jobs_go_a_while_after_they_completed(yard: Yard, people: People) -> None:
    await yard.started(**ON)
    await people.make(
        "job", resource=JOBS, labels=after("unused-3s"), body={"spec": {"backoffLimit": 0, "template": POD}}
    )
    await end_pod(people.client, people.namespace, phase="Succeeded", code=0)
    await people.gone("job", resource=JOBS, seconds=60)


async def test_story_2_configs_and_secrets_go_after_the_last_application_that_uses_them(
    yard: Yard, people: People
) -> None:
    apps = []
    for name in ("one", "two"):
        pod = template("shared")
        pod["metadata"]["labels"] = {"app": name}
        pod["spec"]["containers"] = [{**CONTAINER, "envFrom": [{"secretRef": {"name": "shared"}}]}]
        spec = {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": pod}
        apps.append(await people.make(name, resource=DEPLOYMENTS, body={"spec": spec}))
    await yard.started(**ON)
    await people.make("shared", labels=after("unused-3s"))
    await people.make("shared", resource=SECRETS, labels=after("unused-3s"))
    await people.make("free", labels=after("unused-3s"))
    await people.remove(apps[0], resource=DEPLOYMENTS)
    await people.gone("free", seconds=60)
    assert await people.there("shared")
    assert await people.there("shared", resource=SECRETS)
    await people.remove(apps[1], resource=DEPLOYMENTS)
    await people.gone("shared", seconds=60)
    await people.gone("shared", resource=SECRETS, seconds=60)


async def test_story_3_a_build_goes_after_it_completed_and_its_definition_after_the_last_of_them(
    yard: Yard, people: People
) -> None:
    group = f"{people.namespace}.example"
    builds = Resource(group=group, version="v1", plural="builds", kind="Build", namespaced=True)
    defined = definition(builds)
    defined["metadata"]["labels"] = after("unused-3s")
    schema = defined["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema.update({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, defined)

    async def made() -> bool:
        try:
            await people.make("build", resource=builds, labels=after("finished-3s"))
        except SkoupaError:
            return False
        return True

    await eventually(made, what="the new kind to be served")
    skoupa = await yard.started(**ON)
    await skoupa.says("ready")
    assert await people.there(builds.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS)
    now = whole_seconds(people.client.clock.now())
    ended = {"conditions": [{"type": "Succeeded", "status": "True"}], "completionTime": now}
    await people.client.merge_patch(builds, "build", {"status": ended}, namespace=people.namespace)
    await people.gone("build", resource=builds, seconds=90)
    await people.gone(builds.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, seconds=90)


async def bring_policies(people: People) -> None:
    try:
        await people.client.create(CUSTOM_RESOURCE_DEFINITIONS, document(RETENTION_POLICY))
    except AlreadyExists:
        return

    async def served() -> bool:
        try:
            await everything(people.client, RETENTION_POLICIES, METADATA)
        except SkoupaError:
            return False
        return True

    await eventually(served, what="the kind RetentionPolicy to be served")


async def test_a_policy_of_a_namespace_keeps_the_newest_and_what_is_used_and_says_what_it_did(
    yard: Yard, people: People
) -> None:
    await bring_policies(people)
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template("web-v0")}
    for number in range(4):
        await people.make(f"web-v{number}")
    await people.make("web", resource=DEPLOYMENTS, body={"spec": spec})
    policy: dict[str, Any] = {
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"]}}]},
        "after": {"unused": "3s"},
        "keepNewest": {"count": 2},
    }
    made = await people.make("configs", resource=RETENTION_POLICIES, body={"spec": policy})
    await yard.started(**ON)

    async def two_left() -> bool:
        left = [number for number in range(4) if await people.there(f"web-v{number}")]
        return len(left) == 2 and 0 in left

    await eventually(two_left, what="the used one and the newest to be left", seconds=90)
    assert await people.there("kube-root-ca.crt")

    async def told() -> bool:
        found = await people.client.get(RETENTION_POLICIES, "configs", namespace=people.namespace, view=WHOLE)
        status = found.get("status") or {}
        return status.get("deleted") == 2 and status["conditions"][0]["status"] == "True"

    await eventually(told, what="the status to say so", seconds=60)
    await people.remove(made, resource=RETENTION_POLICIES)
