"""Whether objects of taught kinds have finished, asked in CEL and kept with the state that was asked about.

Nobody waits for an answer: who asks hears that the object is being read, and is called when it was. Objects are read beside the watch:
a few one by one, more of a kind with one list of it, and then not again for a while, however often they change. An answer counts for
the very state that it was given of. What could not be told is asked again after some minutes, since that may have been the machine's fault.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import NotFound, SkoupaError
from skoupa.expr.cel.pool import Pool
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.retention.ends import Ending
from skoupa.runs.using.ends import Answer, evaluated
from skoupa.usage.finishing import Doubt
from skoupa.usage.graph import kind_name

BEING_READ: Final = Doubt("its newest state is being read")
# Those that change together are read together.
GATHER_SECONDS: Final = 0.5
AGAIN_SECONDS: Final = 600.0
# More of a kind than these are read with a list, which then rests for so many times as long as it took.
_FEW: Final = 20
_PART: Final = 10.0


class _Known(msgspec.Struct, frozen=True, gc=False):
    version: str
    answer: Answer


class TaughtEnds:
    """`on_known` hears of objects that more is known of now. `places` are the namespaces to look into, or all ("")."""

    def __init__(
        self,
        client: Client,
        pool: Pool,
        *,
        places: Collection[str],
        on_known: Callable[[Iterable[Uid]], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._pool = pool
        self._places = tuple(places) or ("",)
        self._on_known = on_known
        self._endings: Mapping[str, Ending] = {}
        self._known: dict[Uid, _Known] = {}
        self._rows: dict[Uid, Row] = {}
        self._wanted: dict[Uid, None] = {}
        self._rests_until: dict[Resource, float] = {}
        # When those are asked about again of which it could not be told, by the clock that never jumps.
        self._again_at = math.inf
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def learn(self, endings: Mapping[str, Ending], *, anew: Collection[str]) -> None:
        """Kinds end so from now on; what was said of those in `anew` counts no more."""
        self._endings = endings
        for uid, row in list(self._rows.items()):
            if kind_name(row.resource) in anew or kind_name(row.resource) not in endings:
                self.forget(uid)

    def teaches(self, kind: str) -> bool:
        return kind in self._endings

    def finish(self, row: Row) -> Answer:
        """Of an object of a kind that is taught."""
        known = self._known.get(row.uid)
        self._rows[row.uid] = row
        if known is not None and known.version == row.resource_version:
            return known.answer
        if known is None or not _is_newer(known.version, row.resource_version):
            # Else the watch is about to tell of what was read already.
            self._want(row.uid)
        return BEING_READ

    def forget(self, uid: Uid) -> None:
        for known in (self._known, self._rows, self._wanted):
            known.pop(uid, None)

    def _want(self, uid: Uid) -> None:
        if uid not in self._wanted:
            self._wanted[uid] = None
            self._news.set()

    async def follow(self) -> None:
        """For ever."""
        backoff = Backoff(self._clock)
        while True:
            await self._nap()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            rows = [self._rows[uid] for uid in self._wanted]
            self.error = None
            for resource in dict.fromkeys(row.resource for row in rows):
                of_it = [row for row in rows if row.resource == resource]
                try:
                    await self._read(resource, of_it)
                except SkoupaError as error:
                    self.error = error
            if self.error is None:
                backoff.reset()
            else:
                await self._clock.sleep(backoff.next())
            if self._wanted:
                self._news.set()

    async def _nap(self) -> None:
        unclear = [uid for uid, known in self._known.items() if isinstance(known.answer, Doubt)]
        now = self._clock.monotonic()
        self._again_at = min(self._again_at, now + AGAIN_SECONDS) if unclear else math.inf
        with suppress(TimeoutError):
            async with self._clock.timeout(max(0.0, self._again_at - now) if unclear else None):
                await self._news.wait()
        if self._clock.monotonic() >= self._again_at:
            self._again_at = math.inf
            self._want_again(unclear)

    async def _read(self, resource: Resource, rows: Sequence[Row]) -> None:
        if len(rows) > _FEW:
            await self._list(resource, {row.uid for row in rows})
            return
        found: list[dict[str, Any]] = []
        for row in rows:
            self._wanted.pop(row.uid, None)
        try:
            for row in rows:
                with suppress(NotFound):
                    found.append(
                        await self._client.find(resource, row.name, namespace=row.namespace, view=WHOLE)
                    )
        except SkoupaError:
            self._want_again(row.uid for row in rows)
            raise
        await self._take(resource, found)

    async def _list(self, resource: Resource, uids: Collection[Uid]) -> None:
        now = self._clock.monotonic()
        if now < self._rests_until.get(resource, now):
            # However often they change: it is asked about those that have changed by then.
            await self._clock.sleep(self._rests_until[resource] - now)
        began = self._clock.monotonic()
        for uid in uids:
            self._wanted.pop(uid, None)
        try:
            for place in self._places if resource.namespaced else ("",):
                listing = pages(self._client, resource, WHOLE, scope=Scope(namespace=place))
                async with aclosing(listing):
                    async for page in listing:
                        meant = [one for one in page.items if pack_uid(one["metadata"]["uid"]) in uids]
                        await self._take(resource, meant)
        except SkoupaError:
            self._want_again(uids)
            raise
        ended = self._clock.monotonic()
        self._rests_until[resource] = ended + _PART * (ended - began)

    async def _take(self, resource: Resource, found: Sequence[dict[str, Any]]) -> None:
        ending = self._endings.get(kind_name(resource))
        if ending is None:
            return
        answers = await evaluated(self._pool, ending, resource, found, now=self._clock.now())
        if self._endings.get(kind_name(resource)) is not ending:
            # Another profile counts by now, and whoever asks is told that it is being read.
            self._want_again(pack_uid(one["metadata"]["uid"]) for one in found)
            return
        news: list[Uid] = []
        for one, answer in zip(found, answers, strict=True):
            uid = pack_uid(one["metadata"]["uid"])
            if uid in self._rows:
                self._known[uid] = _Known(str(one["metadata"]["resourceVersion"]), answer)
                news.append(uid)
        if news:
            self._on_known(news)

    def _want_again(self, uids: Iterable[Uid]) -> None:
        for uid in uids:
            if uid in self._rows:
                self._want(uid)


def _is_newer(version: str, than: str) -> bool:
    """Where versions are no numbers nobody can tell."""
    return version.isdecimal() and than.isdecimal() and int(version) > int(than)
