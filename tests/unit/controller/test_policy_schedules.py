"""Schedules of policies: no tick is lost, none is run twice, and what stands in the way is said in words."""

from __future__ import annotations

import pytest

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many, pull, release
from tests.unit.controller.jumping import Jumping
from tests.unit.controller.policies import (
    EVERY_MINUTE,
    HOURLY,
    bring_policies,
    cleanup,
    conditions,
    matching,
    read,
)
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


async def change(stage: Stage, patch: dict[str, object], name: str = "tidy") -> None:
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, name, patch)
    await stage.settle()


@story()
async def test_ticks_that_were_missed_are_made_up_for_by_one_run(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    await play.stop()
    stage.old(many(5))
    await stage.until(4.5 * HOUR)
    play = await stage.play()
    await stage.later(10)
    assert not stage.found()
    assert (await read(stage))["status"]["nextExecutionTime"] == "2026-01-01T05:00:00Z"
    assert {line["why"] for line in play.told("deleted")} == {
        "ClusterCleanupPolicy/tidy matched it at its run of 2026-01-01T04:00:00Z"
    }


@story()
async def test_a_tick_that_was_missed_before_the_first_run_counts_as_well(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.later(MINUTE)
    await play.stop()
    stage.old(many(5))
    await stage.until(1.5 * HOUR)
    await stage.play()
    await stage.later(10)
    assert not stage.found()


@story()
async def test_a_clock_that_was_far_ahead_for_a_while_costs_no_tick_and_no_object(stage: Stage) -> None:
    jumping = Jumping(stage.clock)
    stage.cluster.clock = stage.clock
    await bring_policies(stage)
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    stage.old(many(5))
    await stage.until(30 * MINUTE)
    jumping.by, stage.cluster.skew = 9000 * HOUR, -9000 * HOUR
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 5
    assert not play.sent("DELETE")
    jumping.by, stage.cluster.skew = 0.0, 0.0
    await stage.later(2 * MINUTE)
    assert len(stage.found()) == 5
    assert (await read(stage))["status"]["nextExecutionTime"] == "2026-01-01T01:00:00Z"
    await stage.until(HOUR + MINUTE)
    assert not stage.found()


@story()
async def test_missed_runs_can_be_skipped(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations={"missed-runs": "Skip"})
    await stage.until(HOUR + MINUTE)
    await play.stop()
    stage.old(many(5))
    await stage.until(4.5 * HOUR)
    await stage.play()
    await stage.until(5 * HOUR - 1)
    assert len(stage.found()) == 5
    await stage.until(5 * HOUR + 5)
    assert not stage.found()


@story()
async def test_a_policy_that_never_ran_here_waits_for_its_next_tick_whatever_kyverno_left(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await cleanup(stage, schedule=HOURLY)
    status = {"status": {"lastExecutionTime": "2025-12-01T00:00:00Z"}}
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", status, subresource="status")
    await stage.until(HOUR / 2)
    await stage.play()
    await stage.until(HOUR - 1)
    assert len(stage.found()) == 5
    await stage.until(HOUR + 5)
    assert not stage.found()


@story()
async def test_a_run_that_was_interrupted_is_done_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(20))
    play = await stage.play(rate={"deletionsPerSecond": 1})
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 8)
    assert 0 < len(stage.found()) < 20
    await play.kill()
    await stage.play()
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_a_policy_whose_spec_changed_waits_for_its_next_tick(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage, schedule="0 0 1 1 *")
    await stage.until(HOUR / 2)
    await change(stage, {"spec": {"schedule": HOURLY}})
    await stage.until(HOUR - 1)
    assert len(stage.found()) == 5
    await stage.until(HOUR + 5)
    assert not stage.found()


@story()
async def test_a_suspended_policy_does_not_run_and_misses_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations={"suspend": "true"})
    await stage.until(2.5 * HOUR)
    assert len(stage.found()) == 5
    assert (await conditions(stage))["Ready"]["reason"] == "Suspended"
    await change(stage, {"metadata": {"annotations": {"skoupa.dev/suspend": None}}})
    await stage.until(3 * HOUR - 1)
    assert len(stage.found()) == 5
    await stage.until(3 * HOUR + 5)
    assert not stage.found()
    assert (await conditions(stage))["Ready"]["status"] == "True"


@story()
async def test_a_broken_policy_says_so_and_works_again_when_its_cause_is_gone(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage, schedule=EVERY_MINUTE, annotations={"max-deletions": "many"})
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 5
    ready = (await conditions(stage))["Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "NotUnderstood")
    assert '"many" is no number of deletions' in ready["message"]
    await change(stage, {"metadata": {"annotations": {"skoupa.dev/max-deletions": "10"}}})
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert (await conditions(stage))["Ready"]["status"] == "True"


@story()
async def test_kinds_of_policies_that_come_later_are_seen(stage: Stage) -> None:
    stage.old(many(5))
    await stage.play()
    await bring_policies(stage)
    await stage.later(MINUTE)
    await cleanup(stage)
    await stage.later(2 * MINUTE)
    assert not stage.found()


@story(policies={"minimumInterval": "10m"})
async def test_runs_keep_their_distance(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    await stage.until(HOUR)
    await cleanup(stage, schedule=EVERY_MINUTE)
    await stage.later(90)
    stage.old(many(5))
    await stage.until(HOUR + 10 * MINUTE)
    assert len(stage.found()) == 5
    ready = (await conditions(stage))["Ready"]
    assert ready["reason"] == "Spaced"
    assert "sooner than every 10m" in ready["message"]
    await stage.until(HOUR + 11 * MINUTE + 5)
    assert not stage.found()


@story()
async def test_every_policy_runs_at_its_next_tick_after_the_server_failed_for_a_while(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    for number in range(50):
        match = matching(names=[f"web-{number}"], namespaces=[SHOP])
        await cleanup(stage, f"tidy-{number}", schedule="*/10 * * * *", match=match)
    await stage.until(9 * MINUTE)
    stage.cluster.faults.answer(500, when=asking(kind="configmaps"), times=None, seconds=12 * MINUTE)
    stage.old(many(50))
    await stage.until(19 * MINUTE)
    assert len(stage.found()) == 50
    await stage.until(30 * MINUTE + 20)
    assert not stage.found()
    assert (await conditions(stage, "tidy-7"))["LastRunSucceeded"]["status"] == "True"


@story()
async def test_what_the_server_could_not_tell_is_asked_again_before_the_next_tick(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage, schedule="0 1 * * *")
    await stage.until(HOUR - 5)
    stage.cluster.faults.answer(500, when=asking(kind="configmaps"), times=None, seconds=5 * MINUTE)
    await stage.until(HOUR + 2 * MINUTE)
    assert len(stage.found()) == 5
    said = (await conditions(stage))["LastRunSucceeded"]
    assert said["status"] == "False"
    assert "Internal error occurred" in said["message"]
    await stage.until(HOUR + 15 * MINUTE)
    assert not stage.found()
    assert (await conditions(stage))["LastRunSucceeded"]["status"] == "True"


@story(brakes={"share": 100}, policies={"callTimeout": "1m"})
async def test_of_a_run_that_takes_long_the_status_tells_since_when_it_runs_and_what_comes_after_it(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(32))
    await stage.play()
    stage.cluster.faults.delay(50, when=asking(path=f"/api/v1/namespaces/{SHOP}/pods"), times=None)
    path = f"/api/v1/namespaces/{SHOP}/pods?labelSelector=of={{{{ target.metadata.name }}}}"
    context = [{"name": "pods", "apiCall": {"urlPath": path, "jmesPath": "items"}}]
    none = {"all": [{"key": "{{ length(pods) }}", "operator": "Equals", "value": 0}]}
    await cleanup(stage, context=context, conditions=none)
    await stage.until(3 * MINUTE + 30)
    assert len(stage.found()) == 32
    status = (await read(stage))["status"]
    assert status["nextExecutionTime"] == "2026-01-01T00:04:00Z"
    ready = (await conditions(stage))["Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "Running")
    assert ready["message"].startswith(
        "it runs since 2026-01-01T00:01:00Z; it runs next at 2026-01-01T00:04:00Z"
    )
    await stage.until(5 * MINUTE + 30)
    assert not stage.found()


@story()
async def test_a_replica_that_does_not_lead_runs_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await cleanup(stage, schedule=HOURLY)
    play = await stage.play()
    await stage.later(10)
    play.standing_by = True
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 5
    play.standing_by = False
    await stage.later(MINUTE)
    assert not stage.found(), "what the other leader missed is made up for"


@story()
async def test_a_policy_runs_hour_after_hour(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    await cleanup(stage, schedule="30 * * * *")
    for hour in range(3):
        stage.old([f"web-{hour}"])
        await stage.until((hour + 0.5) * HOUR - 1)
        assert stage.there(f"web-{hour}")
        await stage.until((hour + 0.5) * HOUR + 5)
        assert not stage.found()


@story()
async def test_while_policies_can_not_be_followed_runs_wait(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    await stage.play()
    await cleanup(stage, schedule="0 1 * * *")
    # Whoever suspends it now is not heard.
    kind = CLUSTER_CLEANUP_POLICIES.qualified
    stage.cluster.faults.answer(500, when=asking(kind=kind), times=None, seconds=90 * MINUTE)
    await stage.until(HOUR + 20 * MINUTE)
    assert len(stage.found()) == 5
    await stage.until(HOUR + 35 * MINUTE)
    assert not stage.found()


@story()
async def test_what_was_held_while_policies_could_not_be_followed_goes_afterwards(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    await pull(stage, "wait", policy="ClusterCleanupPolicy/tidy")
    await cleanup(stage, schedule="0 1 * * *")
    await stage.until(HOUR + MINUTE)
    kind = CLUSTER_CLEANUP_POLICIES.qualified
    stage.cluster.faults.answer(500, when=asking(kind=kind), times=None, seconds=60 * MINUTE)
    await stage.until(HOUR + 50 * MINUTE)
    await release(stage, "wait", by="kim")
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 5
    assert play.overdue == {"feed-behind": 5}
    await stage.later(10 * MINUTE)
    assert not stage.found()
