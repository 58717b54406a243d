"""Brakes whose time is over, and Brakes beside others: what was held goes as after a release, once, and it is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skoupa.kinds.brake import BRAKES
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.sim.clock import START
from tests.standing_rule import Spec, StandingRule
from tests.unit.controller.braking import brake, brakes, bring_kind, many, pull, release, state
from tests.unit.controller.policies import bring_policies, cleanup
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_brakes_pulled import make_all
from tests.unit.controller.test_brakes_released import CEILING, TIGHT, allowed
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

RULE = "Rule/standing-in"


async def full_namespaces(stage: Stage, count: int, *, inside: int, ttl: str) -> set[str]:
    found = {f"old-{number}" for number in range(count)}
    for name in sorted(found):
        await stage.namespace(name)
        stage.old(many(inside), namespace=name)
        await stage.label(name, resource=NAMESPACES, ttl=ttl)
    return found


async def ruled(stage: Stage, **spec: Any) -> Play:
    chosen = {"first": START + MINUTE, "namespaces": (SHOP,), "names": "web-*", **spec}
    return await stage.play(rulings=[StandingRule(Spec(**chosen))])


async def braked_run(stage: Stage) -> str:
    (name,) = [one for one in await brakes(stage) if one.startswith("share-")]
    return name


async def end(stage: Stage, name: str, seconds: float) -> None:
    await stage.people.merge_patch(BRAKES, name, {"spec": {"until": stage.time(seconds)}})
    await stage.settle()


@pytest.mark.parametrize("ceilings", [{"perMinute": 60}, {"namespacePerMinute": 20}])
@story()
async def test_the_end_of_a_freeze_allows_namespaces_with_what_is_in_them(
    stage: Stage, ceilings: dict[str, int]
) -> None:
    await bring_kind(stage)
    await pull(stage, "weekend", all=True, until=stage.time(10 * MINUTE))
    frozen = await full_namespaces(stage, 5, inside=18, ttl="1m")
    await stage.play(brakes=ceilings)
    await stage.later(5 * MINUTE)
    assert (await brake(stage, "weekend"))["status"]["held"] == 5
    await stage.later(6 * MINUTE)
    assert not stage.found(NAMESPACES) & frozen
    assert await brakes(stage) == {"weekend"}
    await stage.later(10)
    assert sum(grant["number"] for grant in state(stage)["allowances"]["grants"]) >= 40


@story(brakes=TIGHT)
async def test_the_end_of_a_freeze_is_told(stage: Stage) -> None:
    await bring_kind(stage)
    made = await pull(stage, "freeze", all=True, until=stage.time(10 * MINUTE))
    await make_all(stage, many(60))
    play = await stage.play()
    await stage.later(30 * MINUTE)
    assert not stage.found()
    (told,) = play.told("brake ended")
    assert (told["name"], told["held"]) == ("freeze", "60")
    (event,) = stage.events("SkoupaReleased", "freeze")
    assert event["regarding"]["uid"] == made["metadata"]["uid"]
    assert "its time is over; the 60 objects" in event["note"]


@story(brakes=TIGHT)
async def test_the_end_of_a_window_is_told_each_time(stage: Stage) -> None:
    await bring_kind(stage)
    minutes = {"from": "0,20,40 * * * *", "to": "10,30,50 * * * *", "timeZone": "UTC"}
    await pull(stage, "freeze", all=True, schedule=minutes)
    play = await stage.play()
    for number in range(3):
        while not (await brake(stage, "freeze")).get("status", {}).get("active"):
            await stage.later(30)
        await make_all(stage, many(60, f"round-{number}"))
        await stage.later(15 * MINUTE)
        assert not stage.found()
    told = play.told("brake ended")
    assert [line["held"] for line in told].count("60") == 3
    assert await brakes(stage) == {"freeze"}


@story(brakes=TIGHT)
async def test_an_end_while_no_controller_runs_allows_what_it_held(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "freeze", all=True, until=stage.time(10 * MINUTE))
    await make_all(stage, many(60))
    play = await stage.play()
    await stage.later(5 * MINUTE)
    await play.kill()
    await stage.later(10 * MINUTE)
    again = await stage.play()
    await stage.later(MINUTE)
    assert not stage.found()
    assert await brakes(stage) == {"freeze"}
    assert [line["name"] for line in again.told("brake ended")] == ["freeze"]
    # Once: what fell due after its end, or falls due from now on, it never held.
    await again.kill()
    last = await stage.play()
    await make_all(stage, many(100, "new"))
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 80
    assert CEILING in await brakes(stage)
    assert not last.told("brake ended")


@story(brakes=TIGHT)
async def test_an_end_while_no_controller_runs_allows_nothing_that_fell_due_later(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "freeze", all=True, until=stage.time(10 * MINUTE))
    await make_all(stage, many(60), ttl="15m")
    play = await stage.play()
    await stage.later(5 * MINUTE)
    await play.kill()
    await stage.later(20 * MINUTE)
    again = await stage.play()
    await stage.later(MINUTE)
    assert len(stage.found()) == 40
    assert allowed(again) == {}


@pytest.mark.parametrize(
    ("limits", "many_of"),
    [
        ({"share": 30}, 50),
        ({"share": 100, "maxPerRun": 30}, 40),
        ({"share": 100, "namespacePerMinute": 20}, 30),
    ],
)
@story()
async def test_an_end_that_somebody_gives_the_brake_of_a_run_lets_the_run_go(
    stage: Stage, limits: dict[str, int], many_of: int
) -> None:
    await bring_kind(stage)
    stage.old(many(many_of))
    chosen = Spec(first=START + MINUTE, namespaces=(SHOP,), names="web-*")
    play = await stage.play(rulings=[StandingRule(chosen)], brakes=limits)
    await stage.later(5 * MINUTE)
    (name,) = await brakes(stage)
    await end(stage, name, 2 * MINUTE)
    await stage.later(MINUTE)
    assert len(stage.found()) == many_of
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert len(play.told("brake pulled")) == 1
    assert (await brake(stage, name))["status"]["active"] is False


@story()
async def test_an_end_of_the_brake_of_a_run_counts_also_while_no_controller_runs(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_policies(stage)
        stage.old(many(50))
        play = await stage.play(record=book.record)
        await cleanup(stage)
        await stage.until(70)
        await stage.later(10)
        name = await braked_run(stage)
        await end(stage, name, 2 * MINUTE)
        await stage.later(10)
        await play.kill()
        await stage.later(5 * MINUTE)
        again = await stage.play(record=book.record)
        await stage.later(2 * MINUTE)
        assert not stage.found()
        assert [line["name"] for line in again.told("brake ended")] == [name]
        assert not again.told("brake pulled")


@pytest.mark.parametrize("other", [{"all": True}, {"policy": RULE}, {"namespace": SHOP}])
@story()
async def test_a_run_that_is_released_while_another_brake_holds_goes_when_that_one_ends(
    stage: Stage, other: dict[str, Any]
) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    await pull(stage, "other", until=stage.time(6 * HOUR), **other)
    play = await ruled(stage, every=20 * MINUTE)
    await stage.later(5 * MINUTE)
    name = await braked_run(stage)
    await release(stage, name)
    assert [line["held"] for line in play.told("brake released")] == ["50"]
    await stage.later(5 * HOUR)
    assert len(stage.found()) == 50
    assert await brakes(stage) == {"other"}
    await stage.later(2 * HOUR)
    assert not stage.found()
    assert await brakes(stage) == {"other"}
    assert allowed(play) == {}, "what was approved is not allowed once more by the end of the other"


@story()
async def test_what_was_approved_beside_another_brake_is_known_after_a_restart(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    await pull(stage, "stop", all=True)
    play = await ruled(stage)
    await stage.later(5 * MINUTE)
    await release(stage, await braked_run(stage))
    await stage.later(30)
    await play.kill()
    await stage.later(5 * HOUR)
    again = await ruled(stage)
    await stage.later(5 * MINUTE)
    assert await brakes(stage) == {"stop"}
    await release(stage, "stop")
    await stage.later(MINUTE)
    assert not stage.found()
    assert not again.told("brake pulled")
    await stage.later(3 * HOUR)
    assert allowed(again) == {}


@story()
async def test_what_was_approved_beside_another_brake_is_for_no_more_than_was_claimed(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    await pull(stage, "stop", all=True)
    await ruled(stage, every=10 * MINUTE)
    await stage.later(5 * MINUTE)
    name = await braked_run(stage)
    await release(stage, name)
    stage.old(many(60, "web-more"))
    await stage.later(10 * MINUTE)
    assert await brakes(stage) == {"stop", name}
    await release(stage, "stop")
    await stage.later(MINUTE)
    assert len(stage.found(CONFIG_MAPS)) == 110


@story()
async def test_what_somebody_keeps_is_not_approved_by_releasing_the_run(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    await pull(stage, "stop", all=True)
    play = await ruled(stage)
    await stage.later(5 * MINUTE)
    for name in many(10):
        await stage.label(name, keep="true")
    await release(stage, await braked_run(stage))
    assert [line["held"] for line in play.told("brake released")] == ["40"]


@story(brakes={"shareOver": 5})
async def test_a_policy_that_is_released_in_a_change_freeze_goes_when_the_freeze_ends(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(150))
    stage.old(many(98, "other"), namespace="default")
    await pull(stage, "weekend", all=True, until=stage.time(5 * HOUR))
    play = await stage.play()
    await cleanup(stage, schedule="*/10 * * * *")
    await stage.later(12 * MINUTE)
    name = await braked_run(stage)
    assert (await brake(stage, name))["status"]["held"] == 150
    await release(stage, name)
    await stage.later(4 * HOUR)
    assert await brakes(stage) == {"weekend"}
    assert len(stage.found()) == 150
    await stage.later(2 * HOUR)
    assert not stage.found()
    assert len(play.told("brake pulled")) == 1


@story(brakes={"share": 100, "parentsMost": 2})
async def test_an_end_of_the_brake_of_a_run_allows_namespaces_with_what_is_in_them(stage: Stage) -> None:
    await bring_kind(stage)
    for number in range(3):
        await stage.namespace(f"web-{number}")
        stage.old(many(10), namespace=f"web-{number}")
    await ruled(stage, kinds=("namespaces",), namespaces=("",))
    await stage.later(5 * MINUTE)
    (name,) = await brakes(stage)
    assert name.startswith("parents-")
    await end(stage, name, MINUTE)
    await stage.later(3 * MINUTE)
    assert not stage.found(NAMESPACES) & {"web-0", "web-1", "web-2"}
    assert (await brake(stage, name))["status"]["active"] is False


@story()
async def test_what_was_approved_behind_a_freeze_is_forgotten_after_its_first_end(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    minutes = {"from": "0,40 * * * *", "to": "30,50 * * * *", "timeZone": "UTC"}
    await pull(stage, "freeze", all=True, schedule=minutes)
    play = await ruled(stage)
    await stage.later(5 * MINUTE)
    await release(stage, await braked_run(stage))
    await stage.later(MINUTE)
    for name in many(50):
        await stage.label(name, keep="true")
    assert sum(allowed(play).values()) == 50
    await stage.later(HOUR)
    assert sum(allowed(play).values()) == 50
    await stage.later(2 * HOUR)
    assert allowed(play) == {}, "windows that come again and again do not keep it"
    assert stage.found() == set(many(50))


@story(brakes=TIGHT)
async def test_the_status_of_a_brake_whose_time_is_over_says_at_once_that_it_holds_nothing(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await pull(stage, "freeze", all=True, until=stage.time(10 * MINUTE))
    await make_all(stage, many(60))
    await stage.play()
    await stage.later(9 * MINUTE)
    assert (await brake(stage, "freeze"))["status"]["held"] == 60
    while (await brake(stage, "freeze"))["status"]["active"]:
        await stage.later(0.1)
        assert stage.now < 11 * MINUTE
    told = (await brake(stage, "freeze"))["status"]
    assert (told["held"], told.get("sample") or []) == (0, [])
