"""A real HTTP server on loopback that takes notices, or misbehaves as it is told to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from aiohttp import web

from skoupa.clock import SystemClock

Behaviour = Callable[[web.Request], Awaitable[web.StreamResponse]]
DEADLINE = 60.0


class HastyClock(SystemClock):
    """Waits between tries are short, so that tests are."""

    def jitter(self, seconds: float) -> float:
        return min(seconds, 0.02)


class Received(msgspec.Struct, frozen=True):
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return msgspec.json.decode(self.body)


class Receiver:
    """`script` is what the next requests meet; after it everything is taken."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[Received] = []
        self.script: list[Behaviour] = []
        self.always: dict[str, Behaviour] = {}
        self._arrived = asyncio.Condition()
        self.stop_hanging = asyncio.Event()

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        async with self._arrived:
            self.requests.append(Received(request.path, dict(request.headers), body))
            self._arrived.notify_all()
        if request.path in self.always:
            return await self.always[request.path](request)
        if self.script:
            return await self.script.pop(0)(request)
        return web.Response(text="ok")

    async def until(self, count: int, *, path: str = "") -> list[Received]:
        async with asyncio.timeout(DEADLINE), self._arrived:
            await self._arrived.wait_for(lambda: len(self.of(path)) >= count)
        return self.of(path)

    def of(self, path: str) -> list[Received]:
        return [one for one in self.requests if not path or one.path == path]

    async def hang(self, _: web.Request) -> web.StreamResponse:
        await self.stop_hanging.wait()
        return web.Response()

    async def drip(self, request: web.Request) -> web.StreamResponse:
        """An answer that begins and never ends."""
        answer = web.StreamResponse(status=404)
        await answer.prepare(request)
        await answer.write(b"no")
        await self.stop_hanging.wait()
        return answer


def answer(status: int, text: str = "", **headers: str) -> Behaviour:
    async def behave(_: web.Request) -> web.StreamResponse:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(status=status, text=text, headers=named)

    return behave


async def close(request: web.Request) -> web.StreamResponse:
    assert request.transport is not None
    request.transport.close()
    return web.Response()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    receiver = Receiver()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", receiver.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield receiver
    finally:
        receiver.stop_hanging.set()
        await runner.cleanup()


async def until(condition: Callable[[], bool]) -> None:
    """Waits for something that no event tells, looking again with every turn of the loop."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110 - a condition of the code under test
            await asyncio.sleep(0.005)
