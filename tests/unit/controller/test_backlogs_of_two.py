"""Two labellings of many are held at once: each Brake tells of its own objects, and its release lets go just those."""

from __future__ import annotations

import json

import pytest

from skoupa.controller.backlogs.backlog import Backlog
from skoupa.controller.backlogs.masses import Mass, add_mass
from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.controller.braking import brake, brakes, bring_kind, release
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_backlog import label_all, many, restart, state

pytestmark = pytest.mark.unit


async def label_two(stage: Stage) -> tuple[str, str]:
    """Sixty, and an hour later three hundred; the names of their Brakes."""
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await label_all(stage, many(300, "db"))
    await stage.later(10 * MINUTE)
    first, second = sorted(await brakes(stage))
    return first, second


async def told_by(stage: Stage, name: str) -> tuple[int, set[str]]:
    """How many it holds, and of which sort those are that it names."""
    status = (await brake(stage, name))["status"]
    return status["held"], {place.rpartition("/")[2].partition("-")[0] for place in status.get("sample", ())}


@pytest.mark.parametrize("again", [False, True], ids=["found", "after a restart"])
@story()
async def test_each_brake_tells_of_its_own_objects_and_its_release_allows_no_more(
    stage: Stage, *, again: bool
) -> None:
    await bring_kind(stage)
    stage.old([*many(60), *many(300, "db")])
    play = await stage.play()
    await stage.later(1)
    first, second = await label_two(stage)
    if again:
        play = await restart(stage, play)
        await stage.later(MINUTE)
    assert await told_by(stage, first) == (60, {"web"})
    assert await told_by(stage, second) == (300, {"db"})
    assert f"`skoupa brakes release {first}`" in play.why_held("web-7")
    assert f"`skoupa brakes release {second}`" in play.why_held("db-7")

    await release(stage, first)
    await stage.later(2 * MINUTE)
    assert stage.found() == set(many(300, "db"))
    assert [line["held"] for line in play.told("brake released")] == ["60"]
    assert [grant["number"] for grant in json.loads(state(stage)["allowances"])["grants"]] == [60]
    assert await told_by(stage, second) == (300, {"db"})


@story()
async def test_what_may_be_of_either_counts_for_the_one_whose_release_lets_it_go(stage: Stage) -> None:
    """A manager that writes again while nobody watches gives the labels of the first a time after the second."""
    await bring_kind(stage)
    stage.old([*many(60), *many(300, "db")])
    play = await stage.play()
    await stage.later(1)
    first, second = await label_two(stage)
    await play.stop()
    await stage.later(HOUR)
    for name in many(20):
        patch = {"metadata": {"annotations": {"beat": "1"}}}
        await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=SHOP)
    play = await stage.play()
    await stage.later(MINUTE)
    assert (await told_by(stage, first))[0] == 40
    assert (await told_by(stage, second))[0] == 320
    await release(stage, first)
    await stage.later(MINUTE)
    assert stage.found() == {*many(20), *many(300, "db")}
    assert (await told_by(stage, second))[0] == 320
    await release(stage, second)
    await stage.later(5 * MINUTE)
    assert not stage.found()


@story()
async def test_one_of_which_few_are_left_is_not_forgotten_for_another_that_a_start_finds_first(
    stage: Stage,
) -> None:
    stage.old([*many(60), *many(300, "db")])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await label_all(stage, many(300, "db"))
    await label_all(stage, many(60)[20:], ttl="30d")
    await stage.later(10 * MINUTE)
    for _ in range(2):
        play = await restart(stage, play)
        await stage.later(HOUR)
        assert len(stage.found()) == 360
        assert play.overdue == {"retroactive-label": 320}


@story()
async def test_the_release_of_a_later_one_is_no_release_of_an_earlier_one_whose_labels_got_a_newer_time(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    stage.old([*many(60), *many(300, "db")])
    play = await stage.play()
    await stage.later(1)
    first, second = await label_two(stage)
    for name in many(60):
        patch = {"metadata": {"annotations": {"beat": "1"}}}
        await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=SHOP)
    await stage.later(20 * MINUTE)
    await release(stage, second)
    await stage.later(5 * MINUTE)
    assert stage.found() == set(many(60))
    play = await restart(stage, play)
    await stage.later(HOUR)
    assert stage.found() == set(many(60))
    # Which labelling they are of nobody can tell by now; to release what is held lets them go.
    held = {name: (await told_by(stage, name))[0] for name in await brakes(stage)}
    assert held.keys() > {first}
    assert sum(held.values()) == 60
    for name in held:
        await release(stage, name)
    await stage.later(5 * MINUTE)
    assert not stage.found()


def mass(start: int, end: int, brake: str = "") -> Mass:
    return Mass(start=start, end=end, count=60, brake=brake)


def test_what_a_restart_finds_in_parts_is_the_one_labelling_that_was_written_down() -> None:
    found = [mass(0, 600, "a"), mass(1000, 1100, "b")]
    add_mass(found, mass(0, 1100, "mass-labels-0"), accepted_at=-1)
    assert found == [mass(0, 1100, "mass-labels-0")]


def test_to_accept_one_never_accepts_what_counts_for_the_next() -> None:
    backlog = Backlog(due=lambda _row, _now: None, may_go=lambda _row, _now: True, starting=lambda: False)
    backlog.masses = [mass(0, 1100, "a"), mass(1000, 1200, "b")]
    backlog.remember_accepted(backlog.accepting(backlog.masses[0], at=5000.0), first_start=False)
    assert [one.brake for one in backlog.masses] == ["b"]
