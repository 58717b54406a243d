"""Policies run: at the tick what matches goes, everything else stays, and a restart changes nothing about it."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.resources import Resource
from skoupa.sim.state.access import Rule
from tests.unit.controller.braking import many, pull, release
from tests.unit.controller.policies import (
    HOURLY,
    bring_policies,
    cleanup,
    conditions,
    deleting,
    matching,
    read,
)
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit

ALL_VERBS = ("create", "delete", "get", "list", "patch", "watch")
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True, verbs=ALL_VERBS)


@story()
async def test_what_a_policy_matches_goes_at_its_tick_and_the_rest_stays(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    stage.old(many(30, "other"))
    stage.old(many(5), namespace="default")
    play = await stage.play()
    await cleanup(stage, schedule="0 * * * *")
    await stage.until(HOUR - 1)
    assert len(stage.found()) == 35
    await stage.until(HOUR + 5)
    assert stage.found() == set(many(30, "other"))
    assert len(stage.found(namespace="default")) == 5
    assert len(play.told("deleted")) == 5
    assert (
        "ClusterCleanupPolicy/tidy matched it at its run of 2026-01-01T01:00:00Z"
        in (play.told("deleted")[0]["why"])
    )
    told = await read(stage)
    assert told["status"]["lastExecutionTime"] == "2026-01-01T01:00:00Z"
    assert told["status"]["nextExecutionTime"] == "2026-01-01T02:00:00Z"
    assert told["status"]["lastRun"] == {"matched": 5, "deleted": 5, "held": 0, "failed": 0}
    said = await conditions(stage)
    assert (said["Ready"]["status"], said["LastRunSucceeded"]["status"]) == ("True", "True")


@story()
async def test_a_policy_that_is_deleted_stops_though_a_finalizer_keeps_it(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    made = await cleanup(stage, schedule="0 * * * *")
    keep = {"metadata": {"finalizers": ["example.org/slow"]}}
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", keep)
    await stage.people.delete(
        CLUSTER_CLEANUP_POLICIES, "tidy", uid=made["metadata"]["uid"], propagation="Background"
    )
    await stage.until(2 * HOUR + MINUTE)
    assert (await read(stage))["metadata"]["deletionTimestamp"]
    assert len(stage.found()) == 5
    assert not play.told("deleted")


@story()
async def test_a_restart_does_not_run_a_policy_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    await cleanup(stage, schedule="0 * * * *")
    await stage.until(HOUR + 10)
    assert not stage.found()
    await play.stop()
    stage.old(many(5, "web-new"))
    await stage.play()
    await stage.until(2 * HOUR - 1)
    assert len(stage.found()) == 5
    await stage.until(2 * HOUR + 5)
    assert not stage.found()


@story()
async def test_a_policy_reads_metadata_alone_where_nothing_looks_further(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    await cleanup(stage)
    await stage.later(2 * MINUTE)
    lists = [
        request
        for _, request in play.wire.seen
        if request.verb == "list" and request.path.endswith(f"namespaces/{SHOP}/configmaps")
    ]
    assert lists
    assert all("PartialObjectMetadataList" in dict(request.headers)["Accept"] for request in lists)


@story(brakes={"share": 100})
async def test_a_run_needs_list_and_delete_on_what_it_matches_and_nothing_else(stage: Stage) -> None:
    """By metadata, by bodies and by CEL; also where a Brake held it, so that it is asked about again."""
    await bring_policies(stage)
    stage.cluster.install(JOBS)
    stage.old([*many(3), *many(3, "cel"), *many(3, "body")], resource=JOBS)
    served = [one.resource.qualified for one in stage.cluster.plane.catalogue.served()]
    others = [kind for kind in served if kind != JOBS.qualified]
    rules = (
        Rule(resources=(*others, *(f"{kind}/*" for kind in others), *(f"{kind}/status" for kind in others))),
        Rule(verbs=("list", "delete"), resources=(JOBS.qualified,)),
    )
    stage.cluster.allow_only("sweeper", rules)
    play = await stage.play(user="sweeper")
    here = {"kinds": ["Job"], "namespaces": [SHOP]}
    there = {"all": [{"key": "{{ target.kind }}", "operator": "Equals", "value": "Job"}]}
    await cleanup(stage, schedule=HOURLY, match=matching(names=["web-*"], **here))
    await cleanup(stage, "body", schedule=HOURLY, match=matching(names=["body-*"], **here), conditions=there)
    await deleting(stage, "object.metadata.name.startsWith('cel-')", group="batch", resource="jobs")
    await pull(stage, "all-stop", all=True)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found(JOBS)) == 9
    await release(stage, "all-stop")
    await stage.later(3 * MINUTE)
    assert not stage.found(JOBS)
    assert len(play.told("deleted")) == 9


@story()
async def test_a_run_is_told_on_the_policy_once(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    await cleanup(stage, schedule="*/20 * * * *")
    await stage.until(HOUR + MINUTE)
    (line,) = play.told("policy ran")
    assert (line["policy"], line["deleted"]) == ("ClusterCleanupPolicy/tidy", "5")
    (event,) = stage.events("SkoupaPolicyRan", "tidy")
    assert event["note"] == "matched 5, deleted 5, held 0, failed 0"
    labels = {"policy": "ClusterCleanupPolicy/tidy", "outcome": "succeeded"}
    assert play.value("skoupa_policy_runs_total", **labels) == 3


@story(features={"policies": False})
async def test_policies_can_be_switched_off(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage)
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 5
    assert "status" not in await read(stage)


@story()
async def test_policies_that_are_due_together_cost_few_lists_and_few_writes_of_the_state(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    play = await stage.play()
    for name in many(60):
        await stage.make(name, labels={"policy": name})
        match = matching(selector={"matchLabels": {"policy": name}})
        await cleanup(stage, name, schedule="0 * * * *", match=match, namespace=SHOP)
    await stage.until(HOUR - 1)
    assert len(stage.found()) == 60
    before = len(play.wire.seen)
    await stage.until(HOUR + 10)
    assert not stage.found()
    seen = [request for _, request in play.wire.seen[before:]]
    lists = [one for one in seen if one.verb == "list" and one.path.endswith(f"namespaces/{SHOP}/configmaps")]
    assert len(lists) <= 3
    assert all("labelSelector" in dict(one.query) for one in lists), "nothing is read that no policy asks for"
    assert len([one for one in seen if one.verb == "patch" and names.STATE_CONFIG_MAP in one.path]) <= 20
