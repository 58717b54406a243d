"""Policies that are touched about the time of a tick: the tick is run by the policy as it is now, or that it is not is told."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many
from tests.unit.controller.policies import bring_policies, cleanup, conditions, matching, read
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

RARELY = "0 1,4 * * *"
LISTS = asking(verb="list", path=f"/api/v1/namespaces/{SHOP}/configmaps")


async def touch(stage: Stage, name: str = "tidy", **patch: Any) -> None:
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, name, patch)
    await stage.settle()


async def annotate(stage: Stage, key: str, text: str) -> None:
    await touch(stage, metadata={"annotations": {key: text}})


async def in_the_middle_of_a_run(stage: Stage) -> Play:
    """A run that takes twenty seconds to find out what there is, six seconds after its tick."""
    await bring_policies(stage)
    stage.old([*many(3), *many(2, "other")])
    play = await stage.play()
    await cleanup(stage, schedule=RARELY)
    stage.cluster.faults.delay(20, when=LISTS, times=None)
    await stage.until(HOUR + 6)
    assert len(stage.found()) == 5
    return play


@story(brakes={"share": 100})
async def test_a_run_whose_annotations_change_begins_again(stage: Stage) -> None:
    play = await in_the_middle_of_a_run(stage)
    await annotate(stage, names.MAX_DELETIONS_ANNOTATION, "100")
    await stage.until(HOUR + MINUTE)
    assert stage.found() == set(many(2, "other"))
    assert len(play.told("policy ran")) == 1
    assert (await read(stage))["status"]["lastRun"]["deleted"] == 3


@story(brakes={"share": 100})
async def test_a_run_that_begins_again_keeps_to_the_options_of_now(stage: Stage) -> None:
    await in_the_middle_of_a_run(stage)
    await annotate(stage, names.MAX_DELETIONS_ANNOTATION, "2")
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 5
    assert (await conditions(stage))["LastRunSucceeded"]["reason"] == "Held"


@story(brakes={"share": 100})
async def test_a_run_whose_spec_changes_begins_again_by_the_new_one_alone(stage: Stage) -> None:
    await in_the_middle_of_a_run(stage)
    await touch(stage, spec={"match": matching(names=["other-*"], namespaces=[SHOP])})
    await stage.until(HOUR + 5 * MINUTE)
    assert stage.found() == set(many(3))
    await stage.until(4 * HOUR - 1)
    assert stage.found() == set(many(3))


@story(brakes={"share": 100})
async def test_a_run_whose_tick_is_not_in_the_new_schedule_is_thrown_away_and_told(stage: Stage) -> None:
    play = await in_the_middle_of_a_run(stage)
    await touch(stage, spec={"schedule": "30 3 * * *"})
    await stage.until(HOUR + 5 * MINUTE)
    assert len(stage.found()) == 5
    said = (await conditions(stage))["LastRunSucceeded"]
    words = (
        "its run of 2026-01-01T01:00:00Z was thrown away, for it changed meanwhile; "
        "it runs next at 2026-01-01T03:30:00Z"
    )
    assert (said["status"], said["message"]) == ("False", words)
    (line,) = play.told("policy ran")
    assert line["trouble"] == words
    (event,) = stage.events("SkoupaPolicyFailed", "tidy")
    assert words in event["note"]
    await stage.until(3.5 * HOUR + MINUTE)
    assert stage.found() == set(many(2, "other"))


@story(brakes={"share": 100})
async def test_of_a_run_that_was_half_read_when_it_was_thrown_away_what_went_is_told(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    match = matching(kinds=["ConfigMap", "Pod"], names=["web-*"], namespaces=[SHOP])
    await cleanup(stage, schedule=RARELY, match=match)
    pods = asking(verb="list", path=f"/api/v1/namespaces/{SHOP}/pods")
    stage.cluster.faults.answer(500, when=pods, times=None)
    await stage.until(HOUR + MINUTE)
    assert not stage.found()
    await touch(stage, spec={"schedule": "30 3 * * *"})
    await stage.until(HOUR + 10 * MINUTE)
    assert (await read(stage))["status"]["lastRun"]["deleted"] == 3
    assert "thrown away" not in (await conditions(stage))["LastRunSucceeded"]["message"]


@story(brakes={"share": 100})
async def test_a_run_whose_policy_is_suspended_is_thrown_away_and_told(stage: Stage) -> None:
    await in_the_middle_of_a_run(stage)
    await annotate(stage, names.SUSPEND_ANNOTATION, "true")
    await stage.until(HOUR + 5 * MINUTE)
    assert len(stage.found()) == 5
    said = (await conditions(stage))["LastRunSucceeded"]
    assert (
        said["message"] == "its run of 2026-01-01T01:00:00Z was thrown away, for it was suspended meanwhile"
    )


@pytest.mark.parametrize(
    "patch",
    [
        {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: "true"}}},
        {"spec": {"schedule": "30 3 * * *"}},
    ],
    ids=["suspended", "another schedule"],
)
@story(brakes={"share": 100})
async def test_a_run_that_waits_for_news_of_its_policy_heeds_them(
    stage: Stage, patch: dict[str, Any]
) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=RARELY)
    watches = asking(verb="watch", kind=CLUSTER_CLEANUP_POLICIES.qualified)
    lists = asking(verb="list", kind=CLUSTER_CLEANUP_POLICIES.qualified)
    for unheard in (watches, lists):
        stage.cluster.faults.answer(500, when=unheard, times=None, seconds=90 * MINUTE)
    await stage.until(HOUR + 10 * MINUTE)
    await touch(stage, **patch)
    await stage.until(3 * HOUR)
    assert len(stage.found()) == 3
    assert "was thrown away" in (await conditions(stage))["LastRunSucceeded"]["message"]


async def restarted(stage: Stage, *, changed: float, started: float, **spec: Any) -> Play:
    """Beside one that nobody touches; nobody leads from ten minutes before the tick on."""
    await bring_policies(stage)
    stage.old([*many(3), *many(2, "other")])
    play = await stage.play()
    await cleanup(stage, schedule=RARELY, exclude=matching(names=["spared-*"]))
    await cleanup(stage, "g2", schedule=RARELY, match=matching(names=["other-*"], namespaces=[SHOP]))
    await stage.until(HOUR - 10 * MINUTE)
    await play.stop()
    await stage.until(changed)
    await touch(stage, spec=spec)
    await stage.until(started)
    play = await stage.play()
    await stage.later(MINUTE)
    return play


@story(brakes={"share": 100})
async def test_a_policy_that_was_changed_before_a_tick_which_nobody_ran_is_made_up_for(stage: Stage) -> None:
    play = await restarted(
        stage, changed=HOUR - MINUTE, started=HOUR + 6, deletionPropagationPolicy="Foreground"
    )
    assert not stage.found()
    assert play.told("policy run left out") == []


@pytest.mark.parametrize(
    "spec", [{"deletionPropagationPolicy": "Foreground"}, {"exclude": None}], ids=["written", "taken out"]
)
@story(brakes={"share": 100})
async def test_a_policy_that_was_changed_after_a_tick_which_nobody_ran_waits_and_that_is_told_once(
    stage: Stage, spec: dict[str, Any]
) -> None:
    play = await restarted(stage, changed=HOUR + MINUTE, started=HOUR + 2 * MINUTE, **spec)
    assert stage.found() == set(many(3))
    (line,) = play.told("policy run left out")
    assert line["policy"] == "ClusterCleanupPolicy/tidy"
    assert line["why"] == (
        "its run of 2026-01-01T01:00:00Z was missed, and it was changed since, while nobody led; "
        "it runs next at 2026-01-01T04:00:00Z"
    )
    await play.stop()
    again = await stage.play()
    await stage.later(MINUTE)
    assert again.told("policy run left out") == []
    await stage.until(4 * HOUR + MINUTE)
    assert not stage.found()
