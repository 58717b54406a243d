from __future__ import annotations

import asyncio

import pytest

from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.controllers.work import Work

pytestmark = pytest.mark.unit


def test_a_key_waits_once_and_in_order_of_arrival() -> None:
    async def main(clock: VirtualClock) -> list[str | None]:
        work: Work[str] = Work(clock)
        for key in ("a", "b", "a", "c"):
            work.add(key)
        return [work.take() for _ in range(4)]

    assert run(main) == ["a", "b", "c", None]


def test_what_comes_later_comes_at_its_time_and_the_earlier_time_wins() -> None:
    async def main(clock: VirtualClock) -> list[tuple[str, float]]:
        work: Work[str] = Work(clock)
        work.add_later("slow", 60)
        work.add_later("twice", 50)
        work.add_later("twice", 10)
        work.add_later("twice", 90)
        found = [(await work.next(), clock.monotonic()) for _ in range(2)]
        with pytest.raises(TimeoutError):
            async with clock.timeout(1000):
                await work.next()
        return found

    assert run(main) == [("twice", 10.0), ("slow", 60.0)]


def test_a_waiting_controller_wakes_for_a_new_key() -> None:
    async def main(clock: VirtualClock) -> tuple[str, float]:
        work: Work[str] = Work(clock)
        work.add_later("late", 1000)
        waiting = asyncio.create_task(work.next())
        await clock.sleep(5)
        work.add("now")
        return await waiting, clock.monotonic()

    assert run(main) == ("now", 5.0)
