"""A reading counts for two seconds from when it began; then somebody reads anew and the others wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from skoupa.controller.sight.freshness import COUNTS_SECONDS, Freshness
from skoupa.errors import Unreachable
from skoupa.sim.clock import VirtualClock, run

pytestmark = pytest.mark.unit


def readings(seconds: float, *, acting: float, workers: int = 16) -> list[float]:
    """When it was read anew, by workers who act for so long on a server where a reading takes some seconds."""

    async def main(clock: VirtualClock) -> list[float]:
        began: list[float] = []
        read_from = clock.monotonic()

        async def read() -> None:
            nonlocal read_from
            now = clock.monotonic()
            began.append(now)
            await clock.sleep(seconds)
            read_from = now

        freshness = Freshness(read, clock, began=clock.monotonic())

        async def work() -> None:
            while clock.monotonic() < acting:
                asked = clock.monotonic()
                assert await freshness.ensured()
                assert read_from >= asked or clock.monotonic() - read_from < COUNTS_SECONDS
                await clock.sleep(0.1)

        async with asyncio.TaskGroup() as group:
            for _ in range(workers):
                group.create_task(work())
        return began

    return run(main)


def test_on_a_quick_server_it_is_read_every_two_seconds_by_one_for_all() -> None:
    found = readings(0.1, acting=60)
    assert len(found) == pytest.approx(60 / COUNTS_SECONDS, abs=2)


@pytest.mark.parametrize("seconds", [1.0, 5.0, 60.0])
def test_on_a_slow_server_no_reading_is_acted_on_that_is_older_and_began_before_the_question(
    seconds: float,
) -> None:
    found = readings(seconds, acting=600)
    # One at a time, shared by all.
    assert len(found) <= 600 / max(seconds, COUNTS_SECONDS) + 2
    assert found


def test_what_takes_less_than_a_moment_is_not_read_anew() -> None:
    assert readings(1, acting=COUNTS_SECONDS) == []


def test_after_a_reading_that_failed_nobody_goes_on_and_nobody_reads() -> None:
    async def main(clock: VirtualClock) -> None:
        tried: list[float] = []

        async def fail() -> None:
            tried.append(clock.now())
            await clock.sleep(1)
            raise Unreachable("no route to host")

        freshness = Freshness(fail, clock, began=clock.monotonic())
        assert await freshness.ensured()
        await clock.sleep(10)
        asked: list[Callable[[], Awaitable[bool]]] = [freshness.ensured] * 5
        assert await asyncio.gather(*(ask() for ask in asked)) == [False] * 5
        await clock.sleep(100)
        assert not await freshness.ensured()
        assert len(tried) == 1
        assert isinstance(freshness.error, Unreachable)

    run(main)
