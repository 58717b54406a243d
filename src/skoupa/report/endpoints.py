"""/healthz, /readyz and /metrics, on the one HTTP stack of the process (aiohttp)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from skoupa.errors import UsageError
from skoupa.report.metrics import Metrics


@asynccontextmanager
async def serving(
    address: str, *, metrics: Metrics, unready: Callable[[], str], unhealthy: Callable[[], str]
) -> AsyncIterator[str]:
    """Serves while the block runs and gives the address in use; `unready` and `unhealthy` say why not, "" for all well."""
    if not address:
        yield ""
        return
    host, port = _split(address)
    app = web.Application()
    app.add_routes(
        [
            web.get("/healthz", _answering(unhealthy)),
            web.get("/readyz", _answering(unready)),
            web.get("/metrics", _exposing(metrics)),
        ]
    )
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"can't listen on {address}: {error.strerror}", advice="set another `address`"
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
