"""One reading for many: how long it counts, and for whom."""

from __future__ import annotations

import asyncio

import pytest

from skoupa.errors import SkoupaError
from skoupa.sim.clock import VirtualClock, run
from skoupa.sweep.sharing import LONGEST_SECONDS, SHORTEST_SECONDS, SharedReading

pytestmark = pytest.mark.unit


class Source:
    def __init__(self, clock: VirtualClock, *, takes: float, error: SkoupaError | None = None) -> None:
        self._clock = clock
        self._takes = takes
        self.error = error
        self.began: list[float] = []

    async def read(self) -> float:
        self.began.append(self._clock.monotonic())
        await self._clock.sleep(self._takes)
        if self.error is not None:
            raise self.error
        return self.began[-1]


@pytest.mark.parametrize(
    ("takes", "counts_for"), [(0.1, SHORTEST_SECONDS), (1.5, 6.0), (4.0, LONGEST_SECONDS)]
)
def test_a_reading_counts_from_its_beginning_within_bounds(takes: float, counts_for: float) -> None:
    async def main(clock: VirtualClock) -> None:
        shared: SharedReading[float] = SharedReading(clock)
        source = Source(clock, takes=takes)
        first = await shared.get(source.read)
        await clock.sleep(counts_for - takes - 0.01)
        assert await shared.get(source.read) == first
        await clock.sleep(0.02)
        assert await shared.get(source.read) > first

    run(main)


def test_who_waits_for_a_slow_reading_gets_one_that_began_after_he_asked() -> None:
    async def main(clock: VirtualClock) -> None:
        shared: SharedReading[float] = SharedReading(clock)
        source = Source(clock, takes=30.0)
        first = asyncio.create_task(shared.get(source.read))
        await clock.sleep(1)
        asked = clock.monotonic()
        others = [asyncio.create_task(shared.get(source.read)) for _ in range(20)]
        got = await asyncio.gather(first, *others)
        assert min(got[1:]) >= asked
        assert len(source.began) == 2, "they share it"

    run(main)


def test_a_failure_is_told_to_those_who_waited_and_to_nobody_later() -> None:
    async def main(clock: VirtualClock) -> None:
        shared: SharedReading[float] = SharedReading(clock)
        source = Source(clock, takes=1.0, error=SkoupaError("away"))
        told = await asyncio.gather(*(shared.get(source.read) for _ in range(5)), return_exceptions=True)
        assert [str(error) for error in told if isinstance(error, SkoupaError)] == ["away"] * 5
        assert len(source.began) <= 2
        source.error = None
        assert await shared.get(source.read) == source.began[-1]

    run(main)
