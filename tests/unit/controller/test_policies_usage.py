"""Policies that ask who uses an object: what nothing uses goes, and what somebody began to use meanwhile does not."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many, pull, release
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions, deleting
from tests.unit.controller.stage import HOUR, MINUTE, SECRETS, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

UNUSED: dict[str, Any] = {
    "conditions": {"all": [{"key": "{{ skoupa_unused(target) }}", "operator": "Equals", "value": True}]}
}
PODS_LISTED = asking(verb="list", kind="pods")


def using(*names: str) -> dict[str, Any]:
    volumes = [{"name": name, "configMap": {"name": name}} for name in names]
    return {"containers": [{"name": "web", "image": "web"}], "volumes": volumes}


async def use(stage: Stage, name: str, *used: str) -> None:
    body = {"metadata": {"name": name}, "spec": using(*used)}
    await stage.people.create(PODS, body, namespace=SHOP)


def readings(play: Play) -> int:
    """How often it was looked for who uses something: each reads Pods whole, without a watch."""
    return sum(
        PODS_LISTED(request)
        and not any(key in {"watch", "labelSelector"} for key, _ in request.query)
        and not any("as=PartialObjectMetadata" in value for _, value in request.headers)
        for _, request in play.wire.seen
    )


@pytest.mark.parametrize("language", ["JMESPath", "CEL"])
@story(also=[SECRETS])
async def test_what_nothing_uses_goes_and_what_a_pod_uses_stays(stage: Stage, language: str) -> None:
    await bring_policies(stage)
    stage.old(["web-used", "web-unused"])
    await use(stage, "web", "web-used")
    await stage.play()
    if language == "CEL":
        await deleting(stage, "object.metadata.name.startsWith('web-') && skoupa_unused(object)")
    else:
        await cleanup(stage, schedule=HOURLY, **UNUSED)
    await stage.until(HOUR + 5)
    assert stage.found() == {"web-used"}


@pytest.mark.parametrize("count", [3, 60])
@story(also=[SECRETS], brakes={"share": 100})
async def test_what_somebody_began_to_use_while_a_brake_held_it_stays(stage: Stage, count: int) -> None:
    await bring_policies(stage)
    stage.old(many(count))
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **UNUSED)
    await stage.until(HOUR + 5)
    await use(stage, "late", *many(count)[:2])
    await release(stage, "wait")
    await stage.later(5 * MINUTE)
    assert stage.found() == set(many(count)[:2])


@story(also=[SECRETS])
async def test_a_kind_that_may_not_be_read_holds_each_with_its_name(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(["web-1"])
    await stage.play()
    refused = "pods is forbidden: User cannot list it"
    stage.cluster.faults.answer(403, when=PODS_LISTED, times=None, message=refused)
    await cleanup(stage, schedule=HOURLY, **UNUSED)
    await stage.until(HOUR + 5)
    assert stage.there("web-1")
    message = (await conditions(stage))["LastRunSucceeded"]["message"]
    assert "skoupa_unused" in message
    assert "pods (no permission to list them)" in message


@story(also=[SECRETS])
async def test_a_server_that_is_not_well_is_asked_again_before_the_next_tick(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(["web-1"])
    await stage.play()
    stage.cluster.faults.answer(500, when=PODS_LISTED, seconds=HOUR + MINUTE, times=None)
    await cleanup(stage, schedule=HOURLY, **UNUSED)
    await stage.until(HOUR + 5)
    assert stage.there("web-1")
    await stage.later(10 * MINUTE)
    assert not stage.there("web-1")


@story(also=[SECRETS])
async def test_policies_that_are_due_together_share_one_look(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(["web-1", "web-2"])
    play = await stage.play()
    await use(stage, "web", "web-2")
    for name in ("one", "two", "three"):
        await cleanup(stage, name, schedule=HOURLY, **UNUSED)
    await stage.until(HOUR - 5)
    before = readings(play)
    await stage.later(30)
    assert stage.found() == {"web-2"}
    assert readings(play) - before == 1


@story(also=[SECRETS])
async def test_a_policy_that_asks_nothing_of_that_kind_costs_no_look(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(["web-1"])
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR - 5)
    before = readings(play)
    await stage.later(30)
    assert not stage.found(CONFIG_MAPS)
    assert readings(play) == before
