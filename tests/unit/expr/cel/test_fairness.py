"""Many runs on few children: turns are short and go round, slow policies have a child of their own, and every run ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
import pytest

from skoupa.clock import SystemClock
from skoupa.expr.cel.accounts import Account, Paces
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.messages import Circumstances, GlobalContext, Question
from skoupa.expr.cel.pool import Pool
from tests.unit.expr.cel.asking import source

pytestmark = pytest.mark.unit

NOW = Circumstances(now=1_769_860_800.0)
ASKED = 'globalContext.Get(object.name) == "yes"'
ASKS = source(ASKED)
ALSO_ASKS = source(f"{ASKED} && true")
# A turn is one object, and nobody is slow.
ONE_BY_ONE = Limits(turn_seconds=0.0, slow_seconds=1000.0)


class Telling:
    """Says yes to everything, writes down who asked in which order, and lets some wait."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.waiting: dict[str, asyncio.Event] = {}
        self.reached = asyncio.Event()

    async def answer(self, question: Question) -> bytes:
        assert isinstance(question, GlobalContext)
        self.asked.append(question.name)
        self.reached.set()
        if question.name in self.waiting:
            await self.waiting[question.name].wait()
        return b'"yes"'


def page(name: str, count: int) -> bytes:
    return msgspec.json.encode({"items": [{"name": f"{name}{number}"} for number in range(count)]})


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not holds():  # noqa: ASYNC110 - that a process ended rings no bell
            await asyncio.sleep(0.01)


async def test_a_short_run_does_not_wait_for_the_end_of_a_long_one() -> None:
    told = Telling()
    told.waiting["long0"] = asyncio.Event()
    async with Pool(clock=SystemClock(), limits=ONE_BY_ONE) as pool, asyncio.TaskGroup() as group:
        long = group.create_task(pool.judge(ASKS, page("long", 40), circumstances=NOW, broker=told))
        await told.reached.wait()
        short = group.create_task(pool.judge(ALSO_ASKS, page("short", 2), circumstances=NOW, broker=told))
        await asyncio.sleep(0)
        told.waiting["long0"].set()
        assert [one.matched for one in await short] == [True] * 2
        assert not long.done()
        assert [one.matched for one in await long] == [True] * 40
    assert told.asked[:4] == ["long0", "short0", "long1", "short1"]
    assert pool.statistics.started == 1


async def test_a_run_that_reads_many_lists_has_no_more_turns_than_another() -> None:
    told, many = Telling(), Account()
    told.waiting["first0"] = asyncio.Event()
    async with Pool(clock=SystemClock(), limits=ONE_BY_ONE) as pool, asyncio.TaskGroup() as group:
        for name in ("first", "second", "third", "fourth"):
            group.create_task(pool.judge(ASKS, page(name, 5), circumstances=NOW, broker=told, account=many))
        await told.reached.wait()
        group.create_task(pool.judge(ALSO_ASKS, page("other", 3), circumstances=NOW, broker=told))
        await asyncio.sleep(0)
        told.waiting["first0"].set()
    others = [place for place, name in enumerate(told.asked) if name.startswith("other")]
    assert others == [1, 3, 5]
    assert len(told.asked) == 23


async def test_who_turned_out_slow_holds_up_nobody_else() -> None:
    """At its next run it begins in a child of its own, which goes when nobody is slow any more."""
    told = Telling()
    limits = Limits(slow_seconds=1e-9, idle_seconds=0.05)
    async with Pool(clock=SystemClock(), limits=limits) as pool, asyncio.TaskGroup() as group:
        await pool.judge(ASKS, page("a", 1), circumstances=NOW, broker=told)
        assert len(pool.pids) == 1
        told.waiting["b0"] = asyncio.Event()
        told.reached.clear()
        stuck = group.create_task(pool.judge(ASKS, page("b", 1), circumstances=NOW, broker=told))
        await told.reached.wait()
        for number in range(3):
            quick = source(f"object.name == 'x{number}'")
            found = await pool.judge(quick, page("x", 3), circumstances=NOW)
            assert [one.matched for one in found] == [place == number for place in range(3)]
        assert (await pool.compile(source("true"))).problems == ()
        assert not stuck.done()
        assert len(pool.pids) == 2
        told.waiting["b0"].set()
        assert [one.matched for one in await stuck] == [True]
        await until(lambda: len(pool.pids) == 1)


async def test_who_stays_at_one_object_for_long_makes_room_for_others() -> None:
    """The first time, too, when nobody knows yet that it is slow; and it is not judged again for that."""
    told = Telling()
    told.waiting["a0"] = asyncio.Event()
    async with Pool(clock=SystemClock(), limits=Limits(overstay_seconds=0.01)) as pool:
        async with asyncio.TaskGroup() as group:
            stuck = group.create_task(pool.judge(ASKS, page("a", 2), circumstances=NOW, broker=told))
            await told.reached.wait()
            (found,) = await pool.judge(source("object.name == 'x0'"), page("x", 1), circumstances=NOW)
            assert found.matched
            assert not stuck.done()
            assert len(pool.pids) == 2
            told.waiting["a0"].set()
            assert [one.matched for one in await stuck] == [True, True]
        assert told.asked == ["a0", "a1"]
        assert (pool.statistics.started, pool.statistics.died) == (2, 0)


async def test_a_run_that_takes_too_long_ends_and_says_how_to_mend_it() -> None:
    busy, account = source("lists.range(200000).distinct().size() == 200000"), Account()
    limits = Limits(run_seconds=0.2, turn_seconds=0.05, expression_seconds=30)
    async with Pool(clock=SystemClock(), limits=limits) as pool:
        found = await pool.judge(busy, page("a", 100), circumstances=NOW, account=account)
        assert len(found) == 100
        assert found[0].matched
        assert not any(one.matched and one.error for one in found)
        assert found[-1].error == (
            "evaluating took more than 0.2 s for the objects of one run and was ended: make the expressions cheaper "
            "(look at fewer and smaller values), or match fewer objects"
        )
        turns = pool.statistics.turns
        rest = await pool.judge(busy, page("b", 3), circumstances=NOW, account=account)
        assert [one.error for one in rest] == [found[-1].error] * 3
        assert pool.statistics.turns == turns
        again = await pool.judge(busy, page("c", 1), circumstances=NOW)
        assert again[0].matched


async def test_children_that_die_of_a_run_count_for_it() -> None:
    """Each object takes its process along: without an end that would be a second for each of them."""
    costly = source("lists.range(1000000).distinct().distinct().distinct().size() == 1")
    limits = Limits(run_seconds=0.3, expression_seconds=0.1)
    async with Pool(clock=SystemClock(), limits=limits) as pool:
        found = await pool.judge(costly, page("a", 200), circumstances=NOW)
        assert not any(one.matched for one in found)
        assert "of CPU time and was ended" in found[0].error
        assert "evaluating took more than 0.3 s" in found[-1].error
        assert pool.statistics.died < 10


def test_slowness_is_forgotten_little_by_little() -> None:
    paces, slow, other = Paces(slow_seconds=1.0), source("true"), source("false")
    first, second, third = Account(), Account(), Account()
    paces.took(slow, first, seconds=3.0)
    assert paces.slow(slow, first)
    assert not paces.slow(other, first)
    assert paces.slow(slow, second)
    paces.took(slow, second, seconds=0.1)
    assert paces.slow(slow, third)
    assert not paces.slow(slow, Account())


async def test_however_many_wait_for_somebody_outside_a_quick_run_is_judged_and_all_of_them_in_the_end() -> (
    None
):
    told = Telling()
    hanging = [f"hanging-{number}-" for number in range(4)]
    told.waiting = {f"{name}0": asyncio.Event() for name in hanging}
    limits = Limits(overstay_seconds=0.05)
    async with Pool(clock=SystemClock(), limits=limits) as pool, asyncio.TaskGroup() as group:
        slow = [
            group.create_task(
                pool.judge(source(f"{ASKED} && {number} >= 0"), page(name, 2), circumstances=NOW, broker=told)
            )
            for number, name in enumerate(hanging)
        ]
        await until(lambda: len(pool.pids) > 1)
        async with asyncio.timeout(30):
            quick = await pool.judge(ALSO_ASKS, page("quick", 3), circumstances=NOW, broker=told)
        assert [one.matched for one in quick] == [True] * 3
        assert not any(task.done() for task in slow)
        assert len(pool.pids) <= limits.children + limits.slow_children
        for event in told.waiting.values():
            event.set()
    assert [[one.matched for one in task.result()] for task in slow] == [[True] * 2] * 4
