"""Objects that a policy deleted and that finalizers or a grace period keep for a while: nobody watches them, so they are looked for.

When one is gone its row leaves the store, which closes its record; as long as it is there its row is kept true, so that it is told
as stuck like any other. The longer one takes, the less often it is looked for.
"""

from __future__ import annotations

import asyncio
import heapq
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Extraction, Row, Uid, pack_uid
from skoupa.facts.store import Store
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.runs.choices import Choices

FIRST_SECONDS: Final = 2.0
LONGEST_SECONDS: Final = 120.0
_AT_ONCE: Final = 50


class Leaving:
    def __init__(self, client: Client, *, store: Store, extraction: Extraction) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._store = store
        self._extraction = extraction
        self._waits: dict[Uid, float] = {}
        self._order: list[tuple[float, int, Uid]] = []
        self._count = 0
        self._news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._waits)

    def want(self, uid: Uid) -> None:
        if uid not in self._waits:
            self._plan(uid, FIRST_SECONDS)

    def _plan(self, uid: Uid, wait: float) -> None:
        self._waits[uid] = wait
        self._count += 1
        heapq.heappush(self._order, (self._clock.monotonic() + wait, self._count, uid))
        self._news.set()

    async def follow(self, choices: Choices) -> None:
        while True:
            if not self._order:
                self._news.clear()
                await self._news.wait()
            await self._clock.sleep(max(0.0, self._order[0][0] - self._clock.monotonic()))
            for _ in range(_AT_ONCE):
                if not self._order or self._order[0][0] > self._clock.monotonic():
                    break
                _, _, uid = heapq.heappop(self._order)
                await self._look(uid, choices)

    async def _look(self, uid: Uid, choices: Choices) -> None:
        wait, row = self._waits.pop(uid), self._store.get(uid)
        if row is None or not choices.mechanism.rules_of(uid):
            return
        try:
            fresh = await self._fresh(row)
        except SkoupaError:
            self._plan(uid, min(2 * wait, LONGEST_SECONDS))
            return
        if fresh is None:
            choices.gone(uid)
        else:
            self._plan(uid, min(2 * wait, LONGEST_SECONDS))
            choices.show((fresh,))

    async def _fresh(self, row: Row) -> Row | None:
        """As it is now; None: it is gone. By a list on its name: a run needs no other right."""
        try:
            found = await self._client.find(row.resource, row.name, namespace=row.namespace, view=METADATA)
        except NotFound:
            return None
        if pack_uid(found.metadata.uid) != row.uid:
            return None
        return self._extraction.row(row.resource, found)
