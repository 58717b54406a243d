"""How old a reading may be that is acted on, for who reads once and acts for a while.

Whoever is about to act asks first; when the last reading began too long ago, one of them reads anew and the others wait.
However slow the server, nobody acts on a reading that is older than two seconds, unless it began after he asked. A reading
that failed ends it all: what is not known must not be acted on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import SkoupaError

COUNTS_SECONDS: Final = 2.0


class Freshness:
    """`began` is when the first reading began."""

    def __init__(self, read: Callable[[], Awaitable[None]], clock: Clock, *, began: float) -> None:
        self._read = read
        self._clock = clock
        self._began = began
        self._reading = asyncio.Lock()
        self.error: SkoupaError | None = None

    async def ensured(self) -> bool:
        """Whether what is known is fresh by now; False for ever after a reading that failed."""
        asked = self._clock.monotonic()
        if self._is_old(asked):
            async with self._reading:
                if self._is_old(asked) and self.error is None:
                    await self._read_anew()
        return self.error is None

    async def _read_anew(self) -> None:
        began = self._clock.monotonic()
        try:
            await self._read()
        except SkoupaError as error:
            self.error = error
            return
        self._began = began

    def _is_old(self, asked: float) -> bool:
        return self._began < asked and self._clock.monotonic() - self._began >= COUNTS_SECONDS
