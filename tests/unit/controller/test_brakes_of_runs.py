"""An answer to the Brake of a run is for that run: for the rule as it was, and for no more than the Brake said it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.brake import BRAKES
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.objects import METADATA
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brake, brakes, many, pull, release
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, matching
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_brakes_ended import braked_run, end
from tests.unit.controller.test_brakes_released import allowed
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

PRODUCTION: dict[str, Any] = matching(names=["prod-*"], namespaces=[SHOP])


async def stopped(stage: Stage) -> str:
    """The Brake that holds the 40 web-* that the policy claims."""
    await cleanup(stage)
    await stage.later(2 * MINUTE)
    name = await braked_run(stage)
    assert (await brake(stage, name))["status"]["held"] == 40
    return name


async def delete(stage: Stage, name: str) -> None:
    found = await stage.people.get(BRAKES, name, view=METADATA)
    await stage.people.delete(BRAKES, name, uid=found.metadata.uid, propagation="Background")


async def edit(stage: Stage) -> None:
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", {"spec": {"match": PRODUCTION}})


async def make_anew(stage: Stage) -> None:
    found = await stage.people.get(CLUSTER_CLEANUP_POLICIES, "tidy", view=METADATA)
    await stage.people.delete(
        CLUSTER_CLEANUP_POLICIES, "tidy", uid=found.metadata.uid, propagation="Background"
    )
    await stage.later(5)
    await cleanup(stage, match=PRODUCTION)


def left(stage: Stage, what: str) -> int:
    return sum(name.startswith(what) for name in stage.found())


def told(play: Play, event: str) -> list[str]:
    return [line["name"] for line in play.told(event)]


@pytest.mark.parametrize("answer", ["deleted", "given an end"])
@pytest.mark.parametrize("change", [edit, make_anew])
@story(brakes={"shareOver": 5})
async def test_an_answer_while_no_controller_runs_is_not_for_another_spec_of_the_policy(
    stage: Stage, tmp_path: Path, answer: str, change: Any
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        stage.old(many(40, "prod"))
        play = await stage.play(record=book.record)
        name = await stopped(stage)
        await play.stop()
        if answer == "deleted":
            await delete(stage, name)
        else:
            await end(stage, name, 2 * MINUTE)
        await change(stage)
        await stage.later(5 * MINUTE)
        again = await stage.play(record=book.record)
        await stage.later(5 * MINUTE)
        assert left(stage, "prod") == 40, "nobody has released these"
        assert told(again, "brake pulled") == [name]
        assert (await brake(stage, name))["status"]["active"] is True
        assert allowed(again) == {}


@pytest.mark.parametrize("answer", ["deleted", "given an end"])
@story(brakes={"shareOver": 5})
async def test_an_answer_while_no_controller_runs_is_for_no_more_than_was_held(
    stage: Stage, tmp_path: Path, answer: str
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        play = await stage.play(record=book.record)
        name = await stopped(stage)
        await play.stop()
        if answer == "deleted":
            await delete(stage, name)
        else:
            await end(stage, name, 2 * MINUTE)
        stage.old(many(60, "web-more"))
        await stage.later(5 * MINUTE)
        again = await stage.play(record=book.record)
        await stage.later(5 * MINUTE)
        assert len(stage.found()) == 100
        assert told(again, "brake pulled") == [name]
        assert "claims 100 of all" in (await brake(stage, name))["spec"]["reason"]
        # Now that it says so, all of them may go.
        await release(stage, name)
        await stage.later(MINUTE)
        assert not stage.found()
        assert allowed(again) == {}


@pytest.mark.parametrize("change", [edit, make_anew])
@story(brakes={"shareOver": 5})
async def test_an_end_that_was_given_to_the_brake_of_a_run_is_not_for_another_spec_of_the_policy(
    stage: Stage, change: Any
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    stage.old(many(60, "prod"))
    play = await stage.play()
    name = await stopped(stage)
    await end(stage, name, 3 * MINUTE)
    await change(stage)
    await stage.later(2 * MINUTE)
    # It is said before the end comes, with the numbers of the other run.
    assert await brakes(stage) == {name, f"{name}-2"}
    assert "claims 40 of all" in (await brake(stage, name))["spec"]["reason"]
    other = await brake(stage, f"{name}-2")
    assert "claims 60 of all" in other["spec"]["reason"]
    assert "until" not in other["spec"]
    await stage.later(5 * MINUTE)
    assert told(play, "brake ended") == [name]
    assert (left(stage, "prod"), left(stage, "web")) == (60, 40)
    await release(stage, f"{name}-2")
    await stage.later(MINUTE)
    assert (left(stage, "prod"), left(stage, "web")) == (0, 40)
    assert allowed(play) == {}


@story(brakes={"shareOver": 5})
async def test_an_end_that_was_given_to_the_brake_of_a_run_is_for_no_more_than_it_held_then(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    name = await stopped(stage)
    await end(stage, name, 3 * MINUTE)
    await stage.later(10)
    stage.old(many(90, "web-more"))
    await stage.later(2 * MINUTE)
    assert (await brake(stage, name))["status"]["held"] == 40, "for so many its end was given"
    assert (await brake(stage, f"{name}-2"))["status"]["held"] == 130
    await stage.later(5 * MINUTE)
    assert [line["held"] for line in play.told("brake ended")] == ["40"]
    assert len(stage.found()) == 130
    await release(stage, f"{name}-2")
    await stage.later(MINUTE)
    assert not stage.found()
    assert allowed(play) == {}


@story(brakes={"shareOver": 5})
async def test_a_restart_does_not_make_more_of_an_end_that_was_given_before(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        play = await stage.play(record=book.record)
        name = await stopped(stage)
        await end(stage, name, 10 * MINUTE)
        await stage.later(10)
        await play.kill()
        stage.old(many(60, "web-more"))
        again = await stage.play(record=book.record)
        await stage.later(2 * MINUTE)
        assert (await brake(stage, name))["status"]["held"] == 40
        assert told(again, "brake pulled") == [f"{name}-2"]
        await stage.later(15 * MINUTE)
        assert len(stage.found()) == 100


@story(brakes={"shareOver": 5})
async def test_who_gives_the_brake_of_a_run_an_end_at_once_lets_all_of_the_run_go(stage: Stage) -> None:
    """What it holds is judged object by object, and told after that."""
    await bring_policies(stage)
    stage.old(many(400))
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR - 1)
    while not await brakes(stage):
        await stage.later(0.01)
        assert stage.now < HOUR + MINUTE
    await end(stage, await braked_run(stage), 10)
    await stage.later(MINUTE)
    assert not stage.found()


@story(brakes={"shareOver": 5})
async def test_what_the_brake_of_a_run_holds_is_not_said_anew_before_the_run_is_done_again(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    name = await stopped(stage)
    await play.kill()
    stage.cluster.faults.delay(10, when=asking(verb="list", path="/api/v1/configmaps"), times=1)
    await stage.play()
    for _ in range(60):
        await stage.later(1)
        assert (await brake(stage, name))["status"]["held"] == 40


@story(brakes={"shareOver": 5})
async def test_a_pause_that_is_released_while_a_run_is_being_weighed_does_not_approve_of_the_run(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await pull(stage, "mine", policy="ClusterCleanupPolicy/tidy")
    await stage.until(HOUR - 1)
    stage.cluster.faults.delay(5, when=asking(verb="list", path="/api/v1/configmaps"), times=3)
    await stage.until(HOUR + 8)
    assert not play.told("brake pulled")
    await release(stage, "mine")
    await stage.later(MINUTE)
    assert len(stage.found()) == 40
    name = await braked_run(stage)
    assert (await brake(stage, name))["status"]["held"] == 40
    assert allowed(play) == {}


@pytest.mark.parametrize("reason", ["", "we look into it, Kim"])
@story(brakes={"shareOver": 5})
async def test_the_brake_of_a_run_tells_the_numbers_of_the_run_that_it_stopped_last(
    stage: Stage, reason: str
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    made = await cleanup(stage)
    await stage.later(2 * MINUTE)
    name = await braked_run(stage)
    if reason:
        await stage.people.merge_patch(BRAKES, name, {"spec": {"reason": reason}})
    stage.old(many(400, "web-more"))
    await stage.later(2 * MINUTE)
    found = await brake(stage, name)
    assert "claims 440 of all" in found["status"]["trippedBy"]
    assert found["spec"]["reason"] == (reason or found["status"]["trippedBy"])
    assert found["status"]["held"] == 440
    uid = made["metadata"]["uid"]
    assert found["metadata"]["annotations"][names.STOPPED_RUN_ANNOTATION] == f"{uid}:1:440"
    await release(stage, name)
    await stage.later(MINUTE)
    assert not stage.found()
    assert allowed(play) == {}


@story(brakes={"shareOver": 5})
async def test_a_release_is_for_the_run_that_the_brake_speaks_of_by_then(stage: Stage) -> None:
    """The policy was changed and ran again: who releases its Brake has read of that."""
    await bring_policies(stage)
    stage.old(many(40))
    stage.old(many(60, "prod"))
    play = await stage.play()
    name = await stopped(stage)
    await edit(stage)
    await stage.later(2 * MINUTE)
    found = await brake(stage, name)
    assert "claims 60 of all" in found["spec"]["reason"]
    assert found["status"]["held"] == 60
    await release(stage, name)
    await stage.later(MINUTE)
    assert (left(stage, "prod"), left(stage, "web")) == (0, 40)
    assert len(play.told("brake pulled")) == 1


@story(brakes={"shareOver": 5})
async def test_a_brake_that_is_pulled_anew_under_its_name_tells_of_its_own_run(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    stage.old(many(60, "prod"))
    await stage.play()
    name = await stopped(stage)
    stage.old(many(10, "web-more"))
    await stage.later(2 * MINUTE)
    assert "claims 50 of all" in (await brake(stage, name))["spec"]["reason"]
    await release(stage, name)
    await stage.later(10)
    assert not left(stage, "web")
    await edit(stage)
    while not await brakes(stage):
        await stage.later(1)
        assert stage.now < HOUR
    await stage.later(10)
    found = await brake(stage, name)
    assert "claims 60 of all" in found["spec"]["reason"]
    assert found["metadata"]["annotations"][names.STOPPED_RUN_ANNOTATION].endswith(":2:60")


@story(brakes={"shareOver": 5})
async def test_a_brake_that_does_not_say_which_run_it_stopped_approves_of_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    name = await stopped(stage)
    await play.kill()
    annotations = {names.STOPPED_RUN_ANNOTATION: None}
    await stage.people.merge_patch(BRAKES, name, {"metadata": {"annotations": annotations}})
    await delete(stage, name)
    again = await stage.play()
    await stage.later(2 * MINUTE)
    assert [line["held"] for line in again.told("brake released")] == ["0"]
    assert len(stage.found()) == 40
    await release(stage, await braked_run(stage))
    await stage.later(MINUTE)
    assert not stage.found()
