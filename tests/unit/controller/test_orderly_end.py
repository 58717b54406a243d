"""An orderly end forgets nothing: what is written down every few seconds is written once more while the Lease is still held."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.controller.recreation.loops import FREE_ROUNDS
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brake, many, release, state
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, remembered
from tests.unit.controller.replicas import replicas
from tests.unit.controller.stage import HOME, HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_backlog import label_all
from tests.unit.controller.test_brakes_ended import braked_run

pytestmark = pytest.mark.unit

NOT_WRITTEN = "not everything is written down"
STATE = f"/api/v1/namespaces/{HOME}/configmaps/{names.STATE_CONFIG_MAP}"
SHARE: dict[str, Any] = {"shareOver": 5}


async def released(stage: Stage) -> None:
    """40 of 58 are chosen, which is too many for one run; somebody lets them go, and within a moment they are gone."""
    await cleanup(stage)
    await stage.later(2 * MINUTE)
    name = await braked_run(stage)
    assert (await brake(stage, name))["status"]["held"] == 40
    await release(stage, name)
    while len(stage.found()) > 18:
        await stage.later(0.05)
    assert sum(one["number"] for one in state(stage)["allowances"]["grants"]) == 40


@story(brakes=SHARE, rate={"deletionsPerSecond": 100})
async def test_who_stops_right_after_a_release_without_a_ledger_leaves_nothing_of_it_for_others(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old([*many(40), *many(18, "stays")])
    play = await stage.play()
    await released(stage)
    await play.stop()
    assert state(stage)["allowances"]["left"] == []
    stage.old(many(40, "web-more"))
    await stage.play()
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 58, "nobody has released these"
    assert (await brake(stage, await braked_run(stage)))["status"]["held"] == 40


@story(brakes=SHARE, rate={"deletionsPerSecond": 10})
async def test_who_stops_in_the_middle_of_a_release_leaves_the_rest_of_it(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old([*many(40), *many(18, "stays")])
    play = await stage.play()
    await cleanup(stage)
    await stage.later(2 * MINUTE)
    await release(stage, await braked_run(stage))
    while len(stage.found()) > 38:
        await stage.later(0.05)
    await play.stop()
    rest = len(stage.found()) - 18
    assert [one["number"] for one in state(stage)["allowances"]["left"]] == [rest]
    await stage.play()
    await stage.later(2 * MINUTE)
    assert stage.found() == {*many(18, "stays")}, "what was released goes on after the restart"


@story(brakes=SHARE, rate={"deletionsPerSecond": 100})
async def test_what_is_used_up_is_written_down_at_once_so_that_a_kill_gives_none_of_it_again(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old([*many(40), *many(18, "stays")])
    play = await stage.play()
    await released(stage)
    await stage.later(0.05)
    await play.kill()
    assert state(stage)["allowances"]["left"] == []


@story(brakes=SHARE)
async def test_it_is_written_before_the_lease_is_given_up(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old([*many(40), *many(18, "stays")])
    async with replicas(stage, 2, brakes=SHARE, rate={"deletionsPerSecond": 100}) as both:
        await released(stage)
        first, second = sorted(both, key=lambda replica: not replica.leads)
        await first.stop()
        stage.old(many(40, "web-more"))
        await stage.later(5 * MINUTE)
        assert second.leads
        assert len(stage.found()) == 58, "nobody has released these"
        assert NOT_WRITTEN not in first.events


@story(brakes=SHARE)
async def test_a_server_that_refuses_the_last_writes_keeps_nobody_from_ending_and_that_is_said(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old([*many(40), *many(18, "stays")])
    async with replicas(stage, 1, brakes=SHARE, rate={"deletionsPerSecond": 100}) as (alone,):
        await cleanup(stage)
        await stage.later(2 * MINUTE)
        await release(stage, await braked_run(stage))
        while len(stage.found()) > 50:
            await stage.later(0.01)
        stage.cluster.faults.answer(500, when=asking(method="PATCH", kind="configmaps"), times=None)
        began = stage.now
        await alone.stop()
        assert stage.now < began + 30
        assert NOT_WRITTEN in alone.events
        assert alone.events[-1] == "stopped"


@story()
async def test_a_run_that_ended_a_moment_before_the_process_is_not_run_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    assert play.engine.policies is not None
    settling = play.engine.policies.runs.settling
    while stage.found() or settling.unsettled:
        await stage.later(0.05)
        assert stage.now < 2 * HOUR
    await play.stop()
    (known,) = (await remembered(stage)).values()
    assert known[3] is True, "it ran"
    assert "largestRuns" in state(stage)
    stage.old(many(3, "web-more"))
    await stage.play()
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 3, "the next run is an hour from now"


@story()
async def test_a_loop_that_was_backed_off_a_moment_ago_does_not_begin_anew(stage: Stage) -> None:
    play = await stage.play()
    for _ in range(FREE_ROUNDS):
        await stage.make("web", "10s")
        while stage.there("web"):
            await stage.later(0.1)
            assert stage.now < 5 * MINUTE
    await play.stop()
    assert [one["of"] for one in state(stage)["recreations"]] == [["configmaps", SHOP, "web"]]
    again = await stage.play()
    await stage.make("web", "10s")
    await stage.later(20)
    assert stage.there("web")
    assert "came back" in again.why_held("web")


@story()
async def test_a_labelling_that_could_not_be_written_down_is_before_the_end(stage: Stage) -> None:
    stage.old(many(60), managed=False)
    play = await stage.play()
    await stage.later(1)
    stage.cluster.faults.answer(500, when=asking(method="PATCH", path=STATE), times=None, seconds=40)
    await label_all(stage, many(60))
    await stage.later(41)
    assert play.overdue == {"retroactive-label": 60}
    assert not state(stage).get("massLabellings"), "nobody could write until now"
    await play.stop()
    assert [mass["count"] for mass in state(stage)["massLabellings"]] == [60]
    again = await stage.play()
    await stage.later(HOUR)
    assert again.overdue == {"retroactive-label": 60}
