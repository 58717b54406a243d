"""What comes back is the newest, is all that was lost, and stays: on a real server, with its collector and controllers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from harness.controlplane import ControlPlane
from skoupa import names
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS, Resource
from tests.cluster.commands import skoupa
from tests.cluster.controller.asking import Street, served
from tests.cluster.controller.objects import SECRETS, People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.shop import Shop
from tests.cluster.controller.test_trash import DEPLOYMENTS, TEMPLATE, entry_of, restore, restore_said
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

NAME = "test"
LEFTOVERS, REFUSED = 4, 5
EVERY_MINUTE = "* * * * *"


def deployment() -> dict[str, Any]:
    return {
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "template": TEMPLATE,
        }
    }


def owner(found: dict[str, Any], kind: Resource = DEPLOYMENTS) -> dict[str, str]:
    metadata = found["metadata"]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


async def test_what_two_owners_share_comes_back_when_both_went_together(people: People, yard: Yard) -> None:
    process = await yard.started(clusterName=NAME)
    owners = [
        owner(await people.make(name, resource=DEPLOYMENTS, body=deployment())) for name in ("da", "db")
    ]
    await people.make("shared", body={"data": {"a": "1"}}, ownerReferences=owners)
    for name in ("da", "db"):
        await people.label(name, resource=DEPLOYMENTS, ttl="1s")
    for name in ("da", "db"):
        await people.gone(name, resource=DEPLOYMENTS)
    await people.gone("shared")
    await entry_of(yard, "da", people)
    await entry_of(yard, "db", people)
    done = await restore(yard, process, "-n", people.namespace, "--since", "1h", "--with-dependents")
    assert done["ConfigMap/shared"]["outcome"]["what"] == "restored"
    back = await people.client.get(CONFIG_MAPS, "shared", namespace=people.namespace, view=WHOLE)
    assert back["data"] == {"a": "1"}
    assert {one["name"] for one in back["metadata"]["ownerReferences"]} == {"da", "db"}


async def test_the_newest_comes_back_although_it_went_along_with_its_namespace(
    people: People, yard: Yard
) -> None:
    process = await yard.started(clusterName=NAME)
    await people.make("x", "1s", body={"data": {"v": "ONE"}})
    await people.gone("x")
    await entry_of(yard, "x", people)
    await people.make("x", body={"data": {"v": "TWO"}})
    home = People(people.client, "")
    await home.label(people.namespace, resource=NAMESPACES, ttl="1s")
    await home.gone(people.namespace, resource=NAMESPACES, seconds=60)
    where = ("-A", "--since", "1h", "--with-dependents")
    done = await restore(yard, process, *where)
    assert done["ConfigMap/x"]["outcome"]["what"] == "restored"
    back = await people.client.get(CONFIG_MAPS, "x", namespace=people.namespace, view=WHOLE)
    assert back["data"] == {"v": "TWO"}


async def test_a_pod_that_its_replica_set_has_replaced_does_not_come_back_to_go_again(
    people: People, yard: Yard
) -> None:
    process = await yard.started(clusterName=NAME)
    await people.make("web", resource=DEPLOYMENTS, body=deployment())

    async def pods() -> list[str]:
        found = await everything(people.client, PODS, METADATA, scope=Scope(namespace=people.namespace))
        return [one.metadata.name for one in found.items if one.metadata.deletion_timestamp is None]

    [first] = await eventually(pods, what="the Pod of the Deployment")
    await people.label(first, resource=PODS, ttl="1s")
    await people.gone(first, resource=PODS, seconds=60)
    entry = await entry_of(yard, first, people)
    [second] = await eventually(pods, what="another Pod")
    assert second != first
    done = await restore(yard, process, entry.id, code=LEFTOVERS)
    outcome = done[f"Pod/{first}"]["outcome"]
    assert outcome["what"] == "refused"
    assert "makes its own and would delete this one again" in outcome["text"]
    assert await pods() == [second]


async def test_what_a_policy_would_take_at_its_next_run_needs_a_time_to_be_kept_for(
    people: People, policies: None, yard: Yard
) -> None:
    process = await yard.started(clusterName=NAME)
    await people.make("a", "1s")
    await people.gone("a")
    entry = await entry_of(yard, "a", people)
    process.end()
    resources = {"kinds": ["ConfigMap"], "names": ["a"], "namespaces": [people.namespace]}
    spec = {"schedule": EVERY_MINUTE, "match": {"any": [{"resources": resources}]}}
    await Shop(people).write(CLUSTER_CLEANUP_POLICIES, "every", spec)
    said = await restore_said(yard, process, entry.id)
    assert said.code == REFUSED
    assert "ClusterCleanupPolicy/every, which matches ConfigMap a, may take it again at once" in said.err
    assert not await people.there("a")
    await restore(yard, process, entry.id, "--keep-for", "1h")
    back = await people.client.get(CONFIG_MAPS, "a", namespace=people.namespace, view=METADATA)
    assert names.KEEP_LABEL in (back.metadata.labels or {})


async def test_a_policy_that_is_not_there_is_not_paused(
    people: People, policies: None, kind: None, plane: ControlPlane
) -> None:
    resources = {"kinds": ["ConfigMap"], "names": ["a"], "namespaces": [people.namespace]}
    spec = {"schedule": "0 0 1 1 *", "match": {"any": [{"resources": resources}]}}
    await Shop(people).write(CLUSTER_CLEANUP_POLICIES, "old-maps", spec)
    said = await skoupa("pause", "policy/old-mapz", kubeconfig=plane.kubeconfig)
    assert said.code == 2
    assert "there is no policy old-mapz in this cluster: did you mean old-maps?" in said.sentence
    assert (await skoupa("pause", "policy/old-maps", kubeconfig=plane.kubeconfig)).code == 0


@pytest.fixture
def street(people: People, plane: ControlPlane, home: str, tmp_path: Path) -> Street:
    return Street(people.client, plane, home=home, directory=tmp_path)


async def test_what_holds_a_namespace_is_not_named_to_who_may_not_read_it(
    people: People, kind: None, yard: Yard, street: Street
) -> None:
    process = await served(yard, street.admin)
    await people.make("root-password", resource=SECRETS)
    assert (await skoupa("pause", "kind/secrets", kubeconfig=process.kubeconfig)).code == 0
    await People(people.client, "").label(people.namespace, resource=NAMESPACES, ttl="1s")
    bob, ann = await street.person("bob"), await street.person("ann")
    await bob.may("get", "namespaces")
    await ann.may("get", "namespaces")
    await ann.may("get", "secrets")

    async def rows() -> list[dict[str, Any]]:
        return await ann.items("history", f"ns/{people.namespace}")

    await eventually(rows, what="the row of the Namespace", seconds=60)
    for person, sees in ((ann, True), (bob, False)):
        told = json.dumps(await person.items("history", f"ns/{people.namespace}"))
        assert people.namespace in told
        assert ("root-password" in told) is sees
