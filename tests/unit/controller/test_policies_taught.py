"""Policies that ask whether something has finished, of kinds that a KindProfile teaches; and kinds that disappear."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kinds.definition import document
from skoupa.kinds.retention.profile import KIND_PROFILE, KIND_PROFILES
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.unit.controller.braking import pull, release
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions
from tests.unit.controller.stage import HOUR, MINUTE, SECRETS, SHOP, Stage, definition, story

pytestmark = pytest.mark.unit

TRAININGS = Resource(group="example.com", version="v1", plural="trainings", kind="Training", namespaced=True)
DONE = "has(object.status) && object.status.phase == 'Done'"
FINISHED: dict[str, Any] = {
    "match": {"any": [{"resources": {"kinds": ["Training"], "namespaces": [SHOP]}}]},
    "conditions": {"all": [{"key": "{{ skoupa_finished(target) }}", "operator": "Equals", "value": True}]},
}


async def bring_trainings(stage: Stage) -> None:
    await bring_policies(stage)
    for one in (document(KIND_PROFILE), definition(TRAININGS)):
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, one)
    await stage.later(10)


async def create(stage: Stage, resource: Resource, name: str, **fields: Any) -> None:
    head = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}}
    place = SHOP if resource.namespaced else ""
    await stage.people.create(resource, {**head, **fields}, namespace=place)


async def train(stage: Stage, name: str, phase: str) -> None:
    await create(stage, TRAININGS, name, spec={}, status={"phase": phase})


async def teach(stage: Stage, finished: str, name: str = "training") -> None:
    await create(stage, KIND_PROFILES, name, spec={"kind": "example.com/Training", "finished": finished})


@story(also=[SECRETS], brakes={"share": 100})
async def test_what_a_profile_says_has_finished_goes_and_the_rest_stays(stage: Stage) -> None:
    await bring_trainings(stage)
    await teach(stage, DONE)
    for name, phase in (("night", "Done"), ("day", "Epoch")):
        await train(stage, name, phase)
    await stage.play()
    await cleanup(stage, schedule=HOURLY, **FINISHED)
    await stage.until(HOUR + 5)
    assert stage.found(TRAININGS) == {"day"}


@pytest.mark.parametrize("count", [2, 60])
@story(also=[SECRETS], brakes={"share": 100})
async def test_what_somebody_teaches_to_be_at_work_while_a_brake_holds_it_stays(
    stage: Stage, count: int
) -> None:
    await bring_trainings(stage)
    await teach(stage, DONE)
    for number in range(count):
        await train(stage, f"t-{number}", "Done")
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **FINISHED)
    await stage.until(HOUR + 5)
    working = f"{DONE} && object.metadata.name != 't-1'"
    await stage.people.merge_patch(KIND_PROFILES, "training", {"spec": {"finished": working}})
    await release(stage, "wait")
    await stage.later(5 * MINUTE)
    assert stage.found(TRAININGS) == {"t-1"}


@story(also=[SECRETS], brakes={"share": 100})
async def test_a_profile_that_comes_and_is_not_understood_keeps_what_a_brake_held(stage: Stage) -> None:
    await bring_trainings(stage)
    await teach(stage, DONE)
    await train(stage, "night", "Done")
    play = await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **FINISHED)
    await stage.until(HOUR + 5)
    await teach(stage, "false", name="another")
    await release(stage, "wait")
    await stage.later(5 * MINUTE)
    assert stage.found(TRAININGS) == {"night"}
    assert "are both about it" in play.why_held("night")


@story(also=[SECRETS], brakes={"share": 100})
async def test_a_kind_that_disappears_is_told_and_stops_nothing(stage: Stage) -> None:
    await bring_trainings(stage)
    await teach(stage, DONE)
    await train(stage, "night", "Done")
    stage.old(["web-1", "web-2"])
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    match = {
        "any": [
            {
                "resources": {
                    "kinds": ["Training", "ConfigMap"],
                    "namespaces": [SHOP],
                    "names": ["web-*", "night"],
                }
            }
        ]
    }
    await cleanup(stage, schedule=HOURLY, match=match)
    await stage.until(HOUR + 5)
    gone = await stage.people.get(CUSTOM_RESOURCE_DEFINITIONS, TRAININGS.qualified, view=METADATA)
    await stage.people.delete(
        CUSTOM_RESOURCE_DEFINITIONS, TRAININGS.qualified, uid=gone.metadata.uid, propagation="Background"
    )
    await release(stage, "wait")
    await stage.later(5 * MINUTE)
    assert not stage.found()
    stage.old(["web-3"])
    await stage.until(2 * HOUR + MINUTE)
    assert not stage.found()
    told = await conditions(stage)
    assert told["Ready"]["status"] == "True"
    assert "Training" in f"{told['Ready']['message']} {told['LastRunSucceeded']['message']}"
