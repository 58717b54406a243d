"""How far the server's clock is from ours, read off the Date header that every answer carries anyway.

The header has whole seconds, so a server in step with us shows any moment of the last second: the distance is measured
to that second as a whole and is zero inside it. Between two answers our own clock may jump: a clock that never does tells
by how much.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import parsedate_to_datetime

from skoupa.clock import Clock
from skoupa.kube.transport import Request, Response, Stream, Transport


class SkewMeter:
    """A transport that looks at the clock on its way."""

    def __init__(self, inner: Transport, clock: Clock) -> None:
        self._inner = inner
        self._clock = clock
        self._last_date = ""
        self._measured = 0.0
        self._ahead_of_steady = self._steady_offset()

    @property
    def skew(self) -> float:
        """Positive: the server is ahead of us."""
        return self._measured - (self._steady_offset() - self._ahead_of_steady)

    def _steady_offset(self) -> float:
        return self._clock.now() - self._clock.monotonic()

    async def send(self, request: Request) -> Response:
        sent = self._clock.now()
        response = await self._inner.send(request)
        self._read(response.headers.get("date", ""), sent, self._clock.now())
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        sent = self._clock.now()
        async with self._inner.stream(request) as stream:
            self._read(stream.headers.get("date", ""), sent, self._clock.now())
            yield stream

    async def close(self) -> None:
        await self._inner.close()

    def _read(self, date: str, sent: float, received: float) -> None:
        if not date or date == self._last_date:
            return
        self._last_date = date
        try:
            server = parsedate_to_datetime(date).timestamp()
        except (TypeError, ValueError):
            return
        self._ahead_of_steady = self._steady_offset()
        # The server wrote it somewhere between `sent` and `received`, in the second that begins with `server`.
        if server > received:
            self._measured = server - received
        elif server + 1.0 < sent:
            self._measured = server + 1.0 - sent
        else:
            self._measured = 0.0
