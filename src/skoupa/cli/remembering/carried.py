"""What went along with something else has no row of its own: the row of what took it is looked for, by what is kept there.

Only for objects that are named and have no row. Looks at the Namespace that they were in, at the newest deletions there,
and at the newest of what lives in no namespace; not for ever, and what is sealed stays unknown, which is said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from datetime import tzinfo
from typing import Final

import msgspec

from skoupa.cli.remembering.ledgers import HistorySource
from skoupa.cli.remembering.recalling import Filters, wishes_of
from skoupa.errors import UsageError
from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.rows import COUNTED, Entry
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import Kept

# The Namespace itself may have gone several times, under the same name.
_NAMESPACES: Final = 5
_INSIDE: Final = 200
_IN_NONE: Final = 50
_AT_ONCE: Final = 20
SEALED: Final = "whether it went along with something else can't be seen without the key of the trash"


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """`entry` is the deletion that took it along."""

    entry: Entry
    kept: Kept

    @property
    def said(self) -> str:
        entry = self.entry
        where = f"{entry.namespace}/{entry.name}" if entry.namespace else entry.name
        took = f"{entry.kind} {where}; `skoupa history show {entry.id}` tells about that"
        return f"{self.kept.kind} {self.kept.name} went along with {took}"


class Company(msgspec.Struct, kw_only=True):
    """What went along; `sealed`: of something it can't be seen, since nobody gave the key."""

    carried: list[Carried] = msgspec.field(default_factory=list)
    sealed: bool = False

    def remarks(self) -> list[str]:
        said = [one.said for one in self.carried]
        return [*said, SEALED] if self.sealed else said


async def carried_along(
    source: HistorySource, filters: Filters, found: Iterable[Entry], *, now: float, zone: tzinfo
) -> Company:
    """Of each object that is named and did not go by one of `found`: the newest deletion that took it along, if any."""
    if filters.ids or (filters.outcomes is not None and not set(filters.outcomes) & set(COUNTED)):
        return Company()
    own = [entry for entry in found if entry.outcome in COUNTED]
    company = Company()
    for wish in wishes_of(filters, now=now, zone=zone):
        if wish.name is None or any(_is(wish, entry) for entry in own):
            continue
        try:
            one = await _carrier(source, wish)
        except UsageError:
            company.sealed = True
            continue
        if one is not None:
            company.carried.append(one)
    return company


async def _carrier(source: HistorySource, wish: Wish) -> Carried | None:
    # What is passed over here was not asked for: it tells nobody whether a named object was there.
    hidden, unlooked = source.left_out.hidden, source.left_out.unlooked
    try:
        return await _look(source, wish)
    finally:
        source.left_out.hidden, source.left_out.unlooked = hidden, unlooked


async def _look(source: HistorySource, wish: Wish) -> Carried | None:
    async for some in _candidates(source, wish):
        kept = await source.kept(some)
        for entry in some:
            for one in kept.get(entry.id, ()):
                if one.uid != entry.uid and _is(wish, one):
                    return Carried(entry=entry, kept=one)
    return None


async def _candidates(source: HistorySource, wish: Wish) -> AsyncIterator[list[Entry]]:
    """Deletions of which something is kept; in small pieces, since that may be large."""
    plain = msgspec.structs.replace(wish, name=None, kind=None, namespace="", outcomes=COUNTED)
    if wish.namespace:
        home = msgspec.structs.replace(plain, kind=NAMESPACES.qualified, name=wish.namespace)
        for one in await source.find(home, limit=_NAMESPACES):
            yield [one] if one.kept > 0 else []
        inside = msgspec.structs.replace(plain, namespace=wish.namespace)
        for some in _pieces(await source.find(inside, limit=_INSIDE)):
            yield some
    others = [one for one in await source.find(plain, limit=_IN_NONE) if one.resource != NAMESPACES.qualified]
    for some in _pieces(others):
        yield some


def _pieces(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    kept = [entry for entry in entries if entry.kept > 0]
    return (kept[start : start + _AT_ONCE] for start in range(0, len(kept), _AT_ONCE))


def _is(wish: Wish, one: Entry | Kept) -> bool:
    """Kinds begin with a capital, what kubectl shows does not."""
    kind = wish.kind or ""
    return (
        one.name == wish.name
        and kind in {one.kind, one.resource}
        and (wish.namespace is None or one.namespace == wish.namespace)
    )
