"""Policies that were changed while nobody led: a tick that was missed is made up for only where the change came before it for sure."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa import names
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.controller.braking import many
from tests.unit.controller.policies import bring_policies, cleanup, conditions, matching
from tests.unit.controller.stage import HOME, HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

DAILY = "0 1 * * *"
SPARED = matching(names=["web-0"], namespaces=[SHOP])
ANOTHER = {"spec": {"deletionPropagationPolicy": "Foreground"}}
LABEL = {"metadata": {"labels": {"a": "b"}}}
EXCLUDE_TAKEN_OUT = {"spec": {"exclude": None}}
MISSED = "its run of 2026-01-01T01:00:00Z was missed, and"


async def change(stage: Stage, patch: dict[str, Any]) -> None:
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", patch, manager="kubectl-edit")
    await stage.settle()


async def begun(stage: Stage, **policy: Any) -> Play:
    """Of a policy whose tick is at one."""
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=DAILY, **policy)
    return play


async def restarted(stage: Stage) -> Play:
    """Twenty minutes after the tick."""
    await stage.until(HOUR + 20 * MINUTE)
    play = await stage.play()
    await stage.later(MINUTE)
    return play


async def told_as_left_out(stage: Stage, play: Play, *, why: str) -> None:
    assert len(stage.found()) == 3
    (line,) = play.told("policy run left out")
    assert line["why"] == f"{MISSED} {why}; it runs next at 2026-01-02T01:00:00Z"
    assert "it runs next at 2026-01-02T01:00:00Z" in (await conditions(stage))["Ready"]["message"]


@pytest.mark.parametrize("first", [ANOTHER, LABEL], ids=["another field before", "a label before"])
@story(brakes={"share": 100})
async def test_a_field_taken_out_after_the_tick_is_not_taken_for_what_was_written_before_it(
    stage: Stage, first: dict[str, Any]
) -> None:
    play = await begun(stage, exclude=SPARED)
    # So that its manager has something of the spec.
    await change(stage, {"spec": {"deletionPropagationPolicy": "Background"}})
    await stage.until(10 * MINUTE)
    await play.stop()
    await stage.until(HOUR - 10 * MINUTE)
    await change(stage, first)
    await stage.until(HOUR + 10 * MINUTE)
    await change(stage, EXCLUDE_TAKEN_OUT)
    play = await restarted(stage)
    await told_as_left_out(stage, play, why="it was changed since, while nobody led")
    await stage.until(25 * HOUR + MINUTE)
    assert not stage.found()


@story(brakes={"share": 100})
async def test_a_label_that_somebody_saw_does_not_date_what_was_taken_out_later(stage: Stage) -> None:
    play = await begun(stage, exclude=SPARED)
    await change(stage, {"spec": {"deletionPropagationPolicy": "Background"}})
    await stage.until(10 * MINUTE)
    await change(stage, LABEL)
    await stage.until(20 * MINUTE)
    await play.stop()
    await stage.until(HOUR + 10 * MINUTE)
    await change(stage, EXCLUDE_TAKEN_OUT)
    play = await restarted(stage)
    await told_as_left_out(stage, play, why="it was changed since, while nobody led")


@story(brakes={"share": 100})
async def test_after_an_update_of_skoupa_a_changed_policy_waits_for_its_next_tick(stage: Stage) -> None:
    play = await begun(stage)
    await stage.until(10 * MINUTE)
    await play.stop()
    found = await stage.people.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=HOME, view=WHOLE)
    known = {uid: of[:6] for uid, of in msgspec.json.decode(found["data"]["policies"]).items()}
    older = {"data": {"policies": msgspec.json.encode(known).decode()}}
    await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, older, namespace=HOME)
    await stage.until(HOUR - 10 * MINUTE)
    await change(stage, ANOTHER)
    play = await restarted(stage)
    await told_as_left_out(stage, play, why="it was changed since, while nobody led")


@story(brakes={"share": 100})
async def test_what_was_certainly_written_before_the_tick_is_made_up_for(stage: Stage) -> None:
    play = await begun(stage)
    await stage.until(10 * MINUTE)
    await play.stop()
    await stage.until(HOUR - 10 * MINUTE)
    await change(stage, ANOTHER)
    play = await restarted(stage)
    assert not stage.found()
    assert play.told("policy run left out") == []


SUSPENDED = {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: "true"}}}
RESUMED = {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: None}}}


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        ({}, "it was suspended when somebody led last"),
        (ANOTHER, "it was changed since, while nobody led"),
    ],
    ids=["resumed", "changed before the tick and resumed"],
)
@story(brakes={"share": 100})
async def test_a_tick_at_which_a_policy_was_suspended_is_not_made_up_for(
    stage: Stage, meanwhile: dict[str, Any], why: str
) -> None:
    play = await begun(stage)
    await change(stage, SUSPENDED)
    await stage.until(10 * MINUTE)
    await play.stop()
    await stage.until(HOUR - 10 * MINUTE)
    await change(stage, meanwhile)
    await stage.until(HOUR + 10 * MINUTE)
    await change(stage, RESUMED)
    play = await restarted(stage)
    await told_as_left_out(stage, play, why=why)
    await play.stop()
    again = await stage.play()
    await stage.later(MINUTE)
    assert again.told("policy run left out") == []
    await stage.until(25 * HOUR + MINUTE)
    assert not stage.found()


@story(brakes={"share": 100})
async def test_a_policy_that_was_resumed_before_anybody_went_misses_no_tick(stage: Stage) -> None:
    play = await begun(stage)
    await change(stage, SUSPENDED)
    await stage.until(10 * MINUTE)
    await change(stage, RESUMED)
    await stage.until(20 * MINUTE)
    await play.stop()
    await restarted(stage)
    assert not stage.found()


@story(brakes={"share": 100})
async def test_a_tick_of_another_time_zone_that_came_while_nobody_led_is_not_run(stage: Stage) -> None:
    play = await begun(stage)
    await stage.until(10 * MINUTE)
    await play.stop()
    await stage.until(HOUR + 10 * MINUTE)
    # It is one o'clock there at the same time: what counts is that somebody changed it after that.
    await change(stage, {"metadata": {"annotations": {names.TIME_ZONE_ANNOTATION: "Etc/GMT"}}})
    play = await restarted(stage)
    await told_as_left_out(stage, play, why="it was changed since, while nobody led")
