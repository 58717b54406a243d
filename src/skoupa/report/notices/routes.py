"""A route that can be used: its settings, with what is secret read from where it is.

Everything secret is a `Secret` from here on, so no repr, log line or error can show it; errors name the route and the
place. A file is read again for every message, because mounted Secrets are rotated; while it can't be read or holds
nothing usable, the last good value stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, Literal, Protocol

import msgspec

from skoupa.errors import UsageError
from skoupa.kube.login.connection import Origin
from skoupa.kube.login.proxy import Proxy
from skoupa.kube.login.proxy import choose as choose_proxy
from skoupa.kube.login.secret import Secret
from skoupa.settings.notice_checks import check_header_value, check_notices, check_url
from skoupa.settings.notices import From, NoticeSettings, RouteSettings, What

_LARGEST_FILE: Final = 64 * 1024


class Kept:
    """A secret that is looked up anew each time, with the last good value behind it."""

    def __init__(self, look_up: Callable[[], Secret]) -> None:
        self._look_up = look_up
        self._last = look_up()

    def now(self) -> Secret:
        with suppress(UsageError):
            self._last = self._look_up()
        return self._last


class Route(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    type: Literal["slack", "webhook"]
    url: Kept
    headers: tuple[tuple[str, Kept], ...] = ()
    template: str | None = None
    secret: Kept | None = None
    events: frozenset[What]

    def secrets(self) -> Iterable[Secret]:
        """All that must not be shown of it."""
        yield self.url.now()
        yield from (value.now() for _, value in self.headers)
        if self.secret is not None:
            yield self.secret.now()


def open_routes(
    notices: NoticeSettings, *, environ: Mapping[str, str] = os.environ, source: str = "the settings"
) -> tuple[Route, ...]:
    """Refuses, with the route's name, what could not work: better at the start than with the first notice."""
    check_notices(notices, source=source)
    return tuple(_open(route, environ=environ, source=source) for route in notices.routes)


def _open(route: RouteSettings, *, environ: Mapping[str, str], source: str) -> Route:
    where = f"{source}: notices.routes, {route.name}"
    url = _kept(
        route.url_from, literal=route.url, environ=environ, where=f"{where}: urlFrom", check=check_url
    )
    proxy_for(url.now(), environ=environ)
    headers = (
        (
            header.name,
            _kept(
                header.value_from,
                literal=header.value,
                environ=environ,
                where=f"{where}: headers: {header.name}",
                check=check_header_value,
            ),
        )
        for header in route.headers
    )
    secret = None
    if route.secret_from is not None:
        secret = _kept(route.secret_from, literal="", environ=environ, where=f"{where}: secretFrom")
    return Route(
        name=route.name,
        type=route.type,
        url=url,
        headers=tuple(headers),
        template=route.template,
        secret=secret,
        events=frozenset(route.events),
    )


class Check(Protocol):
    def __call__(self, text: str, *, where: str) -> None: ...


def _kept(
    place: From | None,
    *,
    literal: str,
    environ: Mapping[str, str],
    where: str,
    check: Check | None = None,
) -> Kept:
    def look_up() -> Secret:
        text = literal if place is None else _read(place, environ=environ, where=where)
        if check is not None:
            check(text, where=where)
        return Secret(text)

    return Kept(look_up)


def _read(place: From, *, environ: Mapping[str, str], where: str) -> str:
    if place.env:
        text = environ.get(place.env, "").strip()
        if not text:
            raise UsageError(
                f"{where}: the variable {place.env} is not set", advice="set it, or name a file with `file`"
            )
        return text
    try:
        with Path(place.file).open("rb") as file:
            text = file.read(_LARGEST_FILE).decode().strip()
    except OSError as error:
        raise UsageError(
            f"{where}: {place.file} can't be read: {error.strerror}",
            advice="check the path and the mounted Secret",
        ) from error
    except UnicodeDecodeError:
        # The error itself would quote the content.
        raise UsageError(
            f"{where}: {place.file} is no UTF-8 text", advice="check the Secret's data"
        ) from None
    if not text:
        raise UsageError(f"{where}: {place.file} is empty", advice="check the Secret's data")
    return text


def proxy_for(url: Secret, *, environ: Mapping[str, str] = os.environ) -> Proxy:
    """HTTPS_PROXY, HTTP_PROXY and NO_PROXY count as they do on the way to the API server."""
    return choose_proxy(server=url.reveal(), proxy_url=Secret(), origin=Origin(), environ=environ)


class Choice(msgspec.Struct, frozen=True):
    """Which route takes it, "" for none; `unknown` is a name that somebody wrote and that is no route."""

    route: str
    unknown: str = ""


def choose(*, own: str, of_namespace: str, known: Iterable[str], default: str) -> Choice:
    """The object's own wish, else its Namespace's, else the default; a name that is no route leads to the default."""
    wanted = own.strip() or of_namespace.strip()
    if not wanted:
        return Choice(default)
    return Choice(wanted) if wanted in known else Choice(default, wanted)
