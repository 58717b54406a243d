"""What an accepted backlog may take past the ceilings: as much as it brings down itself, so that nothing else goes by it."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import PODS
from skoupa.sim.state.access import Rule
from tests.unit.cli.worlds import ASKING
from tests.unit.controller.braking import bring_kind, pull, state
from tests.unit.controller.stage import DAY, MINUTE, Play, Stage, story
from tests.unit.controller.test_backlog import many

pytestmark = pytest.mark.unit

LOW: dict[str, Any] = {"brakes": {"perMinute": 100, "namespacePerMinute": 100, "rulePerMinute": 100}}
ACCEPTING: dict[str, Any] = {"acceptBacklog": True}


async def unrelated_gone(stage: Stage) -> int:
    """Of 390 that come due at once, a while later."""
    for name in many(390, "ci"):
        await stage.make(name, "1m")
    await stage.later(3 * MINUTE)
    return 390 - sum(name.startswith("ci") for name in stage.found())


def accepted(play: Play) -> int | None:
    return play.engine.first_look.accepted


@story(**LOW)
async def test_what_may_not_be_deleted_allows_nothing_else(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(110), "1h", age=DAY)
    stage.old(many(300, "p"), "1h", age=DAY, resource=PODS)
    stage.cluster.deny(user="sweeper", verbs=("delete",), resources=("pods",))
    play = await stage.play(user="sweeper", **ACCEPTING)
    await stage.later(10 * MINUTE)
    assert not stage.found()
    assert len(stage.found(PODS)) == 300
    assert await unrelated_gone(stage) <= 100
    assert accepted(play) == 110


@story(**LOW)
async def test_what_a_brake_holds_allows_nothing_else(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "pods-stay", kind="Pod")
    stage.old(many(110), "1h", age=DAY)
    stage.old(many(300, "p"), "1h", age=DAY, resource=PODS)
    play = await stage.play(**ACCEPTING)
    await stage.later(10 * MINUTE)
    assert len(stage.found(PODS)) == 300
    assert await unrelated_gone(stage) <= 100
    assert accepted(play) == 110


@story(**LOW)
async def test_a_right_that_only_the_namespace_tells_of_is_asked_for_before_it_is_counted(
    stage: Stage,
) -> None:
    await stage.namespace("locked")
    stage.old(many(110), "1h", age=DAY)
    stage.old(many(300), "1h", age=DAY, namespace="locked")
    everything = (
        Rule(verbs=("get", "list", "watch", "create", "patch", "update"), resources=("*",)),
        Rule(verbs=("delete",), resources=("configmaps",), namespaces=("shop",)),
        ASKING,
    )
    stage.cluster.allow_only("sweeper", everything)
    play = await stage.play(user="sweeper", **ACCEPTING)
    await stage.later(10 * MINUTE)
    assert len(stage.found(namespace="locked")) == 300
    assert accepted(play) == 110
    assert not stage.found()


@story(**LOW)
async def test_all_that_nothing_keeps_is_allowed_and_used_up(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(250), "1h", age=DAY)
    play = await stage.play(**ACCEPTING)
    await stage.later(5 * MINUTE)
    assert not stage.found()
    assert accepted(play) == 250
    assert not state(stage)["allowances"]["left"]
