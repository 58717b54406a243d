"""An event loop whose time is made up: when nothing is left to do, it jumps to the next timer.

`asyncio.sleep`, `asyncio.timeout` and every timer of a library just work, because the loop's own clock is the one that
is replaced. With a `speed` time flows that much faster than the wall clock instead of jumping, so that real sockets
(a dashboard, a browser) can be served meanwhile. Time stands still while it is paused and while a thread of
`run_in_executor` is at work, since nobody can say how long that takes.
Without a speed, answers of real sockets are not waited for: a timer always comes first.
"""

from __future__ import annotations

import asyncio
import random
import selectors
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Args = TypeVarTuple("Args")
Ready = list[tuple[selectors.SelectorKey, int]]

START: Final = 1_767_225_600.0  # 2026-01-01T00:00:00Z


class _Timekeeper(selectors.BaseSelector):
    """The place where an idle loop waits, and so the place where virtual time passes."""

    def __init__(self, *, speed: float | None) -> None:
        self._real = selectors.DefaultSelector()
        self._elapsed = 0.0
        self._since = time.monotonic()
        self._speed = speed
        self._paused = False
        self._held = 0
        self._idle: list[asyncio.Future[None]] = []

    @property
    def speed(self) -> float | None:
        return self._speed

    @property
    def paused(self) -> bool:
        return self._paused

    def time(self) -> float:
        if self._speed is None or self._paused or self._held:
            return self._elapsed
        return self._elapsed + (time.monotonic() - self._since) * self._speed

    def set(self, *, speed: float | None, paused: bool) -> None:
        self._settle()
        self._speed = speed
        self._paused = paused

    def hold(self, count: int) -> None:
        self._settle()
        self._held += count

    def reach(self, moment: float) -> None:
        """A timer that was for then has run, as early as the loop lets it: it is that time now."""
        if self._speed is None:
            self._elapsed = max(self._elapsed, moment)

    def await_idle(self, waiter: asyncio.Future[None]) -> None:
        self._idle.append(waiter)

    def _settle(self) -> None:
        self._elapsed = self.time()
        self._since = time.monotonic()

    def select(self, timeout: float | None = None) -> Ready:
        if timeout is not None and timeout <= 0:
            return self._real.select(0)
        ready = self._real.select(0)
        if ready:
            return ready
        if self._idle and not self._held:
            waiters, self._idle = self._idle, []
            for waiter in waiters:
                if not waiter.done():
                    waiter.set_result(None)
            return []
        if timeout is None or self._paused or self._held:
            return self._real.select(None)
        if self._speed is None:
            self._elapsed += timeout
            return []
        return self._real.select(timeout / self._speed)

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.register(fileobj, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._real.unregister(fileobj)

    def modify(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return self._real.modify(fileobj, events, data)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._real.get_map()

    def close(self) -> None:
        self._real.close()


class VirtualLoop(asyncio.SelectorEventLoop):
    """`speed=None` jumps from timer to timer; a number is virtual seconds per real second."""

    def __init__(self, *, speed: float | None = None) -> None:
        self._timekeeper = _Timekeeper(speed=speed)
        super().__init__(self._timekeeper)
        # A timer runs when it is less than this ahead. The nanosecond that asyncio takes from the machine is lost in
        # the rounding of a float after some weeks, and a timer due now would never run.
        self._clock_resolution = 1e-6

    def time(self) -> float:
        return self._timekeeper.time()

    @contextmanager
    def standing(self) -> Iterator[None]:
        """Time stands still inside: for waits on something that no timer knows, such as a process."""
        self._timekeeper.hold(1)
        try:
            yield
        finally:
            self._timekeeper.hold(-1)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[Unpack[Args]], T], *args: *Args
    ) -> asyncio.Future[T]:
        future = super().run_in_executor(executor, func, *args)
        self._timekeeper.hold(1)
        future.add_done_callback(lambda _: self._timekeeper.hold(-1))
        return future

    async def shutdown_default_executor(self, *args: Any) -> None:
        # From 3.12 on it is limited by a timeout, which virtual time would reach before any thread could end.
        with self.standing():
            await super().shutdown_default_executor(*args)


class VirtualClock:
    """A `skoupa.clock.Clock` on a `VirtualLoop`, with the levers of a demo: pause, resume, speed, advance.

    The levers are for the loop's own thread; another thread pulls them through `call_soon_threadsafe`.
    """

    def __init__(self, loop: VirtualLoop, *, start: float = START, seed: int = 0) -> None:
        self._loop = loop
        self._timekeeper = loop._timekeeper  # noqa: SLF001 - the loop and its clock are one thing
        self._start = start
        self._random = random.Random(seed)  # noqa: S311 - jitter is no secret, and has to repeat

    def now(self) -> float:
        # Whole microseconds: ten sleeps of 0.1 s then make exactly one second.
        return round(self._start + self._loop.time(), 6)

    def monotonic(self) -> float:
        return self._loop.time()

    async def sleep(self, seconds: float) -> None:
        end = self._loop.time() + seconds
        await asyncio.sleep(seconds)
        # Else several who sleep until a moment that is nearly there would keep time from passing for each other.
        self._timekeeper.reach(end)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)

    def jitter(self, seconds: float) -> float:
        return seconds * (0.5 + self._random.random() / 2)

    async def idle(self) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._timekeeper.await_idle(waiter)
        await waiter

    @property
    def speed(self) -> float | None:
        return self._timekeeper.speed

    @property
    def paused(self) -> bool:
        return self._timekeeper.paused

    def set_speed(self, speed: float | None) -> None:
        """Virtual seconds per real second from now on; None jumps. A paused clock stays paused."""
        _check(speed)
        self._timekeeper.set(speed=speed, paused=self.paused)

    def pause(self) -> None:
        self._timekeeper.set(speed=self.speed, paused=True)

    def resume(self) -> None:
        self._timekeeper.set(speed=self.speed, paused=False)

    async def advance(self, seconds: float) -> None:
        """Jumps over `seconds`, with all that is due in them, and then goes on (or stands) as before."""
        speed, paused = self.speed, self.paused
        self._timekeeper.set(speed=None, paused=False)
        try:
            await asyncio.sleep(seconds)
            await self.idle()
        finally:
            self._timekeeper.set(speed=speed, paused=paused)


def run(
    main: Callable[[VirtualClock], Coroutine[Any, Any, T]],
    *,
    start: float = START,
    speed: float | None = None,
    seed: int = 0,
) -> T:
    """`asyncio.run` in virtual time: calls `main` with the clock and returns what it returns."""
    _check(speed)

    async def with_clock() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        return await main(VirtualClock(loop, start=start, seed=seed))

    with asyncio.Runner(loop_factory=lambda: VirtualLoop(speed=speed)) as runner:
        return runner.run(with_clock())


def _check(speed: float | None) -> None:
    if speed is not None and not speed > 0:
        raise ValueError(
            f"speed {speed} is not above 0: give virtual seconds per real second, or None to jump"
        )
