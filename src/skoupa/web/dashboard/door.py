"""Who may see the pages that a person serves to themselves, on their own machine.

Other programs there can reach the port, and so can every page in a browser: nothing is told without the secret of the address
that was printed. It stands behind the `#`, which browsers send to nobody; the page puts it into a header, which pages of others
can't. A name that leads here and is not this machine's (DNS rebinding) is refused before anything is read.
"""

from __future__ import annotations

import hmac
import ipaddress
import secrets
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec
from aiohttp import web

from skoupa import names
from skoupa.errors import Forbidden, SkoupaError, Status, Unauthorized, UsageError
from skoupa.web.dashboard.answering import Board, board_routes, make_safe, page_routes
from skoupa.web.refusing import Refused, status_of
from skoupa.web.shapes import BEARER, refusal, status_body

_UNKNOWN: Final = "this page needs the address that `skoupa dashboard` printed when it started: its end, after token=, is what lets you in"
_STRANGER: Final = "this address is not known by that name: open the one that `skoupa dashboard` printed"

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def new_secret() -> str:
    return secrets.token_urlsafe(24)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Door:
    """`host` is where it listens: beyond loopback only for who asked for it, and then by its address or that name."""

    def __init__(self, board: Board, *, secret: str, host: str) -> None:
        self._board = board
        self._secret = secret
        self._host = host

    def application(self) -> web.Application:
        app = web.Application(client_max_size=1024, middlewares=[self._guarded])
        app.add_routes([*page_routes(), *board_routes(self._opened)])
        app.on_response_prepare.append(make_safe)
        return app

    async def _opened(self, request: web.Request) -> Board:
        shown = request.headers.get(names.CALLER_HEADER, "").removeprefix(BEARER)
        if not hmac.compare_digest(shown.encode(errors="surrogateescape"), self._secret.encode()):
            raise Refused(401, "NoToken", _UNKNOWN)
        return self._board

    @web.middleware
    async def _guarded(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        if not self._is_called(request.host):
            return _refusing(refusal(421, "UnknownHost", _STRANGER))
        try:
            return await handler(request)
        except (web.HTTPNotFound, web.HTTPMethodNotAllowed):
            return _refusing(refusal(404, "UnknownPath", "there is no such page"))
        except ConnectionError:
            raise
        except SkoupaError as error:
            return _refusing(_in_words(error))
        except Exception as error:  # noqa: BLE001 - the boundary
            return _refusing(status_of(error))

    def _is_called(self, host: str) -> bool:
        """The port is not looked at: who comes through a tunnel has another one."""
        name = _without_port(host).lower()
        if is_loopback(name):
            return True
        if is_loopback(self._host):
            return False
        return name == self._host.lower() or _is_address(name)


def _without_port(host: str) -> str:
    if host.startswith("["):
        return host.partition("]")[0].removeprefix("[")
    return host.partition(":")[0]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _in_words(error: SkoupaError) -> Status:
    """What a command would have said on the terminal, with what to do about it."""
    match error:
        case Forbidden() | Unauthorized():
            # Not 401: that is for who does not know the secret of this page.
            status = refusal(403, "Forbidden", error.message)
        case UsageError():
            status = refusal(400, "BadRequest", error.message)
        case _:
            status = refusal(503, "CannotAsk", error.message)
    return msgspec.structs.replace(status, details={**(status.details or {}), "advice": error.advice})


def _refusing(status: Status) -> web.Response:
    return web.Response(body=status_body(status), status=status.code, content_type="application/json")
