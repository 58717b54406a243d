"""The state of a kind and its changes, as one endless stream that survives everything.

Contract (kube-rs' `watcher` is the model). `Begun` voids what the reader knew, `Listed` brings objects, `Synced` makes
them the truth in one swap; from then on `Changed`. A cut connection resumes where it was; a 410 starts over with
`Begun`. Each change arrives once. `Interrupted` says that the feed is behind and why; the stream itself never ends and
never raises for the server's sake: a reader that does not want to wait for a 403 to change stops reading.
One task per watch; a silent connection counts as dead after 180 s, for bookmarks come about once a minute.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final, Generic, TypeVar

import msgspec

from skoupa.errors import (
    ApiError,
    BadRequest,
    Disconnected,
    Gone,
    Invalid,
    SkoupaError,
    TimedOut,
)
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client, describe, refusal
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lines import Batch, Change, LineReader
from skoupa.kube.lists import EVERYWHERE, PAGE_SIZE, Scope, pages
from skoupa.kube.objects import View
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request

T = TypeVar("T")

SILENCE_SECONDS: Final = 180.0
# A server that takes `sendInitialEvents` without knowing it sends objects and then nothing: the bookmark that closes a
# streaming list must come within this time of the last line.
CLOSING_BOOKMARK_SECONDS: Final = 20.0


class Begun(msgspec.Struct, frozen=True):
    """A list begins: objects up to `Synced` replace all that was known."""


class Listed(msgspec.Struct, Generic[T], frozen=True):
    objects: list[T]
    undecodable: tuple[Undecodable, ...] = ()


class Synced(msgspec.Struct, frozen=True):
    resource_version: str


class Changed(msgspec.Struct, Generic[T], frozen=True):
    """Changes in the server's order; objects that could not be read are told beside them."""

    changes: list[Change[T]]
    undecodable: tuple[Undecodable, ...] = ()


class Progressed(msgspec.Struct, frozen=True):
    """A bookmark: nothing changed up to this resourceVersion."""

    resource_version: str


class Interrupted(msgspec.Struct, frozen=True):
    """The feed is behind because of `error`; the next try is in `wait` seconds."""

    error: SkoupaError
    wait: float


WatchEvent = Begun | Listed[T] | Synced | Changed[T] | Progressed | Interrupted


async def watch(
    client: Client,
    resource: Resource,
    view: View[T],
    *,
    scope: Scope = EVERYWHERE,
    page_size: int = PAGE_SIZE,
) -> AsyncGenerator[WatchEvent[T], None]:
    feed = _Feed(client, resource, view, scope=scope, page_size=page_size)
    backoff = Backoff(client.clock)
    while True:
        try:
            async with aclosing(feed.follow()) as events:
                async for event in events:
                    # A list that never completes must back off further each time; only a good end of it resets.
                    if isinstance(event, Synced | Changed | Progressed):
                        backoff.reset()
                    yield event
        except Gone as error:
            feed.forget()
            wait = backoff.next() if backoff.failures else 0.0
            backoff.failures = max(backoff.failures, 1)
            yield Interrupted(error, wait)
            await client.clock.sleep(wait)
        except SkoupaError as error:
            if feed.refused_streaming(error):
                continue
            wait = backoff.next()
            if isinstance(error, ApiError) and error.retry_after:
                wait = max(wait, error.retry_after)
            yield Interrupted(error, wait)
            await client.clock.sleep(wait)


class _Feed(Generic[T]):
    """What one watch remembers between connections: how far it has read."""

    def __init__(
        self, client: Client, resource: Resource, view: View[T], *, scope: Scope, page_size: int
    ) -> None:
        self._client = client
        self._resource = resource
        self._view = view
        self._scope = scope
        self._page_size = page_size
        self._version = ""
        self._streaming = False
        self._doing = f"watch {describe(resource, namespace=scope.namespace)}"

    def forget(self) -> None:
        self._version = ""

    def refused_streaming(self, error: SkoupaError) -> bool:
        """Whether the server can't stream lists; from then on the client lists in pages."""
        unable = isinstance(error, Invalid | BadRequest | _NoClosingBookmark)
        if self._streaming and unable and self._client.streams_lists is not False:
            self._client.streams_lists = False
            return True
        return False

    async def follow(self) -> AsyncGenerator[WatchEvent[T], None]:
        """One connection's worth of events; returns when the server ended it properly."""
        self._streaming = not self._version and self._client.streams_lists is not False
        if self._streaming:
            query = (*self._watch_query(), *_STREAMED_LIST)
            async with aclosing(self._streamed(query)) as streamed:
                async for event in streamed:
                    yield event
            return
        if not self._version:
            async with aclosing(self._paged()) as paged:
                async for event in paged:
                    yield event
        async with aclosing(self._batches(self._watch_query())) as batches:
            async for batch in batches:
                for event in self._told(batch):
                    yield event

    async def _paged(self) -> AsyncGenerator[WatchEvent[T], None]:
        version = ""
        listing = pages(
            self._client, self._resource, self._view, scope=self._scope, page_size=self._page_size
        )
        async with aclosing(listing):
            async for page in listing:
                if page.first:
                    yield Begun()
                yield Listed(page.items, page.undecodable)
                version = page.resource_version
        self._version = version
        yield Synced(version)

    async def _streamed(self, query: Query) -> AsyncGenerator[WatchEvent[T], None]:
        """The initial state as watch events up to the closing bookmark, then changes on the same connection."""
        yield Begun()
        async with aclosing(self._batches(query)) as batches:
            async for batch in batches:
                if self._version:
                    for event in self._told(batch):
                        yield event
                    continue
                closing = batch.closing
                initial = batch.changes if closing is None else batch.changes[:closing]
                if initial or batch.undecodable:
                    yield Listed([change.object for change in initial], batch.undecodable)
                if closing is not None:
                    self._client.streams_lists = True
                    self._version = batch.version
                    yield Synced(batch.version)
                    if batch.changes[closing:]:
                        yield Changed(batch.changes[closing:])

    def _told(self, batch: Batch[T]) -> Iterator[WatchEvent[T]]:
        self._version = batch.version or self._version
        if batch.changes or batch.undecodable:
            yield Changed(batch.changes, batch.undecodable)
        elif batch.version:
            yield Progressed(batch.version)

    async def _batches(self, query: Query) -> AsyncGenerator[Batch[T], None]:
        """What the connection brings, a batch for each piece that the network delivers."""
        request = Request(
            path=self._resource.path(namespace=self._scope.namespace),
            query=query,
            headers=self._client.headers(("Accept", self._view.accept(many=False))),
            verb="watch",
            kind=self._resource.qualified,
            repeatable=True,
        )
        async with self._client.transport.stream(request) as stream:
            if stream.status >= 400:
                body = b"".join([chunk async for chunk in stream.chunks()])
                raise refusal(stream.status, stream.headers, body, doing=self._doing)
            reader = LineReader(self._view, doing=self._doing)
            async with aclosing(stream.chunks()) as chunks:
                while (chunk := await self._next(chunks)) is not None:
                    batch = reader.read(chunk)
                    # What stands before an error in the same piece of the stream happened and is told first.
                    if batch.changes or batch.version or batch.undecodable:
                        yield batch
                    if reader.error:
                        raise reader.error
            if reader.rest:
                raise Disconnected(f"{self._doing}: the answer was cut in the middle of an event")

    async def _next(self, chunks: AsyncGenerator[bytes, None]) -> bytes | None:
        listing = self._streaming and not self._version
        patience = CLOSING_BOOKMARK_SECONDS if listing else SILENCE_SECONDS
        try:
            async with self._client.clock.timeout(patience):
                return await anext(chunks, None)
        except TimeoutError as error:
            if listing:
                raise _NoClosingBookmark(f"{self._doing}: the list did not end in a bookmark") from error
            raise TimedOut(f"{self._doing}: nothing arrived for {patience:.0f} s") from error

    def _watch_query(self) -> Query:
        query = (*self._scope.query(), ("watch", "1"), ("allowWatchBookmarks", "true"))
        return (*query, ("resourceVersion", self._version)) if self._version else query


Query = tuple[tuple[str, str], ...]
_STREAMED_LIST: Final[Query] = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))


class _NoClosingBookmark(TimedOut):
    """The server took the request for a streaming list for an ordinary watch."""
