"""Right before something goes because nobody needs it, everything that could need it is asked once more.

Watches tell late at times, and some never again. So all objects of the kinds that could point at it, own or deploy it are listed as
they are at this moment: their metadata alone, one list per kind and namespace for all that wait together. Only what differs from the
graph is read. What was found so is good for a few seconds; what could not be read keeps the objects that it could matter for, and those
alone, and is asked about again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.retaining.usage_feed import UsageFeed
from skoupa.controller.retaining.usage_feeds import UsageFeeds
from skoupa.controller.retaining.usage_graph import UsageGraph, release_of
from skoupa.controller.retaining.wanted_feeds import Key
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


class _Trouble(msgspec.Struct, frozen=True):
    """`rest` is for how long nothing is asked again."""

    why: str
    rest: float


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
        # Those that could not be asked about: why, and when that is tried again.
        self._troubles: dict[Uid, str] = {}
        self._resting: dict[Uid, float] = {}
        self._backoffs: dict[Key, Backoff] = {}
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
        if uid not in self._wanted and uid not in self._resting:
            self._wanted[uid] = None
            self._news.set()

    def forget(self, uid: Uid) -> None:
        for known in (self._wanted, self._good_until, self._asked, self._troubles, self._resting):
            known.pop(uid, None)

    async def follow(self) -> None:
        while True:
            await self._nap()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            wanted, self._wanted = self._wanted, {}
            rows = [row for uid in wanted if (row := self._store.get(uid)) is not None]
            if rows:
                troubles = await self._ask(rows)
                await self._on_asked()
                self._answer(rows, troubles)
            rested = self._rested()
            self._look_at(dict.fromkeys([*(row.uid for row in rows), *rested]))

    async def _nap(self) -> None:
        now = self._clock.monotonic()
        first = min(self._resting.values(), default=None)
        try:
            async with self._clock.timeout(None if first is None else max(0.0, first - now)):
                await self._news.wait()
        except TimeoutError:
            return

    def _rested(self) -> list[Uid]:
        """Those whose rest is over: whether they are to be asked about again is for who judges them."""
        now = self._clock.monotonic()
        over = [uid for uid, until in self._resting.items() if until <= now]
        for uid in over:
            del self._resting[uid]
        return over

    def _answer(self, rows: Iterable[Row], troubles: Mapping[Uid, _Trouble]) -> None:
        now = self._clock.monotonic()
        for row in rows:
            if self._store.get(row.uid) is None:
                # It went meanwhile, and was forgotten.
                continue
            trouble = troubles.get(row.uid)
            if trouble is not None:
                self._troubles[row.uid] = trouble.why
                self._resting[row.uid] = now + trouble.rest
                continue
            asked = self._asked[row.uid] = self._asked.get(row.uid, -1) + 1
            self._troubles.pop(row.uid, None)
            self._good_until[row.uid] = now + GOOD_SECONDS * 2.0 ** min(asked, _MOST_DOUBLED)

    async def _ask(self, rows: Sequence[Row]) -> dict[Uid, _Trouble]:
        """Brings the graph up to date; what stood in the way, for those that it could matter for."""
        ahead = iter(tuple(self._lists(rows)))
        found: dict[Uid, _Trouble] = {}
        self.error = None

        async def work() -> None:
            for key, feed, scope in ahead:
                try:
                    await self._compare(key, feed, scope)
                except SkoupaError as error:
                    self.error = error
                    rest = self._backoffs.setdefault(key, Backoff(self._clock)).next()
                    trouble = _Trouble(f"{key.resource.qualified}: {error.brief}", rest)
                    for row in self._concerned(rows, key, scope):
                        found.setdefault(row.uid, trouble)
                else:
                    self._backoffs.pop(key, None)
                if len(found) == len(rows):
                    # None of them goes by what else there is to know.
                    return

        async with asyncio.TaskGroup() as group:
            for _ in range(_LISTS_AT_ONCE):
                group.create_task(work())
        return found

    def _concerned(self, rows: Iterable[Row], key: Key, scope: Scope) -> Iterator[Row]:
        """Those that something of this kind there could use, own or deploy."""
        known: dict[tuple[str, frozenset[str]], bool] = {}
        for row in rows:
            if scope.namespace not in ("", row.namespace) and not key.namespace:
                # Asked for one namespace alone, since nothing of the kind reaches out of it.
                continue
            asked = (kind_name(row.resource), frozenset(owner_kind(owner) for owner in row.owners))
            if asked not in known:
                referrers = self._feeds.referrers(frozenset((asked[0],)), asked[1])
                known[asked] = any(one == key for one, _ in referrers)
            if known[asked]:
                yield row

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
