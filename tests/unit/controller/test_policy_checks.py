"""CEL of policies: what does not compile is told before the first tick, what it looks at is there."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.objects import WHOLE
from tests.unit.controller.braking import many
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions, deleting
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story

pytestmark = pytest.mark.unit


async def ready(stage: Stage) -> dict[str, Any]:
    return (await conditions(stage, "cel", DELETING_POLICIES))["Ready"]


async def mend(stage: Stage, expression: str) -> None:
    spec = {"conditions": [{"name": "old", "expression": expression}]}
    await stage.people.merge_patch(DELETING_POLICIES, "cel", {"spec": spec})
    await stage.later(10)


@story()
async def test_cel_that_does_not_compile_is_told_before_the_first_tick_and_runs_once_it_is_mended(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await deleting(stage, "object.metadata.name.startWith('web')")
    await stage.later(10)
    said = await ready(stage)
    assert (said["status"], said["reason"]) == ("False", "NotUnderstood")
    assert "spec.conditions[0].expression" in said["message"]
    assert "startWith" in said["message"]
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 3
    await mend(stage, "object.metadata.name.startsWith('web')")
    said = await ready(stage)
    assert (said["status"], said["reason"]) == ("True", "Scheduled")
    await stage.until(2 * HOUR + MINUTE)
    assert not stage.found()


@story()
async def test_cel_that_breaks_is_told_again_after_a_restart(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await deleting(stage, "true")
    await stage.later(10)
    assert (await ready(stage))["status"] == "True"
    await mend(stage, "object.")
    assert (await ready(stage))["status"] == "False"
    await play.stop()
    await stage.play()
    await stage.later(10)
    assert (await ready(stage))["reason"] == "NotUnderstood"


@story()
async def test_cel_sees_the_namespace_of_an_object_without_the_right_to_get_it(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await deleting(stage, "namespaceObject.metadata.name == 'shop'")
    await stage.until(HOUR + MINUTE)
    assert not stage.found()
    assert not [seen for seen in play.sent("GET") if seen[1].path == "/api/v1/namespaces/shop"]


def entry(name: str, plural: str) -> dict[str, Any]:
    spec = {"kubernetesResource": {"version": "v1", "resource": plural, "namespace": "shop"}}
    kind = GLOBAL_CONTEXT_ENTRIES
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}


async def status_of(stage: Stage, name: str) -> dict[str, Any]:
    found = await stage.people.get(GLOBAL_CONTEXT_ENTRIES, name, view=WHOLE)
    status: dict[str, Any] = found.get("status") or {}
    return status


@story()
async def test_the_status_of_shared_context_tells_whether_there_is_a_value(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    for name, plural in (("maps", "configmaps"), ("nothing", "wigwams"), ("unused", "configmaps")):
        await stage.people.create(GLOBAL_CONTEXT_ENTRIES, entry(name, plural))
    for name in ("maps", "nothing"):
        about = f"size(globalContext.Get('{name}', '')) == 4 && object.metadata.name == 'web-1'"
        await deleting(stage, about, name=name)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 2
    good, bad = await status_of(stage, "maps"), await status_of(stage, "nothing")
    assert (good["ready"], bad["ready"]) == (True, False)
    assert good["lastRefreshTime"] >= "2026-01-01T01:00:00Z"
    assert (good["conditions"][0]["type"], good["conditions"][0]["status"]) == ("Ready", "True")
    assert bad["conditions"][0]["status"] == "False"
    assert "wigwams" in bad["conditions"][0]["message"]
    assert not await status_of(stage, "unused")


@story(mode="observe")
async def test_who_observes_writes_no_status_of_shared_context(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await stage.people.create(GLOBAL_CONTEXT_ENTRIES, entry("maps", "configmaps"))
    await deleting(stage, "size(globalContext.Get('maps', '')) == 4 && object.metadata.name == 'web-1'")
    await stage.until(HOUR + MINUTE)
    assert play.told("would delete", "web-1")
    assert not await status_of(stage, "maps")


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_a_policy_that_is_not_understood_is_told_once(mode: str) -> None:
    @story(mode=mode)
    async def told(stage: Stage) -> None:
        await bring_policies(stage)
        play = await stage.play()
        await deleting(stage, "object.")
        await cleanup(stage, schedule=HOURLY, conditions={"all": [{"key": "{{ }}", "operator": "Equals"}]})
        await stage.until(30 * MINUTE)
        assert {line["policy"] for line in play.told("policy not understood")} == {
            "DeletingPolicy/cel",
            "ClusterCleanupPolicy/tidy",
        }
        assert len(play.told("policy not understood")) == 2
        events = {event["regarding"]["name"] for event in stage.events("SkoupaPolicyFailed")}
        assert events == ({"cel", "tidy"} if mode == "enforce" else set())

    told()
