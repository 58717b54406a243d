"""The queue of a controller: keys once each in order of arrival, some of them later, on the clock.

A key that is added while it waits is not added twice; a retry that is due earlier wins. `next` waits until something is
due, so a controller costs nothing while nothing happens.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from contextlib import suppress
from typing import Generic, TypeVar

from skoupa.clock import Clock

K = TypeVar("K")


class Work(Generic[K]):
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._order: deque[K] = deque()
        self._ready: set[K] = set()
        self._later: list[tuple[float, int, K]] = []
        self._due: dict[K, float] = {}
        self._count = 0
        self._wake = asyncio.Event()

    def add(self, key: K) -> None:
        if key in self._ready:
            return
        self._ready.add(key)
        self._order.append(key)
        self._wake.set()

    def add_later(self, key: K, seconds: float) -> None:
        due = self._clock.monotonic() + seconds
        if due >= self._due.get(key, float("inf")):
            return
        self._due[key] = due
        self._count += 1
        heapq.heappush(self._later, (due, self._count, key))
        self._wake.set()

    def take(self) -> K | None:
        """The next key that is due now, None if there is none."""
        now = self._clock.monotonic()
        while self._later and self._later[0][0] <= now:
            due, _, key = heapq.heappop(self._later)
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)
        if not self._order:
            return None
        key = self._order.popleft()
        self._ready.discard(key)
        return key

    async def next(self) -> K:
        while True:
            key = self.take()
            if key is not None:
                return key
            self._wake.clear()
            wait = max(0.0, self._later[0][0] - self._clock.monotonic()) if self._later else None
            with suppress(TimeoutError):
                async with self._clock.timeout(wait):
                    await self._wake.wait()
