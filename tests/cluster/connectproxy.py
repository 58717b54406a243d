"""A tiny HTTP proxy that only knows CONNECT: enough to see whether a client goes through it, and with what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

READ_BYTES = 64 * 1024


class ConnectProxy:
    """`tunnels` are the places that were asked for; `credentials` what was shown for each."""

    def __init__(self, *, refuse: int = 0) -> None:
        self._refuse = refuse
        self.url = ""
        self.tunnels: list[str] = []
        self.credentials: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
            method, place, _ = head[0].split(" ")
            headers = dict(line.split(": ", 1) for line in head[1:] if line)
            self.tunnels.append(place)
            self.credentials.append(headers.get("Proxy-Authorization", ""))
            if method != "CONNECT" or self._refuse:
                writer.write(f"HTTP/1.1 {self._refuse or 405} Refused\r\nContent-Length: 0\r\n\r\n".encode())
                await writer.drain()
                return
            host, _, port = place.rpartition(":")
            inner_reader, inner_writer = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(_pump(reader, inner_writer))
                tasks.create_task(_pump(inner_reader, writer))
        except (OSError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await source.read(READ_BYTES):
            target.write(data)
            await target.drain()
    target.close()


@asynccontextmanager
async def connect_proxy(*, refuse: int = 0) -> AsyncIterator[ConnectProxy]:
    proxy = ConnectProxy(refuse=refuse)
    server = await asyncio.start_server(proxy.serve, "127.0.0.1", 0)
    async with server:
        proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield proxy
