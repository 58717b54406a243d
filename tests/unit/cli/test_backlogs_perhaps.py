"""What may be of a labelling of many, or not: who only looks promises neither, and who sweeps by hand leaves it alone."""

from __future__ import annotations

import pytest

from skoupa.cli.looking.planning import Plan
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.model.reasons import render
from tests.unit.cli.test_backlogs import explained, held, held_by, planned, to_sweep
from tests.unit.controller.braking import brakes, bring_kind, many
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_backlog import label_all

pytestmark = pytest.mark.unit


async def held_mass(stage: Stage) -> Play:
    await bring_kind(stage)
    stage.old([*many(60), "other"])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    return play


def why(plan: Plan, name: str) -> list[str]:
    (found,) = (found for found in plan.findings if found.row.name == name)
    return [f"{hold.reason.code}: {render(hold.reason)}" for hold in found.verdict.holds]


@story()
async def test_a_label_that_was_written_later_is_not_said_to_stay_and_the_controller_lets_it_go(
    stage: Stage,
) -> None:
    await held_mass(stage)
    await stage.label("other", ttl=stage.time(9 * MINUTE).replace(":", ""))
    await stage.later(MINUTE)
    (name,) = await brakes(stage)
    plan = await planned(stage)
    (said,) = why(plan, "other")
    assert said.startswith("perhaps-retroactive: perhaps one of 60 objects")
    assert "A running controller that saw it being written after theirs lets it go" in said
    assert name in said
    assert plan.wanted() == 1, "it may go, so it counts for --fail-over"
    assert "but perhaps held." in await explained(stage, "other")
    assert "but held: it stays." in await explained(stage, "web-7")
    assert not await to_sweep(stage)
    await stage.later(10 * MINUTE)
    assert stage.found() == set(many(60))


@story()
async def test_what_is_of_it_is_said_to_stay_as_the_controller_says_it(stage: Stage) -> None:
    play = await held_mass(stage)
    found = held(await planned(stage))
    assert found == held_by(play)
    assert found["web-7"][0].startswith("one of 60 objects")


@story()
async def test_a_label_that_got_a_newer_time_is_perhaps_of_it_and_the_controller_holds_it(
    stage: Stage,
) -> None:
    await held_mass(stage)
    patch = {"metadata": {"annotations": {"beat": "1"}}}
    await stage.people.merge_patch(CONFIG_MAPS, "web-7", patch, namespace=SHOP)
    await stage.later(MINUTE)
    (said,) = why(await planned(stage), "web-7")
    assert said.startswith("perhaps-retroactive")
    assert not await to_sweep(stage)
    await stage.later(HOUR)
    assert len(stage.found()) == 61
