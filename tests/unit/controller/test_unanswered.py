"""Deletes without an answer: what is still there when no server can be at it any more was not deleted by Skoupa."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request
from tests.unit.controller.braking import brakes, bring_kind, pull, release
from tests.unit.controller.stage import DAY, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit


async def removed_by_people(stage: Stage, uid: str) -> None:
    await stage.people.delete(CONFIG_MAPS, "a", namespace=SHOP, uid=uid, propagation="Background")
    await stage.later(MINUTE)


@story()
async def test_what_was_kept_after_deletes_without_an_answer_and_goes_by_people_is_theirs(
    stage: Stage,
) -> None:
    play = await stage.play()
    made = await stage.make("a", "1m")
    lost = stage.cluster.faults.disconnect(when=lambda asked: asked.method == "DELETE", times=None)
    await stage.later(2 * MINUTE)
    await stage.label("a", keep="true")
    stage.cluster.faults.remove(lost)
    await stage.later(3 * DAY)
    assert stage.there("a")
    await removed_by_people(stage, made["metadata"]["uid"])
    assert not [line for line in play.lines if line["event"] == "deleted"]
    assert not [event for event in stage.events() if event["reason"] == "SkoupaDeleted"]


@story()
async def test_what_was_put_off_after_a_failing_delete_and_goes_by_people_is_theirs(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.make("a", "1m")
    failing = stage.cluster.faults.answer(
        500,
        when=lambda asked: asked.method == "DELETE",
        times=None,
        message="etcdserver: request timed out",
    )
    await stage.later(2 * MINUTE)
    stage.cluster.faults.remove(failing)
    await stage.label("a", ttl="30d")
    await stage.later(DAY)
    await removed_by_people(stage, made["metadata"]["uid"])
    assert not [line for line in play.lines if line["event"] == "deleted"]
    assert not play.value("skoupa_deletions_total", kind="configmaps", mechanism="ttl")


@story()
async def test_what_goes_soon_after_a_delete_without_an_answer_went_by_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("a", "1m")
    stage.cluster.faults.disconnect(when=lambda asked: asked.method == "DELETE", times=None, done=True)
    await stage.later(2 * MINUTE)
    assert not stage.there("a")
    assert len([line for line in play.lines if line["event"] == "deleted"]) == 1


def deleting(asked: Request) -> bool:
    return asked.method == "DELETE"


async def bounded(stage: Stage) -> None:
    """One more place under the ceiling than what went; the watch tells nothing of what goes."""
    await bring_kind(stage)
    await stage.make("a", "1m")
    await stage.make("b", "20m")


def deletions(play: Play) -> list[str]:
    return [line["name"] for line in play.told("deleted")]


def reading_a(asked: Request) -> bool:
    return asked.method == "GET" and asked.path.endswith("/configmaps/a")


def of_labelled(asked: Request) -> bool:
    """What tells of objects that go by their label, and of nothing else."""
    return ("labelSelector", names.TTL_LABEL) in asked.query and "configmaps" in asked.path


def hear_nothing(stage: Stage) -> None:
    """From now on, for a while."""
    stage.cluster.faults.silence_watch(when=of_labelled, times=None)
    stage.cluster.faults.answer(
        503, when=lambda asked: of_labelled(asked) and "watch" not in dict(asked.query), seconds=10 * MINUTE
    )


@story(brakes={"perHour": 2})
async def test_while_the_watch_is_late_what_went_without_an_answer_is_told_and_counted_once(
    stage: Stage,
) -> None:
    await bounded(stage)
    faults = stage.cluster.faults
    faults.silence_watch(when=of_labelled, times=None)
    play = await stage.play()
    await stage.later(20)
    hear_nothing(stage)
    faults.disconnect(when=deleting, done=True)
    await stage.later(50)
    assert not stage.there("a")
    assert deletions(play) == ["a"]
    # It is tried once more for lack of news, and that has no answer at first either.
    again = faults.disconnect(when=deleting)
    await stage.later(2 * MINUTE)
    assert again.hits
    assert deletions(play) == ["a"]
    assert not play.told("gone already")
    assert play.value("skoupa_deletions_total", kind="configmaps", mechanism="ttl") == 1
    assert len(stage.events("SkoupaDeleted", "a")) == 1
    faults.clear()
    await stage.later(20 * MINUTE)
    assert deletions(play) == ["a", "b"]
    assert not await brakes(stage)


@pytest.mark.parametrize("answered", [True, False])
@story(brakes={"perHour": 2})
async def test_what_is_looked_for_and_tried_again_at_the_same_time_is_told_and_counted_once(
    stage: Stage, *, answered: bool
) -> None:
    await bounded(stage)
    faults = stage.cluster.faults
    faults.silence_watch(when=of_labelled, times=None)
    play = await stage.play()
    await stage.later(20)
    hear_nothing(stage)
    # The server does it, and no answer comes, however often it is asked.
    lost = faults.disconnect(when=deleting, times=1, done=True)
    never = faults.disconnect(when=lambda asked: deleting(asked) and lost.hits > 0, times=None)
    await stage.later(50)
    assert lost.hits
    assert not stage.there("a")
    await pull(stage, "hand", all=True)
    unseen = faults.answer(500, when=reading_a, times=None)
    await stage.later(2 * MINUTE)
    assert not deletions(play)
    faults.remove(never)
    if not answered:
        faults.disconnect(when=deleting)
    await release(stage, "hand")
    await stage.later(10)
    assert unseen.hits
    faults.clear()
    await stage.later(20 * MINUTE)
    assert deletions(play) == ["a", "b"]
    assert not play.told("gone already")
    assert not await brakes(stage)
