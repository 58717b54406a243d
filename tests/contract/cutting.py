"""A transport whose open streams can be cut, as a network does it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from skoupa.clock import Clock
from skoupa.errors import Disconnected
from skoupa.kube.client import Client
from skoupa.kube.transport import Request, Response, Stream, Transport


class Cuttable:
    def __init__(self, inner: Transport, clock: Clock) -> None:
        self._inner = inner
        self._cut = asyncio.Event()
        self.client = Client(self, clock)

    def off(self) -> None:
        """Cuts what is open; what is opened from now on holds."""
        self._cut.set()
        self._cut = asyncio.Event()

    async def send(self, request: Request) -> Response:
        return await self._inner.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield _CuttableStream(stream, self._cut)

    async def close(self) -> None:
        await self._inner.close()


class _CuttableStream:
    def __init__(self, inner: Stream, cut: asyncio.Event) -> None:
        self._inner = inner
        self._cut = cut

    @property
    def status(self) -> int:
        return self._inner.status

    @property
    def headers(self) -> Mapping[str, str]:
        return self._inner.headers

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        async with aclosing(self._inner.chunks()) as chunks:
            while True:
                piece = asyncio.ensure_future(anext(chunks, None))
                cut = asyncio.ensure_future(self._cut.wait())
                try:
                    await asyncio.wait({piece, cut}, return_when=asyncio.FIRST_COMPLETED)
                    if self._cut.is_set():
                        raise Disconnected("the connection was cut")
                    chunk = await piece
                finally:
                    for task in (piece, cut):
                        task.cancel()
                    await asyncio.gather(piece, cut, return_exceptions=True)
                if chunk is None:
                    return
                yield chunk
