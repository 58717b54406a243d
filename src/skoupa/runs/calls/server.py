"""A policy's question to the API server: sent, read up to a limit, and answered in words where it fails.

Reads are tried again where the server says that this may help; nothing else is.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Final

from skoupa.errors import ApiError, BadReply, Disconnected, SkoupaError, TimedOut
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client, refusal
from skoupa.kube.transport import Request, Stream
from skoupa.runs.calls.answers import Answer
from skoupa.runs.calls.paths import Path

_TRIES: Final = 3
_CAP_SECONDS: Final = 1.0


class Server:
    def __init__(self, client: Client, *, seconds: float, most_bytes: int) -> None:
        self._client = client
        self._seconds = seconds
        self._most_bytes = most_bytes

    async def ask(self, place: Path, *, method: str, body: bytes | None = None) -> Answer:
        backoff = Backoff(self._client.clock, first=0.2, cap=_CAP_SECONDS)
        for left in range(_TRIES - 1, -1, -1):
            try:
                return await self._once(place, method=method, body=body)
            except (ApiError, Disconnected) as error:
                if not left or method != "GET" or not _may_repeat(error):
                    raise
            await self._client.clock.sleep(backoff.next())
        raise AssertionError("the last try answers or raises")

    async def _once(self, place: Path, *, method: str, body: bytes | None) -> Answer:
        doing = f"{method} {place.shown}"
        headers = [("Accept", "application/json")]
        if method == "POST":
            headers.append(("Content-Type", "application/json"))
        request = Request(
            method="POST" if method == "POST" else "GET",
            path=place.path,
            query=place.query,
            headers=self._client.headers(*headers),
            body=body or b"",
            timeout=self._seconds,
            verb="review" if method == "POST" else "get",
        )
        # The request's own limit ends where the answer begins; an answer may also stop half-way.
        try:
            async with (
                self._client.transport.stream(request) as stream,
                self._client.clock.timeout(self._seconds),
            ):
                found = await self._read(stream, doing=doing)
        except TimeoutError as error:
            raise TimedOut(
                f"{doing}: the answer did not end within {self._seconds:g} s",
                advice="ask for less, or raise policies.callTimeout",
            ) from error
        if stream.status >= 400:
            raise refusal(stream.status, stream.headers, found, doing=doing)
        if stream.status >= 300:
            raise BadReply(
                f"{doing}: the server sends us on ({stream.status})", advice="ask for the path itself"
            )
        return Answer(found, where=doing, status=stream.status)

    async def _read(self, stream: Stream, *, doing: str) -> bytes:
        parts: list[bytes] = []
        size = 0
        async with aclosing(stream.chunks()) as chunks:
            async for chunk in chunks:
                size += len(chunk)
                if size > self._most_bytes:
                    raise too_large(doing, self._most_bytes)
                parts.append(chunk)
        return b"".join(parts)


def too_large(where: str, most: int) -> BadReply:
    return BadReply(
        f"{where}: the answer has more than {most:,} bytes",
        advice="ask for less, for instance with a labelSelector, or raise policies.maxAnswerBytes",
    )


def _may_repeat(error: SkoupaError) -> bool:
    return error.repeatable if isinstance(error, ApiError) else True
