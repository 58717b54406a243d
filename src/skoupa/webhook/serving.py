"""The listener that the API server asks: with a certificate of its own, registered and renewed while it runs.

Every replica serves; each looks at the Secret now and then, so that what one renewed all serve, and the registration is
put back when somebody took it away. Trouble with it is told and never ends the process: without an answer the server
takes policies unasked. An observer registers nothing: it writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

import msgspec
from aiohttp import web

from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.report.endpoints import listening
from skoupa.report.log import Log
from skoupa.report.tls import load, server_context
from skoupa.settings import WebhookSettings
from skoupa.webhook.certificates import Credentials
from skoupa.webhook.keeping import kept_credentials
from skoupa.webhook.registering import ANSWER_SECONDS, PATH, client_config, hosts_of, register
from skoupa.webhook.reviewing import Reviewer

# An object in etcd is no larger than 1.5 MB, and a review has two of them.
_MOST_BYTES: Final = 4 * 2**20
_LOOK_SECONDS: Final = 60.0
# Before the API server stops waiting.
_THINK_SECONDS: Final = ANSWER_SECONDS - 1.0


Handler = Callable[[web.Request], Awaitable[web.Response]]


@asynccontextmanager
async def webhook_served(
    client: Client, reviewer: Reviewer, *, settings: WebhookSettings, namespace: str, log: Log
) -> AsyncIterator[str]:
    """Serves while the block runs, and gives the address in use."""
    registration = _Registration(client, settings=settings, namespace=namespace, log=log)
    app = web.Application(client_max_size=_MOST_BYTES)
    app.add_routes([web.post(PATH, _answering(reviewer, client.clock, log))])
    async with listening(
        app, settings.address, setting="webhook.address", ssl_context=registration.context
    ) as address:
        # Only who listens is registered: else the API server would ask where nobody answers.
        await registration.renew()
        log("policies are reviewed", address=address)
        looking = asyncio.create_task(registration.follow())
        try:
            yield address
        finally:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)


class _Registration:
    """The certificate in use: one context for all, into which a renewed one is loaded."""

    def __init__(self, client: Client, *, settings: WebhookSettings, namespace: str, log: Log) -> None:
        self._client = client
        self._url = settings.url
        self._port = int(settings.address.rpartition(":")[2])
        self._hosts = hosts_of(url=settings.url, namespace=namespace)
        self._namespace = namespace
        self._log = log
        self._told = ""
        self._loaded: Credentials | None = None
        self.context = server_context()

    async def follow(self) -> None:
        while True:
            await self._client.clock.sleep(_LOOK_SECONDS)
            await self.renew()

    async def renew(self) -> None:
        try:
            credentials = await kept_credentials(self._client, namespace=self._namespace, hosts=self._hosts)
            if credentials != self._loaded:
                load(self.context, credentials.certificate + credentials.key)
                self._loaded = credentials
            config = client_config(
                url=self._url,
                namespace=self._namespace,
                port=self._port,
                authorities=credentials.authorities,
            )
            if await register(self._client, config):
                self._log("webhook registered", hosts=", ".join(self._hosts))
        except SkoupaError as error:
            if str(error) != self._told:
                self._log("degraded", level="warning", why=f"policies are not reviewed: {error}")
            self._told = str(error)
        else:
            self._told = ""


def _answering(reviewer: Reviewer, clock: Clock, log: Log) -> Handler:
    async def answer(request: web.Request) -> web.Response:
        body = await request.read()
        try:
            async with clock.timeout(_THINK_SECONDS):
                reply = await reviewer.answer(body)
        except msgspec.DecodeError:
            return web.Response(status=400, text="this is no AdmissionReview\n")
        except TimeoutError:
            # The server then does as if nobody had answered.
            log("a policy was not reviewed in time", level="warning")
            return web.Response(status=503, text="that took too long\n")
        return web.Response(body=reply, content_type="application/json")

    return answer
