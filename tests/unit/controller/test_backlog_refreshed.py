"""A refresh gives an object time of its own: it is of no labelling any more. What a refresh held back is held without it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.cli.test_backlogs import planned
from tests.unit.controller.braking import brake, brakes, bring_kind
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_backlog import label_all, many, restart, state

pytestmark = pytest.mark.unit

REFRESHED = names.REFRESHED_AT_ANNOTATION


async def refresh(stage: Stage, wanted: Iterable[str]) -> None:
    for name in wanted:
        await stage.annotate(name, REFRESHED, stage.time())


async def take_refresh_off(stage: Stage, wanted: Iterable[str]) -> None:
    for name in wanted:
        await stage.annotate(name, REFRESHED, None)


async def held_in_plan(stage: Stage) -> set[str]:
    return {found.row.name for found in (await planned(stage)).findings if found.verdict.holds}


async def held_mass(stage: Stage, *, ttl: str = "1h") -> Play:
    await bring_kind(stage)
    stage.old([*many(60), "other"])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60), ttl=ttl)
    await stage.later(20 * MINUTE)
    assert play.overdue == {"retroactive-label": 60}
    return play


@pytest.mark.parametrize("ttl", ["1h", "5m"])
@pytest.mark.parametrize("again", [False, True], ids=["all the time", "after a restart"])
@story()
async def test_a_refresh_of_all_ends_it_and_they_go_at_their_new_time(
    stage: Stage, *, again: bool, ttl: str
) -> None:
    play = await held_mass(stage, ttl=ttl)
    await refresh(stage, many(60))
    await stage.later(MINUTE)
    play = await restart(stage, play) if again else play
    await stage.later(MINUTE)
    assert state(stage)["massLabellings"] == "[]"
    (name,) = await brakes(stage)
    status = (await brake(stage, name))["status"]
    assert (status["active"], status["held"]) == (False, 0)
    assert not await held_in_plan(stage)
    assert len(stage.found()) == 61
    await stage.later(HOUR)
    assert stage.found() == {"other"}


@pytest.mark.parametrize("again", [False, True], ids=["all the time", "after a restart"])
@story()
async def test_a_refresh_of_some_takes_just_those_out(stage: Stage, *, again: bool) -> None:
    play = await held_mass(stage)
    await refresh(stage, many(20))
    await stage.later(30 * MINUTE)
    play = await restart(stage, play) if again else play
    await stage.later(MINUTE)
    rest = set(many(60)[20:])
    assert await held_in_plan(stage) == rest
    assert play.overdue == {"retroactive-label": 40}
    await stage.later(HOUR)
    assert stage.found() == rest | {"other"}
    assert play.overdue == {"retroactive-label": 40}


@pytest.mark.parametrize("again", [False, True], ids=["all the time", "after a restart"])
@pytest.mark.parametrize("number", [60, 20])
@story()
async def test_a_refresh_that_is_taken_off_again_is_no_way_around(
    stage: Stage, *, again: bool, number: int
) -> None:
    """Also of a few of them, while the others are held."""
    play = await held_mass(stage)
    await refresh(stage, many(number))
    await stage.later(20 * MINUTE)
    await take_refresh_off(stage, many(number))
    play = await restart(stage, play) if again else play
    await stage.later(HOUR)
    assert len(stage.found()) == 61
    assert play.overdue == {"retroactive-label": 60}
    assert await held_in_plan(stage) == set(many(60))


@story()
async def test_an_old_refresh_that_is_taken_off_what_is_held_lets_nothing_go(stage: Stage) -> None:
    stage.old(many(60), age=24 * HOUR, annotations={REFRESHED: stage.time(-3 * HOUR)})
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(20 * MINUTE)
    await take_refresh_off(stage, many(60))
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 60}


@pytest.mark.parametrize("again", [False, True], ids=["all the time", "after a restart"])
@story()
async def test_a_refresh_that_leaves_no_time_takes_nothing_out(stage: Stage, *, again: bool) -> None:
    """It puts the end off, to a time that is over as well."""
    play = await held_mass(stage)
    for name in many(60):
        await stage.annotate(name, REFRESHED, stage.time(-65 * MINUTE))
    play = await restart(stage, play) if again else play
    await stage.later(HOUR)
    assert len(stage.found()) == 61
    assert play.overdue == {"retroactive-label": 60}
    assert await held_in_plan(stage) == set(many(60))


@story()
async def test_what_is_refreshed_all_the_time_is_no_labelling(stage: Stage) -> None:
    """Each refresh leaves a few minutes only, and is written by who wrote the label."""
    for name in many(60):
        await stage.make(name, "5m")
    await label_all(stage, many(60), ttl="6m")
    play = await stage.play()
    for _ in range(24):
        await stage.later(4 * MINUTE)
        patch = {"metadata": {"annotations": {REFRESHED: stage.time()}}}
        for name in many(60):
            await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=SHOP)
    assert len(stage.found()) == 60
    assert play.overdue == {}
    await stage.later(10 * MINUTE)
    assert not stage.found(), "nobody uses them any more"


@story()
async def test_a_refresh_by_who_wrote_the_label_takes_them_out_too(stage: Stage) -> None:
    """Then the label has the time of the refresh."""
    await held_mass(stage)
    patch = {"metadata": {"annotations": {REFRESHED: stage.time()}}}
    for name in many(60):
        await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace=SHOP)
    await stage.later(MINUTE)
    assert not await held_in_plan(stage)
    await stage.later(HOUR)
    assert stage.found() == {"other"}


@story()
async def test_a_refresh_that_is_taken_off_objects_with_their_own_label_lets_them_go(stage: Stage) -> None:
    stage.old(many(60), "1h", annotations={REFRESHED: stage.time()})
    await stage.play()
    await stage.later(MINUTE)
    assert len(stage.found()) == 60
    await take_refresh_off(stage, many(60))
    await stage.later(MINUTE)
    assert not stage.found()
