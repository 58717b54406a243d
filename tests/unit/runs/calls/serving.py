"""A service for policies to call: a real HTTPS server on loopback with an authority of its own, and names that lead there."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractResolver, ResolveResult

from skoupa.clock import SystemClock
from skoupa.settings import PolicySettings
from tests.unit.kube.login.pki import Pair, issue

HOST = "prices.shop.example"
AUTHORITY = issue("an authority")
OTHER_AUTHORITY = issue("another authority")
LOOPBACK = ("127.0.0.0/8",)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Hasty(SystemClock):
    """Whatever is allowed to take a second may take a tenth of it."""

    def timeout(self, seconds: float | None) -> Any:
        return super().timeout(None if seconds is None else seconds / 10)


class Names(AbstractResolver):
    """DNS as the test has it; several answers are given one after another, the last one from then on."""

    def __init__(self, **found: str | list[str]) -> None:
        self._found = {
            name.replace("_", "."): found if isinstance(found, list) else [found]
            for name, found in found.items()
        }
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked.append(host)
        answers = self._found.get(host)
        if answers is None:
            raise OSError(f"no such name: {host}")
        text = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in text.split(",")
        ]

    async def close(self) -> None:
        """There is nothing to let go."""


def here() -> Names:
    return Names(prices_shop_example="127.0.0.1")


class Service:
    def __init__(self, port: int, scheme: str) -> None:
        self.port = port
        self.origin = f"{scheme}://{HOST}:{port}"
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self.connections = 0

    def settings(self, **more: Any) -> PolicySettings:
        return PolicySettings(
            **{
                "allowed_hosts": (f"{HOST}:{self.port}",),
                "allowed_networks": LOOPBACK,
                "call_timeout": "5s",
                **more,
            }
        )


async def prices(request: web.Request) -> web.StreamResponse:
    return web.json_response({"pear": 3, "path": request.path})


async def hanging(request: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()
    return web.Response()


@asynccontextmanager
async def served(
    handler: Handler = prices, *, tls: bool = True, names: str = HOST, by: Pair = AUTHORITY
) -> AsyncIterator[Service]:
    found: list[Service] = []

    async def noting(request: web.BaseRequest) -> web.StreamResponse:
        found[0].requests.append(
            (
                request.method,
                request.raw_path if hasattr(request, "raw_path") else str(request.rel_url),
                dict(request.headers),
                await request.read(),
            )
        )
        return await handler(request)  # type: ignore[arg-type] # a plain server hands over the same

    runner = web.ServerRunner(web.Server(noting), shutdown_timeout=0.1)
    await runner.setup()
    with TemporaryDirectory() as folder:
        context = _context(issue(names, by=by), Path(folder)) if tls else None
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        port = runner.addresses[0][1]
        found.append(Service(port, "https" if tls else "http"))
        try:
            yield found[0]
        finally:
            await runner.cleanup()


def _context(pair: Pair, folder: Path) -> ssl.SSLContext:
    certificate, key = folder / "tls.crt", folder / "tls.key"
    certificate.write_text(pair.certificate, encoding="ascii")
    key.write_text(pair.key, encoding="ascii")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    return context
