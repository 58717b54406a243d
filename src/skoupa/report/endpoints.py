"""/healthz, /readyz and /metrics, on the one HTTP stack of the process (aiohttp), and how anything else is served there."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Final

from aiohttp import web

from skoupa.errors import UsageError
from skoupa.kube.client import Client
from skoupa.ledger.store import Store
from skoupa.report.metrics import Metrics
from skoupa.report.opinions import Insight

LONGEST_HEADER: Final = 8190
# What else a process serves while it runs, with its own client, ledger and opinions; gives the address.
Beside = Callable[[Client, Store, Insight], AbstractAsyncContextManager[str]]


@asynccontextmanager
async def nothing_beside(client: Client, store: Store, opinions: Insight) -> AsyncIterator[str]:  # noqa: ARG001 - of the type
    yield ""


@asynccontextmanager
async def serving(
    address: str, *, metrics: Metrics, unready: Callable[[], str], unhealthy: Callable[[], str]
) -> AsyncIterator[str]:
    """Serves while the block runs and gives the address in use; `unready` and `unhealthy` say why not, "" for all well."""
    if not address:
        yield ""
        return
    app = web.Application()
    app.add_routes(
        [
            web.get("/healthz", _answering(unhealthy)),
            web.get("/readyz", _answering(unready)),
            web.get("/metrics", _exposing(metrics)),
        ]
    )
    async with listening(app, address, setting="address") as bound:
        yield bound


@asynccontextmanager
async def listening(
    app: web.Application,
    address: str,
    *,
    setting: str,
    ssl_context: ssl.SSLContext | None = None,
    longest_header: int = LONGEST_HEADER,
) -> AsyncIterator[str]:
    """Serves an application while the block runs; `setting` is what to change where the address can't be had."""
    host, port = _split(address)
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=1.0,
        max_field_size=longest_header,
        max_line_size=longest_header,
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, ssl_context=ssl_context)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"can't listen on {address}: {error.strerror}", advice=f"set another `{setting}`"
            ) from error
        bound = runner.addresses[0]
        yield f"{bound[0]}:{bound[1]}"
    finally:
        await runner.cleanup()


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def _answering(problem: Callable[[], str]) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        why = problem()
        return web.Response(text=f"{why or 'ok'}\n", status=503 if why else 200)

    return answer


def _exposing(metrics: Metrics) -> Handler:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(
            body=metrics.exposition(),
            headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"},
        )

    return answer


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    if ":" not in address or not port.isdecimal() or int(port) > 65535:
        raise UsageError(
            f"address {address!r} has no port", advice="write it as HOST:PORT, such as 127.0.0.1:8080"
        )
    return host.strip("[]") or "0.0.0.0", int(port)  # noqa: S104 - all addresses is what an empty host means
