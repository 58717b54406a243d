"""Deletes that fail for a long time: told once on each object, summed up now and then, and never a flood."""

from __future__ import annotations

from itertools import chain

import pytest

from skoupa.sim.faults import asking
from tests.unit.controller.replicas import ALONE, Replica, replicas
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story
from tests.unit.controller.test_refusals import Refusing

pytestmark = pytest.mark.unit

DELETES = asking(method="DELETE")


def said(replica: Replica, event: str) -> list[dict[str, str]]:
    return [line for line in replica.lines if line["event"] == event]


@story()
async def test_a_delete_that_is_refused_is_told_once_in_the_log_and_once_on_the_object(stage: Stage) -> None:
    stage.cluster.admit(Refusing())
    play = await stage.play()
    made = await stage.make("web", "1m")
    await stage.until(40 * MINUTE)
    assert len(play.sent("DELETE")) > 50
    (line,) = play.told("delete failed", "web")
    assert line["level"] == "warning"
    (event,) = stage.events("SkoupaFailed")
    assert event["regarding"]["uid"] == made["metadata"]["uid"]
    assert event["type"] == "Warning"
    assert "not on a Friday" in event["note"]
    counted = play.value("skoupa_delete_failures_total", kind="configmaps", error="Forbidden")
    assert counted == len(play.sent("DELETE"))


@story()
async def test_a_refusal_with_other_words_is_told_anew_and_so_is_the_first_one_when_it_comes_back(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    for words in ("ask first", "not today", "ask first"):
        fault = stage.cluster.faults.answer(422, when=DELETES, times=None, message=words)
        await stage.later(5 * MINUTE)
        stage.cluster.faults.remove(fault)
    assert [line["error"].count("ask first") for line in play.told("delete failed")] == [1, 0, 1]
    assert len(stage.events("SkoupaFailed")) == 2, "the same words make the same Event"


@story()
async def test_the_next_leader_tells_the_same_refusal_in_the_same_event(stage: Stage) -> None:
    stage.cluster.admit(Refusing())
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.until(5 * MINUTE)
    await play.stop()
    second = await stage.play()
    await stage.later(5 * MINUTE)
    assert second.told("delete failed", "web")
    assert len(stage.events("SkoupaFailed")) == 1


@pytest.mark.parametrize("status", [429, 500, 503])
@story()
async def test_a_server_in_trouble_is_an_event_on_the_object_only_once_that_lasts(
    stage: Stage, status: int
) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(status, when=DELETES, times=None)
    await stage.until(1.9 * MINUTE)
    assert len(play.told("delete failed", "web")) == 1
    assert not stage.events("SkoupaFailed")
    await stage.until(HOUR)
    assert len(play.told("delete failed", "web")) == 1
    (event,) = stage.events("SkoupaFailed", "web")
    assert event["note"].startswith("could not be deleted, and is tried again: ")


@story()
async def test_each_of_very_many_that_fail_for_long_is_named_once_the_server_is_well(stage: Stage) -> None:
    await stage.play()
    for number in range(300):
        await stage.make(f"web-{number:03}", "1m")
    fault = stage.cluster.faults.answer(500, when=DELETES, times=None)
    await stage.until(10 * MINUTE)
    stage.cluster.faults.remove(fault)
    await stage.later(5 * MINUTE)
    assert not stage.found()
    events = stage.events("SkoupaFailed")
    assert len(events) < 30
    shared = [event["note"].rpartition("): ")[2].split(", ") for event in events if "(" in event["note"]]
    alone = [event["regarding"]["name"] for event in events if "(" not in event["note"]]
    assert sorted(chain(alone, *shared)) == [f"web-{number:03}" for number in range(300)]


@story()
async def test_many_that_are_refused_make_a_line_each_few_events_and_a_summary_a_minute_at_most(
    stage: Stage,
) -> None:
    refusing = Refusing()
    stage.cluster.admit(refusing)
    async with replicas(stage, 1) as (replica,):
        for number in range(100):
            await stage.make(f"web-{number:03}", "1m")
        await stage.until(4 * MINUTE)
        assert len(said(replica, "delete failed")) == 100
        events = stage.events("SkoupaFailed")
        assert len(events) < 15
        names = [name for event in events for name in event["note"].rpartition("): ")[2].split(", ")]
        assert sorted(names) == [f"web-{number:03}" for number in range(100)]
        (summary,) = said(replica, "still failing")
        assert (summary["level"], summary["objects"]) == ("warning", "100")
        assert "not on a Friday" in summary["mostly"]
        refusing.refuses = False
        await stage.later(3 * MINUTE)
        assert not stage.found()
        assert len(said(replica, "nothing fails any more")) == 1


@story()
async def test_one_that_fails_for_hours_is_summed_up_once_an_hour(stage: Stage) -> None:
    stage.cluster.faults.answer(422, when=DELETES, times=None, message="ask first")
    async with replicas(stage, 1, lease=ALONE) as (replica,):
        await stage.make("web", "1m")
        await stage.until(2.5 * HOUR)
        lines = said(replica, "still failing")
        assert [(line["objects"], line["mostly"]) for line in lines] == [("1", "ask first")] * 3


@story()
async def test_what_another_replica_deletes_is_summed_up_by_that_one_alone(stage: Stage) -> None:
    stage.cluster.admit(Refusing())
    async with replicas(stage, 2) as both:
        first, second = sorted(both, key=lambda replica: not replica.leads)
        await stage.make("web", "1m")
        await stage.until(10 * MINUTE)
        assert said(first, "still failing")
        assert not said(second, "still failing")


@story()
async def test_a_failure_that_passes_within_a_minute_is_not_summed_up(stage: Stage) -> None:
    async with replicas(stage, 1) as (replica,):
        await stage.make("web", "1m")
        stage.cluster.faults.answer(500, when=DELETES, times=5)
        await stage.until(10 * MINUTE)
        assert not stage.there("web")
        assert said(replica, "delete failed")
        assert not said(replica, "still failing")
        assert not said(replica, "nothing fails any more")
