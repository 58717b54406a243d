"""How the embedded cluster answers: whole or in pieces, with warnings, and when it says no."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence

import msgspec

from skoupa.kube.transport import Response
from skoupa.sim.state.refusals import Refusal

_CHUNK = 64 * 1024


class Answer:
    """A `Stream` over bytes that are made or at hand."""

    def __init__(
        self, *, status: int, headers: Mapping[str, str], chunks: AsyncGenerator[bytes, None]
    ) -> None:
        self.status = status
        self.headers = headers
        self._chunks = chunks

    def chunks(self) -> AsyncGenerator[bytes, None]:
        return self._chunks


async def pieces(body: bytes) -> AsyncGenerator[bytes, None]:
    """A whole body as it would arrive: cut anywhere."""
    for start in range(0, len(body), _CHUNK):
        yield body[start : start + _CHUNK]


def refused(refusal: Refusal) -> Response:
    if not refusal.status.get("reason") and refusal.code == 404:
        plain = {"content-type": "text/plain; charset=utf-8"}
        return Response(status=404, headers=plain, body=str(refusal).encode())
    return Response(
        status=refusal.code,
        headers={"content-type": "application/json", **refusal.headers},
        body=msgspec.json.encode(refusal.status),
    )


def warned(response: Response, warnings: Sequence[str]) -> Response:
    """The answer with its warnings in a header, as RFC 9111 writes them."""
    if not warnings:
        return response
    header = ", ".join(f'299 - "{_quoted(text)}"' for text in warnings)
    return msgspec.structs.replace(response, headers={**response.headers, "warning": header})


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
