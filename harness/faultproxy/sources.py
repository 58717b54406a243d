"""Where answers come from: the upstream, or the script.

A Link is one client connection's own connection to the upstream, kept as long as that one, so that what the
upstream does to it (closing, resetting) can be done to the client as well. The client certificate speaks
for requests without an Authorization header only: the API server would prefer it to the client's token.
Answers are neither cached nor retried.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from harness.faultproxy.channel import Channel
from harness.faultproxy.faults import Answer, Garbage, Headers, Scripted, Stream
from harness.faultproxy.framing import (
    LAST_CHUNK,
    Body,
    Framing,
    Piece,
    RequestHead,
    ResponseHead,
    WireBody,
    answer_head,
    chunk,
    header,
    read_response_head,
    request_bytes,
    response_framing,
    without,
)

JSON: Headers = (("Content-Type", "application/json"),)
GARBAGE = {
    "text": Answer(body=b"upstream connect error or disconnect before headers", headers=JSON),
    "truncated": Answer(body=b'{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"na', headers=JSON),
    "html": Answer(
        body=b"<html><body>Please sign in</body></html>", headers=(("Content-Type", "text/html"),)
    ),
}


class Source(msgspec.Struct, frozen=True):
    """An answer whose head is here and whose body may still be under way."""

    head: ResponseHead
    body: Body


class Upstream(msgspec.Struct, frozen=True):
    """How to reach the upstream, without and with the client certificate."""

    host: str
    port: int
    plain: ssl.SSLContext | None
    certified: ssl.SSLContext | None


def upstream_at(url: str, *, ca: Path | None, client_cert: tuple[Path, Path] | None) -> Upstream:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or parts.hostname is None:
        raise ValueError(f"upstream_url is http(s)://host:port, not {url!r}")
    if parts.scheme == "http":
        return Upstream(parts.hostname, parts.port or 80, None, None)
    plain = ssl.create_default_context(cafile=ca)
    certified = plain
    if client_cert is not None:
        certified = ssl.create_default_context(cafile=ca)
        certified.load_cert_chain(*client_cert)
    return Upstream(parts.hostname, parts.port or 443, plain, certified)


class Link:
    def __init__(self, upstream: Upstream, *, tasks: asyncio.TaskGroup, on_lost: Callable[[], None]) -> None:
        self._upstream = upstream
        self._tasks = tasks
        self._on_lost = on_lost
        self._channel: Channel | None = None
        self._feeder: asyncio.Task[None] | None = None
        self._context: ssl.SSLContext | None = None

    @property
    def lost(self) -> bool:
        return self._feeder is not None and self._feeder.done()

    @property
    def was_reset(self) -> bool:
        return self._channel is not None and self._channel.was_reset

    async def ask(self, head: RequestHead, body: Body, *, by_lines: bool) -> Source:
        """Passes the request on and waits for the head of its answer."""
        authorized = bool(header(head.headers, "authorization"))
        channel = await self._connected(self._upstream.plain if authorized else self._upstream.certified)
        headers = without(head.headers, "expect")
        if by_lines:
            # Lines can be told apart in plain text only.
            headers = (*without(headers, "accept-encoding"), ("Accept-Encoding", "identity"))
        await channel.send(request_bytes(msgspec.structs.replace(head, headers=headers)))
        while (piece := await body.read()) is not None:
            await channel.send(piece.raw)
        response = await read_response_head(channel.reader)
        return Source(response, WireBody(channel.reader, response_framing(response, method=head.method)))

    async def drop(self) -> None:
        """Leaves the upstream, in the middle of an answer or not; the next request connects anew."""
        feeder, self._feeder = self._feeder, None
        if feeder is not None:
            feeder.cancel()
            await asyncio.wait({feeder})
        self.close()

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    async def _connected(self, context: ssl.SSLContext | None) -> Channel:
        if self._channel is not None and self._context is context:
            return self._channel
        await self.drop()
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._context = context
        self._channel = Channel(
            sock, context=context, server_side=False, server_hostname=self._upstream.host if context else None
        )
        try:
            await asyncio.get_running_loop().sock_connect(sock, (self._upstream.host, self._upstream.port))
            await self._channel.handshake()
        except BaseException:
            self.close()
            raise
        self._feeder = self._tasks.create_task(self._channel.feed())
        self._feeder.add_done_callback(lambda feeder: None if feeder.cancelled() else self._on_lost())
        return self._channel


class ScriptedBody:
    """A Body that is here already, and may then stay open for ever."""

    def __init__(self, framing: Framing, pieces: list[Piece], *, stay_open: bool) -> None:
        self.framing = framing
        self._pieces = iter(pieces)
        self._stay_open = stay_open

    async def read(self) -> Piece | None:
        piece = next(self._pieces, None)
        if piece is None and self._stay_open:
            await asyncio.get_running_loop().create_future()
        return piece


def scripted(answer: Scripted, *, method: str) -> Source:
    match answer:
        case Stream(lines=lines, stay_open=stay_open):
            head = answer_head(200, (*JSON, ("Transfer-Encoding", "chunked")))
            payloads = [line + b"\n" for line in lines]
            pieces = [Piece(chunk(payload), payload) for payload in payloads]
            if not stay_open:
                pieces.append(Piece(LAST_CHUNK, b""))
            return Source(head, ScriptedBody(Framing("chunked"), pieces, stay_open=stay_open))
        case Garbage(kind=kind):
            return scripted(GARBAGE[kind], method=method)
        case Answer(status=status, body=body, headers=headers):
            if not header(headers, "content-length") and status not in {204, 304}:
                headers = (*headers, ("Content-Length", str(len(body))))
            head = answer_head(status, headers)
            framing = response_framing(head, method=method)
            pieces = [Piece(body, body)] if framing.kind == "length" else []
            return Source(head, ScriptedBody(framing, pieces, stay_open=False))
