"""Of rows that fit the filters of a restore: what of them is there again in the trash of something that went later.

Somebody made another one of that name, and it went along with its Namespace, its definition or its owner: that is the
newest, and has no row of its own. Looked for in what is to come back anyway, and among the newest other deletions that
fit and may take something along; not for ever. Objects that are named are looked for one by one (`carried`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Final

import msgspec

from skoupa.cli.remembering.carried import Carried, in_pieces, quietly
from skoupa.cli.remembering.ledgers import HistorySource, Sealed
from skoupa.cli.remembering.recalling import Filters, wishes_of
from skoupa.cli.remembering.unkept_company import is_looked_around
from skoupa.ledger.rows import COUNTED, Entry
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.ordering import NAMESPACES

# Each may have much in it, but few of them go.
_NAMESPACES: Final = 200
_OTHERS: Final = 200
_TOLD: Final = 3

Trash = Mapping[str, tuple[Kept, ...]]
Key = tuple[str, str, str]


class Newer:
    """`entries` are the rows that fit, the newest first, and `trash` is what is kept of them."""

    def __init__(self, source: HistorySource, entries: Iterable[Entry], trash: Trash) -> None:
        self._source = source
        self._entries = {entry.id: entry for entry in entries}
        self._trash = trash
        self._newest: dict[Key, Entry] = {}
        for entry in self._entries.values():
            self._newest.setdefault((entry.resource, entry.namespace, entry.name), entry)
        self._uids = {entry.uid for entry in self._entries.values()}
        self._found: dict[Key, Carried] = {}
        self.sealed: Sealed = {}

    async def look(self, filters: Filters, *, now: float, zone: tzinfo) -> list[Carried]:
        if filters.ids or any("/" in word for word in filters.words) or not self._entries:
            return []
        others = await quietly(self._source, self._others(filters, now=now, zone=zone))
        for some in in_pieces({**self._entries, **others}.values()):
            unread = [entry for entry in some if entry.id in others]
            read = (
                await quietly(self._source, self._source.kept(unread, sealed=self.sealed)) if unread else {}
            )
            for entry in some:
                self._learn(entry, (self._trash.get(entry.id) or read.get(entry.id) or ())[1:])
        return list(self._found.values())

    async def _others(self, filters: Filters, *, now: float, zone: tzinfo) -> dict[str, Entry]:
        oldest = min(entry.at for entry in self._newest.values())
        places = {entry.namespace for entry in self._newest.values()}
        found: dict[str, Entry] = {}
        for wish in dict.fromkeys(_wide(wish, oldest) for wish in wishes_of(filters, now=now, zone=zone)):
            homes = msgspec.structs.replace(wish, kind=NAMESPACES)
            rows = [one for one in await self._source.find(homes, limit=_NAMESPACES) if one.name in places]
            rows += (one for one in await self._source.find(wish, limit=_OTHERS) if _takes_along(one))
            found |= {
                one.id: one
                for one in rows
                if one.kept > 0 and one.id not in self._entries and filters.is_by(one.rule)
            }
        return found

    def _learn(self, entry: Entry, along: Iterable[Kept]) -> None:
        """The newest first."""
        for kept in along:
            key = (kept.resource, kept.namespace, kept.name)
            own = self._newest.get(key)
            # What has a row of its own was on its way already.
            if own is not None and own.at < entry.at and kept.uid not in self._uids:
                self._found.setdefault(key, Carried(entry=entry, kept=kept))


def newer_ones(newer: Sequence[Carried]) -> Iterator[str]:
    """Said one by one while they are few."""
    yield from (one.said for one in newer[:_TOLD])
    if len(newer) > _TOLD:
        yield f"{len(newer) - _TOLD} others of these went along with something else, too, later than their rows tell"


def _wide(wish: Wish, oldest: float) -> Wish:
    since = max(oldest, wish.since or oldest)
    return msgspec.structs.replace(wish, kind=None, name=None, namespace=None, since=since, outcomes=COUNTED)


def _takes_along(entry: Entry) -> bool:
    return entry.resource != NAMESPACES and is_looked_around(entry)
