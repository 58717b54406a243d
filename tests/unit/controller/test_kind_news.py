"""New kinds are noticed at once; where they can't be, that is said, until it can."""

from __future__ import annotations

import pytest

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
