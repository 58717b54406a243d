"""From when `acceptBacklog` counts anew, and for whom: not for a forgotten setting, and not for who still has what was taken out."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa import names
from skoupa.controller.backlogs.started import Started, started_now
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request
from tests.unit.controller.replicas import ALONE, Replica, replicas
from tests.unit.controller.stage import DAY, HOME, HOUR, MINUTE, Play, Stage, story
from tests.unit.controller.test_backlog import label_all, many, restart, state

pytestmark = pytest.mark.unit

ACCEPTING: dict[str, Any] = {"acceptBacklog": True}


async def held_after_it_counted(stage: Stage) -> Play:
    """It accepted once and was left in, and then a labelling was found."""
    stage.old(many(60))
    play = await stage.play(**ACCEPTING)
    await stage.later(MINUTE)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    return play


def doubt(play: Play) -> str:
    return play.engine.first_look.doubt


@story()
async def test_a_run_by_borrowed_settings_does_not_make_a_forgotten_setting_count_anew(stage: Stage) -> None:
    pod = await held_after_it_counted(stage)
    pod = await restart(stage, pod, **ACCEPTING)
    await stage.later(MINUTE)
    await pod.stop()
    borrowed = msgspec.structs.replace(started_now(stage.clock), borrowed=True)
    async with replicas(stage, 1, started=borrowed, lease=ALONE) as (laptop,):
        await stage.later(MINUTE)
        assert laptop.leads
        await laptop.stop()
    pod = await stage.play(**ACCEPTING)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert "has no effect any more" in doubt(pod)


@story()
async def test_who_stood_by_while_a_rollout_took_it_out_accepts_nothing(stage: Stage) -> None:
    old = await held_after_it_counted(stage)
    standby = await stage.play(**ACCEPTING)
    standby.standing_by = True
    new = await restart(stage, old)
    await stage.later(MINUTE)
    new.standing_by, standby.standing_by = True, False
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert standby.overdue == {"retroactive-label": 60}
    assert "starting this process again" in doubt(standby)
    await new.stop()
    again = await restart(stage, standby, **ACCEPTING)
    await stage.later(MINUTE)
    assert not stage.found(), "who is started with it after that was told to"
    assert not doubt(again)


@story()
async def test_who_got_it_after_a_process_without_it_was_started_accepts_although_that_one_led_in_between(
    stage: Stage,
) -> None:
    """A rollout that puts it in: of the replicas of before one may take over for a moment."""
    play = await restart(stage, await held_after_it_counted(stage))
    before = await stage.play()
    before.standing_by = True
    await stage.later(MINUTE)
    new = await stage.play(**ACCEPTING)
    new.standing_by = True
    await stage.later(MINUTE)
    await play.stop()
    before.standing_by = False
    await stage.later(10)
    before.standing_by, new.standing_by = True, False
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_a_second_rollout_that_takes_it_out_counts_as_the_first(stage: Stage) -> None:
    """Who never led with it has not used it, and must not when it was taken out."""
    play = await restart(stage, await held_after_it_counted(stage))
    await stage.later(MINUTE)
    standby = await stage.play(**ACCEPTING)
    standby.standing_by = True
    await stage.later(MINUTE)
    new = await restart(stage, play)
    await stage.later(MINUTE)
    new.standing_by, standby.standing_by = True, False
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@story()
async def test_who_leads_no_more_when_it_would_count_accepts_nothing(stage: Stage) -> None:
    """It could not write down that it did, so it would count again, and for what is found by then."""
    stage.old(many(60))
    play = await stage.play()
    await stage.later(MINUTE)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await play.stop()
    away = stage.clock.now() + 30

    def unread(request: Request) -> bool:
        return request.path.endswith("/configmaps") and stage.clock.now() < away

    stage.cluster.faults.answer(500, when=unread, times=None)
    play = await stage.play(**ACCEPTING)
    await stage.later(5)
    play.standing_by = True
    await stage.later(MINUTE)
    assert "another replica leads by now" in doubt(play)
    play.standing_by = False
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert "acceptBacklogUsed" not in state(stage)


@story()
async def test_that_it_counts_anew_without_a_moment_counts_for_nobody(stage: Stage) -> None:
    """An earlier version wrote no more than false, and whoever ran from outside could make it write that."""
    play = await held_after_it_counted(stage)
    await play.stop()
    older = {"data": {"acceptBacklogUsed": "false"}}
    await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, older, namespace=HOME)
    play = await stage.play(**ACCEPTING)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert "has no effect any more" in doubt(play)
    play = await restart(stage, play)
    await stage.later(MINUTE)
    await restart(stage, play, **ACCEPTING)
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_a_moment_to_come_of_a_clock_that_was_set_right_since_is_given_up(stage: Stage) -> None:
    play = await held_after_it_counted(stage)
    await play.stop()
    ahead = {"data": {"acceptBacklogUsed": str(int(stage.clock.now() + DAY))}}
    await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, ahead, namespace=HOME)
    play = await stage.play(**ACCEPTING)
    await stage.later(MINUTE)
    assert len(stage.found()) == 60
    play = await restart(stage, play)
    await stage.later(MINUTE)
    await restart(stage, play, **ACCEPTING)
    await stage.later(MINUTE)
    assert not stage.found()


class Machine:
    """A clock of a machine that may sleep, and whose time may be set."""

    def __init__(self) -> None:
        self.wall, self.steady = 1000.0, 50.0

    def now(self) -> float:
        return self.wall

    def monotonic(self) -> float:
        return self.steady


@pytest.mark.parametrize(
    ("wall", "steady", "skew", "at"),
    [
        (1100.0, 150.0, 0.0, 1000.0),
        # It slept for most of the time.
        (1100.0, 60.0, 0.0, 1000.0),
        # It was started with a clock that was ten minutes ahead, and set right since.
        (500.0, 150.0, 0.0, 400.0),
        # It is a minute behind the server.
        (1100.0, 150.0, 60.0, 1060.0),
    ],
)
def test_when_a_process_was_started_is_told_by_the_servers_clock_and_not_too_late(
    wall: float, steady: float, skew: float, at: float
) -> None:
    machine = Machine()
    began = Started(now=machine.now(), monotonic=machine.monotonic())
    machine.wall, machine.steady = wall, steady
    assert began.at(machine, skew=skew) == at  # type: ignore[arg-type] # it has no more of a clock


def told(replica: Replica, event: str) -> list[dict[str, str]]:
    return [line for line in replica.lines if line["event"] == event]


@story()
async def test_who_observes_accepts_nothing_and_says_what_would(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    async with replicas(stage, 1, mode="observe", **ACCEPTING) as (replica,):
        await stage.later(MINUTE)
        assert not told(replica, "backlog accepted")
        (line,) = told(replica, "backlog would be accepted")
        assert line["objects"] == "150"
        assert "`skoupa run --enforce --accept-backlog` accepts them" in line["next"]
        await replica.stop()
    assert not state(stage)
    async with replicas(stage, 1, lease=ALONE) as (replica,):
        await stage.later(MINUTE)
        assert len(stage.found()) == 150
        await replica.stop()
    async with replicas(stage, 1, lease=ALONE, **ACCEPTING) as (replica,):
        await stage.later(MINUTE)
        assert not stage.found()
