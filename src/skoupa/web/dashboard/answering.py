"""The questions that the pages ask, as addresses, and the pages themselves.

Whoever serves them brings an `Opening`: it looks at who asks, raises where they may not, and gives the board with what they may
see. The pages are the same files for everybody and have nothing in them; all that is known comes through a board.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from importlib.resources import files
from typing import Final, Protocol

import msgspec
from aiohttp import web

from skoupa.web.dashboard.questions import Filters, Which, filters_of, nothing_of, which_of
from skoupa.web.dashboard.shapes import BOARD, Brakes, Objects, Overview, Policies, Remembered
from skoupa.web.shapes import Document

_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
_INDEX: Final = "index.html"
# Nothing from elsewhere, nothing inline, nothing in a frame; text becomes no markup, by mistake either.
SAFE_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

_encoder: Final = msgspec.json.Encoder()


class Board(Protocol):
    """What one who asks may see."""

    async def overview(self) -> Overview: ...

    async def objects(self, which: Which) -> Objects: ...

    async def brakes(self) -> Brakes: ...

    async def history(self, filters: Filters) -> Remembered: ...

    async def policies(self) -> Policies: ...


Opening = Callable[[web.Request], Awaitable[Board]]
Limit = Callable[[], AbstractAsyncContextManager[object]]
Answer = Callable[[Board, web.Request], Awaitable[Document]]


def page_routes() -> list[web.RouteDef]:
    """Read once, so that what is served is what was there at the start."""
    found = {
        one.name: (one.read_bytes(), _TYPES[f".{one.name.rpartition('.')[2]}"])
        for one in files("skoupa.web").joinpath("pages").iterdir()
        if f".{one.name.rpartition('.')[2]}" in _TYPES
    }

    def serving(name: str) -> Callable[[web.Request], Awaitable[web.Response]]:
        body, kind = found[name]

        async def answer(_: web.Request) -> web.Response:
            response = web.Response(body=body, content_type=kind, charset="utf-8")
            response.headers["Cache-Control"] = "no-cache"
            return response

        return answer

    routes = [web.get(f"/assets/{name}", serving(name)) for name in sorted(found) if name != _INDEX]
    return [web.get("/", serving(_INDEX)), *routes]


def board_routes(opening: Opening, *, limit: Limit = nullcontext) -> list[web.RouteDef]:
    """`limit` is entered for each answer, and ends it where it takes too long."""

    def asking(answer: Answer) -> Callable[[web.Request], Awaitable[web.Response]]:
        async def handler(request: web.Request) -> web.Response:
            async with limit():
                board = await opening(request)
                document = await answer(board, request)
            response = web.Response(body=_encoder.encode(document), content_type="application/json")
            response.headers["Cache-Control"] = "no-store"
            return response

        return handler

    return [
        web.get(f"{BOARD}/overview", asking(_overview)),
        web.get(f"{BOARD}/objects", asking(_objects)),
        web.get(f"{BOARD}/brakes", asking(_brakes)),
        web.get(f"{BOARD}/history", asking(_history)),
        web.get(f"{BOARD}/policies", asking(_policies)),
    ]


async def make_safe(_: web.Request, response: web.StreamResponse) -> None:
    """For `on_response_prepare` of whoever serves pages."""
    response.headers.update(SAFE_HEADERS)


async def _overview(board: Board, request: web.Request) -> Document:
    nothing_of(request.query.items())
    return await board.overview()


async def _objects(board: Board, request: web.Request) -> Document:
    return await board.objects(which_of(request.query.items()))


async def _brakes(board: Board, request: web.Request) -> Document:
    nothing_of(request.query.items())
    return await board.brakes()


async def _history(board: Board, request: web.Request) -> Document:
    return await board.history(filters_of(request.query.items()))


async def _policies(board: Board, request: web.Request) -> Document:
    nothing_of(request.query.items())
    return await board.policies()
