"""One try to hand a message over by HTTP, and what came of it as a value.

What is said about a failure never holds a URL, a host, a header or an answer's text: receivers echo what they were
sent, and a webhook's address is as good as a password. Redirects are not followed, because they would carry the
message and its headers to an address that nobody configured.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Final, Protocol

import aiohttp
import msgspec
from yarl import URL

from skoupa import __version__, names
from skoupa.errors import SkoupaError
from skoupa.kube.login.secret import Secret
from skoupa.report.notices.routes import proxy_for

LONGEST_WAIT: Final = 900.0
# Slack answers with a word of its own: invalid_payload, no_service, channel_is_archived.
_A_WORD: Final = re.compile(rb"[a-z]+(_[a-z]+){1,5}")
_AGAIN: Final = frozenset({408, 425, 429})
_NO_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """`tells_why`: the receiver answers a refusal with one word that may be shown."""

    url: Secret
    headers: tuple[tuple[str, Secret], ...]
    body: bytes
    tells_why: bool = False


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Sent, or why not; `again` where another try may help, after `retry_after` seconds if the receiver said so."""

    said: str = ""
    again: bool = False
    retry_after: float = 0.0

    @property
    def sent(self) -> bool:
        return not self.said


class Post(Protocol):
    async def __call__(self, outgoing: Outgoing) -> Outcome: ...

    async def close(self) -> None: ...


class HttpPost:
    """`now` is for the date form of Retry-After; the time limit is the caller's."""

    def __init__(self, now: Callable[[], float], *, environ: Mapping[str, str] = os.environ) -> None:
        self._now = now
        self._environ = environ
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __call__(self, outgoing: Outgoing) -> Outcome:
        try:
            async with await self._send(outgoing) as answer:
                return await self._judged(answer, outgoing)
        except SkoupaError as error:
            return Outcome(said=error.message)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return _broken(error)

    def _send(self, outgoing: Outgoing) -> Awaitable[aiohttp.ClientResponse]:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                # One message of a route is under way at a time: the number of routes is the limit.
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=5),
                timeout=_NO_TIMEOUT,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        proxy = proxy_for(outgoing.url, environ=self._environ)
        own = [("User-Agent", f"{names.COMPONENT}/{__version__}"), ("Accept-Encoding", "identity")]
        url = URL(outgoing.url.reveal())
        to_proxy = {}
        if proxy.authorization:
            to_proxy = {"Proxy-Authorization": proxy.authorization.reveal()}
            # In plain HTTP there is no CONNECT: the proxy reads the message's own headers.
            own += to_proxy.items() if url.scheme == "http" else ()
        return self._session.post(
            url,
            headers=(*own, *((name, value.reveal()) for name, value in outgoing.headers)),
            data=outgoing.body,
            proxy=proxy.url or None,
            proxy_headers=to_proxy or None,
            allow_redirects=False,
        )

    async def _judged(self, answer: aiohttp.ClientResponse, outgoing: Outgoing) -> Outcome:
        status = answer.status
        if 200 <= status < 300:
            return Outcome()
        if 300 <= status < 400:
            return Outcome(said=f"it answered {status}: redirects are not followed, give the address itself")
        if status >= 500 or status in _AGAIN:
            asked = retry_after(answer.headers.get("Retry-After", ""), now=self._now())
            return Outcome(said=f"it answered {status}", again=True, retry_after=asked)
        word = await _word(answer, outgoing) if outgoing.tells_why else ""
        return Outcome(said=f"it refused the message with {status}{word}")


async def _word(answer: aiohttp.ClientResponse, outgoing: Outgoing) -> str:
    said = (await answer.content.read(64)).strip()
    if not _A_WORD.fullmatch(said):
        return ""
    word = said.decode()
    hidden = (outgoing.url, *(value for _, value in outgoing.headers))
    return "" if any(word in secret.reveal() for secret in hidden) else f" ({word})"


def retry_after(text: str, *, now: float) -> float:
    """Seconds to wait; a receiver may ask for a quarter of an hour at most."""
    seconds = 0.0
    if text.isascii() and text.isdecimal():
        seconds = float(text[:9])
    elif text:
        with suppress(ValueError, OverflowError):
            seconds = parsedate_to_datetime(text).timestamp() - now
    return min(max(seconds, 0.0), LONGEST_WAIT)


def _broken(error: Exception) -> Outcome:
    """In words of our own: the library's quote addresses."""
    if isinstance(error, aiohttp.InvalidURL | ValueError) and not isinstance(error, ssl.SSLError):
        return Outcome(said="its address or a header can't be used; check them for stray characters")
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        said = "its certificate is not trusted; add its authority to the file that SSL_CERT_FILE names"
    elif isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        said = "TLS with it failed; check that the port speaks https"
    elif isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        said = "the proxy on the way to it does not answer or refuses; check HTTPS_PROXY and NO_PROXY"
    elif isinstance(error, aiohttp.ClientConnectorDNSError):
        said = "its name can't be resolved"
    elif isinstance(error, aiohttp.ClientConnectorError):
        number = error.os_error.errno
        said = f"it can't be reached: {os.strerror(number).lower() if number else 'no connection'}"
    else:
        said = f"the connection broke ({type(error).__name__})"
    return Outcome(said=said, again=True)
