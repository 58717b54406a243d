from __future__ import annotations

import asyncio
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.clock import Clock
from skoupa.sim.clock import START, VirtualClock, run

pytestmark = pytest.mark.unit

WEEK = 7 * 24 * 3600.0


def test_a_week_of_minutes_passes_in_well_under_a_second() -> None:
    async def main(clock: VirtualClock) -> float:
        for _ in range(7 * 24 * 60):
            await clock.sleep(60)
        return clock.now()

    began = time.thread_time()
    assert run(main) == START + WEEK
    assert time.thread_time() - began < 2


def test_a_virtual_clock_is_a_clock_and_starts_where_told() -> None:
    async def main(clock: Clock) -> tuple[float, float]:
        return clock.now(), clock.monotonic()

    assert run(main, start=1_000_000.0) == (1_000_000.0, 0.0)


@settings(deadline=None)
@given(st.lists(st.floats(min_value=0, max_value=1e8), max_size=20))
def test_timers_fire_in_order_and_never_early(delays: list[float]) -> None:
    async def main(clock: VirtualClock) -> list[tuple[float, float]]:
        fired: list[tuple[float, float]] = []

        async def timer(delay: float) -> None:
            await clock.sleep(delay)
            fired.append((delay, clock.monotonic()))

        async with asyncio.TaskGroup() as group:
            for delay in delays:
                group.create_task(timer(delay))
        return fired

    fired = run(main)
    assert [delay for delay, _ in fired] == sorted(delays)
    assert all(at == pytest.approx(delay, abs=1e-6) for delay, at in fired)


def test_a_timeout_fires_in_virtual_time() -> None:
    async def main(clock: VirtualClock) -> float:
        with pytest.raises(TimeoutError):
            async with clock.timeout(30):
                await asyncio.Event().wait()
        async with clock.timeout(None):
            await clock.sleep(1e6)
        async with asyncio.timeout(10):
            await asyncio.sleep(9)
        return clock.monotonic()

    assert run(main) == 30 + 1e6 + 9


def test_idle_returns_after_all_ready_work_and_before_the_next_timer() -> None:
    async def main(clock: VirtualClock) -> None:
        steps: list[str] = []

        async def chain(length: int) -> None:
            for _ in range(length):
                await asyncio.sleep(0)
            steps.append("worked")
            await clock.sleep(5)
            steps.append("timer")

        async with asyncio.TaskGroup() as group:
            group.create_task(chain(100))
            await clock.idle()
            assert steps == ["worked"]
            assert clock.monotonic() == 0
        assert steps == ["worked", "timer"]

    run(main)


def test_idle_waits_for_timers_that_are_due_now() -> None:
    async def main(clock: VirtualClock) -> bool:
        due = asyncio.Event()
        asyncio.get_running_loop().call_later(0, due.set)
        await clock.idle()
        return due.is_set()

    assert run(main)


def test_idle_is_not_reached_while_a_thread_works_and_time_stands_still() -> None:
    async def main(clock: VirtualClock) -> float:
        gate = threading.Event()
        done: list[str] = []

        async def threaded() -> None:
            async with clock.timeout(1):
                await asyncio.to_thread(gate.wait)
            done.append("thread")

        async with asyncio.TaskGroup() as group:
            group.create_task(threaded())
            await asyncio.sleep(0)
            threading.Timer(0.02, gate.set).start()
            await clock.idle()
            assert done == ["thread"]
        return clock.monotonic()

    assert run(main) == 0


def test_a_cancelled_idle_does_no_harm() -> None:
    async def main(clock: VirtualClock) -> None:
        waiting = asyncio.create_task(clock.idle())
        await asyncio.sleep(0)
        waiting.cancel()
        await clock.idle()
        assert waiting.cancelled()

    run(main)


def test_the_same_seed_gives_the_same_jitter_within_half_to_all() -> None:
    async def main(clock: VirtualClock) -> list[float]:
        return [clock.jitter(10) for _ in range(100)]

    first = run(main, seed=7)
    assert first == run(main, seed=7)
    assert first != run(main, seed=8)
    assert all(5 <= wait <= 10 for wait in first)


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while line := await reader.readline():
        writer.write(line)
        await writer.drain()
    writer.close()


def test_real_sockets_work_while_time_runs_fast() -> None:
    async def main(clock: VirtualClock) -> float:
        server = await asyncio.start_server(_echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        async with server, asyncio.TaskGroup() as group:
            sleeping = group.create_task(clock.sleep(720))
            echoed = 0
            while not sleeping.done():
                writer.write(b"hello\n")
                assert await reader.readline() == b"hello\n"
                echoed += 1
            writer.close()
            await writer.wait_closed()
        assert echoed > 1
        return clock.monotonic()

    began = time.monotonic()
    assert run(main, speed=3600) >= 720
    assert 0.15 < time.monotonic() - began < 5


def test_speed_can_be_changed_on_the_run() -> None:
    async def main(clock: VirtualClock) -> None:
        await clock.sleep(10)
        clock.set_speed(100_000)
        assert clock.speed == 100_000
        before = clock.monotonic()
        await clock.sleep(1000)
        assert clock.monotonic() >= before + 1000
        clock.set_speed(None)
        before = clock.monotonic()
        await clock.sleep(WEEK)
        assert clock.monotonic() == pytest.approx(before + WEEK, abs=1e-6)

    run(main)


def test_a_paused_clock_stands_until_resumed() -> None:
    async def main(clock: VirtualClock) -> None:
        sleeping = asyncio.create_task(clock.sleep(60))
        clock.pause()
        await clock.idle()
        resumed = threading.Timer(0.02, asyncio.get_running_loop().call_soon_threadsafe, [clock.resume])
        resumed.start()
        assert clock.paused
        assert clock.monotonic() == 0
        await sleeping
        assert not clock.paused
        assert clock.monotonic() == 60

    run(main)


def test_advance_runs_what_is_due_and_leaves_the_clock_paused() -> None:
    async def main(clock: VirtualClock) -> None:
        fired: list[float] = []

        async def every_hour() -> None:
            while True:
                await clock.sleep(3600)
                fired.append(clock.now())

        ticking = asyncio.create_task(every_hour())
        clock.pause()
        await clock.advance(24 * 3600)
        assert clock.paused
        assert fired == [START + 3600 * hour for hour in range(1, 25)]
        await clock.idle()
        assert len(fired) == 24
        ticking.cancel()

    run(main)


def test_ten_tenths_are_a_whole_second() -> None:
    async def main(clock: VirtualClock) -> float:
        for _ in range(10):
            await clock.sleep(0.1)
        return clock.now()

    assert run(main) == START + 1


def test_several_who_sleep_until_a_moment_that_is_nearly_there_get_there() -> None:
    """Less than a timer can tell is left, and each keeps the loop busy for the others: time has to pass all the same."""

    async def main(clock: VirtualClock) -> list[int]:
        end = clock.monotonic() + 5e-7

        async def wait(turns: int) -> int:
            for _ in range(turns):
                await clock.sleep(0)
            looks = 0
            while (left := end - clock.monotonic()) > 0 and looks < 100:
                looks += 1
                await clock.sleep(left)
            return looks

        return [*await asyncio.gather(wait(0), wait(1), wait(2))]

    assert max(run(main)) <= 2


@pytest.mark.parametrize("speed", [0, -1, float("nan")])
def test_a_speed_that_goes_nowhere_is_refused(speed: float) -> None:
    async def main(clock: VirtualClock) -> None: ...

    with pytest.raises(ValueError, match="is not above 0"):
        run(main, speed=speed)


def test_an_error_in_main_comes_out() -> None:
    async def main(clock: VirtualClock) -> None:
        await clock.sleep(1)
        raise LookupError("gone")

    with pytest.raises(LookupError, match="gone"):
        run(main)
