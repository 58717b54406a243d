"""Namespaces that can't be weighed because a kind does not answer: they stay, and nothing else waits for them."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.kube.transport import Request
from skoupa.sim.faults import Fault
from tests.unit.controller.braking import brakes, bring_kind, many, pull, release
from tests.unit.controller.stage import HOUR, MINUTE, WIDGETS, Stage, definition, story

pytestmark = pytest.mark.unit


def lists_of_widgets(request: Request) -> bool:
    watch = any(key == "watch" for key, _ in request.query)
    return "widgets" in request.path and request.method == "GET" and not watch


def hang(stage: Stage, *, seconds: float = 100_000.0) -> Fault:
    return stage.cluster.faults.delay(seconds, when=lists_of_widgets, times=None)


async def bring_widgets(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(5)


async def due_namespaces(stage: Stage, count: int, ttl: str = "2m") -> None:
    for name in many(count, "old"):
        await stage.namespace(name, labels={"cleanup.kyverno.io/ttl": ttl})


def left(stage: Stage) -> list[str]:
    """Namespaces of the story that nobody has deleted."""
    found = stage.cluster.objects(NAMESPACES)
    return [
        one["metadata"]["name"]
        for one in found
        if one["metadata"]["name"].startswith("old-") and "deletionTimestamp" not in one["metadata"]
    ]


@pytest.mark.parametrize("count", [20, 60, 200])
@story()
async def test_namespaces_that_cannot_be_weighed_make_nothing_else_wait(stage: Stage, count: int) -> None:
    await bring_widgets(stage)
    await stage.play()
    await due_namespaces(stage, count)
    hang(stage)
    await stage.later(2 * MINUTE - 1)
    await stage.make("first", "1s")
    await stage.later(15)
    assert not stage.there("first"), "the first wave is over by then"
    for number in range(60):
        await stage.make(f"later-{number}", "1s")
        await stage.later(4)
        assert not stage.there(f"later-{number}"), stage.now
    assert len(left(stage)) == count


@story()
async def test_a_namespace_that_cannot_be_weighed_is_told_with_the_kind_that_does_not_answer(
    stage: Stage,
) -> None:
    await bring_widgets(stage)
    play = await stage.play()
    await due_namespaces(stage, 30)
    hang(stage)
    await stage.later(HOUR)
    told = play.told("delete failed")
    assert sorted(line["name"] for line in told) == sorted(many(30, "old")), "each once"
    assert {line["error"].partition(": ")[2] for line in told} == {"widgets.shop.example (no answer in time)"}
    assert play.overdue == {"failing": 30}


@story()
async def test_what_could_not_be_weighed_goes_within_a_minute_of_the_kind_answering_again(
    stage: Stage,
) -> None:
    await bring_widgets(stage)
    await stage.play()
    await due_namespaces(stage, 40)
    fault = hang(stage)
    await stage.later(HOUR)
    assert len(left(stage)) == 40
    stage.cluster.faults.remove(fault)
    await stage.later(MINUTE)
    assert not left(stage)


@story()
async def test_a_kind_that_answers_slowly_is_asked_by_one_at_a_time_and_all_go_in_the_end(
    stage: Stage,
) -> None:
    await bring_widgets(stage)
    await stage.play()
    await due_namespaces(stage, 40)
    hang(stage, seconds=4.0)
    await stage.later(3 * MINUTE)
    for number in range(10):
        await stage.make(f"web-{number}", "1s")
        await stage.later(3)
        assert not stage.there(f"web-{number}")
    await stage.later(HOUR)
    assert not left(stage)


@story(cascade={"ignoreKinds": ["widgets.shop.example"]})
async def test_a_kind_that_is_waived_holds_nothing_and_nobody_where_it_does_not_answer(stage: Stage) -> None:
    await bring_widgets(stage)
    await stage.play()
    await due_namespaces(stage, 100)
    hang(stage)
    await stage.later(2 * MINUTE)
    await stage.make("web", "1s")
    await stage.later(MINUTE)
    assert not stage.found()
    assert not left(stage)


@story()
async def test_a_brake_that_holds_namespaces_is_released_at_once_where_a_kind_does_not_answer(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await bring_widgets(stage)
    await stage.play()
    await pull(stage, "all", all=True)
    await due_namespaces(stage, 20)
    for name in many(10):
        await stage.make(name, "2m")
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 10
    hang(stage)
    await release(stage, "all")
    await stage.later(MINUTE)
    assert not await brakes(stage)
    assert not stage.found()
    assert len(left(stage)) == 20
