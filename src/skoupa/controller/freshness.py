"""How old a reading may be that is acted on, for who reads once and acts for a while.

Whoever is about to act asks first; when the last reading is too old, one of them reads anew and the others wait. The
slower the server, the longer a reading counts, so that most of the time goes into acting. A reading that failed ends
it all: what is not known must not be acted on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import SkoupaError

SHORTEST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 30.0
# A reading counts for so many times as long as it took.
SHARE: Final = 4.0


class Freshness:
    """`read_at` is when the first reading began."""

    def __init__(self, read: Callable[[], Awaitable[None]], clock: Clock, *, read_at: float) -> None:
        self._read = read
        self._clock = clock
        self._read_at = read_at
        self._counts_for = SHORTEST_SECONDS
        self._reading = asyncio.Lock()
        self.error: SkoupaError | None = None

    async def ensured(self) -> bool:
        """Whether what is known is fresh by now; False for ever after a reading that failed."""
        if self._is_old():
            async with self._reading:
                if self._is_old() and self.error is None:
                    await self._read_anew()
        return self.error is None

    async def _read_anew(self) -> None:
        began = self._clock.monotonic()
        try:
            await self._read()
        except SkoupaError as error:
            self.error = error
            return
        self._read_at = self._clock.monotonic()
        self._counts_for = min(LONGEST_SECONDS, max(SHORTEST_SECONDS, SHARE * (self._read_at - began)))

    def _is_old(self) -> bool:
        return self._clock.monotonic() - self._read_at >= self._counts_for
