"""What policies ask an API server for, answered from manifests: what these can't tell is no answer, never "there is none".

An object that is not in the files is not there; a kind that they do not know, and who may do what, nobody can tell.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec

from skoupa.errors import Unreachable
from skoupa.kube.transport import Request, Response, Stream, Transport

_ADVICE = "plan against the cluster, or add it to what --from names"


class _Details(msgspec.Struct, frozen=True):
    kind: str = ""


class _Status(msgspec.Struct, frozen=True):
    details: _Details | None = None


class _Whole(msgspec.Struct, frozen=True):
    """An answer that was read already."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self.body


class FilesAlone:
    """A transport over that of a cluster in memory."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def send(self, request: Request) -> Response:
        return await self._transport.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        if request.method != "GET":
            raise Unreachable(f"{request.method} {request.path}: files can't tell that", advice=_ADVICE)
        async with self._transport.stream(request) as stream:
            if stream.status < 400:
                yield stream
                return
            body = b"".join([chunk async for chunk in stream.chunks()])
            if stream.status != 404 or not _names_kind(body):
                raise Unreachable(f"GET {request.path}: nothing in the files can answer that", advice=_ADVICE)
            yield _Whole(status=stream.status, headers=stream.headers, body=body)

    async def close(self) -> None:
        await self._transport.close()


def _names_kind(body: bytes) -> bool:
    """Of a kind that is there the server says which object is missing; of a path that leads nowhere it says nothing."""
    try:
        details = msgspec.json.decode(body, type=_Status).details
    except msgspec.DecodeError:
        return False
    return details is not None and bool(details.kind)
