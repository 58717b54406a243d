"""A reading counts for a while; then somebody reads anew and the others wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from skoupa.controller.freshness import LONGEST_SECONDS, SHORTEST_SECONDS, Freshness
from skoupa.errors import Unreachable
from skoupa.sim.clock import VirtualClock, run

pytestmark = pytest.mark.unit


def readings(seconds: float, *, acting: float, workers: int = 16) -> list[float]:
    """When it was read anew, by workers who act for so long on a server where a reading takes some seconds."""

    async def main(clock: VirtualClock) -> list[float]:
        began: list[float] = []

        async def read() -> None:
            began.append(clock.monotonic())
            await clock.sleep(seconds)

        freshness = Freshness(read, clock, read_at=clock.monotonic())

        async def work() -> None:
            while clock.monotonic() < acting:
                assert await freshness.ensured()
                await clock.sleep(0.1)

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
        return began

    return run(main)


def test_on_a_quick_server_it_is_read_every_two_seconds_by_one_for_all() -> None:
    found = readings(0.1, acting=60)
    assert len(found) == pytest.approx(60 / (SHORTEST_SECONDS + 0.1), abs=2)


@pytest.mark.parametrize("seconds", [1.0, 5.0])
def test_on_a_slow_server_a_fifth_of_the_time_goes_into_reading(seconds: float) -> None:
    found = readings(seconds, acting=600)
    assert len(found) * seconds == pytest.approx(600 / 5, rel=0.1)


def test_a_reading_counts_for_half_a_minute_at_most() -> None:
    found = readings(60, acting=600)
    assert len(found) == pytest.approx(600 / (60 + LONGEST_SECONDS), abs=1)


def test_what_takes_less_than_a_moment_is_not_read_anew() -> None:
    assert readings(1, acting=SHORTEST_SECONDS) == []


def test_after_a_reading_that_failed_nobody_goes_on_and_nobody_reads() -> None:
    async def main(clock: VirtualClock) -> None:
        tried: list[float] = []

        async def fail() -> None:
            tried.append(clock.now())
            await clock.sleep(1)
            raise Unreachable("no route to host")

        freshness = Freshness(fail, clock, read_at=clock.monotonic())
        assert await freshness.ensured()
        await clock.sleep(10)
        asked: list[Callable[[], Awaitable[bool]]] = [freshness.ensured] * 5
        assert await asyncio.gather(*(ask() for ask in asked)) == [False] * 5
        await clock.sleep(100)
        assert not await freshness.ensured()
        assert len(tried) == 1
        assert isinstance(freshness.error, Unreachable)

    run(main)
