"""How late this loop's timers are: nothing that is measured in it can be more exact than that, on a machine that has other things to do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_STEP_SECONDS = 0.01


class Lateness:
    """`worst` is the latest of them, `total` all that was lost, in seconds."""

    def __init__(self) -> None:
        self.worst = 0.0
        self.total = 0.0

    async def look(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            wanted = loop.time() + _STEP_SECONDS
            await asyncio.sleep(_STEP_SECONDS)
            late = loop.time() - wanted
            self.worst = max(self.worst, late)
            self.total += late


@asynccontextmanager
async def measured() -> AsyncIterator[Lateness]:
    """From entering to leaving."""
    lateness = Lateness()
    looking = asyncio.create_task(lateness.look())
    try:
        yield lateness
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
