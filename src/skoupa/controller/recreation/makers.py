"""Who makes anew what was deleted: asked of the server once for each object that came back too often, and told with its Hold.

The server writes down in an object's managedFields which program wrote what. What it can't be asked, or does not tell, is left out: the
loop is backed off all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from skoupa import names
from skoupa.controller.recreation.loops import Recreations
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.facts.store import Delta
from skoupa.kube.client import Client
from skoupa.kube.objects import View

# Of a mass that comes back together a few tell who makes it.
MOST_ASKED: Final = 100
_LONGEST: Final = 128


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote something; `operation` is Apply or Update."""

    manager: str = ""
    operation: str = ""
    time: datetime | None = None
    subresource: str = ""


class _Metadata(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    uid: str = ""
    managed_fields: list[Entry] | None = None


class _Written(msgspec.Struct, frozen=True, kw_only=True):
    metadata: _Metadata


_VIEW: Final[View[_Written]] = View(type=_Written, metadata_only=True)


class RecreationMakers:
    """`look_at` has an object judged anew whose maker is known by now."""

    def __init__(
        self, recreations: Recreations, client: Client, *, look_at: Callable[[Iterable[Uid]], None]
    ) -> None:
        self._recreations = recreations
        self._client = client
        self._look_at = look_at
        self._wanted: dict[Uid, Row] = {}
        self._news = asyncio.Event()

    def learn(self, deltas: Sequence[Delta]) -> None:
        """Of what has appeared, so that the name is known by the time that it would go."""
        for delta in deltas:
            if delta.before is None and delta.after is not None and self._recreations.is_back(delta.after):
                if len(self._wanted) >= MOST_ASKED:
                    return
                self._wanted[delta.after.uid] = delta.after
                self._news.set()

    async def follow(self) -> None:
        """Never returns."""
        while True:
            await self._news.wait()
            self._news.clear()
            while self._wanted:
                uid, row = self._wanted.popitem()
                maker = await self._maker(row)
                if maker and self._recreations.made(row, maker):
                    self._look_at((uid,))

    async def _maker(self, row: Row) -> str:
        """Empty where nobody knows."""
        try:
            # The rights of an installation have no get on objects of others.
            found = await self._client.find(row.resource, row.name, namespace=row.namespace, view=_VIEW)
        except SkoupaError:
            return ""
        if pack_uid(found.metadata.uid) != row.uid:
            return ""
        return maker_of(found.metadata.managed_fields or ())


def maker_of(entries: Iterable[Entry]) -> str:
    """The first who wrote it. What was written into a part of its own (status) and what Skoupa wrote says nothing."""
    writers = [
        (one.time, one.operation != "Apply", one.manager)
        for one in entries
        if one.time is not None and one.manager and not one.subresource and one.manager != names.COMPONENT
    ]
    return min(writers)[2][:_LONGEST] if writers else ""
