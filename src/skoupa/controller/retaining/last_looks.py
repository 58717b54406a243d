"""Right before something goes because nobody needs it, everything that could need it is asked once more.

Watches tell late at times, and some never again. So all objects of the kinds that could point at it, own or deploy it are listed as
they are at this moment: their metadata alone, one list per kind and namespace for all that wait together. Only what differs from the
graph is read. What was found so is good for a few seconds; what could not be read keeps the object, and is asked about again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.retaining.usage_feed import UsageFeed
from skoupa.controller.retaining.usage_feeds import Key, UsageFeeds
from skoupa.controller.retaining.usage_graph import UsageGraph, release_of
from skoupa.errors import BadReply, NotFound, SkoupaError
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.facts.store import Store
from skoupa.judge.mechanism import NO_WORD, LastWord
from skoupa.judge.retention import NAME
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.decoding import metadata_of
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Metadata
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Question
from skoupa.usage.graph import kind_name
from skoupa.usage.needs import owner_kind

# Those that are due together are asked about together.
GATHER_SECONDS: Final = 0.2
# For so long an answer is good; for one whose delete takes longer to leave (its copy for the trash, a slow server) longer each time.
GOOD_SECONDS: Final = 5.0
_MOST_DOUBLED: Final = 3
_LISTS_AT_ONCE: Final = 8
# More objects than these are not read one by one, and more namespaces than those not looked into one by one.
_FEW: Final = 50
_FEW_NAMESPACES: Final = 8


class LastLooks:
    """`look_at` has objects judged; `on_asked` hears before it that the graph is up to date. `observing`: what would go is told as it is known."""

    def __init__(
        self,
        client: Client,
        graph: UsageGraph,
        *,
        feeds: UsageFeeds,
        store: Store,
        look_at: Callable[[Iterable[Uid]], None],
        on_asked: Callable[[], Awaitable[None]],
        observing: bool,
    ) -> None:
        self._client = client
        self._on_asked = on_asked
        self._clock: Clock = client.clock
        self._graph = graph
        self._feeds = feeds
        self._store = store
        self._look_at = look_at
        self._observing = observing
        self._wanted: dict[Uid, None] = {}
        # By the clock that never jumps.
        self._good_until: dict[Uid, float] = {}
        # How often it was asked about since it is due.
        self._asked: dict[Uid, int] = {}
        self._troubles: dict[Uid, str] = {}
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def last_word(self, row: Row, claim: Claim, now: float, *, others: Collection[Hold]) -> LastWord:
        if claim.mechanism != NAME or others or claim.due > now or row.deleted_at or self._observing:
            return NO_WORD
        if self._good_until.get(row.uid, float("-inf")) >= self._clock.monotonic():
            return NO_WORD
        why = self._troubles.get(row.uid)
        told = reason("needs-asked") if why is None else reason("needs-unasked", why=why)
        return LastWord((Hold(reason=told),), (Question(rule=claim.rule, now=True),))

    def want(self, uid: Uid) -> None:
        if uid not in self._wanted:
            self._wanted[uid] = None
            self._news.set()

    def forget(self, uid: Uid) -> None:
        for known in (self._wanted, self._good_until, self._asked, self._troubles):
            known.pop(uid, None)

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            wanted, self._wanted = self._wanted, {}
            rows = [row for uid in wanted if (row := self._store.get(uid)) is not None]
            if not rows:
                continue
            self.error = await self._ask(rows)
            if self.error is None:
                await self._on_asked()
                backoff.reset()
                now = self._clock.monotonic()
                for row in rows:
                    asked = self._asked[row.uid] = self._asked.get(row.uid, -1) + 1
                    self._troubles.pop(row.uid, None)
                    self._good_until[row.uid] = now + GOOD_SECONDS * 2.0 ** min(asked, _MOST_DOUBLED)
            else:
                for row in rows:
                    self._troubles[row.uid] = self.error.brief
                await self._clock.sleep(backoff.next())
            self._look_at(row.uid for row in rows)

    async def _ask(self, rows: Sequence[Row]) -> SkoupaError | None:
        """Brings the graph up to date; what stood in the way."""
        ahead = iter(tuple(self._lists(rows)))
        failed: list[SkoupaError] = []

        async def work() -> None:
            for key, feed, scope in ahead:
                try:
                    await self._compare(key, feed, scope)
                except SkoupaError as error:
                    failed.append(error)
                if failed:
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(_LISTS_AT_ONCE):
                group.create_task(work())
        return failed[0] if failed else None

    def _lists(self, rows: Sequence[Row]) -> Iterator[tuple[Key, UsageFeed, Scope]]:
        feeds = self._feeds
        targets = frozenset(kind_name(row.resource) for row in rows)
        owners = frozenset(owner_kind(owner) for row in rows for owner in row.owners)
        places = {row.namespace for row in rows}
        few = "" not in places and len(places) <= _FEW_NAMESPACES
        for key, feed in feeds.referrers(targets, owners):
            if feed.doubt:
                # What is not known holds already, or is waived.
                continue
            kind, scope = kind_name(key.resource), key.scope
            inside = few and key.resource.namespaced and not key.namespace and not key.records
            if inside and not feeds.reaches_across(kind, targets):
                yield from (
                    (key, feed, msgspec.structs.replace(scope, namespace=place)) for place in sorted(places)
                )
            else:
                yield key, feed, scope

    async def _compare(self, key: Key, feed: UsageFeed, scope: Scope) -> None:
        differing: dict[str, Metadata] = {}
        async with aclosing(pages(self._client, key.resource, METADATA, scope=scope)) as listing:
            async for page in listing:
                if page.first:
                    differing.clear()
                if page.undecodable:
                    bad = page.undecodable[0]
                    raise BadReply(f"{key.resource.qualified}/{bad.name} can't be read ({bad.why})")
                for item in page.items:
                    if not self._is_known(key, item.metadata):
                        differing[item.metadata.uid] = item.metadata
        if len(differing) > _FEW:
            await self._read_all(feed, scope, differing)
            return
        for metadata in differing.values():
            try:
                found = await self._client.find(
                    key.resource, metadata.name, namespace=metadata.namespace, view=feed.view
                )
            except NotFound:
                continue
            feed.learn(found)

    def _is_known(self, key: Key, metadata: Metadata) -> bool:
        uid = release_of(metadata.uid) if key.records else pack_uid(metadata.uid)
        known = self._graph.graph.by_uid(uid)
        if known is None:
            return False
        version = metadata.resource_version
        if isinstance(known.version, int) and version.isdecimal():
            return known.version >= int(version)
        return known.resource_version == version

    async def _read_all(self, feed: UsageFeed, scope: Scope, differing: Collection[str]) -> None:
        async with aclosing(pages(self._client, feed.resource, feed.view, scope=scope)) as listing:
            async for page in listing:
                if page.undecodable:
                    bad = page.undecodable[0]
                    raise BadReply(f"{feed.resource.qualified}/{bad.name} can't be read ({bad.why})")
                for item in page.items:
                    if metadata_of(item).uid in differing:
                        feed.learn(item)
