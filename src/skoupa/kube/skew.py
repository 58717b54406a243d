"""How far the server's clock is from ours, read off the Date header that every answer carries anyway.

The header has whole seconds, so a server in step with us shows any moment of the last second: the distance is measured
to that second as a whole and is zero inside it. Our own clock may jump, between two answers or while one is under way: a
clock that never does tells by how much. An answer that took long says little, and does not undo what a quick one showed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime
from typing import Final

from skoupa.clock import Clock
from skoupa.kube.transport import Request, Response, Stream, Transport

# The date of an answer that came within this time tells the distance well enough.
_QUICK_SECONDS: Final = 1.0
# Without a quick answer for so long the slow ones have to do: clocks are set right again, too.
_BELIEF_SECONDS: Final = 60.0


class SkewMeter:
    """A transport that looks at the clock on its way."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._last_date = ""
        self._measured = 0.0
        self._quick_at = float("-inf")
        self._ahead_of_steady = self._steady_offset()

    @property
    def skew(self) -> float:
        """Positive: the server is ahead of us."""
        return self._measured - (self._steady_offset() - self._ahead_of_steady)

    def _steady_offset(self) -> float:
        return self._clock.now() - self._clock.monotonic()

    async def send(self, request: Request) -> Response:
        began = self._clock.monotonic()
        response = await self._inner.send(request)
        self._read(response.headers.get("date", ""), began)
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        began = self._clock.monotonic()
        async with self._inner.stream(request) as stream:
            self._read(stream.headers.get("date", ""), began)
            yield stream

    async def close(self) -> None:
        await self._inner.close()

    def _read(self, date: str, began: float) -> None:
        if not date or date == self._last_date:
            return
        self._last_date = date
        try:
            server = parsedate_to_datetime(date).timestamp()
        except (TypeError, ValueError):
            return
        received, moment = self._clock.now(), self._clock.monotonic()
        # By the clock as it is now, which need not be the one of then.
        sent = received - (moment - began)
        if moment - began <= _QUICK_SECONDS:
            self._quick_at, believed = moment, 0.0
        else:
            believed = self.skew if moment - self._quick_at < _BELIEF_SECONDS else 0.0
        # The server wrote it somewhere between `sent` and `received`, in the second that begins with `server`.
        self._measured = min(max(believed, server - received), server + 1.0 - sent)
        self._ahead_of_steady = received - moment
