"""Other objects that a row of the history, or a controller, names: what would have gone along, in what held it and in what went wrong.

They are named to who may read them. A row says `Secret shop/login`, without a group: who may not read one of the kinds
that are called so may not read it. What is not named is still said: that something holds it, and what sort of reason.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Final

import msgspec

from skoupa.errors import SkoupaError, UnknownKind
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import NAMESPACES
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import Hold, Verdict
from skoupa.web.permissions import Spot, spot_of_part

HIDDEN: Final = "something that you may not read"
_CUT: Final = f"what is said here names {HIDDEN}"
_OBJECT: Final = "object"
_WHY: Final = "why"
# Of a Brake the reason is its own; of anything else it is about the object.
_OF_ITSELF: Final = frozenset({"brake-inside"})
# As reasons name it: `deleting it would take along Secret shop/login, which stays`.
_NAMED: Final = re.compile(r"take along (?P<kind>[^\s/,]+) (?P<place>[^\s,]+), which ")
_PART: Final = re.compile(r"(?P<part>[^\s/]+(?:/[^\s/:]+){1,2}) (?:goes|that may go) along: ")
# What a kind is that the server does not know is for who may read all of them.
_ANYTHING: Final = "*.*"
_FRESH_SECONDS: Final = 300.0

Reaches = Callable[[Collection[Spot]], Awaitable[Collection[Spot]]]


class Kinds:
    """What the kinds are called that the server knows, as `secrets` by `Secret`; looked up when somebody has to know."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: dict[str, set[str]] = {}
        self._discovery = Discovery(resources=())
        self._good_until = 0.0
        self._looking = asyncio.Lock()

    async def called(self, kind: str) -> frozenset[str]:
        """Empty: there is none, or nobody can say."""
        await self._known()
        return frozenset(self._names.get(kind, ()))

    async def meant(self, word: str) -> str:
        """What kubectl shows for a kind that somebody typed; as it was typed where the server knows none of that name."""
        await self._known()
        try:
            return self._discovery.resolve(word).qualified
        except UnknownKind:
            return word

    async def _known(self) -> None:
        async with self._looking:
            if self._client.clock.monotonic() >= self._good_until:
                await self._look()

    async def _look(self) -> None:
        try:
            found = await discover(self._client)
        except SkoupaError:
            return
        names: dict[str, set[str]] = {}
        for resource in found.resources:
            names.setdefault(resource.kind, set()).add(resource.qualified)
        self._names = names
        self._discovery = found
        self._good_until = self._client.clock.monotonic() + _FRESH_SECONDS


async def cut(entry: Entry, *, kinds: Kinds, reaches: Reaches) -> Entry:
    """As whoever may see the places that `reaches` gives back may read it."""
    texts = [fact for hold in entry.holds for name, fact in hold.reason.facts if name != _OBJECT]
    mentions = {*_objects(entry.holds), *(found for text in (*texts, entry.error) for found in _said(text))}
    hidden = await _hidden(mentions, kinds, reaches)
    if not hidden:
        return entry
    return msgspec.structs.replace(
        entry,
        holds=tuple(_without(hold, hidden) for hold in entry.holds),
        error=_CUT if hidden & {*_said(entry.error)} else entry.error,
    )


async def cut_verdicts(verdicts: Sequence[Verdict], *, kinds: Kinds, reaches: Reaches) -> list[Verdict]:
    """As `cut`, for many at once; only what holds them names others."""
    mentions: set[str] = set()
    for verdict in verdicts:
        for hold in verdict.holds:
            mentions.update(_objects((hold,)))
            for name, fact in hold.reason.facts:
                if name != _OBJECT:
                    mentions.update(_said(fact))
    hidden = await _hidden(mentions, kinds, reaches)
    if not hidden:
        return list(verdicts)
    return [
        msgspec.structs.replace(one, holds=tuple(_without(hold, hidden) for hold in one.holds))
        if one.holds
        else one
        for one in verdicts
    ]


async def cut_text(text: str, *, kinds: Kinds, reaches: Reaches) -> str:
    return _CUT if await _hidden({*_said(text)}, kinds, reaches) else text


async def _hidden(mentions: Collection[str], kinds: Kinds, reaches: Reaches) -> set[str]:
    if not mentions:
        return set()
    spots = {mention: await _spots(mention, kinds) for mention in mentions}
    reached = await reaches({spot for some in spots.values() for spot in some})
    return {mention for mention, some in spots.items() if not some <= set(reached)}


def _objects(holds: tuple[Hold, ...]) -> Iterator[str]:
    return (fact for hold in holds for name, fact in hold.reason.facts if name == _OBJECT)


def _said(text: str) -> Iterator[str]:
    """`Secret shop/login`, or `secrets/shop/login`."""
    for found in _NAMED.finditer(text):
        yield f"{found['kind']} {found['place']}"
    for found in _PART.finditer(text):
        yield found["part"]


async def _spots(mention: str, kinds: Kinds) -> frozenset[Spot]:
    """All that may be meant."""
    kind, space, place = mention.partition(" ")
    if not space:
        return frozenset({spot_of_part(mention)})
    namespace, _, name = place.rpartition("/")
    return frozenset(
        Spot(resource=resource, namespace=name if resource == NAMESPACES.qualified else namespace)
        for resource in await kinds.called(kind) or (_ANYTHING,)
    )


def _without(hold: Hold, hidden: Collection[str]) -> Hold:
    told = hold.reason
    about = any(name == _OBJECT and fact in hidden for name, fact in told.facts)
    facts = tuple(
        (name, _fact(name, fact, hidden, about=about and told.code not in _OF_ITSELF))
        for name, fact in told.facts
    )
    return msgspec.structs.replace(hold, reason=Reason(told.code, facts))


def _fact(name: str, fact: str, hidden: Collection[str], *, about: bool) -> str:
    if name == _OBJECT:
        return HIDDEN if fact in hidden else fact
    return _CUT if (about and name == _WHY) or any(said in hidden for said in _said(fact)) else fact
