"""What went along with something else has no row of its own: the row of what took it is looked for, by what is kept there.

Only for objects that are named, as far as their own rows are older, and for what was in a Namespace that went as a
whole. Looks at the Namespace that they were in, at the newest deletions there, and at the newest of what lives in no
namespace; not for ever. What is sealed, or not in the trash, stays unknown, which is said.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from datetime import tzinfo
from typing import Final, TypeVar

import msgspec

from skoupa.cli.remembering.ledgers import HistorySource
from skoupa.cli.remembering.recalling import Filters, wishes_of
from skoupa.cli.remembering.unkept_company import is_young, lost, may_mean, takes_along_unseen
from skoupa.errors import UsageError
from skoupa.kinds.naming import defines
from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.rows import COUNTED, Entry
from skoupa.ledger.store import Wish
from skoupa.ledger.trash.contents import Kept

R = TypeVar("R")

# The Namespace itself may have gone several times, under the same name.
_NAMESPACES: Final = 5
_INSIDE: Final = 200
_IN_NONE: Final = 50
_AT_ONCE: Final = 20
SEALED: Final = "whether it went along with something else can't be seen without the key of the trash (with --ledger: --key-file, --key-env)"


class Carried(msgspec.Struct, frozen=True, kw_only=True):
    """`entry` is the deletion that took it along. Where it was not kept, `kept` has nothing in it and says why."""

    entry: Entry
    kept: Kept

    @property
    def said(self) -> str:
        not_kept = f" and was not kept: {self.kept.missing}" if self.kept.manifest is None else ""
        took = f"{called(self.entry)}{not_kept}; {_tells(self.entry)}"
        return f"{self.kept.kind} {self.kept.name} went along with {took}"


class Unsure(msgspec.Struct, frozen=True, kw_only=True):
    """A deletion that may have taken `name` along: what went with it is not all known."""

    entry: Entry
    name: str
    why: str

    @property
    def said(self) -> str:
        with_whom = f"went along with {called(self.entry)}"
        return f"whether {self.name} {with_whom} is not known: {self.why}; {_tells(self.entry)}"


class Unrecorded(msgspec.Struct, frozen=True, kw_only=True):
    """Deletions, the newest first, of which no word says what went along: that is not looked for, or nothing is kept."""

    entries: tuple[Entry, ...]

    @property
    def said(self) -> str:
        first, others = self.entries[0], len(self.entries) - 1
        more = f" and {others} other deletion{'s' * (others > 1)} here" if others else ""
        return f"what went along with {called(first)}{more} is not recorded; {_tells(first)}"


class Company(msgspec.Struct, kw_only=True):
    """What went along; `sealed`: of something it can't be seen, since nobody gave the key.

    `homes` are Namespaces that went with all that was in them. `unrecorded` is said where nothing else is known.
    """

    carried: list[Carried] = msgspec.field(default_factory=list)
    unsure: list[Unsure] = msgspec.field(default_factory=list)
    homes: list[Entry] = msgspec.field(default_factory=list)
    unrecorded: Unrecorded | None = None
    sealed: bool = False

    def remarks(self) -> list[str]:
        said = [one.said for one in self.carried] + [one.said for one in self.unsure]
        said += (f"what was in it went along with {called(one)}; {_tells(one)}" for one in self.homes)
        said += [self.unrecorded.said] if self.unrecorded is not None else []
        return [*said, SEALED] if self.sealed else said


def called(entry: Entry) -> str:
    return f"{entry.kind} {entry.namespace}/{entry.name}" if entry.namespace else f"{entry.kind} {entry.name}"


def _tells(entry: Entry) -> str:
    return f"`skoupa history show {entry.id}` tells about that"


async def carried_along(
    source: HistorySource, filters: Filters, found: Iterable[Entry], *, now: float, zone: tzinfo
) -> Company:
    """Of each object that is named: the newest deletion that took it along, if none of `found` is newer.

    Of a namespace without names: the deletion of the Namespace, unless something in it went by itself since.
    """
    if filters.ids or (filters.outcomes is not None and not set(filters.outcomes) & set(COUNTED)):
        return Company()
    own = [entry for entry in found if entry.outcome in COUNTED]
    company = Company()
    homes: dict[str, Entry] = {}
    for wish in wishes_of(filters, now=now, zone=zone):
        if wish.name is None:
            if wish.namespace and wish.namespace not in homes:
                home = await quietly(source, _home(source, wish))
                if home is not None and not any(_is_since(home, entry) for entry in own):
                    homes[wish.namespace] = home
            continue
        newest = max(
            (entry for entry in own if is_meant(wish, entry)), key=lambda entry: entry.at, default=None
        )
        try:
            one = await quietly(source, _look(source, filters, _since(wish, newest), newest))
        except UsageError:
            company.sealed = True
            continue
        if isinstance(one, Carried):
            company.carried.append(one)
        elif isinstance(one, Unsure):
            company.unsure.append(one)
        else:
            company.unrecorded = company.unrecorded or one
    company.homes += homes.values()
    return company


def _since(wish: Wish, newest: Entry | None) -> Wish:
    if newest is None:
        return wish
    return msgspec.structs.replace(wish, since=max(newest.at, wish.since or newest.at))


def _is_since(home: Entry, entry: Entry) -> bool:
    return entry.namespace == home.name and entry.at > home.at


async def quietly(source: HistorySource, look: Awaitable[R]) -> R:
    # What is passed over here was not asked for: it tells nobody whether a named object was there.
    hidden, unlooked = source.left_out.hidden, source.left_out.unlooked
    try:
        return await look
    finally:
        source.left_out.hidden, source.left_out.unlooked = hidden, unlooked


async def _home(source: HistorySource, wish: Wish) -> Entry | None:
    found = await source.find(_homes(wish), limit=_NAMESPACES)
    return next((one for one in found if not one.finalizer), None)


async def _look(
    source: HistorySource, filters: Filters, wish: Wish, newest: Entry | None
) -> Carried | Unsure | Unrecorded | None:
    """`newest` is how it went by itself, if it did: what is kept of that very object elsewhere is nothing newer."""
    doubt: Unsure | None = None
    unrecorded: list[Entry] = []
    async for some in _candidates(source, filters, wish, newest):
        kept = await source.kept([entry for entry in some if entry.kept > 0])
        for entry in some:
            own, *along = kept.get(entry.id) or (None,)
            for one in along:
                if one is not None and is_meant(wish, one):
                    if newest is not None and one.uid == newest.uid:
                        return None
                    return Carried(entry=entry, kept=one)
            for missing in lost(own, entry) if own is not None else ():
                if is_meant(wish, missing.as_kept()):
                    return Carried(entry=entry, kept=missing.as_kept())
            why = next((why for why in _doubts(own, entry, wish) if newest is None or not is_young(why)), "")
            if why and doubt is None:
                doubt = Unsure(entry=entry, name=f"{wish.kind}/{wish.name}", why=why)
            if newest is None and takes_along_unseen(entry, kept.get(entry.id, ())):
                unrecorded.append(entry)
    return doubt or (Unrecorded(entries=tuple(unrecorded)) if unrecorded else None)


def _doubts(own: Kept | None, entry: Entry, wish: Wish) -> Iterator[str]:
    """Why it may have gone with this one although that is not told."""
    if own is not None:
        yield from (said for said in own.unknown if may_mean(said, wish.kind or ""))
    elif entry.resource == NAMESPACES.qualified:
        yield "what was in it is not in the trash" + (" any more" if entry.kept < 0 else "")


def _homes(wish: Wish) -> Wish:
    return msgspec.structs.replace(
        wish, kind=NAMESPACES.qualified, name=wish.namespace, namespace="", outcomes=COUNTED
    )


async def _candidates(
    source: HistorySource, filters: Filters, wish: Wish, newest: Entry | None
) -> AsyncIterator[list[Entry]]:
    """The Namespace, and deletions in it; in small pieces, since what is kept of them may be large."""

    async def find(wish: Wish, limit: int) -> list[Entry]:
        found = await source.find(wish, limit=limit)
        others = [one for one in found if filters.is_by(one.rule) and not one.finalizer]
        return [one for one in others if newest is None or one.id != newest.id]

    plain = msgspec.structs.replace(wish, name=None, kind=None, namespace="", outcomes=COUNTED)
    found = [one for one in await find(plain, _IN_NONE) if one.resource != NAMESPACES.qualified]
    if wish.namespace:
        found += await find(msgspec.structs.replace(plain, namespace=wish.namespace), _INSIDE)
    if wish.namespace:
        found += await find(_homes(wish), _NAMESPACES)
    for some in in_pieces(found):
        yield some


def in_pieces(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    """The newest first; a Namespace alone, since there may be much in it."""
    some: list[Entry] = []
    for entry in sorted(entries, key=lambda entry: (entry.at, entry.id), reverse=True):
        alone = entry.resource == NAMESPACES.qualified
        if some and (alone or len(some) == _AT_ONCE):
            yield some
            some = []
        some.append(entry)
        if alone:
            yield some
            some = []
    if some:
        yield some


def is_meant(wish: Wish, one: Entry | Kept) -> bool:
    """Whether it is the object that is named. Kinds begin with a capital, what kubectl shows does not."""
    kind = wish.kind or ""
    return (
        one.name == wish.name
        and (kind in {one.kind, one.resource} or (one.kind == one.resource and defines(kind, one.resource)))
        and (wish.namespace is None or one.namespace == wish.namespace)
    )
