"""Many at once by mistake: a cluster that was never swept, and one label on everything old."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.errors import NotFound
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.sim.faults import asking
from tests.unit.controller.stage import DAY, HOME, HOUR, MINUTE, Play, Stage, story

pytestmark = pytest.mark.unit


def many(count: int, what: str = "web") -> list[str]:
    return [f"{what}-{number}" for number in range(count)]


async def label_all(stage: Stage, wanted: list[str], *, ttl: str = "1h", apart: float = 0.0) -> None:
    for name in wanted:
        await stage.people.merge_patch(
            CONFIG_MAPS, name, {"metadata": {"labels": {names.TTL_LABEL: ttl}}}, namespace="shop"
        )
        if apart:
            await stage.later(apart)
    await stage.settle()


def state(stage: Stage) -> dict[str, str]:
    found = stage.cluster.objects(CONFIG_MAPS, namespace=HOME)
    return next((one["data"] for one in found if one["metadata"]["name"] == names.STATE_CONFIG_MAP), {})


async def restart(stage: Stage, play: Play, **settings: Any) -> Play:
    await play.stop()
    return await stage.play(**settings)


@story()
async def test_a_hundred_overdue_objects_go_at_the_first_start(stage: Stage) -> None:
    stage.old(many(100), "1h", age=DAY)
    await stage.play()
    await stage.later(5)
    assert not stage.found()


@story()
async def test_more_than_a_hundred_are_held_and_what_becomes_due_now_goes(stage: Stage) -> None:
    stage.old(many(101), "1h", age=DAY)
    stage.old(["recent"], "1h", age=HOUR + 10 * MINUTE)
    play = await stage.play()
    await stage.make("new", "5m")
    await stage.later(HOUR)
    assert stage.found() == set(many(101))
    assert play.why_held("web-7").startswith("one of 101 objects that were overdue when Skoupa first looked")
    assert play.overdue == {"first-start-backlog": 101}
    assert "firstSweep" not in state(stage)


@story()
async def test_what_would_not_go_anyway_does_not_count_as_a_backlog(stage: Stage) -> None:
    stage.old(many(80), "1h", age=DAY)
    stage.old(many(80, "kept"), "1h", age=DAY, keep="true")
    stage.old(many(80, "system"), "1h", age=DAY, namespace="kube-system")
    await stage.play()
    await stage.later(5)
    assert stage.found() == set(many(80, "kept"))


@story()
async def test_a_backlog_stays_held_after_a_restart_and_accepting_it_releases_it_for_good(
    stage: Stage,
) -> None:
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.later(10)
    play = await restart(stage, play)
    await stage.later(10)
    assert len(stage.found()) == 150
    play = await restart(stage, play, acceptBacklog=True)
    await stage.later(10)
    assert not stage.found()
    assert {"firstSweep", "backlogAccepted"} <= state(stage).keys()
    stage.old(many(150), "1h", age=DAY)
    play = await restart(stage, play)
    await stage.later(10)
    assert not stage.found(), "a cluster that was swept before has no first start"


@story()
async def test_a_backlog_stays_held_over_a_restart_however_few_are_left_of_it(stage: Stage) -> None:
    stage.old(many(101), "1h", age=DAY)
    play = await stage.play()
    await stage.later(10)
    for name in many(3):
        await stage.label(name, keep="true")
    play = await restart(stage, play)
    await stage.later(HOUR)
    assert stage.found() == set(many(101))
    assert play.overdue["first-start-backlog"] == 98
    play = await restart(stage, play, acceptBacklog=True)
    await stage.later(10)
    assert stage.found() == set(many(3))


@story()
async def test_a_backlog_of_which_nothing_is_left_is_over(stage: Stage) -> None:
    stage.old(many(101), "1h", age=DAY)
    play = await stage.play()
    await stage.later(10)
    for name in many(101):
        await stage.label(name, ttl=None)
    await restart(stage, play)
    await stage.later(10)
    assert "firstSweep" in state(stage)


@story()
async def test_a_setting_that_makes_much_due_at_once_is_held_like_a_first_start(stage: Stage) -> None:
    janitor = {"janitor/ttl": "1h"}
    stage.old(many(150), age=DAY, annotations=janitor)
    play = await stage.play()
    await stage.make("new", "5m")
    await stage.later(HOUR)
    assert stage.found() == set(many(150))
    switched = {"compat": {"janitor": True}}
    play = await restart(stage, play, **switched)
    await stage.later(HOUR)
    assert stage.found() == set(many(150))
    assert play.overdue == {"first-start-backlog": 150}
    play = await restart(stage, play, **switched)
    await stage.later(HOUR)
    assert stage.found() == set(many(150)), "also over a restart"
    play = await restart(stage, play, acceptBacklog=True, **switched)
    await stage.later(10)
    assert not stage.found()
    stage.old(many(150), age=DAY, annotations=janitor)
    await restart(stage, play, **switched)
    await stage.later(10)
    assert not stage.found(), "what was accepted once is everyday work"


@story()
async def test_labels_that_meant_nothing_before_are_held_like_a_first_start(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play(features={"ttl": False})
    await stage.later(MINUTE)
    play = await restart(stage, play)
    await stage.later(HOUR)
    assert stage.found() == set(many(150))
    assert play.overdue == {"first-start-backlog": 150}


@story()
async def test_a_long_absence_is_no_first_start(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(1)
    await play.stop()
    stage.old(many(150), "1h", age=DAY)
    await stage.play()
    await stage.later(10)
    assert not stage.found()


@story()
async def test_state_that_can_not_be_read_is_waited_for(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(1)
    await play.stop()
    stage.old(many(150), "1h", age=DAY)
    path = f"/api/v1/namespaces/{HOME}/configmaps/{names.STATE_CONFIG_MAP}"
    stage.cluster.faults.answer(500, when=asking(method="GET", path=path), times=None, seconds=100)
    await stage.play()
    await stage.later(90)
    assert len(stage.found()) == 150, "nobody knows yet whether this is a first start"
    await stage.later(100)
    assert not stage.found()


@story(mode="observe")
async def test_an_observer_leaves_no_state(stage: Stage) -> None:
    stage.old(many(101), "1h", age=DAY)
    play = await stage.play()
    await stage.later(MINUTE)
    assert play.overdue == {"first-start-backlog": 101}
    with pytest.raises(NotFound):
        await stage.people.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=HOME, view=WHOLE)


@story()
async def test_a_label_on_fifty_old_objects_is_a_wish(stage: Stage) -> None:
    stage.old(many(50))
    await stage.play()
    await stage.later(1)
    await label_all(stage, many(50))
    await stage.later(5)
    assert len(stage.found()) == 50, "it takes a moment to see whether there are more"
    await stage.later(10)
    assert not stage.found()


@pytest.mark.parametrize("apart", [0.0, 0.25, 8.0])
@story()
async def test_a_label_on_more_than_fifty_old_objects_is_held_to_the_first_of_them(
    stage: Stage, apart: float
) -> None:
    """Whether kubectl labels them all at once or a slow pipeline does it one by one."""
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60), apart=apart)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.why_held("web-59").startswith("one of 60 objects that became overdue together")
    assert play.overdue == {"retroactive-label": 60}


@story()
async def test_the_fifty_first_that_comes_minutes_later_is_held(stage: Stage) -> None:
    stage.old(many(60))
    await stage.play()
    await stage.later(1)
    await label_all(stage, many(50))
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 10
    await label_all(stage, many(60)[50:])
    await stage.later(HOUR)
    assert stage.found() == set(many(60)[50:])


@story()
async def test_labels_that_are_written_far_apart_are_no_mass(stage: Stage) -> None:
    stage.old(many(80))
    await stage.play()
    await stage.later(1)
    await label_all(stage, many(80)[:40])
    await stage.later(11 * MINUTE)
    await label_all(stage, many(80)[40:])
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_a_label_that_leaves_time_is_no_mass_whatever_their_number(stage: Stage) -> None:
    stage.old(many(60))
    await stage.play()
    await stage.later(1)
    await label_all(stage, many(60), ttl="3h")
    await stage.later(HOUR + 10)
    assert not stage.found()


@story()
async def test_new_objects_are_no_mass_whatever_their_number(stage: Stage) -> None:
    await stage.play()
    for name in many(60):
        await stage.make(name)
    await stage.later(10 * MINUTE)
    await label_all(stage, many(60), ttl="1m")
    await stage.later(10)
    assert not stage.found()


@pytest.mark.parametrize("graceful", [True, False])
@story()
async def test_a_mass_labelling_is_remembered_over_a_restart(stage: Stage, *, graceful: bool) -> None:
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(30)
    await (play.stop() if graceful else play.kill())
    for name in many(20):
        found = await stage.people.get(CONFIG_MAPS, name, namespace="shop", view=WHOLE)
        uid = found["metadata"]["uid"]
        await stage.people.delete(CONFIG_MAPS, name, namespace="shop", uid=uid, propagation="Background")
    await stage.later(DAY / 24)
    play = await stage.play()
    await stage.later(MINUTE)
    assert stage.found() == set(many(60)[20:]), "forty are not many, but they are of the sixty"
    play = await restart(stage, play, acceptBacklog=True)
    await stage.later(MINUTE)
    assert not stage.found()


@story(acceptBacklog=True)
async def test_accepting_a_backlog_does_not_accept_the_next_one(stage: Stage) -> None:
    stage.old(many(60))
    await stage.play()
    await stage.later(MINUTE)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    assert len(stage.found()) == 60


@story()
async def test_taking_the_label_off_again_ends_it(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    for name in many(60):
        await stage.label(name, ttl=None)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.overdue == {}
    assert state(stage)["massLabellings"] == "[]"
    await stage.label("web-7", ttl="1h")
    await stage.later(MINUTE)
    assert not stage.there("web-7"), "the next label is a wish again"
    await restart(stage, play)
    await stage.label("web-8", ttl="1h")
    await stage.later(MINUTE)
    assert not stage.there("web-8")


@story()
async def test_labels_that_were_taken_off_while_nobody_watched_end_it_too(stage: Stage) -> None:
    stage.old(many(60))
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    await play.stop()
    for name in many(60):
        await stage.label(name, ttl=None)
    await stage.play()
    await stage.later(MINUTE)
    assert state(stage)["massLabellings"] == "[]"
    await stage.label("web-7", ttl="1h")
    await stage.later(MINUTE)
    assert not stage.there("web-7")


@story()
async def test_labels_that_were_taken_off_do_not_count_for_the_next_one(stage: Stage) -> None:
    stage.old(many(60))
    await stage.play()
    await stage.later(1)
    await label_all(stage, many(60))
    await stage.later(MINUTE)
    for name in many(60):
        await stage.label(name, ttl=None)
    await stage.label("web-7", ttl="1h")
    await stage.later(MINUTE)
    assert not stage.there("web-7"), "a single label is a wish, also a minute after a mistake was taken back"


@story()
async def test_an_object_that_its_labeller_keeps_writing_to_is_not_taken_for_freshly_labelled(
    stage: Stage,
) -> None:
    """managedFields give the label the time of its manager's last write, whatever that wrote."""
    for name in many(60):
        await stage.make(name, "70m")
    await stage.play()
    for minute in range(60, 72):
        await stage.until(minute * MINUTE)
        for name in many(60):
            if stage.there(name):
                patch = {"metadata": {"annotations": {"beat": str(minute)}}}
                await stage.people.merge_patch(CONFIG_MAPS, name, patch, namespace="shop")
    await stage.until(71 * MINUTE + 5)
    assert not stage.found()


# Some servers do not say who wrote a field and when, and people take those notes off.


@story()
async def test_labels_whose_time_nobody_knows_count_as_written_when_they_are_seen(stage: Stage) -> None:
    stage.old(many(60), managed=False)
    play = await stage.play()
    await stage.later(1)
    await label_all(stage, many(60), apart=1.0)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    assert play.why_held("web-59").startswith("one of 60 objects that became overdue together")
    assert len(state(stage)["massLabellings"]) < 100


@story()
async def test_labels_whose_time_nobody_knows_and_that_were_there_before_count_as_written_at_the_start(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.later(1)
    await play.stop()
    stage.old(many(60), "1h", managed=False)
    play = await stage.play()
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    for _ in range(20):
        play = await restart(stage, play)
        await stage.later(20 * MINUTE)
    assert len(stage.found()) == 60
    assert len(play.engine.backlog.masses) <= 10, "a restart is no new labelling"
    await restart(stage, play, acceptBacklog=True)
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_fifty_labels_whose_time_nobody_knows_are_a_wish(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(1)
    await play.stop()
    stage.old(many(50), "1h", managed=False)
    await stage.play()
    await stage.later(12)
    assert not stage.found()


@story()
async def test_a_label_whose_time_nobody_knows_and_that_leaves_time_is_no_mass(stage: Stage) -> None:
    stage.old(many(60), "3h", managed=False)
    await stage.play()
    await stage.later(HOUR + 10)
    assert not stage.found()


@story()
async def test_what_is_kept_at_a_restart_does_not_make_a_mass_of_the_next_label(stage: Stage) -> None:
    stage.old(many(60), "1h", managed=False, keep="true")
    stage.old(["other"])
    await stage.play()
    await stage.later(MINUTE)
    await label_all(stage, ["other"])
    await stage.later(MINUTE)
    assert not stage.there("other")


@story()
async def test_kept_objects_that_are_labelled_together_are_held_when_they_are_not_kept_any_more(
    stage: Stage,
) -> None:
    stage.old(many(60), managed=False)
    await stage.label("shop", resource=NAMESPACES, keep="true")
    await stage.play()
    await stage.later(MINUTE)
    await label_all(stage, many(60))
    await stage.later(HOUR)
    await stage.label("shop", resource=NAMESPACES, keep=None)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
