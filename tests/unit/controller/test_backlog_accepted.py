"""`acceptBacklog` counts once: what is found after the start that first had it is held, however often it is given again."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.sim.faults import asking
from tests.unit.controller.replicas import ALONE, Replica, replicas
from tests.unit.controller.stage import DAY, HOME, HOUR, MINUTE, Stage, story
from tests.unit.controller.test_backlog import label_all, many, restart, state

pytestmark = pytest.mark.unit

ACCEPTING: dict[str, Any] = {"acceptBacklog": True}
LONE: dict[str, Any] = {"lease": ALONE}
STATE = f"/api/v1/namespaces/{HOME}/configmaps/{names.STATE_CONFIG_MAP}"


def told(replica: Replica, event: str) -> list[dict[str, Any]]:
    return [line for line in replica.lines if line["event"] == event]


@story(**ACCEPTING)
async def test_a_setting_that_was_left_in_accepts_no_labelling_that_came_later(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play()
    await stage.later(HOUR)
    await label_all(stage, many(60))
    for _ in range(3):
        await stage.later(HOUR)
        assert len(stage.found()) == 60
        play = await restart(stage, play)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 60}


@story(**ACCEPTING)
async def test_who_takes_over_with_the_same_settings_accepts_nothing_either(stage: Stage) -> None:
    stage.old(many(60))
    first, second = await stage.play(), await stage.play()
    second.standing_by = True
    await stage.later(HOUR)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    first.standing_by, second.standing_by = True, False
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert second.overdue == {"retroactive-label": 60}


@story(**ACCEPTING)
async def test_a_kind_that_is_read_later_is_held_although_the_setting_was_left_in(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY, resource=PODS)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("pods",))
    play = await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    stage.cluster.plane.access.clear()
    await stage.later(5 * MINUTE)
    assert len(stage.found(PODS)) == 150
    play = await restart(stage, play, user="sweeper")
    await stage.later(HOUR)
    assert len(stage.found(PODS)) == 150
    assert play.overdue == {"first-start-backlog": 150}


@story()
async def test_a_kind_that_the_start_with_it_reads_for_the_first_time_is_accepted_with_the_rest(
    stage: Stage,
) -> None:
    stage.old(many(150), "1h", age=DAY, resource=PODS)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("pods",))
    play = await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    await play.stop()
    stage.cluster.plane.access.clear()
    await stage.play(user="sweeper", **ACCEPTING)
    await stage.later(MINUTE)
    assert not stage.found(PODS)


@story(**ACCEPTING)
async def test_a_time_that_another_setting_gives_later_is_held_although_this_one_was_left_in(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.later(10)
    stage.old(many(150), age=DAY, annotations={"janitor/ttl": "1h"})
    for _ in range(2):
        play = await restart(stage, play, compat={"janitor": True})
        await stage.later(HOUR)
        assert len(stage.found()) == 150
        assert play.overdue == {"first-start-backlog": 150}


@story()
async def test_a_start_without_it_makes_it_count_anew(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play(**ACCEPTING)
    await stage.later(HOUR)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    assert state(stage)["acceptBacklogUsed"] == "true"
    play = await restart(stage, play)
    began = stage.clock.now()
    await stage.later(MINUTE)
    assert abs(float(state(stage)["acceptBacklogUsed"]) - began) < 5
    assert len(stage.found()) == 60
    await restart(stage, play, **ACCEPTING)
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_who_accepted_before_it_was_written_down_how_accepts_nothing_more(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play(**ACCEPTING)
    await stage.later(HOUR)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    await play.stop()
    forgotten = {"data": {"acceptBacklogUsed": None}}
    await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, forgotten, namespace=HOME)
    await stage.play(**ACCEPTING)
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@story()
async def test_what_can_not_be_written_down_is_not_accepted(stage: Stage) -> None:
    """Else it would count again at every start."""
    stage.old(many(150), "1h", age=DAY)
    async with replicas(stage, 1, **LONE) as (replica,):
        await stage.later(MINUTE)
        await replica.stop()
    stage.cluster.faults.answer(500, when=asking(method="PATCH", path=STATE), times=None)
    async with replicas(stage, 1, **ACCEPTING, **LONE) as (replica,):
        await stage.later(10 * MINUTE)
        assert len(stage.found()) == 150
        (doubt,) = told(replica, "setting in doubt")
        assert "can't be written down in the ConfigMap skoupa-state" in doubt["why"]
        assert not told(replica, "backlog accepted")
        await replica.stop()
    stage.cluster.faults.clear()
    async with replicas(stage, 1, **ACCEPTING, **LONE) as (replica,):
        await stage.later(MINUTE)
        assert not stage.found()


@story()
async def test_what_is_accepted_is_told_once_and_that_it_has_no_effect_any_more_at_every_start(
    stage: Stage,
) -> None:
    stage.old(many(150), "1h", age=DAY)
    stage.old(many(10, "kept"), "1h", age=DAY, keep="true")
    async with replicas(stage, 1, **ACCEPTING, **LONE) as (replica,):
        await stage.later(MINUTE)
        (line,) = told(replica, "backlog accepted")
        assert line["objects"] == "150"
        assert "take acceptBacklog (--accept-backlog) out" in line["next"]
        assert not told(replica, "setting in doubt")
        await replica.stop()
    for _ in range(2):
        async with replicas(stage, 1, **ACCEPTING, **LONE) as (replica,):
            await stage.later(MINUTE)
            assert not told(replica, "backlog accepted")
            (doubt,) = told(replica, "setting in doubt")
            assert doubt["level"] == "warning"
            assert "has no effect any more" in doubt["why"]
            assert "`skoupa brakes` names it" in doubt["why"]
            await replica.stop()
