"""One reading for all who need it within a short time.

A reading counts from when it began: for so many times as long as it took, within bounds, so that a slow server is not
asked all the time and a fast one not believed for long. Whoever asked before it began may use it however long it took.
A reading that failed is told to those who waited for it, and to nobody later.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from skoupa.clock import Clock
from skoupa.errors import SkoupaError

T = TypeVar("T")

SHORTEST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 10.0
SHARE: Final = 4.0


class SharedReading(Generic[T]):
    def __init__(
        self, clock: Clock, *, longest: float = LONGEST_SECONDS, shortest: float = SHORTEST_SECONDS
    ) -> None:
        self._clock = clock
        self._shortest = shortest
        self._longest = longest
        self._lock = asyncio.Lock()
        self._result: T | SkoupaError | None = None
        self._began = float("-inf")
        self._good_until = float("-inf")

    async def get(self, read: Callable[[], Awaitable[T]]) -> T:
        """Raises what the reading raised."""
        asked = self._clock.monotonic()
        async with self._lock:
            result = self._result
            began = self._clock.monotonic()
            if result is None or (self._began < asked and began >= self._good_until):
                result = await self._read(read, began)
        if isinstance(result, SkoupaError):
            raise result
        return result

    async def _read(self, read: Callable[[], Awaitable[T]], began: float) -> T | SkoupaError:
        result: T | SkoupaError
        counts_for = 0.0
        try:
            result = await read()
        except SkoupaError as error:
            result = error
        else:
            took = self._clock.monotonic() - began
            counts_for = min(self._longest, max(self._shortest, SHARE * took))
        self._result, self._began, self._good_until = result, began, began + counts_for
        return result
