"""What is left of a release when its rule claims nothing any more is for nobody: objects that come later were not seen by anybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from skoupa import names
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many, pull
from tests.unit.controller.policies import bring_policies, cleanup
from tests.unit.controller.stage import MINUTE, Stage, story
from tests.unit.controller.test_brakes_of_several import let_go, run_brakes, two_runs_that_hold_the_same
from tests.unit.controller.test_brakes_released import allowed
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

EVERY_TEN = "*/10 * * * *"


async def suspend(stage: Stage, name: str, value: str | None) -> None:
    annotations = {names.SUSPEND_ANNOTATION: value}
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, name, {"metadata": {"annotations": annotations}})


@story(brakes={"shareOver": 5})
async def test_a_policy_that_is_suspended_has_nothing_left_of_its_release(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    found = await two_runs_that_hold_the_same(stage)
    await pull(stage, "freeze", all=True)
    await let_go(stage, found["old"], found["new"])
    await stage.later(10)
    await suspend(stage, "new", "true")
    await stage.later(2 * MINUTE)
    await let_go(stage, "freeze")
    await stage.later(MINUTE)
    assert not stage.found()
    stage.old(many(40, "web-more"))
    await suspend(stage, "new", None)
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 40, "nobody has released these"
    assert set(await run_brakes(stage)) == {"old", "new"}
    assert allowed(play) == {}


@story(brakes={"shareOver": 5}, rate={"deletionsPerSecond": 10})
async def test_a_run_that_a_restart_skips_has_nothing_left_of_its_release(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(40))
        play = await stage.play(record=book.record)
        await cleanup(stage, "old", schedule=EVERY_TEN)
        await cleanup(stage, "new", schedule=EVERY_TEN, annotations={"missed-runs": "Skip"})
        await stage.until(11 * MINUTE)
        found = await run_brakes(stage)
        await let_go(stage, found["old"], found["new"])
        while len(stage.found()) > 20:
            await stage.later(0.1)
            assert stage.now < 12 * MINUTE
        await play.kill()
        again = await stage.play(record=book.record)
        await stage.later(2 * MINUTE)
        assert not stage.found()
        stage.old(many(20, "web-more"))
        await stage.until(21 * MINUTE)
        assert len(stage.found()) == 20, "nobody has released these"
        assert allowed(again) == {}


@story(brakes={"shareOver": 5})
async def test_a_run_that_fails_for_a_while_keeps_what_was_released(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    await cleanup(stage, "old")
    await stage.later(2 * MINUTE)
    await pull(stage, "freeze", all=True)
    await let_go(stage, (await run_brakes(stage))["old"])
    assert sum(allowed(play).values()) == 40
    stage.cluster.faults.answer(500, when=asking(verb="list", kind="configmaps"), seconds=10 * MINUTE)
    await stage.later(12 * MINUTE)
    assert sum(allowed(play).values()) == 40
    await let_go(stage, "freeze")
    await stage.later(MINUTE)
    assert not stage.found()
    assert len(play.told("brake pulled")) == 1
