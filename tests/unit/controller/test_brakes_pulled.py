"""Ceilings that trip, what becomes of their Brakes, and letting go: never one more than the ceiling, and never twice."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.brake import BRAKES
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.braking import (
    brake,
    brakes,
    bring_kind,
    many,
    pull,
    release,
    state,
    take_kind_away,
)
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

TIGHT: dict[str, Any] = {"namespacePerMinute": 20, "namespacePerHour": 1000}


async def make_all(stage: Stage, wanted: list[str], ttl: str = "1m", **where: Any) -> None:
    for name in wanted:
        await stage.make(name, ttl, **where)


def deletes(play: Play) -> int:
    return len(play.sent("DELETE", path="configmaps"))


@story(brakes=TIGHT)
async def test_a_ceiling_lets_exactly_its_number_go_and_pulls_a_brake_with_the_next(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    await make_all(stage, many(50))
    await make_all(stage, many(10), namespace="other")
    play = await stage.play()
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 30
    assert not stage.found(namespace="other"), "everything else goes on"
    name = "ceiling-namespace-shop-per-minute"
    made = await brake(stage, name)
    assert made["spec"]["scope"] == {"namespace": SHOP}
    assert "20 deletions in the namespace shop within a minute" in made["spec"]["reason"]
    assert "brakes.namespacePerMinute" in made["spec"]["reason"]
    assert made["metadata"]["finalizers"] == [names.BRAKE_FINALIZER]
    status = made["status"]
    assert status["active"] is True
    assert status["held"] == 30
    assert status["trippedBy"] == made["spec"]["reason"]
    assert len(status["sample"]) == 20
    assert status["sample"][0].startswith("ConfigMap/shop/web-")
    assert status["observedGeneration"] == made["metadata"]["generation"]
    (ready,) = status["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "True", "Holding")
    assert play.value("skoupa_trips_total", span="namespace-minute") == 1
    (told,) = play.told("brake pulled")
    assert told["release"] == f"skoupa brakes release {name}"
    (event,) = stage.events("SkoupaBraked", name)
    assert event["regarding"]["kind"] == "Brake"


@story(brakes=TIGHT)
async def test_a_released_ceiling_lets_go_what_it_held_and_not_one_more(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(50))
    play = await stage.play()
    await stage.later(2 * MINUTE)
    assert len(stage.found()) == 30
    await make_all(stage, many(40, "late"), ttl="30s")
    await release(stage, "ceiling-namespace-shop-per-minute", by="kim")
    assert {(left["span"], left["name"], left["number"]) for left in state(stage)["allowances"]["left"]} == {
        ("namespace", SHOP, 30)
    }
    await stage.later(20)
    assert stage.found() == set(many(40, "late"))
    assert not await brakes(stage)
    (told,) = play.told("brake released")
    assert (told["by"], told["held"]) == ("kim", "30")
    (event,) = stage.events("SkoupaReleased")
    assert event["note"].startswith("released by kim; the 30 objects")
    await stage.later(MINUTE)
    assert len(stage.found()) == 20, "the ceiling counts again: 20 of the late ones went"
    assert await brakes(stage) == {"ceiling-namespace-shop-per-minute"}


@story(brakes=TIGHT)
async def test_who_released_is_unknown_where_nobody_said(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await pull(stage, "stop", all=True)
    await stage.later(1)
    await release(stage, "stop")
    (told,) = play.told("brake released")
    assert told["by"] == "somebody unknown"


@story(brakes=TIGHT)
async def test_a_restart_keeps_the_hold_and_the_allowance(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(50))
    play = await stage.play()
    await stage.later(2 * MINUTE)
    await play.stop()
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 30
    # The Brake can't go before what it held is written down.
    patching = asking(method="PATCH", path=f"/api/v1/namespaces/{'skoupa'}/configmaps")
    stage.cluster.faults.answer(500, when=patching, times=None, seconds=MINUTE)
    await release(stage, "ceiling-namespace-shop-per-minute")
    await stage.later(30)
    assert len(stage.found()) == 30
    assert await brakes(stage) == {"ceiling-namespace-shop-per-minute"}
    await stage.later(2 * MINUTE)
    assert not stage.found()


@story(brakes=TIGHT)
async def test_an_allowance_is_not_granted_twice_when_the_process_ends_half_way(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(50))
    play = await stage.play()
    await stage.later(2 * MINUTE)
    patching = asking(method="PATCH", path=BRAKES.path())
    stage.cluster.faults.answer(500, when=patching, times=None, seconds=MINUTE)
    await release(stage, "ceiling-namespace-shop-per-minute")
    await stage.later(5)
    assert state(stage)["allowances"]["left"][0]["number"] == 30
    await play.kill()
    await stage.play()
    await stage.later(2 * MINUTE)
    assert not stage.found()
    left = state(stage)["allowances"]["left"]
    assert not left


@story(brakes=TIGHT)
async def test_a_brake_that_can_not_be_made_holds_all_the_same_and_is_made_later(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(50))
    creating = asking(method="POST", path=BRAKES.path())
    stage.cluster.faults.answer(500, when=creating, times=None, seconds=10 * MINUTE)
    await stage.play()
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 30
    assert not await brakes(stage)
    await stage.later(10 * MINUTE)
    assert await brakes(stage) == {"ceiling-namespace-shop-per-minute"}
    assert len(stage.found()) == 30


@story(brakes=TIGHT)
async def test_without_the_kind_a_ceiling_holds_in_this_process(stage: Stage) -> None:
    await make_all(stage, many(50))
    play = await stage.play()
    await stage.later(HOUR)
    assert len(stage.found()) == 30
    assert play.overdue == {"brake": 30}
    assert any("only until this process ends" in said for said in play.engine.outlook.degraded)


@story(brakes=TIGHT)
async def test_a_namespace_counts_as_what_is_in_it(stage: Stage) -> None:
    await bring_kind(stage)
    for name in many(25):
        await stage.make(name)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert "more at once" in play.why_held(SHOP)
    await release(stage, "ceiling-namespace-shop-per-minute")
    await stage.later(10)
    assert not stage.there(SHOP, NAMESPACES)


@story(brakes=TIGHT)
async def test_a_namespace_whose_content_can_not_be_counted_stays_until_it_can(stage: Stage) -> None:
    await bring_kind(stage)
    for name in many(100):
        await stage.make(name)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")

    def counting(request: Request) -> bool:
        return request.path.endswith("/shop/configmaps") and ("limit", "1") in tuple(request.query)

    stage.cluster.faults.answer(500, when=counting, times=None, seconds=10 * MINUTE)
    play = await stage.play()
    await stage.later(5 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert (
        "what shop takes along can't all be counted: configmaps"
        in play.told("delete failed", SHOP)[-1]["error"]
    )
    await stage.later(10 * MINUTE)
    assert stage.there(SHOP, NAMESPACES), "counted by then, and too much"
    assert await brakes(stage) == {"ceiling-namespace-shop-per-minute"}


@story(brakes=TIGHT, cascade={"ignoreKinds": ["configmaps"]})
async def test_what_is_waived_need_not_be_counted(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    stage.cluster.faults.answer(403, when=asking(verb="list", path="/shop/configmaps"), times=None)
    await stage.play()
    await stage.later(5 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story(brakes=TIGHT)
async def test_deletes_that_are_refused_give_their_place_back(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(20))
    stage.cluster.faults.answer(403, when=asking(method="DELETE", path="/api/v1/namespaces/shop"), times=15)
    await stage.play()
    await stage.later(10 * MINUTE)
    assert not stage.found()
    assert not await brakes(stage)


@story(brakes=TIGHT)
async def test_deletes_without_an_answer_keep_their_place_and_take_no_second_one(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(20))
    lost = asking(method="DELETE", path="/api/v1/namespaces/shop")
    stage.cluster.faults.disconnect(when=lost, times=None, seconds=3 * MINUTE)
    await stage.play()
    await stage.later(10 * MINUTE)
    assert not stage.found()
    assert not await brakes(stage)


@story(brakes={"perMinute": 10})
async def test_a_ceiling_of_everything_holds_everything(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    await make_all(stage, many(8))
    await make_all(stage, many(8), namespace="other")
    await stage.play()
    await stage.later(HOUR)
    assert len(stage.found()) + len(stage.found(namespace="other")) == 6
    assert (await brake(stage, "ceiling-all-per-minute"))["spec"]["scope"] == {"all": True}


@story(mode="observe", brakes=TIGHT)
async def test_an_observer_obeys_brakes_and_writes_nothing(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "stop", namespace=SHOP)
    await make_all(stage, many(30))
    play = await stage.play()
    await stage.later(HOUR)
    assert play.overdue == {"brake": 30}
    assert "finalizers" not in (await brake(stage, "stop"))["metadata"]
    assert not [seen for seen in play.wire.seen if seen[1].method in {"PATCH", "PUT", "DELETE"}]


@story(brakes=TIGHT)
async def test_a_replica_that_stands_by_writes_nothing_on_brakes(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    play.standing_by = True
    await pull(stage, "stop", namespace=SHOP)
    await stage.later(MINUTE)
    assert "status" not in await brake(stage, "stop")
    play.standing_by = False
    await stage.later(10)
    assert (await brake(stage, "stop"))["status"]["active"] is True


@story(brakes={"namespacePerMinute": 1000, "namespacePerHour": 20})
async def test_without_a_ledger_a_replica_that_leads_again_counts_what_it_let_go_itself(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(15))
    await make_all(stage, many(15, "late"), ttl="5m")
    play = await stage.play()
    await stage.later(2 * MINUTE)
    play.standing_by = True
    await stage.later(MINUTE)
    play.standing_by = False
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 10
    assert await brakes(stage) == {"ceiling-namespace-shop-per-hour"}


@story(brakes=TIGHT)
async def test_a_brake_whose_time_is_over_lets_go_what_it_held_without_tripping(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "freeze", namespace=SHOP, until=stage.time(30 * MINUTE))
    await make_all(stage, many(60))
    await stage.play()
    await stage.later(29 * MINUTE)
    assert len(stage.found()) == 60
    await stage.later(5 * MINUTE)
    assert not stage.found()
    assert await brakes(stage) == {"freeze"}
    status = (await brake(stage, "freeze"))["status"]
    assert status["active"] is False
    assert "since" not in status
    assert status["conditions"][0]["reason"] == "Waiting"


@story()
async def test_a_first_start_backlog_is_a_brake_and_releasing_it_accepts_it(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.make("new", "5m")
    await stage.later(10 * MINUTE)
    assert stage.found() == set(many(150)), "only the backlog is held"
    made = await brake(stage, "first-start")
    assert made["status"]["held"] == 150
    assert "150 objects were overdue" in made["spec"]["reason"]
    await release(stage, "first-start", by="kim")
    await stage.later(10)
    assert not stage.found()
    assert "firstSweep" in state(stage)
    await play.stop()
    stage.old(many(150), "1h", age=DAY)
    await stage.play()
    await stage.later(10)
    assert not stage.found()


@story()
async def test_labels_written_late_on_many_are_a_brake_and_releasing_it_accepts_just_them(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    stage.old(many(60), age=DAY)
    stage.old(many(60, "db"), age=DAY)
    play = await stage.play()
    for name in many(60):
        await stage.label(name, ttl="1h")
    await stage.later(HOUR)
    assert len(stage.found()) == 120
    (first,) = await brakes(stage)
    assert first.startswith("mass-labels-")
    for name in many(60, "db"):
        await stage.label(name, ttl="1h")
    await stage.later(MINUTE)
    assert len(await brakes(stage)) == 2
    await release(stage, first)
    await stage.later(10)
    assert stage.found() == set(many(60, "db"))
    await play.stop()
    await stage.play()
    await stage.later(10)
    assert stage.found() == set(many(60, "db"))


@story()
async def test_the_brake_of_a_backlog_that_is_accepted_otherwise_ends_itself(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.later(10)
    assert (await brake(stage, "first-start"))["status"]["active"] is True
    await play.stop()
    await stage.play(acceptBacklog=True)
    await stage.later(20)
    assert not stage.found()
    assert (await brake(stage, "first-start"))["status"]["active"] is False


@story(brakes={"namespacePerMinute": 100})
async def test_an_accepted_backlog_does_not_trip_a_ceiling(stage: Stage) -> None:
    stage.old(many(300), "1h", age=DAY)
    await stage.play(acceptBacklog=True)
    await stage.later(20)
    assert not stage.found()


@story()
async def test_the_definition_can_go_although_its_brakes_have_our_finalizer(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    play = await stage.play()
    await pull(stage, "stop", namespace=SHOP)
    await stage.later(1)
    assert (await brake(stage, "stop"))["metadata"]["finalizers"] == [names.BRAKE_FINALIZER]
    await take_kind_away(stage)
    await stage.later(HOUR)
    assert stage.there("web")
    assert not play.told("brake released")
    left = {found["metadata"]["name"] for found in stage.cluster.objects(CUSTOM_RESOURCE_DEFINITIONS)}
    assert "brakes.skoupa.dev" not in left


@story(brakes=TIGHT)
async def test_a_brake_of_a_ceiling_that_had_ended_holds_again_with_the_next_trip(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(30))
    await stage.play()
    await stage.later(2 * MINUTE)
    name = "ceiling-namespace-shop-per-minute"
    await stage.people.merge_patch(BRAKES, name, {"spec": {"until": stage.time(5)}})
    await stage.later(MINUTE)
    assert not stage.found()
    assert (await brake(stage, name))["status"]["active"] is False
    # What it allowed is forgotten by then.
    await stage.later(2 * HOUR)
    await make_all(stage, many(30, "db"))
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 10
    again = await brake(stage, name)
    assert "until" not in again["spec"]
    assert again["status"]["active"] is True
    assert again["status"]["held"] == 10


@story()
async def test_a_backlog_is_told_as_a_pulled_brake_once_also_over_a_restart(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.later(HOUR)
    (told,) = play.told("brake pulled")
    assert (told["name"], told["release"]) == ("first-start", "skoupa brakes release first-start")
    assert told["why"].startswith("150 objects were overdue")
    assert play.value("skoupa_trips_total", span="backlog") == 1
    await play.stop()
    again = await stage.play()
    await stage.later(HOUR)
    assert not again.told("brake pulled")


@story()
async def test_a_backlog_is_told_where_there_is_no_kind_for_its_brake(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.later(HOUR)
    assert len(play.told("brake pulled")) == 1
