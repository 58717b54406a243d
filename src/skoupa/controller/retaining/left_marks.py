"""Marks of objects that are not seen any more: taken off where only the label is gone.

A watch of what has a label says the same of an object that was deleted and of one that lost its label. So those that had a mark are looked
at before anything is written, a few one by one, more of a kind with one list. What Skoupa itself deleted, or what goes with its
Namespace, is not asked about. Nothing is lost if nobody gets to it: a mark on an object without a label does no harm by itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import NotFound, SkoupaError
from skoupa.facts.rows import Extraction, Row, Uid
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource

# What leaves within a moment is looked at together.
GATHER_SECONDS: Final = 2.0
# More of a kind in a namespace than these are looked at with one list.
_FEW: Final = 10
_MOST: Final = 10_000


class LeftMarks:
    """`free` hears of those that are still there, as they are now; `ends` says that what is in a namespace goes with it."""

    def __init__(
        self,
        client: Client,
        extraction: Extraction,
        *,
        free: Callable[[Row], None],
        ends: Callable[[str], bool],
        acting: Callable[[], bool],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._extraction = extraction
        self._free = free
        self._ends = ends
        self._acting = acting
        self._left: dict[Uid, Row] = {}
        # Those whose delete was sent: the watch tells of it a little later.
        self._deleted: dict[Uid, None] = {}
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def deleted(self, uid: Uid) -> None:
        """Skoupa deleted it; whoever hears of that first."""
        self._left.pop(uid, None)
        self._deleted[uid] = None
        if len(self._deleted) > _MOST:
            del self._deleted[next(iter(self._deleted))]

    def left(self, row: Row) -> None:
        if row.uid in self._deleted or row.deleted_at or not self._acting():
            return
        self._left[row.uid] = row
        self._news.set()

    def back(self, uid: Uid) -> None:
        """It is seen again."""
        self._left.pop(uid, None)

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            places: dict[tuple[Resource, str], dict[Uid, Row]] = {}
            for uid, row in self._left.items():
                places.setdefault((row.resource, row.namespace), {})[uid] = row
            try:
                for (resource, namespace), rows in places.items():
                    if not namespace or not self._ends(namespace):
                        await self._look(resource, namespace, rows)
                    for uid in rows:
                        self._left.pop(uid, None)
            except SkoupaError as error:
                self.error = error
                self._news.set()
                await self._clock.sleep(backoff.next())
            else:
                self.error = None
                backoff.reset()

    async def _look(self, resource: Resource, namespace: str, rows: dict[Uid, Row]) -> None:
        found: list[Row] = []
        if len(rows) > _FEW:
            scope = Scope(namespace=namespace)
            async with aclosing(pages(self._client, resource, METADATA, scope=scope)) as listing:
                async for page in listing:
                    if page.first:
                        found.clear()
                    found += [self._extraction.row(resource, one) for one in page.items]
        else:
            for row in rows.values():
                with suppress(NotFound):
                    one = await self._client.find(resource, row.name, namespace=namespace, view=METADATA)
                    found.append(self._extraction.row(resource, one))
        for row in _still(found, rows):
            if row.uid in self._left:
                self._free(row)


def _still(found: Iterable[Row], rows: dict[Uid, Row]) -> Iterable[Row]:
    """Another of that name is none of them, and what is being deleted needs no more."""
    return (row for row in found if row.uid in rows and not row.deleted_at)
