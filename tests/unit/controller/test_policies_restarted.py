"""Policies over a restart: what failed is tried again and nothing else goes with it, and what was made meanwhile misses no tick."""

from __future__ import annotations

import pytest

from skoupa.sim.faults import asking
from tests.unit.controller.braking import many, state
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, read, remembered
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit

REFUSED = asking(verb="delete", kind="configmaps", path=f"/api/v1/namespaces/{SHOP}/configmaps/web-0")


@story()
async def test_what_failed_before_a_crash_is_tried_again_after_it_and_goes_alone(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    refusal = stage.cluster.faults.answer(422, when=REFUSED, times=None, message="ask first")
    made = await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5 * MINUTE)
    assert stage.found() == {"web-0"}
    assert len((await remembered(stage))[made["metadata"]["uid"]][5]) == 1
    await play.kill()
    stage.old(["web-new"])
    await stage.play()
    await stage.later(MINUTE)
    assert stage.found() == {"web-0", "web-new"}
    assert (await read(stage))["status"]["lastRun"]["failed"] == 1
    stage.cluster.faults.remove(refusal)
    await stage.later(MINUTE)
    assert stage.found() == {"web-new"}
    assert (await remembered(stage))[made["metadata"]["uid"]][5] == []
    await stage.until(2 * HOUR + 5)
    assert not stage.found()


@story()
async def test_what_failed_before_a_crash_and_does_not_match_any_more_stays(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3), labels={"state": "old"})
    play = await stage.play()
    refusal = stage.cluster.faults.answer(422, when=REFUSED, times=None, message="ask first")
    old = {"all": [{"key": "{{ target.metadata.labels.state }}", "operator": "Equals", "value": "old"}]}
    await cleanup(stage, schedule=HOURLY, conditions=old)
    await stage.until(HOUR + 5 * MINUTE)
    await play.kill()
    await stage.label("web-0", state="new")
    await stage.play()
    stage.cluster.faults.remove(refusal)
    await stage.until(3 * HOUR)
    assert stage.found() == {"web-0"}


@story()
async def test_a_policy_that_was_made_while_nobody_led_misses_no_tick(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await stage.until(HOUR - 2 * MINUTE)
    await play.stop()
    stage.old(many(3))
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5 * MINUTE)
    await stage.play()
    await stage.later(10)
    assert not stage.found()


@story()
async def test_at_a_first_start_no_policy_runs_at_once(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5 * MINUTE)
    await stage.play()
    await stage.until(2 * HOUR - 1)
    assert len(stage.found()) == 3
    assert state(stage)["policiesSeen"]
    await stage.until(2 * HOUR + 5)
    assert not stage.found()
