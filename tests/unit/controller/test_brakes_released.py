"""What a release allows: for what waited for nothing else, for nothing that is different, and once, also over a restart."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from skoupa import names
from skoupa.errors import LedgerUnavailable
from skoupa.kinds.brake import BRAKES
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, PODS
from skoupa.kube.transport import Request
from skoupa.ledger.rows import Tally
from tests.unit.controller.braking import brakes, bring_kind, many, pull, release, state
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_brakes_pulled import make_all
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

CEILING = "ceiling-namespace-shop-per-minute"
TIGHT: dict[str, Any] = {"namespacePerMinute": 20, "namespacePerHour": 1000}


def allowed(play: Play) -> dict[tuple[str, ...], int]:
    """By scope, kind and mechanism, as far as something is left."""
    ceilings = play.engine.braking.ceilings
    return {whose: left for whose in ceilings.allowances if (left := ceilings.allowed(whose))}


@story(brakes=TIGHT, rate={"deletionsPerSecond": 50})
async def test_an_allowance_that_was_used_up_is_not_there_again_after_a_kill(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        await make_all(stage, many(220))
        play = await stage.play(record=book.record)
        await stage.later(2 * MINUTE)
        assert len(stage.found()) == 200
        await release(stage, CEILING)
        await stage.later(4.5)
        assert not stage.found()
        await play.kill()
        await make_all(stage, many(100, "other"), ttl="30s")
        await stage.later(MINUTE)
        again = await stage.play(record=book.record)
        await stage.later(2)
        assert allowed(again) == {}
        await stage.later(2 * MINUTE)
        assert len(stage.found()) == 80, "nobody has released these"
        assert await brakes(stage) == {CEILING}


@story(brakes=TIGHT, rate={"deletionsPerSecond": 20})
async def test_what_is_left_of_an_allowance_is_there_after_a_kill_to_the_last_one(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        await make_all(stage, many(220))
        play = await stage.play(record=book.record)
        await stage.later(2 * MINUTE)
        await release(stage, CEILING)
        await stage.later(4)
        going = len(stage.found())
        assert 0 < going < 200
        await play.kill()
        again = await stage.play(record=book.record)
        await stage.later(1)
        assert sum(allowed(again).values()) <= going
        await stage.later(MINUTE)
        assert not stage.found()
        assert not await brakes(stage)
        assert allowed(again) == {}


@story(brakes={"namespacePerMinute": 100, "namespacePerHour": 400})
async def test_what_went_by_an_allowance_fills_no_window_after_a_restart_either(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        stage.old(many(500), "1h", age=DAY)
        play = await stage.play(record=book.record)
        await stage.later(20)
        await release(stage, "first-start")
        await stage.later(MINUTE)
        assert not stage.found()
        await play.stop()
        await stage.play(record=book.record)
        await make_all(stage, many(90, "new"), ttl="5m")
        await stage.later(10 * MINUTE)
        assert not stage.found()
        assert not await brakes(stage)


def is_state_after_a_grant(stage: Stage, request: Request) -> bool:
    """That nothing is left would be written at once, even before the delete is sent."""
    written = request.method == "PATCH" and request.path.endswith(names.STATE_CONFIG_MAP)
    return written and bool(state(stage).get("allowances", {}).get("left"))


@story(brakes=TIGHT)
async def test_a_namespace_that_went_by_an_allowance_has_used_it_after_a_kill(
    stage: Stage, tmp_path: Path
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        for name in many(40):
            await stage.make(name)
        await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
        play = await stage.play(record=book.record)
        await stage.later(2 * MINUTE)
        stage.cluster.faults.answer(500, when=lambda one: is_state_after_a_grant(stage, one), times=None)
        await release(stage, CEILING)
        while not play.sent("DELETE", path="/namespaces/shop"):
            await stage.later(0.1)
            assert stage.now < HOUR
        await play.kill()
        stage.cluster.faults.clear()
        assert state(stage)["allowances"]["left"], "that it was used is not written down yet"
        again = await stage.play(record=book.record)
        await stage.later(2)
        assert allowed(again) == {}


@story(brakes={"namespacePerMinute": 1000, "namespacePerHour": 30})
async def test_nothing_goes_before_the_ledger_has_told_what_went(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        await make_all(stage, many(30))
        play = await stage.play(record=book.record)
        await stage.later(90)
        assert not stage.found()
        await play.kill()
        store = book.record.store
        monkeypatch.setattr(store, "tally", _failing(store.tally, times=4))
        await make_all(stage, many(80, "new"))
        again = await stage.play(record=book.record)
        await stage.later(90)
        assert len(stage.found()) == 80, "the hour had room for 30, and these went before the restart"
        assert await brakes(stage) == {"ceiling-namespace-shop-per-hour"}
        assert again.engine.last_error is None


@story(brakes={"namespacePerMinute": 1000, "namespacePerHour": 30})
async def test_a_ledger_that_does_not_answer_at_a_start_is_told_and_holds(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await make_all(stage, many(5))
        store = book.record.store
        monkeypatch.setattr(store, "tally", _failing(store.tally, times=1000))
        play = await stage.play(record=book.record)
        await stage.later(10 * MINUTE)
        assert len(stage.found()) == 5
        assert isinstance(play.engine.last_error, LedgerUnavailable)
        await play.stop()


@story(brakes={"namespacePerMinute": 1000, "namespacePerHour": 30})
async def test_a_lead_that_is_lost_meanwhile_and_won_back_asks_the_ledger_again(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with ledger(stage, tmp_path / "l.db") as book:
        await bring_kind(stage)
        await make_all(stage, many(30))
        play = await stage.play(record=book.record)
        await stage.later(90)
        await play.kill()
        store = book.record.store
        tally, mark = store.tally, store.mark

        async def slow(proposed: str) -> str:
            await stage.clock.sleep(MINUTE)
            return await mark(proposed)

        monkeypatch.setattr(store, "tally", _failing(tally, times=1000))
        monkeypatch.setattr(store, "mark", slow)
        await make_all(stage, many(80, "new"))
        again = await stage.play(record=book.record)
        await stage.later(10)
        again.standing_by = True
        await stage.later(10)
        again.standing_by = False
        monkeypatch.setattr(store, "tally", tally)
        await stage.later(3 * MINUTE)
        assert len(stage.found()) == 80, "the hour had room for 30, and these went before the restart"


Tallying = Callable[[float], Coroutine[Any, Any, list[Tally]]]


def _failing(tally: Tallying, *, times: int) -> Tallying:
    left = times

    async def failing(since: float) -> list[Tally]:
        nonlocal left
        left -= 1
        if left >= 0:
            raise LedgerUnavailable("the ledger does not answer")
        return await tally(since)

    return failing


@story(brakes={**TIGHT, "perMinute": 30})
async def test_the_end_of_a_freeze_allows_nothing_for_what_another_brake_still_holds(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    await pull(stage, "hand", namespace=SHOP)
    await pull(stage, "freeze", all=True, until=stage.time(30 * MINUTE))
    await make_all(stage, many(200))
    play = await stage.play()
    await stage.later(31 * MINUTE)
    assert len(stage.found()) == 200
    assert allowed(play) == {}
    await make_all(stage, many(150, "new"), namespace="other")
    await stage.later(3 * MINUTE)
    assert len(stage.found(namespace="other")) == 130
    assert "ceiling-namespace-other-per-minute" in await brakes(stage)


@story(brakes=TIGHT)
async def test_the_end_of_a_freeze_allows_nothing_for_what_is_kept_by_then(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "freeze", all=True, until=stage.time(30 * MINUTE))
    await make_all(stage, many(60))
    play = await stage.play()
    await stage.later(29 * MINUTE)
    for name in many(50):
        await stage.label(name, keep="true")
    await stage.later(1.5 * MINUTE)
    assert stage.found() == set(many(50))
    assert allowed(play) == {}


@story(brakes=TIGHT)
async def test_two_freezes_that_end_together_let_go_what_both_held_once(stage: Stage) -> None:
    await bring_kind(stage)
    end = stage.time(30 * MINUTE)
    await pull(stage, "freeze", all=True, until=end)
    await pull(stage, "freeze-shop", namespace=SHOP, until=end)
    await make_all(stage, many(60))
    play = await stage.play()
    await stage.later(31 * MINUTE)
    assert not stage.found()
    assert await brakes(stage) == {"freeze", "freeze-shop"}
    assert sum(allowed(play).values()) <= 20, "those that went before somebody looked were counted"


@story(brakes=TIGHT)
async def test_two_brakes_that_are_released_together_let_go_what_both_held_once(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "one", all=True)
    await pull(stage, "two", namespace=SHOP)
    await make_all(stage, many(60))
    play = await stage.play()
    await stage.later(5 * MINUTE)
    for name in ("one", "two"):
        found = await stage.people.get(BRAKES, name, view=METADATA)
        await stage.people.delete(BRAKES, name, uid=found.metadata.uid, propagation="Background")
    await stage.later(20)
    assert not stage.found()
    assert not await brakes(stage)
    assert allowed(play) == {}


@story(brakes=TIGHT)
async def test_what_a_brake_on_a_kind_held_allows_nothing_of_another_kind(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    await pull(stage, "pods", kind="pods")
    await make_all(stage, many(150), resource=PODS)
    await make_all(stage, many(60), ttl="310s", namespace="other")
    await stage.play()
    await stage.later(5 * MINUTE)
    await release(stage, "pods")
    (grant,) = state(stage)["allowances"]["grants"]
    assert (grant["span"], grant["kind"], grant["number"]) == ("all", "pods", 150)
    await stage.later(3 * MINUTE)
    assert not stage.found(PODS)
    assert len(stage.found(namespace="other")) == 40


@story(brakes=TIGHT)
async def test_what_was_granted_is_forgotten_in_time(stage: Stage) -> None:
    await bring_kind(stage)
    await make_all(stage, many(50))
    play = await stage.play()
    await stage.later(2 * MINUTE)
    await release(stage, CEILING)
    await stage.later(MINUTE)
    assert not stage.found()
    (grant,) = state(stage)["allowances"]["grants"]
    assert (grant["span"], grant["name"], grant["number"]) == ("namespace", SHOP, 30)
    await stage.later(3 * HOUR)
    await pull(stage, "stop", all=True)
    await stage.later(MINUTE)
    assert state(stage)["allowances"]["grants"] == []
    assert allowed(play) == {}


@story()
async def test_the_end_of_the_brake_of_a_backlog_allows_nothing(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.later(10)
    await stage.people.merge_patch(BRAKES, "first-start", {"spec": {"until": stage.time(5)}})
    await stage.later(MINUTE)
    assert len(stage.found()) == 150, "only a release accepts it"
    assert allowed(play) == {}


@story()
async def test_a_backlog_that_is_accepted_at_a_start_is_allowed_once(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(150), "1h", age=DAY)
    stage.old(many(50, "kept"), "1h", age=DAY, keep="true")
    play = await stage.play()
    await stage.later(10)
    assert await brakes(stage) == {"first-start"}
    await play.stop()
    again = await stage.play(acceptBacklog=True)
    await stage.later(20)
    assert stage.found() == set(many(50, "kept"))
    assert allowed(again) == {}


@story(brakes={"namespacePerMinute": 20}, rate={"deletionsPerSecond": 5})
async def test_the_same_released_again_and_again_is_allowed_once(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await pull(stage, "hand0", namespace="shop")
    await make_all(stage, many(200))
    await stage.later(2 * MINUTE)
    for number in range(4):
        await release(stage, f"hand{number}")
        await stage.later(1)
        if number < 3:
            await pull(stage, f"hand{number + 1}", namespace="shop")
            await stage.later(6)
    assert sum(allowed(play).values()) <= len(stage.found())
    await stage.later(2 * MINUTE)
    assert not stage.found()
    assert not allowed(play)
    await make_all(stage, many(500, "other"))
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 480, "nobody ever released these"
    assert CEILING in await brakes(stage)


@story(brakes={"namespacePerMinute": 20})
async def test_what_was_released_and_stayed_is_not_allowed_for_longer_by_releases_of_others(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await make_all(stage, many(200))
    await stage.later(2 * MINUTE)
    await release(stage, CEILING)
    for name in sorted(stage.found()):
        await stage.label(name, keep="true")
    await stage.later(30)
    for number in range(3):
        await stage.later(55 * MINUTE)
        await pull(stage, f"hand{number}", namespace="shop")
        await stage.make(f"one{number}", "1m")
        await stage.later(2 * MINUTE)
        await release(stage, f"hand{number}")
        await stage.later(10)
        assert not stage.there(f"one{number}")
    assert sum(allowed(play).values()) <= 1
    await make_all(stage, many(170, "other"))
    await stage.later(2 * MINUTE)
    assert sum(name.startswith("other") for name in stage.found()) >= 149


@story(brakes={"namespacePerMinute": 20}, rate={"deletionsPerSecond": 2})
async def test_what_is_left_of_one_release_goes_with_the_next(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.play()
    await pull(stage, "first", namespace="shop")
    await make_all(stage, many(100))
    await stage.later(2 * MINUTE)
    await release(stage, "first")
    await stage.later(10)
    assert 70 < len(stage.found()) < 90
    await pull(stage, "second", namespace="shop")
    await make_all(stage, many(50, "second"))
    await stage.later(2 * MINUTE)
    await release(stage, "second")
    await stage.later(3 * MINUTE)
    assert not stage.found()
    assert CEILING not in await brakes(stage)
