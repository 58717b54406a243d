"""The transport to a real API server: aiohttp, TLS, credentials.

Turns each way in which a connection can fail into one sentence that says what to do. It does not retry (that is
`flow`), except once after a 401 when fresh credentials could be had. A request that somebody may take back is asked for
once more as its bytes leave: to connect takes a while. Compression is not asked for by default: inside a cluster
inflating costs more than receiving.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self, TypeVar

import aiohttp
from aiohttp.abc import AbstractStreamWriter
from yarl import URL

from skoupa.clock import Clock
from skoupa.errors import BadReply, Disconnected, SkoupaError, TimedOut, Unreachable, Withdrawn
from skoupa.kube.login.connection import Connection
from skoupa.kube.login.credentials import Credentials
from skoupa.kube.login.secret import Secret
from skoupa.kube.sockets import watchful
from skoupa.kube.transport import Request, Response

# Reads of 64 KiB carry a page of a list in a few hundred pieces; aiohttp's own timeouts are off, the Clock's are used.
_READ_SIZE = 2**16
_BEARER = "Bearer "
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class HttpTransport:
    def __init__(self, connection: Connection, clock: Clock, *, compress: bool = False) -> None:
        self._connection = connection
        self._clock = clock
        self._credentials = Credentials(connection, clock=clock)
        self._compress = compress
        secret = connection.proxy_authorization
        self._proxy_headers = {"Proxy-Authorization": secret.reveal()} if secret else None
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def bearer(self) -> Secret:
        """The token that requests carry now; empty where they prove by something else who sends them."""
        for name, value in await self._credentials.headers():
            if name == "Authorization" and value.startswith(_BEARER):
                return Secret(value.removeprefix(_BEARER))
        return Secret()

    async def send(self, request: Request) -> Response:
        response = await self._send_once(request)
        if response.status == 401 and await self._credentials.refused():
            response = await self._send_once(request)
        return response

    async def _send_once(self, request: Request) -> Response:
        # Outside of the time limit: a login in the browser may take a person longer than any answer.
        own = await self._credentials.headers()
        # A read that nobody wants any more does no harm; with a body, even an empty one, some of them are refused.
        wanted = request.still_wanted if request.body else None
        body = _Body(request.body, wanted) if wanted is not None else None
        try:
            async with (
                self._clock.timeout(request.timeout),
                await self._request(request, own, body=body) as answer,
            ):
                # Not `answer.read()`, which keeps the body: an answer is part of a circle and lives until the next collection.
                content = await answer.content.read()
                return Response(status=answer.status, headers=_lower(answer.headers), body=content)
        except TimeoutError as error:
            raise self._timed_out(request) from error
        except (aiohttp.ClientError, OSError) as error:
            if body is not None and body.withdrawn:
                raise Withdrawn(
                    f"{request.verb} {request.kind}: not sent, it is not wanted any more"
                ) from error
            raise connection_failure(error, self._connection) from error

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[_Answer]:
        answer = await self._begin(request)
        try:
            if answer.status == 401 and await self._credentials.refused():
                answer.release()
                answer = await self._begin(request)
            yield _Answer(answer, self._connection)
        finally:
            # Not `release`: the rest of a watch never comes, so the connection can't be used again.
            answer.close()

    async def _begin(self, request: Request) -> aiohttp.ClientResponse:
        own = await self._credentials.headers()
        try:
            async with self._clock.timeout(request.timeout):
                return await self._request(request, own)
        except TimeoutError as error:
            raise self._timed_out(request) from error
        except (aiohttp.ClientError, OSError) as error:
            raise connection_failure(error, self._connection) from error

    async def _request(
        self, request: Request, own: tuple[tuple[str, str], ...], *, body: _Body | None = None
    ) -> aiohttp.ClientResponse:
        connection = self._connection
        if self._session is None:
            # No limit on connections: each watch holds one for good, and `flow` bounds the rest.
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, socket_factory=watchful),
                timeout=_NO_TIMEOUT,
                read_bufsize=_READ_SIZE,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
            # aiohttp would send GET, PUT and DELETE again by itself, unasked and uncounted; `flow` decides about that.
            self._session._retry_connection = False  # noqa: SLF001 - it has no public name
        wanted = (self._compress or request.compressed) and not connection.disable_compression
        headers = (("Accept-Encoding", "gzip" if wanted else "identity"), *own, *request.headers)
        return await self._session.request(
            request.method,
            URL(connection.server + request.path, encoded=True).with_query(request.query),
            headers=headers,
            data=body or request.body or None,
            ssl=self._credentials.ssl_context() or True,
            server_hostname=connection.tls_server_name or None,
            proxy=connection.proxy_url or None,
            proxy_headers=self._proxy_headers,
            allow_redirects=False,
        )

    def _timed_out(self, request: Request) -> TimedOut:
        return TimedOut(
            f"no answer from {self._connection.server} within {request.timeout:g} s",
            advice="check that the server is up and reachable from here, then try again",
        )


class _Body(aiohttp.BytesPayload):
    """What is written together with the head of its request, in one piece, and only if it is wanted at that moment.

    Whoever asks sooner asks too soon: a process may stand still at any moment, and between two steps of a busy event loop
    there are dozens of requests on their way.
    """

    def __init__(self, content: bytes, still_wanted: Callable[[], bool]) -> None:
        super().__init__(content)
        self._still_wanted = still_wanted
        self.withdrawn = False

    async def write_with_length(self, writer: AbstractStreamWriter, content_length: int | None) -> None:
        if not self._still_wanted():
            self.withdrawn = True
            raise ConnectionAbortedError
        await super().write_with_length(writer, content_length)


class _Answer:
    def __init__(self, answer: aiohttp.ClientResponse, connection: Connection) -> None:
        self._answer = answer
        self._connection = connection

    @property
    def status(self) -> int:
        return self._answer.status

    @property
    def headers(self) -> Mapping[str, str]:
        return _lower(self._answer.headers)

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in self._answer.content.iter_any():
                yield chunk
        except (aiohttp.ClientError, OSError) as error:
            raise connection_failure(error, self._connection) from error


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {key.lower(): value for key, value in headers.items()}


_TLS_ALERTS = {
    "certificate_expired": "the server says that your client certificate has expired; renew it",
    "certificate_required": "the server wants a client certificate and the kubeconfig has none",
    "unknown_ca": "the server does not know the authority that signed your client certificate",
    "bad_certificate": "the server refuses your client certificate",
}


def connection_failure(error: Exception, connection: Connection) -> SkoupaError:
    """What went wrong between here and the server, in one sentence with what to do."""
    server = connection.server
    source = connection.source or "the kubeconfig"
    certificate = _cause(error, ssl.SSLCertVerificationError)
    if certificate is not None:
        return Unreachable(
            f"the certificate of {server} is not trusted: {certificate.verify_message}",
            advice=f"check certificate-authority and tls-server-name in {source}",
        )
    tls = _cause(error, ssl.SSLError)
    if tls is not None:
        said = str(tls).lower().replace(" ", "_")
        known = next((advice for alert, advice in _TLS_ALERTS.items() if alert in said), "")
        advice = known or f"check that the server in {source} speaks TLS on that port"
        return Unreachable(f"TLS with {server} failed ({tls.reason or tls})", advice=advice)
    if isinstance(error, aiohttp.ClientProxyConnectionError | aiohttp.ClientHttpProxyError):
        return Unreachable(
            f"the proxy {connection.proxy_url} for {server} does not answer: {error}",
            advice=f"check proxy-url in {source} and HTTPS_PROXY",
        )
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Unreachable(
            f"the name in {server} can't be resolved",
            advice=f"check the server in {source} and your network or VPN",
        )
    if isinstance(error, aiohttp.ClientConnectorError):
        return Unreachable(
            f"{server} can't be reached: {_reason(error.os_error)}",
            advice=f"check that the cluster is up and that {source} names the right server",
        )
    if isinstance(error, aiohttp.ClientResponseError):
        return BadReply(
            f"{server} does not speak HTTP as an API server does ({' '.join(error.message.split())})",
            advice=f"check the server in {source}",
        )
    return Disconnected(
        f"the connection to {server} ended in the middle of an answer ({type(error).__name__})",
        advice="try again; if it goes on, look at the server and what stands between",
    )


def _reason(error: OSError) -> str:
    """The system's words; asyncio puts the address in their place, and nothing where the other side just left."""
    return os.strerror(error.errno).lower() if error.errno else str(error) or "it closed the connection"


_Cause = TypeVar("_Cause", bound=BaseException)


def _cause(error: BaseException | None, kind: type[_Cause]) -> _Cause | None:
    """The first error of that kind among an error, its causes, and the errors that aiohttp wraps."""
    seen = 0
    while error is not None and seen < 10:
        # What is wrapped first: aiohttp's wrapper of a certificate error passes for one and says nothing.
        for candidate in (getattr(error, "certificate_error", None), getattr(error, "os_error", None), error):
            if isinstance(candidate, kind):
                return candidate
        error = error.__cause__ or error.__context__
        seen += 1
    return None
