"""Tells when a connection that was made anew has settled: what the server has missed to tell it sends at once.

So a first silence means that it has nothing more to tell. Whether it knows everything itself is another question.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

from skoupa.clock import Clock

SETTLE_SECONDS: Final = 1.0


async def settling(chunks: AsyncGenerator[bytes, None], clock: Clock) -> AsyncGenerator[bytes, None]:
    """The same pieces, with an empty one before them where the first does not come at once."""
    async with aclosing(chunks):
        first = asyncio.ensure_future(anext(chunks, None))
        try:
            try:
                async with clock.timeout(SETTLE_SECONDS):
                    await asyncio.shield(first)
            except TimeoutError:
                yield b""
            chunk = await first
        finally:
            first.cancel()
            await asyncio.wait([first])
        while chunk is not None:
            yield chunk
            chunk = await anext(chunks, None)
