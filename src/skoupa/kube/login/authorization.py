"""Where the Authorization header comes from: a fixed text, a token file, or a credential plugin.

A `Source` hands out a `Grant` and knows by itself when it has to be renewed. A renewal that fails while the old grant is
still good is not an error: the old one is used and the renewal tried again. `renew` is for a grant that the server has
refused; it reaches a plugin at most every ten seconds, whatever the number of refused requests.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from skoupa.clock import Clock
from skoupa.errors import KubeconfigError
from skoupa.kube.login.certificates import certificates, validity
from skoupa.kube.login.connection import BasicAuth, NoAuth, Pem, TokenAuth, TokenFileAuth, header_text
from skoupa.kube.login.execplugin import Answer
from skoupa.kube.login.secret import Secret
from skoupa.kube.login.stamps import Stamps

# A plugin's answer is renewed when a tenth of its life is left, but no more than a minute before its end.
_MARGIN = 60.0
_MARGIN_SHARE = 0.1
_RETRY_AFTER = 5.0
_REFUSALS_APART = 10.0


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """The value of the Authorization header, and a client certificate if the plugin gave one."""

    authorization: Secret = Secret()
    certificate: Pem = Pem()
    key: Pem = Pem()


class Source(Protocol):
    async def current(self) -> Grant: ...

    async def renew(self) -> Grant:
        """A new grant after a refusal, or the same when there is no other."""


class Fixed:
    def __init__(self, auth: NoAuth | TokenAuth | BasicAuth) -> None:
        self._grant = Grant()
        if isinstance(auth, TokenAuth):
            self._grant = Grant(authorization=_bearer(auth.token))
        elif isinstance(auth, BasicAuth):
            pair = f"{auth.username}:{auth.password.reveal()}".encode()
            self._grant = Grant(authorization=Secret("Basic " + b64encode(pair).decode()))

    async def current(self) -> Grant:
        return self._grant

    async def renew(self) -> Grant:
        return self._grant


class TokenFile:
    def __init__(self, auth: TokenFileAuth, *, clock: Clock) -> None:
        self._auth = auth
        self._stamps = Stamps([auth.path], clock=clock)
        self._token = auth.fallback

    async def current(self) -> Grant:
        return self._read(at_once=not self._token)

    async def renew(self) -> Grant:
        return self._read(at_once=True)

    def _read(self, *, at_once: bool) -> Grant:
        if self._stamps.changed(at_once=at_once):
            try:
                self._token = self._content()
                self._stamps.accept()
            except KubeconfigError:
                if not self._token:
                    raise
        return Grant(authorization=_bearer(self._token))

    def _content(self) -> Secret:
        origin, path = self._auth.origin, self._auth.path
        try:
            token = Path(path).read_text(encoding="utf-8").strip()
        except UnicodeDecodeError:
            raise origin.error(
                f"the token file {path} is not text", advice="write the token into it"
            ) from None
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise origin.error(
                f"the token file {path} can't be read ({reason})",
                advice="check the path and the permissions of the file",
            ) from error
        if not token:
            raise origin.error(
                f"the token file {path} is empty", advice="write a token into it, or log in again"
            )
        return Secret(header_text(token, what=f"token in {path}", origin=origin))


class Plugin:
    """Runs one plugin at a time: it may be asking a person."""

    def __init__(self, run: Callable[[], Awaitable[Answer]], *, clock: Clock) -> None:
        self._run = run
        self._clock = clock
        self._lock = asyncio.Lock()
        self._grant: Grant | None = None
        self._renew_at = float("inf")
        self._ends = float("inf")
        self._refused_at = float("-inf")

    async def current(self) -> Grant:
        if self._grant is not None and self._clock.now() < self._renew_at:
            return self._grant
        async with self._lock:
            grant, now = self._grant, self._clock.now()
            if grant is not None and now < self._renew_at:
                return grant
            try:
                return await self._call()
            except KubeconfigError:
                if grant is None or now >= self._ends:
                    raise
                self._renew_at = now + _RETRY_AFTER
                return grant

    async def renew(self) -> Grant:
        async with self._lock:
            now = self._clock.monotonic()
            if self._grant is not None and now - self._refused_at < _REFUSALS_APART:
                return self._grant
            self._refused_at = now
            # Dropped first: if the plugin fails now, it is asked again and its error shown, not the refused grant.
            self._grant = None
            return await self._call()

    async def _call(self) -> Grant:
        answer = await self._run()
        now = self._clock.now()
        self._ends = _end_of(answer)
        margin = min(_MARGIN, (self._ends - now) * _MARGIN_SHARE)
        # An answer that has expired already comes from a clock that is off: it is tried, but not asked for every time.
        self._renew_at = max(self._ends - margin, now + _RETRY_AFTER)
        self._grant = Grant(
            authorization=_bearer(answer.token) if answer.token else Secret(),
            certificate=answer.certificate,
            key=answer.key,
        )
        return self._grant


def _end_of(answer: Answer) -> float:
    # A server refuses an expired certificate in the handshake, where no 401 tells us to renew it: its own date counts.
    ends = answer.expires if answer.expires is not None else float("inf")
    if answer.certificate.given:
        with suppress(ValueError):
            ends = min(ends, validity(certificates(answer.certificate.text.reveal())[0]).ends)
    return ends


def _bearer(token: Secret) -> Secret:
    return Secret(f"Bearer {token.reveal()}")
