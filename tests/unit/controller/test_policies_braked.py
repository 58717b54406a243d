"""Runs of policies that a limit stops: a release is for what was held, and a restart in between changes nothing of that."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from tests.unit.controller.braking import brake, brakes, many, release, state
from tests.unit.controller.policies import EVERY_MINUTE, HOURLY, bring_policies, cleanup, matching
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

RULE = "ClusterCleanupPolicy/tidy"


def namespaces(pattern: str) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": ["Namespace"], "names": [pattern]}}]}


async def edit(stage: Stage, match: dict[str, Any]) -> None:
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", {"spec": {"match": match}})
    await stage.settle()


async def remove(stage: Stage) -> None:
    found = await stage.people.get(CLUSTER_CLEANUP_POLICIES, "tidy", view=METADATA)
    await stage.people.delete(
        CLUSTER_CLEANUP_POLICIES, "tidy", uid=found.metadata.uid, propagation="Background"
    )
    await stage.settle()


async def braked(stage: Stage) -> str:
    (name,) = await brakes(stage)
    return name


@story(brakes={"share": 5}, rate={"deletionsPerSecond": 1})
async def test_what_was_released_goes_on_over_the_next_ticks(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(90))
    await stage.play()
    await cleanup(stage)
    await stage.until(70)
    await release(stage, await braked(stage))
    await stage.later(3 * MINUTE)
    assert not stage.found()
    assert await brakes(stage) == set()


@pytest.mark.parametrize("how", ["edited", "made anew"])
@story(brakes={"share": 5}, rate={"deletionsPerSecond": 1})
async def test_a_release_is_not_for_what_another_spec_of_the_policy_takes(stage: Stage, how: str) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    for number in range(6):
        await stage.namespace(f"old-{number}")
    await stage.play()
    await cleanup(stage)
    await stage.until(70)
    await release(stage, await braked(stage))
    await stage.later(4)
    assert 30 < len(stage.found()) < 40
    if how == "edited":
        await edit(stage, namespaces("old-*"))
    else:
        await remove(stage)
        await cleanup(stage, match=namespaces("old-*"))
    await stage.later(2 * MINUTE)
    assert {f"old-{number}" for number in range(6)} <= stage.found(NAMESPACES)
    assert "claims 6 namespaces" in (await brake(stage, await braked(stage)))["spec"]["reason"]
    assert RULE not in [one["name"] for one in state(stage)["allowances"]["left"]]


@story(brakes={"share": 5}, rate={"deletionsPerSecond": 1})
async def test_a_release_is_not_for_other_objects_of_the_same_kind_that_another_spec_takes(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        stage.old(many(30, "other"))
        play = await stage.play(record=book.record)
        await cleanup(stage)
        await stage.until(70)
        await release(stage, await braked(stage))
        await stage.later(4)
        await edit(stage, matching(names=["other-*"], namespaces=[SHOP]))
        await stage.later(MINUTE)
        name = await braked(stage)
        assert len([one for one in stage.found() if one.startswith("other")]) == 30
        await stage.later(10)
        grants = state(stage)["allowances"]["grants"]
        assert all(grant["until"] <= stage.clock.now() for grant in grants)
        # What went by the allowance fills no window of the next process either.
        await play.kill()
        again = await stage.play(record=book.record)
        await stage.later(2)
        assert again.engine.braking.ceilings.allowances == {}
        assert await braked(stage) == name


@story(brakes={"maxPerRun": 20, "perHour": 10}, rate={"deletionsPerSecond": 1})
async def test_what_another_spec_takes_counts_against_the_ceilings_whatever_was_released_before(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    stage.old(many(8, "other"))
    await stage.play()
    await cleanup(stage, match=matching(names=["web-*"], namespaces=[SHOP]))
    await stage.until(70)
    await release(stage, await braked(stage))
    await stage.later(4)
    await edit(stage, matching(names=["other-*"], namespaces=[SHOP]))
    await stage.later(MINUTE)
    others = [one for one in stage.found() if one.startswith("other")]
    assert (others, await brakes(stage)) == ([], set())
    stage.old(many(8, "other-late"))
    await stage.later(MINUTE)
    assert "brakes.perHour" in (await brake(stage, await braked(stage)))["spec"]["reason"]
    assert len([one for one in stage.found() if one.startswith("other")]) == 8


@story(rate={"deletionsPerSecond": 0.15})
async def test_a_run_that_a_crash_interrupted_takes_no_more_in_all_than_the_limit(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        for number in range(3):
            await stage.namespace(f"q{number}")
        play = await stage.play(record=book.record)
        await cleanup(stage, match=namespaces("q*"), schedule=HOURLY)
        await stage.until(HOUR)
        while not (gone := {f"q{number}" for number in range(3)} - stage.found(NAMESPACES)):
            await stage.later(0.5)
            assert stage.now < HOUR + MINUTE
        assert len(gone) == 1
        await play.kill()
        await stage.namespace("q3")
        await stage.play(record=book.record)
        await stage.later(5 * MINUTE)
        left = {f"q{number}" for number in range(4)} & stage.found(NAMESPACES)
        assert len(left) == 3
        reason = (await brake(stage, await braked(stage)))["spec"]["reason"]
        assert "claims 4 namespaces" in reason
        assert "1 went before, and no more do" in reason


@story(rate={"deletionsPerSecond": 0.15})
async def test_what_went_along_before_a_crash_is_no_kind_of_its_own(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        for number in range(2):
            await stage.namespace(f"q{number}")
            stage.old(many(30), namespace=f"q{number}")
        stage.old(many(300))
        play = await stage.play(record=book.record)
        await cleanup(stage, match=namespaces("q*"), schedule=HOURLY)
        await stage.until(HOUR)
        while {"q0", "q1"} <= stage.found(NAMESPACES):
            await stage.later(0.5)
            assert stage.now < HOUR + MINUTE
        await play.kill()
        await stage.play(record=book.record)
        await stage.later(5 * MINUTE)
        assert not {"q0", "q1"} & stage.found(NAMESPACES)
        assert await brakes(stage) == set()


@pytest.mark.parametrize("released", ["after the restart", "meanwhile"])
@story(brakes={"share": 5})
async def test_a_release_after_a_crash_lets_go_what_was_held_before(stage: Stage, released: str) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    name = await braked(stage)
    assert (await brake(stage, name))["status"]["held"] == 40
    await play.kill()
    if released == "meanwhile":
        await release(stage, name)
    again = await stage.play()
    if released != "meanwhile":
        await stage.later(20)
        assert (await brake(stage, name))["status"]["held"] == 40
        await release(stage, name)
    await stage.later(MINUTE)
    assert not stage.found()
    assert await brakes(stage) == set()
    assert [line["held"] for line in again.told("brake released")] == ["40"]


@story(brakes={"maxPerRun": 50, "share": 100}, rate={"deletionsPerSecond": 5})
async def test_what_was_released_goes_on_after_a_crash_half_way(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(111))
        play = await stage.play(record=book.record)
        await cleanup(stage, schedule=HOURLY)
        await stage.until(HOUR + MINUTE)
        await release(stage, await braked(stage))
        await stage.later(6)
        assert 60 < len(stage.found()) < 100
        await play.kill()
        await stage.play(record=book.record)
        await stage.later(MINUTE)
        assert not stage.found()
        assert await brakes(stage) == set()


@story(brakes={"share": 5})
async def test_a_run_of_which_nothing_is_braked_any_more_is_not_done_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    await release(stage, await braked(stage))
    await stage.later(MINUTE)
    assert not stage.found()
    await play.stop()
    stage.old(many(5))
    await stage.play()
    await stage.until(2 * HOUR - 1)
    assert len(stage.found()) == 5


@story(mode="observe")
async def test_what_stops_an_observer_ends_with_a_run_that_would_pass(stage: Stage, tmp_path: Path) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(50))
        play = await stage.play(record=book.record)
        await cleanup(stage, schedule=EVERY_MINUTE)
        await stage.until(3.5 * MINUTE)
        (pulled,) = play.told("brake pulled")
        assert (await book.entry("web-1")).outcome == "braked"
        await edit(stage, matching(names=["web-1", "web-2"], namespaces=[SHOP]))
        await stage.later(2 * MINUTE)
        assert (await book.entry("web-1")).outcome == "would-delete"
        assert play.told("would delete", "web-1")
        assert play.value("skoupa_brakes", state="active") == 0
        # One that would be stopped again says so, with its own numbers.
        await edit(stage, matching(names=["web-*"], namespaces=[SHOP]))
        await stage.later(2 * MINUTE)
        assert len(play.told("brake pulled")) == 2
        await remove(stage)
        await stage.later(2)
        assert play.engine.braking.brakes.statistics()["active"] == 0
        assert "release" not in pulled, "there is no Brake that anybody could release"


@story(brakes={"share": 100})
async def test_a_policy_that_was_made_anew_is_not_compared_with_the_one_before(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await cleanup(stage)
    await stage.later(2 * MINUTE)
    await remove(stage)
    stage.old(many(60))
    made = await cleanup(stage)
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert await brakes(stage) == set()
    assert state(stage)["largestRuns"] == {RULE: [1, 60, made["metadata"]["uid"]]}
    # From here on it has a largest run of its own, also after a restart.
    await play.stop()
    stage.old(many(601), age=MINUTE)
    await stage.play()
    await stage.later(2 * MINUTE)
    assert len(stage.found()) == 601
    assert "its largest run so far had 60" in (await brake(stage, await braked(stage)))["spec"]["reason"]
