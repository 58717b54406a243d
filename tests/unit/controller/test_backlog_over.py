"""A labelling of many holds what is of it and no more, and is over when nothing is left of it."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brake, brakes, bring_kind, release
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story
from tests.unit.controller.test_backlog import label_all, many, restart, state

pytestmark = pytest.mark.unit


@story()
async def test_a_label_that_leaves_time_instead_ends_it(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old([*many(60), "other"])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    await label_all(stage, many(59), ttl="30d")
    await stage.later(MINUTE)
    assert play.overdue == {"retroactive-label": 1}
    await label_all(stage, many(60), ttl="30d")
    await stage.later(MINUTE)
    assert state(stage)["massLabellings"] == "[]"
    (name,) = await brakes(stage)
    assert (await brake(stage, name))["status"]["active"] is False
    await label_all(stage, ["other"])
    await stage.later(MINUTE)
    assert stage.found() == set(many(60)), "the next label is a wish again"


@story()
async def test_another_label_that_is_over_too_does_not_end_it(stage: Stage) -> None:
    """Also where it is the only one that is left, and an hour later."""
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    await label_all(stage, many(59), ttl="30d")
    await stage.later(HOUR)
    await label_all(stage, ["web-59"], ttl="2h")
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {"retroactive-label": 1}


@pytest.mark.parametrize("kept", [False, True])
@story()
async def test_a_single_label_an_hour_later_is_a_wish_whatever_is_held(stage: Stage, *, kept: bool) -> None:
    stage.old([*many(60), "other"])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    for name in many(60) if kept else ():
        await stage.label(name, keep="true")
    await stage.later(HOUR)
    await label_all(stage, ["other"])
    await stage.later(5)
    assert stage.there("other")
    await stage.later(MINUTE)
    assert stage.found() == set(many(60))
    for name in many(60) if kept else ():
        await stage.label(name, keep=None)
    await stage.later(HOUR)
    assert stage.found() == set(many(60))
    assert play.overdue == {"retroactive-label": 60}


@story()
async def test_a_label_that_comes_within_ten_minutes_is_of_it(stage: Stage) -> None:
    stage.old([*many(60), "other"])
    await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(9 * MINUTE)
    await label_all(stage, ["other"])
    await stage.later(HOUR)
    assert stage.there("other")


@story()
async def test_a_second_labelling_is_held_beside_the_first_and_released_by_itself(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old([*many(60), *many(55, "db")])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await label_all(stage, many(55, "db"))
    await stage.later(HOUR)
    for again in (False, True):
        play = await restart(stage, play) if again else play
        await stage.later(MINUTE)
        assert play.why_held("web-7").startswith("one of 60 objects")
        assert play.why_held("db-7").startswith("one of 55 objects")
    await release(stage, min(await brakes(stage)))
    await stage.later(MINUTE)
    assert stage.found() == set(many(55, "db"))


@story()
async def test_a_label_that_was_written_while_nobody_watched_is_held_with_the_others(stage: Stage) -> None:
    """Its time may be that of a later write: nobody saw it before."""
    stage.old([*many(60), "other"])
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await play.stop()
    await label_all(stage, ["other"])
    await stage.later(HOUR)
    await stage.play()
    await stage.later(HOUR)
    assert stage.there("other")


@story()
async def test_a_manager_that_writes_again_while_nobody_watches_does_not_let_go_what_is_held(
    stage: Stage,
) -> None:
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    await label_all(stage, many(60)[20:], ttl="30d")
    await play.stop()
    await stage.later(HOUR)
    for name in many(20):
        patch = {"metadata": {"annotations": {"beat": "1"}}}
        await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace="shop")
    await stage.play()
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@story()
async def test_a_release_while_nobody_runs_lets_go_what_was_held_at_the_next_start(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    await play.stop()
    (name,) = await brakes(stage)
    await release(stage, name)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    await stage.play()
    await stage.later(MINUTE)
    assert not stage.found()
    assert not await brakes(stage)


async def label_pods(stage: Stage, wanted: list[str], ttl: str) -> None:
    for name in wanted:
        await stage.label(name, resource=PODS, ttl=ttl)


@story()
async def test_what_may_not_be_read_for_a_while_is_not_over(stage: Stage) -> None:
    stage.old(many(60), resource=PODS)
    stage.old(["other"])
    play = await stage.play(user="sweeper", cascade={"ignoreKinds": ["pods"]})
    await stage.later(1)
    await label_pods(stage, many(60), "1h")
    await label_pods(stage, many(60)[20:], "30d")
    await stage.later(MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("pods",))
    await stage.later(HOUR)
    assert not play.overdue, "by now nobody follows them"
    await label_all(stage, ["other"])
    await stage.later(HOUR)
    assert not stage.there("other")
    stage.cluster.plane.access.clear()
    await stage.later(HOUR)
    assert len(stage.found(PODS)) == 60
    assert play.overdue == {"retroactive-label": 20}


@story()
async def test_what_a_start_can_not_read_is_not_over_because_other_labels_are(stage: Stage) -> None:
    stage.old(many(60), resource=PODS)
    stage.old(["other"])
    play = await stage.play(user="sweeper")
    await stage.later(1)
    await label_pods(stage, many(60), "1h")
    await label_pods(stage, many(60)[20:], "30d")
    await stage.later(MINUTE)
    stage.cluster.faults.answer(500, when=asking(kind="pods"), times=None)
    play = await restart(stage, play, user="sweeper", cascade={"ignoreKinds": ["pods"]})
    await stage.later(10 * MINUTE)
    await label_all(stage, ["other"])
    await label_all(stage, ["other"], ttl="30d")
    await stage.later(MINUTE)
    stage.cluster.faults.clear()
    await stage.later(HOUR)
    assert len(stage.found(PODS)) == 60
    assert play.overdue == {"retroactive-label": 20}
