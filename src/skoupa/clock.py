"""Time and chance, handed in: nothing else in Skoupa sleeps, times out, asks the time or rolls dice.

The embedded cluster replaces the clock of the event loop (`skoupa.sim.clock`), which is what lets a forecast run a
week in a second. "Idle" means that nothing is left to do before the next timer: only then does virtual time move.
"""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch, UTC."""

    def monotonic(self) -> float:
        """Seconds that never jump, for measuring."""

    async def sleep(self, seconds: float) -> None: ...

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        """Raises TimeoutError inside when the block takes longer; None is no limit."""

    def jitter(self, seconds: float) -> float:
        """A random wait of half to all of `seconds`."""

    async def idle(self) -> None:
        """Returns once nothing is ready to run but timers."""


class SystemClock:
    """The clock of the machine. `idle` gives the loop two turns: real I/O can't be foreseen."""

    def __init__(self, seed: int | None = None) -> None:
        self._random = random.Random(seed)  # noqa: S311 - jitter is no secret

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    def timeout(self, seconds: float | None) -> AbstractAsyncContextManager[object]:
        return asyncio.timeout(seconds)

    def jitter(self, seconds: float) -> float:
        return seconds * (0.5 + self._random.random() / 2)

    async def idle(self) -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
