"""A value that is made in the background: at once where there is one, newer as time goes by, and honest about its age."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from skoupa.errors import Unreachable, UsageError
from skoupa.sim.clock import VirtualClock, run
from skoupa.web.dashboard.fresh import Fresh
from skoupa.web.refusing import Refused

pytestmark = pytest.mark.unit

Scene = Callable[[VirtualClock, Fresh[int], "Making"], Awaitable[None]]


class Making:
    """Counts; each takes so long, and fails where it should."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.seconds = 0.0
        self.number = 0
        self.fails: Exception | None = None

    async def __call__(self) -> int:
        self.number += 1
        await self._clock.sleep(self.seconds)
        if self.fails is not None:
            raise self.fails
        return self.number


def told(scene: Scene) -> None:
    async def main(clock: VirtualClock) -> None:
        making = Making(clock)
        fresh = Fresh(making, clock=clock, seconds=10.0, doing=lambda: "pods")
        following = asyncio.create_task(fresh.follow())
        try:
            await scene(clock, fresh, making)
        finally:
            following.cancel()
            with suppress(asyncio.CancelledError):
                await following

    run(main)


def test_it_is_made_when_somebody_asks_and_not_before_its_time_again() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        await clock.sleep(60.0)
        assert making.number == 0
        assert await fresh.get() == (1, "")
        for _ in range(9):
            await clock.sleep(1.0)
            assert await fresh.get() == (1, "")
        await clock.sleep(5.0)
        assert await fresh.get() == (2, "")

    told(scene)


def test_what_is_slow_to_make_is_made_less_often_and_nobody_waits_for_the_next_one() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        making.seconds = 5.0
        assert await fresh.get() == (1, "")
        began = clock.now()
        while (await fresh.get())[0] == 1:
            await clock.sleep(1.0)
        assert clock.now() - began > 50.0

    told(scene)


def test_who_comes_back_after_a_while_is_told_nothing_old() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        assert await fresh.get() == (1, "")
        await clock.sleep(3600.0)
        assert (await fresh.get())[0] > 1

    told(scene)


def test_a_failure_is_told_beside_what_is_known_and_alone_where_nothing_is() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        making.fails = Unreachable("no way", advice="try later")
        with pytest.raises(Unreachable):
            await fresh.get()
        making.fails = None
        await clock.sleep(3600.0)
        value, trouble = await fresh.get()
        assert trouble == ""
        making.fails = ExceptionGroup("together", [UsageError("wrong", advice="mend it")])
        await clock.sleep(3600.0)
        assert await fresh.get() == (value, "wrong: mend it")

    told(scene)


def test_the_first_one_says_what_it_does_while_it_takes_long() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        making.seconds = 90.0
        with pytest.raises(Refused) as refused:
            await fresh.get()
        assert refused.value.status.reason == "Reading"
        assert refused.value.status.message == "the cluster is being read: pods"
        await clock.sleep(90.0)
        assert await fresh.get() == (1, "")

    told(scene)


def test_after_a_failure_that_took_long_it_is_tried_again_as_soon_as_ever() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        making.seconds, making.fails = 15.0, Unreachable("no way", advice="try later")
        with pytest.raises(Unreachable):
            await fresh.get()
        making.seconds, making.fails = 0.0, None
        await clock.sleep(1.0)
        with pytest.raises(Unreachable):
            await fresh.get()
        await clock.sleep(10.0)
        assert await fresh.get() == (2, "")

    told(scene)


def test_it_knows_its_age_and_a_value_past_its_time_is_told_as_such() -> None:
    async def scene(clock: VirtualClock, fresh: Fresh[int], making: Making) -> None:
        making.seconds = 2.0
        await fresh.get()
        assert fresh.age() == pytest.approx(2.0)
        await clock.sleep(5.0)
        assert fresh.age() == pytest.approx(7.0)
        making.seconds = 3600.0
        await clock.sleep(300.0)
        assert await fresh.get() == (1, "the cluster is still being read anew: pods")
        assert fresh.age() > 300.0

    told(scene)
