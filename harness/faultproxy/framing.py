"""HTTP/1.1 framing: the heads of messages, and where their bodies end.

A body is read in pieces as they arrive; every piece keeps the bytes as they were on the wire beside the
payload in them, so that a message can be passed on untouched or framed anew. A message that ends before its
end is Truncated; one that makes no sense is a BadMessage. No compression, no upgrades, no HTTP/2.
"""

import asyncio
import re
from http import HTTPStatus
from typing import Literal, Protocol

import msgspec

from harness.faultproxy.faults import Headers

LAST_CHUNK = b"0\r\n\r\n"
PIECE_BYTES = 64 * 1024


class BadMessage(Exception):
    """The peer sent something that is not HTTP/1.1."""


class Truncated(Exception):
    """The peer ended the connection inside a message."""


class RequestHead(msgspec.Struct, frozen=True):
    method: str
    target: str
    headers: Headers


class ResponseHead(msgspec.Struct, frozen=True):
    version: str
    status: int
    reason: str
    headers: Headers


class Framing(msgspec.Struct, frozen=True):
    """How the end of a body is found; "none" is a message that cannot have one."""

    kind: Literal["none", "length", "chunked", "until-close"]
    length: int = 0


NO_BODY = Framing("none")


class Piece(msgspec.Struct, frozen=True):
    raw: bytes
    payload: bytes


class Body(Protocol):
    framing: Framing

    async def read(self) -> Piece | None:
        """The next piece as soon as there is one; None at the end."""


class WireBody:
    """A Body that is read from a connection."""

    def __init__(self, reader: asyncio.StreamReader, framing: Framing) -> None:
        self.framing = framing
        self._reader = reader
        self._left = framing.length
        self._ended = False

    async def read(self) -> Piece | None:
        match self.framing.kind:
            case "none":
                return None
            case "length":
                return await self._read_counted()
            case "chunked":
                return await self._read_chunk()
            case "until-close":
                data = await self._reader.read(PIECE_BYTES)
                return Piece(data, data) if data else None

    async def _read_counted(self) -> Piece | None:
        if not self._left:
            return None
        data = await self._reader.read(min(self._left, PIECE_BYTES))
        if not data:
            raise Truncated(f"{self._left} bytes of the body are missing")
        self._left -= len(data)
        return Piece(data, data)

    async def _read_chunk(self) -> Piece | None:
        if self._ended:
            return None
        start = b""
        if not self._left:
            start = await _read_until(self._reader, b"\r\n")
            self._left = _chunk_size(start)
            if not self._left:
                self._ended = True
                return Piece(start + await self._read_trailers(), b"")
        payload = await self._reader.read(min(self._left, PIECE_BYTES))
        if not payload:
            raise Truncated(f"{self._left} bytes of a chunk are missing")
        self._left -= len(payload)
        end = b"" if self._left else await _read_until(self._reader, b"\r\n")
        if end not in {b"", b"\r\n"}:
            raise BadMessage(f"a chunk is longer than it says: {end[:40]!r}")
        return Piece(start + payload + end, payload)

    async def _read_trailers(self) -> bytes:
        trailers = b""
        while True:
            line = await _read_until(self._reader, b"\r\n")
            trailers += line
            if line == b"\r\n":
                return trailers


async def read_request_head(reader: asyncio.StreamReader) -> RequestHead | None:
    """The head of the next request; None where the client has ended the connection between requests."""
    try:
        raw = await _read_until(reader, b"\r\n\r\n")
    except Truncated:
        return None
    start, headers = _parse_head(raw)
    match start.split(" "):
        case [method, target, "HTTP/1.1"] if target.startswith("/"):
            return RequestHead(method, target, headers)
        case _:
            raise BadMessage(f"expected 'METHOD /path HTTP/1.1', got {start[:80]!r}")


async def read_response_head(reader: asyncio.StreamReader) -> ResponseHead:
    """The head of the final response; interim ones (1xx) are skipped."""
    while True:
        start, headers = _parse_head(await _read_until(reader, b"\r\n\r\n"))
        match start.split(" ", 2):
            case [version, code, *reason] if version.startswith("HTTP/1.") and code.isdecimal():
                if int(code) >= 200:
                    return ResponseHead(version, int(code), " ".join(reason), headers)
            case _:
                raise BadMessage(f"expected 'HTTP/1.1 CODE', got {start[:80]!r}")


def request_bytes(head: RequestHead) -> bytes:
    return _head_bytes(f"{head.method} {head.target} HTTP/1.1", head.headers)


def response_bytes(head: ResponseHead) -> bytes:
    return _head_bytes(f"{head.version} {head.status} {head.reason}", head.headers)


def answer_head(status: int, headers: Headers) -> ResponseHead:
    return ResponseHead("HTTP/1.1", status, HTTPStatus(status).phrase, headers)


def header(headers: Headers, name: str) -> str:
    """The value of the header, or nothing; several headers of one name are one list."""
    return ", ".join(value for key, value in headers if key.lower() == name)


def without(headers: Headers, *names: str) -> Headers:
    return tuple((key, value) for key, value in headers if key.lower() not in names)


def request_framing(head: RequestHead) -> Framing:
    return _framing(head.headers) or NO_BODY


def response_framing(head: ResponseHead, *, method: str) -> Framing:
    if method == "HEAD" or head.status in {204, 304}:
        return NO_BODY
    return _framing(head.headers) or Framing("until-close")


def closes(headers: Headers) -> bool:
    return "close" in header(headers, "connection").lower()


def as_chunked(head: ResponseHead) -> ResponseHead:
    headers = without(head.headers, "content-length", "transfer-encoding")
    return msgspec.structs.replace(head, headers=(*headers, ("Transfer-Encoding", "chunked")))


def chunk(payload: bytes) -> bytes:
    """The payload as one chunk; no payload is no chunk, because an empty chunk is the end of a body."""
    return b"%x\r\n%b\r\n" % (len(payload), payload) if payload else b""


def _framing(headers: Headers) -> Framing | None:
    if header(headers, "transfer-encoding").lower() == "chunked":
        return Framing("chunked")
    length = header(headers, "content-length")
    if not length:
        return None
    if not (length.isascii() and length.isdecimal()):
        raise BadMessage(f"a Content-Length is a number, not {length[:40]!r}")
    return Framing("length", int(length))


def _parse_head(raw: bytes) -> tuple[str, Headers]:
    start, *lines = raw[:-4].decode("latin-1").split("\r\n")
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            raise BadMessage(f"expected 'Name: value', got {line[:80]!r}")
        headers.append((name, value.strip(" \t")))
    return start, tuple(headers)


def _head_bytes(start: str, headers: Headers) -> bytes:
    lines = [start, *(f"{name}: {value}" for name, value in headers), "", ""]
    return "\r\n".join(lines).encode("latin-1")


def _chunk_size(line: bytes) -> int:
    # int() alone would take signs and underscores too.
    size = re.match(rb"[0-9a-fA-F]+(?=[ \t;\r])", line)
    if size is None:
        raise BadMessage(f"expected the size of a chunk, got {line[:40]!r}")
    return int(size[0], 16)


async def _read_until(reader: asyncio.StreamReader, end: bytes) -> bytes:
    try:
        return await reader.readuntil(end)
    except asyncio.IncompleteReadError as incomplete:
        raise Truncated(f"the connection ended behind {incomplete.partial[:80]!r}") from None
    except asyncio.LimitOverrunError as overrun:
        raise BadMessage(f"no end of a head or of a chunk's size within {overrun.consumed} bytes") from None
