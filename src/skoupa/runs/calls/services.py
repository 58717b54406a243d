"""Calls to services outside the API server: to allowed hosts, by HTTPS, within limits of time and size.

Nothing of Skoupa's own goes along (no token, no cookie, no proxy of the environment), and redirects are not followed: they
would lead past the list of hosts. What is said about a failure names the host, never the path, a header or the answer.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Final

import aiohttp
from aiohttp.abc import AbstractResolver

from skoupa import __version__, names
from skoupa.clock import Clock
from skoupa.errors import BadReply, SkoupaError, Status, TimedOut, Unreachable, UsageError, api_error
from skoupa.runs.calls.answers import Answer
from skoupa.runs.calls.hosts import AllowedHosts, Destination, is_address
from skoupa.runs.calls.protocol import NOTHING, ServiceCall
from skoupa.runs.calls.resolving import CheckedResolver, ForbiddenAddress, check, checked_socket
from skoupa.runs.calls.server import too_large
from skoupa.runs.calls.trust import trusted
from skoupa.settings import PolicySettings, seconds

_TOKEN: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
# Those that steer the connection itself.
_OURS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_NO_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class Services:
    """For the life of a process; `lookup` finds the addresses of names, and is the system's where none is given."""

    def __init__(
        self, clock: Clock, *, settings: PolicySettings, lookup: AbstractResolver | None = None
    ) -> None:
        self._clock = clock
        self._seconds = float(seconds(settings.call_timeout))
        self._most_bytes = settings.max_answer_bytes
        self._hosts = AllowedHosts(settings.allowed_hosts, plain_http=settings.allow_plain_http)
        self._opened = tuple(ip_network(text) for text in settings.allowed_networks)
        self._lookup = lookup
        self._session: aiohttp.ClientSession | None = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    def destination(self, url: str) -> Destination:
        return self._hosts.destination(url)

    async def ask(
        self,
        call: ServiceCall,
        *,
        method: str,
        body: bytes | None = None,
        headers: Mapping[str, str] = NOTHING,
    ) -> Answer:
        """Any answer below 300 and above 399 is one; what to think of its status is for who asked."""
        if method not in {"GET", "POST"}:
            raise UsageError(
                f"policies ask by GET and POST only, not by {method}", advice="write GET or POST"
            )
        destination = self.destination(call.url)
        sent = _headers(headers, method=method)
        context = trusted(call.ca_bundle) if destination.url.scheme == "https" else True
        host = destination.url.raw_host or ""
        if is_address(host):
            check(host, host=destination.shown, private=destination.private, opened=self._opened)
        try:
            async with (
                self._clock.timeout(self._seconds),
                self._open().request(
                    method,
                    destination.url,
                    headers=sent,
                    data=body if method == "POST" else None,
                    ssl=context,
                    allow_redirects=False,
                ) as answer,
            ):
                return await self._read(answer, destination.shown)
        except TimeoutError as error:
            raise TimedOut(
                f"{destination.shown} did not answer within {self._seconds:g} s",
                advice="check that it is up, or raise policies.callTimeout",
            ) from error
        except (aiohttp.ClientError, OSError, ValueError) as error:
            # The library's own words quote addresses and headers.
            raise _broken(error, destination.shown) from None

    def _open(self) -> aiohttp.ClientSession:
        if self._session is None:
            resolver = CheckedResolver(
                self._lookup or aiohttp.ThreadedResolver(), named=self._hosts.names, opened=self._opened
            )
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=16,
                    keepalive_timeout=15,
                    resolver=resolver,
                    use_dns_cache=False,
                    socket_factory=checked_socket(self._opened),
                ),
                timeout=_NO_TIMEOUT,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                # A small answer may inflate to any size; none is asked for compressed.
                auto_decompress=False,
            )
        return self._session

    async def _read(self, answer: aiohttp.ClientResponse, shown: str) -> Answer:
        if 300 <= answer.status < 400:
            raise BadReply(
                f"{shown} sends us on to another address ({answer.status}), and redirects are not followed",
                advice="give the address itself",
            )
        if answer.headers.get("Content-Encoding", "identity").lower() not in {"", "identity"}:
            raise BadReply(f"{shown} answered compressed, unasked", advice="let it answer in plain JSON")
        parts: list[bytes] = []
        size = 0
        async for chunk in answer.content.iter_any():
            size += len(chunk)
            if size > self._most_bytes:
                raise too_large(shown, self._most_bytes)
            parts.append(chunk)
        return Answer(b"".join(parts), where=shown, status=answer.status)


def accepted(answer: Answer) -> Answer:
    """The answer, unless its status says that it is none; its text is not quoted, it may hold what was sent."""
    if not 200 <= answer.status < 300:
        said = api_error(Status(code=answer.status), doing=answer.where)
        raise BadReply(
            f"{answer.where} answered {answer.status}", advice="check what the policy asks it for"
        ) from said
    return answer


def _headers(given: Mapping[str, str], *, method: str) -> dict[str, str]:
    for name, value in given.items():
        if not _TOKEN.fullmatch(name):
            raise UsageError("a header has a name that no header can have", advice="write one like X-Team")
        if name.lower() in _OURS or name.lower().startswith("proxy-"):
            raise UsageError(f"the header {name} is not a policy's to set", advice="leave it out")
        if not value.isascii() or not value.isprintable():
            raise UsageError(
                f"the header {name} has a value that no header can have", advice="write printable ASCII"
            )
    usual = {"User-Agent": f"{names.COMPONENT}/{__version__}", "Accept": "application/json"}
    if method == "POST":
        usual["Content-Type"] = "application/json"
    known = {name.lower() for name in given}
    own = {name: value for name, value in usual.items() if name.lower() not in known}
    return {**own, **given, "Accept-Encoding": "identity"}


def _broken(error: Exception, shown: str) -> SkoupaError:
    if isinstance(error, aiohttp.ClientConnectorCertificateError | ssl.SSLCertVerificationError):
        found = getattr(error, "certificate_error", error)
        why = getattr(found, "verify_message", "") or "it can't be verified"
        return Unreachable(
            f"the certificate of {shown} is not trusted: {why}",
            advice="give its authority as caBundle, and call it by a name that its certificate has",
        )
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return Unreachable(f"TLS with {shown} failed", advice="check that it speaks https on that port")
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Unreachable(f"the name in {shown} can't be resolved", advice="check its spelling, or DNS")
    if isinstance(error, aiohttp.ClientConnectorError):
        cause = error.os_error
        if isinstance(cause, ForbiddenAddress):
            return UsageError(f"{shown} is not called: {cause}", advice="give the address of a service")
        why = os.strerror(cause.errno).lower() if cause.errno else "no connection"
        return Unreachable(f"{shown} can't be reached: {why}", advice="check that it is up")
    if isinstance(error, aiohttp.InvalidURL | ValueError):
        return UsageError(f"{shown} is no address that can be called", advice="write https://HOST/PATH")
    return Unreachable(f"the connection to {shown} broke", advice="check that it speaks HTTP and is up")
