"""Other objects that a row of the history, or a controller, names: in what lets it go, what holds it and what went wrong.

They are named to who may read them. A row says `Secret shop/login`, without a group: who may not read one of the kinds
that are called so may not read it. What is not named is still said: that something holds it, and what sort of reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Final

import msgspec

from skoupa.errors import SkoupaError, UnknownKind
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.ledger.rows import Entry
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.web.mentioned import (
    BRAKE_FACTS,
    OBJECTS,
    Mention,
    in_fact,
    in_reason,
    in_rendered,
    in_text,
    names_nothing,
)
from skoupa.web.permissions import Spot, spot_of, spot_of_part

HIDDEN: Final = "something that you may not read"
_CUT: Final = f"what is said here names {HIDDEN}"
_BRAKED: Final = "why is for who may read Brakes"
_WHY: Final = "why"
# Of a Brake the reason is its own; of anything else it is about the object.
_OF_ITSELF: Final = frozenset({"brake-inside"})
# What a kind is that the server does not know is for who may read all of them.
_ANYTHING: Final = "*.*"
_FRESH_SECONDS: Final = 300.0
# Others go on in between.
_AT_ONCE: Final = 200

Reaches = Callable[[Collection[Spot]], Awaitable[Collection[Spot]]]


class Kinds:
    """What the kinds are called that the server knows, as `secrets` by `Secret`; looked up when somebody has to know."""

    def __init__(self, client: Client) -> None:
        self.clock = client.clock
        self._client = client
        self._names: dict[str, set[Resource]] = {}
        self._discovery = Discovery(resources=())
        self._good_until = 0.0
        self._looking = asyncio.Lock()

    async def called(self, kind: str) -> frozenset[Resource]:
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
        names: dict[str, set[Resource]] = {}
        for resource in found.resources:
            names.setdefault(resource.kind, set()).add(resource)
        self._names = names
        self._discovery = found
        self._good_until = self._client.clock.monotonic() + _FRESH_SECONDS


async def cut(entry: Entry, *, kinds: Kinds, reaches: Reaches) -> Entry:
    """As whoever may see the places that `reaches` gives back may read it."""
    home = spot_of(entry).namespace
    told = (*(claim.reason for claim in entry.claims), *(hold.reason for hold in entry.holds))
    mentions = {mention for one in told for mention in in_reason(one, home)}
    mentions.update(*map(in_text, (entry.error, entry.unkept)))
    hidden = await hidden_of(mentions, kinds=kinds, reaches=reaches)
    if not hidden:
        return entry
    return msgspec.structs.replace(
        entry,
        claims=tuple(_claim_without(claim, hidden, home) for claim in entry.claims),
        holds=tuple(_hold_without(hold, hidden, home) for hold in entry.holds),
        error=_CUT if hidden & {*in_text(entry.error)} else entry.error,
        unkept=_CUT if hidden & {*in_text(entry.unkept)} else entry.unkept,
    )


def mentions_of(verdict: Verdict, home: str) -> set[Mention]:
    """`home` is the namespace of the object that it is about."""
    told = (
        *(claim.reason for claim in verdict.claims),
        *(hold.reason for hold in verdict.holds),
        *verdict.notes,
    )
    return {mention for one in told if not names_nothing(one.code) for mention in in_reason(one, home)}


def verdict_without(verdict: Verdict, hidden: Collection[Mention], home: str) -> Verdict:
    return msgspec.structs.replace(
        verdict,
        claims=tuple(_claim_without(claim, hidden, home) for claim in verdict.claims),
        holds=tuple(_hold_without(hold, hidden, home) for hold in verdict.holds),
        notes=tuple(_without(note, hidden, home) for note in verdict.notes),
    )


async def cut_standing(code: str, text: str, *, home: str, kinds: Kinds, reaches: Reaches) -> str:
    """A reason in words, of an object in `home`."""
    mentions = {*in_rendered(code, text, home)}
    return _CUT if await hidden_of(mentions, kinds=kinds, reaches=reaches) else text


async def hidden_of(mentions: Collection[Mention], *, kinds: Kinds, reaches: Reaches) -> set[Mention]:
    if not mentions:
        return set()
    spots: dict[Mention, frozenset[Spot]] = {}
    for number, mention in enumerate(mentions, 1):
        spots[mention] = await _spots(mention, kinds)
        if not number % _AT_ONCE:
            await kinds.clock.sleep(0)
    reached = set(await reaches({spot for some in spots.values() for spot in some}))
    return {mention for mention, some in spots.items() if not some <= reached}


async def _spots(mention: Mention, kinds: Kinds) -> frozenset[Spot]:
    """All that may be meant."""
    kind, space, place = mention.text.partition(" ")
    if not space:
        known = "/" in mention.text
        return frozenset(
            {spot_of_part(mention.text) if known else Spot(resource=_ANYTHING, namespace=mention.home)}
        )
    namespace, _, name = place.rpartition("/")
    found = await kinds.called(kind)
    if not found:
        return frozenset({Spot(resource=_ANYTHING, namespace=namespace)})
    return frozenset(_spot(one, namespace or mention.home, name) for one in found)


def _spot(resource: Resource, namespace: str, name: str) -> Spot:
    if resource.qualified == NAMESPACES.qualified:
        return Spot(resource=resource.qualified, namespace=name)
    return Spot(resource=resource.qualified, namespace=namespace if resource.namespaced else "")


def _claim_without(claim: Claim, hidden: Collection[Mention], home: str) -> Claim:
    told = _without(claim.reason, hidden, home)
    return claim if told is claim.reason else msgspec.structs.replace(claim, reason=told)


def _hold_without(hold: Hold, hidden: Collection[Mention], home: str) -> Hold:
    told = _without(hold.reason, hidden, home)
    return hold if told is hold.reason else msgspec.structs.replace(hold, reason=told)


def _without(told: Reason, hidden: Collection[Mention], home: str) -> Reason:
    if names_nothing(told.code):
        return told
    gone = {
        name
        for name, fact in told.facts
        if any(mention in hidden for mention in in_fact(told.code, name, fact, home))
    }
    if told.code not in _OF_ITSELF and gone & OBJECTS.keys():
        # It is said of what is not named.
        gone.add(_WHY)
    if not gone:
        return told
    return Reason(
        told.code,
        tuple((name, _instead(told.code, name) if name in gone else fact) for name, fact in told.facts),
    )


def _instead(code: str, name: str) -> str:
    if name == _WHY and name in BRAKE_FACTS.get(code, ()):
        return _BRAKED
    return HIDDEN if name in OBJECTS or name in BRAKE_FACTS.get(code, ()) else _CUT
