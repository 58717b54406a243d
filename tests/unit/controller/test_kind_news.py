"""New kinds are noticed at once; where they can't be, that is said, until it can."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.sim.faults import Fault, asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.replicas import Replica, replicas
from tests.unit.controller.stage import MINUTE, WIDGETS, Stage, definition, story
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit

LEASES = Rule(verbs=("get", "create", "update"), resources=("leases.coordination.k8s.io",))


def said(replica: Replica, event: str, key: str) -> list[str]:
    return [line[key] for line in replica.lines if line["event"] == event]


def deafen(stage: Stage, resource: Resource) -> Fault:
    """From now on no watch of it begins."""
    fault = stage.cluster.faults.answer(
        500, when=asking(verb="watch", kind=resource.qualified), times=None, message="etcd is on fire"
    )
    stage.cluster.restart()
    return fault


@pytest.mark.parametrize("resource", [CUSTOM_RESOURCE_DEFINITIONS, API_SERVICES], ids=lambda one: one.plural)
@story(also=(API_SERVICES,))
async def test_a_watch_for_new_kinds_that_keeps_failing_is_told_and_so_is_its_end(
    stage: Stage, resource: Resource
) -> None:
    async with replicas(stage, 1) as (replica,):
        fault = deafen(stage, resource)
        await stage.later(2 * MINUTE)
        (line,) = [why for why in said(replica, "degraded", "why") if resource.qualified in why]
        assert line == (
            f"{resource.qualified} can't be watched (etcd is on fire): new kinds are noticed every 5 min"
        )
        assert not said(replica, "not degraded any more", "was")
        stage.cluster.faults.remove(fault)
        await stage.later(2 * MINUTE)
        assert said(replica, "not degraded any more", "was") == [line]


@story()
async def test_a_watch_for_new_kinds_that_stands_again_at_once_is_nobodys_business(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        stage.cluster.restart()
        await stage.later(2 * MINUTE)
        assert not [why for why in said(replica, "degraded", "why") if "new kinds" in why]


@story()
async def test_a_kind_that_nobody_could_tell_of_is_noticed_within_five_minutes(stage: Stage) -> None:
    await stage.play()
    deafen(stage, CUSTOM_RESOURCE_DEFINITIONS)
    await stage.later(MINUTE)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    await stage.make("gear", "1m", resource=WIDGETS)
    await stage.later(6 * MINUTE + 10)
    assert not stage.there("gear", WIDGETS)


@story()
async def test_the_right_to_hear_of_new_kinds_may_come_later(stage: Stage) -> None:
    some = ("configmaps", "namespaces", WIDGETS.qualified)
    stage.cluster.allow_only("sweeper", [*OWN, LEASES, Rule(verbs=ENOUGH, resources=some)])
    async with replicas(stage, 1, user="sweeper") as (replica,):
        await stage.later(MINUTE)
        degraded = said(replica, "degraded", "why")
        assert any(
            f"no permission to watch {CUSTOM_RESOURCE_DEFINITIONS.qualified}: new kinds" in why
            for why in degraded
        )
        stage.cluster.allow_only("sweeper", [*OWN, LEASES, Rule(verbs=ENOUGH)])
        await stage.later(6 * MINUTE)
        assert any(
            CUSTOM_RESOURCE_DEFINITIONS.qualified in was
            for was in said(replica, "not degraded any more", "was")
        )
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        await stage.later(1)
        await stage.make("gear", "1s", resource=WIDGETS)
        await stage.later(10)
        assert not stage.there("gear", WIDGETS)


async def undefine(stage: Stage, resource: Resource) -> None:
    found = await stage.people.get(CUSTOM_RESOURCE_DEFINITIONS, resource.qualified, view=WHOLE)
    uid = found["metadata"]["uid"]
    await stage.people.delete(
        CUSTOM_RESOURCE_DEFINITIONS, resource.qualified, uid=uid, propagation="Background"
    )


def api_service(group: str) -> dict[str, object]:
    spec = {"group": group, "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1}
    return {"metadata": {"name": f"v1.{group}"}, "spec": spec}


@pytest.mark.parametrize("after", [0.0, 0.2, 1.5], ids=lambda after: f"{after} s after it went")
@story()
async def test_a_definition_that_comes_again_holds_until_its_kind_is_read(
    stage: Stage, *, after: float
) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    play = await stage.play()
    await stage.until(20)
    owner = await stage.make("config", f"{2 + int(after)}s")
    await stage.until(21)
    await undefine(stage, WIDGETS)
    await stage.later(after)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(0.3)
    await stage.make("deed", resource=WIDGETS, keep="true", owner=owner)
    await stage.later(MINUTE)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held("config")


@pytest.mark.parametrize("busy", [False, True], ids=["quiet", "while another is looked for"])
@story(also=(API_SERVICES,))
async def test_a_kind_of_a_new_api_service_holds_until_it_is_read(stage: Stage, *, busy: bool) -> None:
    play = await stage.play()
    await stage.until(20)
    if busy:
        await stage.people.create(API_SERVICES, api_service("other.example"))
    owner = await stage.make("config", "2s")
    await stage.until(21.9)
    await stage.people.create(API_SERVICES, api_service(WIDGETS.group))
    stage.cluster.install(WIDGETS)
    await stage.make("deed", resource=WIDGETS, keep="true", owner=owner)
    await stage.later(MINUTE)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held("config")


@story()
async def test_a_kind_that_is_served_again_holds_until_it_is_read(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    owner = await stage.make("config", "20s")
    await stage.make("deed", resource=WIDGETS, keep="true", owner=owner)
    hidden = definition(WIDGETS)
    hidden["spec"]["versions"][0]["served"] = False
    await stage.people.merge_patch(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified, {"spec": hidden["spec"]})
    play = await stage.play()
    await stage.until(19.9)
    spec = definition(WIDGETS)["spec"]
    await stage.people.merge_patch(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified, {"spec": spec})
    await stage.later(MINUTE)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held("config")


@story()
async def test_a_definition_that_comes_while_the_first_look_is_taken_is_noticed(stage: Stage) -> None:
    """After the kinds were read, and before anybody watches for new ones."""
    stage.cluster.faults.delay(
        2, when=asking(verb="watch", kind=CUSTOM_RESOURCE_DEFINITIONS.qualified), times=5
    )
    starting = asyncio.create_task(stage.play())
    await stage.later(1)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await starting
    await stage.later(5)
    await stage.make("gear", "1s", resource=WIDGETS)
    await stage.later(10)
    assert not stage.there("gear", WIDGETS)


@story()
async def test_a_definition_that_nobody_serves_holds_for_seconds_however_many_come(stage: Stage) -> None:
    await stage.play()
    hidden = definition(WIDGETS)
    hidden["spec"]["versions"][0]["served"] = False
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, hidden)
    await stage.make("config", "1s")
    await stage.later(2)
    assert stage.there("config")
    for number in range(6):
        other = msgspec.structs.replace(WIDGETS, plural=f"gadgets{number}", kind=f"Gadget{number}")
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(other))
        await stage.later(2)
    assert not stage.there("config")
