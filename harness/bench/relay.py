"""A relay between a controller and the server that counts what the server sends, as it goes over the wire."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from harness.controlplane import Access

_CHUNK = 1 << 18


class Relay:
    """`received` is what came from the server so far, in bytes, TLS included."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._tasks: set[asyncio.Task[None]] = set()
        self.received = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            there_reader, there_writer = await asyncio.open_connection(self._host, self._port)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, there_writer, counted=False))
                group.create_task(self._carry(there_reader, writer, counted=True))
        except* OSError:
            # Either side may end a connection whenever it likes.
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _carry(
        self, source: asyncio.StreamReader, target: asyncio.StreamWriter, *, counted: bool
    ) -> None:
        try:
            while data := await source.read(_CHUNK):
                if counted:
                    self.received += len(data)
                target.write(data)
                await target.drain()
        finally:
            target.close()

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        for task in list(self._tasks):
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def relay(access: Access, kubeconfig: Path) -> AsyncIterator[Relay]:
    """Writes a kubeconfig that goes through it. The server's certificate is for the host, whatever the port."""
    server = urlsplit(access.url)
    assert server.hostname is not None
    assert server.port is not None
    between = Relay(server.hostname, server.port)
    listening = await asyncio.start_server(between.serve, server.hostname, 0)
    port = listening.sockets[0].getsockname()[1]
    _write(kubeconfig, access, f"https://{server.hostname}:{port}")
    try:
        yield between
    finally:
        listening.close()
        await between.close()


def _write(kubeconfig: Path, access: Access, url: str) -> None:
    text = access.kubeconfig.read_text(encoding="utf-8")
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_text(text.replace(access.url, url), encoding="utf-8")
