"""Deletes without an answer: what is still there when no server can be at it any more was not deleted by Skoupa."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.controller.stage import DAY, MINUTE, SHOP, Stage, story

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
