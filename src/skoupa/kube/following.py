"""One connection of a watch at a time: the list, streamed or in pages, and the changes after it.

It remembers how far it has read, so that the next connection goes on from there, and whether it was interrupted. A server
that can't stream lists is asked for pages, by all watches of its client. A connection that is silent for too long, or a
streamed list that does not end, is an error like any other: whether and when to try again is for `watch`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from typing import Final, Generic, TypeVar

import msgspec

from skoupa.errors import ApiError, BadRequest, Disconnected, Invalid, SkoupaError, TimedOut
from skoupa.kube.client import Client, describe, refusal
from skoupa.kube.lines import Batch, LineReader
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import View
from skoupa.kube.resources import Resource
from skoupa.kube.settling import settling as until_settled
from skoupa.kube.transport import Request, Stream
from skoupa.kube.watched import (
    Begun,
    Changed,
    Interrupted,
    Listed,
    Progressed,
    Reread,
    Resumed,
    Synced,
    WatchEvent,
)

T = TypeVar("T")
Query = tuple[tuple[str, str], ...]
_STREAMED_LIST: Final[Query] = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))

REFUSAL_SECONDS: Final = 10.0


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds after which a connection counts as dead, or a streamed list as none.

    Bookmarks come about once a minute, and once in a while not for two. A server that takes `sendInitialEvents` without
    knowing it sends objects and then nothing, or changes for ever: the closing bookmark must come within
    `closing_bookmark` of the last line and within `streamed_list` of the first.
    """

    silence: float = 130.0
    closing_bookmark: float = 20.0
    streamed_list: float = 300.0


PATIENCE: Final = Patience()


class Following(Generic[T]):
    """What one watch remembers between connections: how far it has read."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        view: View[T],
        *,
        scope: Scope,
        page_size: int,
        patience: Patience,
        anew: Scope | None,
    ) -> None:
        self._client = client
        self._resource = resource
        self._view = view
        self._anew = anew
        self._scope = scope
        self._page_size = page_size
        self._patience = patience
        self._version = ""
        self._streaming = False
        self._not_streamed: SkoupaError | None = None
        self._list_ends = float("inf")
        self._behind = False
        self.doing = f"watch {describe(resource, namespace=scope.namespace)}"

    @property
    def listing(self) -> bool:
        return not self._version

    def forget(self) -> None:
        self._version = ""

    def interrupted(self, error: SkoupaError, wait: float) -> Interrupted:
        self._behind = True
        if self._anew == self._scope and self._client.streams_lists:
            # One request, as much as to go on: a list and the watch after it.
            self.forget()
        return Interrupted(error, wait)

    def refused_streaming(self, error: SkoupaError) -> bool:
        """Whether the list can be asked for at once in pages, because the server can't stream it."""
        if not self._streaming or not isinstance(error, Invalid | BadRequest | _NoClosingBookmark):
            return False
        self._not_streamed = error
        # A server that has streamed before is not unable: something on the way swallowed the rest of the answer.
        return not (isinstance(error, _NoClosingBookmark) and self._client.streams_lists)

    async def follow(self) -> AsyncGenerator[WatchEvent[T], None]:
        """One connection's worth of events; returns when the server ended it properly."""
        able = self._client.streams_lists is not False and self._not_streamed is None
        self._streaming = self.listing and able
        if self._streaming:
            query = (*self._watch_query(), *_STREAMED_LIST)
            async with aclosing(self._streamed(query)) as streamed:
                async for event in streamed:
                    yield event
            return
        if self.listing:
            async with aclosing(self._paged()) as paged:
                async for event in paged:
                    yield event
        async with aclosing(self._batches(self._watch_query())) as batches:
            async for batch in batches:
                if batch is None:
                    yield Resumed()
                elif isinstance(batch, Reread):
                    yield batch
                else:
                    for event in self._told(batch):
                        yield event

    async def _reread(self, scope: Scope) -> AsyncGenerator[Reread[T], None]:
        listing = pages(self._client, self._resource, self._view, scope=scope, page_size=self._page_size)
        async with aclosing(listing):
            async for page in listing:
                yield Reread(page.items, page.undecodable)

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
        # Only now: what was refused may have been the selector and not the streaming.
        if isinstance(self._not_streamed, ApiError) or not self._client.streams_lists:
            self._client.streams_lists = False
        self._not_streamed = None
        self._version = version
        yield Synced(version)

    async def _streamed(self, query: Query) -> AsyncGenerator[WatchEvent[T], None]:
        """The initial state as watch events up to the closing bookmark, then changes on the same connection."""
        yield Begun()
        self._list_ends = self._client.clock.monotonic() + self._patience.streamed_list
        async with aclosing(self._batches(query)) as batches:
            async for batch in batches:
                assert isinstance(batch, Batch), "a list does not resume"
                if self._version:
                    for event in self._told(batch):
                        yield event
                    continue
                if batch.unsettled:
                    raise _NoClosingBookmark(f"{self.doing}: changes came before the list was complete")
                closing = batch.closing
                initial = batch.changes if closing is None else batch.changes[:closing]
                if initial or batch.undecodable:
                    yield Listed([change.object for change in initial], batch.undecodable)
                if closing is not None:
                    self._client.streams_lists = True
                    self._version = batch.version
                    yield Synced(batch.closing_version)
                    if batch.changes[closing:]:
                        yield Changed(batch.changes[closing:])

    def _told(self, batch: Batch[T]) -> Iterator[WatchEvent[T]]:
        self._version = batch.version or self._version
        if batch.changes or batch.undecodable:
            yield Changed(batch.changes, batch.undecodable)
        elif batch.version:
            yield Progressed(batch.version)

    async def _batches(self, query: Query) -> AsyncGenerator[Batch[T] | Reread[T] | None, None]:
        """What the connection brings, a batch for each piece that the network delivers; None: it has settled."""
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
                body = await self._whole(stream)
                raise refusal(stream.status, stream.headers, body, doing=self.doing)
            reader = LineReader(self._view, doing=self.doing)
            settling, self._behind = self._behind and not self.listing, False
            if settling and self._anew is not None:
                # Not before the watch stands: a server that refuses it would be asked for the list at every try.
                async with aclosing(self._reread(self._anew)) as pages_again:
                    async for page in pages_again:
                        yield page
            pieces = stream.chunks()
            async with aclosing(until_settled(pieces, self._client.clock) if settling else pieces) as chunks:
                while (chunk := await self._next(chunks)) is not None:
                    if not chunk:
                        yield None
                        continue
                    batch = reader.read(chunk)
                    # What stands before an error in the same piece of the stream happened and is told first.
                    if batch.changes or batch.version or batch.undecodable:
                        yield batch
                    if reader.error:
                        raise reader.error
            if reader.rest:
                raise Disconnected(f"{self.doing}: the answer was cut in the middle of an event")

    async def _whole(self, stream: Stream) -> bytes:
        try:
            async with self._client.clock.timeout(REFUSAL_SECONDS):
                return b"".join([chunk async for chunk in stream.chunks()])
        except TimeoutError as error:
            raise TimedOut(
                f"{self.doing}: refused ({stream.status}), and the reason did not arrive"
            ) from error

    async def _next(self, chunks: AsyncGenerator[bytes, None]) -> bytes | None:
        listing = self._streaming and self.listing
        patience = self._patience.silence
        if listing:
            left = self._list_ends - self._client.clock.monotonic()
            patience = min(self._patience.closing_bookmark, left)
        try:
            async with self._client.clock.timeout(patience):
                return await anext(chunks, None)
        except TimeoutError as error:
            if listing:
                raise _NoClosingBookmark(f"{self.doing}: the list did not end in a bookmark") from error
            raise TimedOut(f"{self.doing}: nothing arrived for {patience:.0f} s") from error

    def _watch_query(self) -> Query:
        query = (*self._scope.query(), ("watch", "1"), ("allowWatchBookmarks", "true"))
        return (*query, ("resourceVersion", self._version)) if self._version else query


class _NoClosingBookmark(TimedOut):
    """The server took the request for a streaming list for an ordinary watch."""
