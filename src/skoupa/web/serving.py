"""The listener of `skoupa run` for people: every question is bounded, and nobody is answered without a token.

It has an address of its own, apart from /metrics and the probes: those are asked in the clear and by anybody, this one
speaks TLS where it can and carries tokens. A client that is slow, or sends much, ends by a time limit and holds up
nobody else; when too many ask, the rest is told to come back. No header is ever logged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from functools import cache
from typing import Final

import msgspec
from aiohttp import web

from skoupa import names
from skoupa.clock import Clock
from skoupa.errors import NotErased, Status
from skoupa.install.history import is_served
from skoupa.kube.client import Client
from skoupa.kube.reviews import Caller
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.store import Store
from skoupa.ledger.trash.keyring import Keyring
from skoupa.report.endpoints import listening
from skoupa.report.log import Log
from skoupa.report.opinions import Insight, Opinions
from skoupa.settings import Settings
from skoupa.web.certificate import own_context
from skoupa.web.dashboard.answering import Board, board_routes, make_safe, page_routes
from skoupa.web.dashboard.engine_board import EngineBoards
from skoupa.web.history import HistoryApi
from skoupa.web.identities import Identities
from skoupa.web.mentions import Kinds
from skoupa.web.permissions import Permissions
from skoupa.web.refusing import Refused, status_of
from skoupa.web.shapes import (
    BODIES,
    HISTORY,
    RESTORED,
    STANDING,
    CameBack,
    Document,
    Line,
    named_of,
    question_of,
    status_body,
)
from skoupa.web.standing import standings

MOST_AT_ONCE: Final = 16
_ANSWER_SECONDS: Final = 25.0
_WRITE_SECONDS: Final = 30.0
_MOST_SENT: Final = 256 * 1024
# Tokens of large organisations list all groups of a person.
_LONGEST_HEADER: Final = 64 * 1024
_WHO: Final = (
    "these pages show what you may read in the cluster: give a token of yours, or one that "
    "`kubectl create token NAME -n NAMESPACE` makes for a ServiceAccount"
)
_NO_LEDGER: Final = "this controller keeps no history: its setting ledger.dsn is none"

_encoder: Final = msgspec.json.Encoder()

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def history_served(
    client: Client,
    store: Store,
    *,
    settings: Settings,
    log: Log,
    opinions: Opinions | None = None,
    insight: Insight | None = None,
) -> AsyncIterator[str]:
    """Serves while the block runs, where `api.address` says, and gives the address in use."""
    if not is_served(settings):
        yield ""
        return
    context = own_context(client.clock.now())
    if context is None:
        log(
            "history is served without TLS",
            level="warning",
            why="tokens cross the cluster's network in the clear: install 'skoupa[encryption]'",
        )
    desk = Desk(client, store, settings=settings, log=log, opinions=opinions, insight=insight)
    served = listening(
        desk.application(),
        settings.api.address,
        setting="api.address",
        ssl_context=context,
        longest_header=_LONGEST_HEADER,
    )
    async with desk.working(), served as address:
        log("history is served", address=address, tls="yes" if context else "no")
        yield address


class Desk:
    """`opinions` are those of the engine that runs beside it, if one does; with its `insight` the dashboard is served too."""

    def __init__(
        self,
        client: Client,
        store: Store,
        *,
        settings: Settings,
        log: Log,
        opinions: Opinions | None = None,
        insight: Insight | None = None,
    ) -> None:
        self._clock: Clock = client.clock
        self._log = log
        self._identities = Identities(client)
        self._kept = not isinstance(store, NoStore)
        self._under_way = 0
        self._told = False
        trash = settings.trash

        @cache
        def keyring() -> Keyring:
            return Keyring(
                cluster=store.cluster, clock=client.clock, file=trash.key_file, variable=trash.key_env
            )

        self._opinions = opinions or insight
        self._permissions = Permissions(client)
        self._kinds = Kinds(client)
        self._api = HistoryApi(store, self._permissions, seal=lambda: keyring().opening(), kinds=self._kinds)
        self._boards: EngineBoards | None = None
        if insight is not None:
            self._boards = EngineBoards(
                client,
                insight,
                permissions=self._permissions,
                kinds=self._kinds,
                history=self._api if self._kept else None,
                home=settings.lease.namespace,
            )

    def working(self) -> AbstractAsyncContextManager[None]:
        return self._boards.working() if self._boards is not None else nullcontext()

    def application(self) -> web.Application:
        app = web.Application(client_max_size=_MOST_SENT, middlewares=[self._guarded])
        app.add_routes(
            [
                web.get(HISTORY, self._find),
                web.get(f"{HISTORY}/{{id}}", self._get),
                web.get(BODIES, self._bodies),
                web.delete(f"{BODIES}/{{id}}", self._purge),
                web.post(RESTORED, self._came_back),
            ]
        )
        if self._opinions is not None:
            app.add_routes([web.get(STANDING, self._standing)])
        if self._boards is not None:
            app.add_routes([*page_routes(), *board_routes(self._board, limit=self._limited)])
            app.on_response_prepare.append(make_safe)
        app.on_response_prepare.append(_without_date)
        return app

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if self._under_way >= MOST_AT_ONCE:
            busy = Refused(429, "TooManyRequests", "the controller answers too many others; ask again")
            return _refusing(busy.status)
        self._under_way += 1
        try:
            return await handler(request)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            unknown = "this controller does not know such a question"
            return _refusing(Refused(404, "UnknownPath", unknown).status)
        except web.HTTPRequestEntityTooLarge:
            return _refusing(Refused(413, "BadRequest", "that is too much at once").status)
        except ConnectionError:
            return _nobody_there(request)
        except Exception as error:  # noqa: BLE001 - the boundary
            return _refusing(self._status(request, error))
        finally:
            self._under_way -= 1

    def _status(self, request: web.Request, error: Exception) -> Status:
        """What whoever asked is told, after the log was told what concerns it."""
        status = status_of(error)
        if status.code == 500:
            self._log("failed to answer", level="error", path=request.path, error=type(error).__name__)
        elif (status.code, status.reason) == (403, "CannotAsk") and not self._told:
            self._told = True
            self._log("degraded", level="warning", why=f"nobody is shown any history: {status.message}")
        return status

    async def _caller(self, request: web.Request) -> Caller:
        caller = await self._identities.caller(request.headers.get(names.CALLER_HEADER, ""))
        if not self._kept:
            raise Refused(404, "NoLedger", _NO_LEDGER)
        return caller

    async def _find(self, request: web.Request) -> web.Response:
        async with self._clock.timeout(_ANSWER_SECONDS):
            caller = await self._caller(request)
            return _answer(await self._api.find(caller, question_of(request.query.items())))

    async def _standing(self, request: web.Request) -> web.Response:
        assert self._opinions is not None
        async with self._clock.timeout(_ANSWER_SECONDS):
            caller = await self._identities.caller(request.headers.get(names.CALLER_HEADER, ""))
            asked = named_of(request.query.items())
            found = await standings(self._opinions, self._permissions, caller, asked, kinds=self._kinds)
            return _answer(found)

    async def _board(self, request: web.Request) -> Board:
        assert self._boards is not None
        shown = request.headers.get(names.CALLER_HEADER, "")
        if not shown:
            raise Refused(401, "NoToken", _WHO)
        return self._boards.of(await self._identities.caller(shown))

    def _limited(self) -> AbstractAsyncContextManager[object]:
        return self._clock.timeout(_ANSWER_SECONDS)

    async def _get(self, request: web.Request) -> web.Response:
        async with self._clock.timeout(_ANSWER_SECONDS):
            caller = await self._caller(request)
            return _answer(await self._api.get(caller, request.match_info["id"]))

    async def _purge(self, request: web.Request) -> web.Response:
        async with self._clock.timeout(_ANSWER_SECONDS):
            caller, entry_id = await self._caller(request), request.match_info["id"]
            try:
                done = await self._api.purge(caller, entry_id)
            except NotErased as error:
                what = "purged from the trash, but not erased"
                self._log(what, level="warning", id=entry_id, by=caller.username, why=error.message)
                raise
        if done.number:
            self._log("purged from the trash", id=entry_id, by=caller.username)
        return _answer(done)

    async def _came_back(self, request: web.Request) -> web.Response:
        async with self._clock.timeout(_ANSWER_SECONDS):
            caller = await self._caller(request)
            news = msgspec.json.decode(await request.read(), type=CameBack)
            done = await self._api.came_back(caller, news)
        self._log("noted what came back", objects=done.number, by=caller.username)
        return _answer(done)

    async def _bodies(self, request: web.Request) -> web.StreamResponse:
        async with self._clock.timeout(_ANSWER_SECONDS):
            caller = await self._caller(request)
            lines = await self._api.bodies(caller, request.query.getall("id", []))
        response = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await response.prepare(request)
        async with aclosing(lines):
            try:
                async for line in lines:
                    await self._write(response, line)
            except ConnectionError:
                raise
            except Exception as error:  # noqa: BLE001 - the boundary
                # Too late for a status code: the last line says why there are no more.
                await self._write(response, Line(refusal=self._status(request, error)))
        await response.write_eof()
        return response

    async def _write(self, response: web.StreamResponse, line: Line) -> None:
        try:
            async with self._clock.timeout(_WRITE_SECONDS):
                await response.write(_encoder.encode(line) + b"\n")
        except TimeoutError:
            raise ConnectionResetError("whoever asked does not read the answer") from None


async def _without_date(_: web.Request, response: web.StreamResponse) -> None:
    """Times are read off the API server's answers; it puts its own in where there is none."""
    response.headers.pop("Date", None)


def _nobody_there(request: web.Request) -> web.Response:
    """Whoever asked is gone, or does not read: that is nothing to tell anybody, nor an error of ours."""
    if request.transport is not None:
        # What this returns must not end up behind half an answer.
        request.transport.abort()
    return web.Response(status=499)


def _answer(document: Document) -> web.Response:
    return web.Response(body=_encoder.encode(document), content_type="application/json")


def _refusing(status: Status) -> web.Response:
    headers = {"Retry-After": "1"} if status.code == 429 else None
    return web.Response(
        body=status_body(status), status=status.code, content_type="application/json", headers=headers
    )
