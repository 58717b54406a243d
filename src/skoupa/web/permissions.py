"""What the one who asks may see or do, by kind and namespace, as the API server decides it for its own objects.

A row of the history is as visible as the object was: who may `get` its kind in its namespace sees it. A right in a
Namespace is one in that which is there now: what went before it was made was in another one of that name, perhaps of
other people, and is for those who have the right everywhere. Answers are remembered for half a minute, and a right
everywhere is asked for first: then an administrator costs one review per kind, and not one per namespace.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Final, Literal

import msgspec

from skoupa.errors import Forbidden, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA, Partial
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.reviews import Ask, Caller, may
from skoupa.ledger.rows import Entry
from skoupa.web.refusing import Refused
from skoupa.web.remembering import Answers

Verb = Literal["get", "create", "delete"]

_FRESH_SECONDS: Final = 30.0
_MOST: Final = 20_000
_AT_A_TIME: Final = 8
ALWAYS: Final = -math.inf
NEVER: Final = math.inf
_BEFORE: Final = " from before this namespace was made: that takes the right in all namespaces"


class Spot(msgspec.Struct, frozen=True, kw_only=True):
    """A kind in a namespace; empty: in none."""

    resource: str
    namespace: str

    def __str__(self) -> str:
        return f"{self.resource} in {self.namespace}" if self.namespace else self.resource


def spot_of(entry: Entry) -> Spot:
    return _spot(entry.resource, entry.namespace, entry.name)


def spot_of_part(part: str) -> Spot:
    """Of something that went along, by its name in the trash: `resource/namespace/name` or `resource/name`."""
    resource, *place, name = part.split("/")
    return _spot(resource, place[0] if place else "", name)


def _spot(resource: str, namespace: str, name: str) -> Spot:
    # A Namespace lies within itself: a Role in it may grant it.
    return Spot(resource=resource, namespace=name if resource == NAMESPACES.qualified else namespace)


class Home(msgspec.Struct, frozen=True, kw_only=True):
    """The Namespace that has a name now, and since when."""

    uid: str
    made: float


# It is gone, or nobody can say.
_NOWHERE: Final = Home(uid="", made=NEVER)


class Permissions:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._known = Answers[tuple[Caller, Ask], bool](client.clock, seconds=_FRESH_SECONDS, most=_MOST)
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    def asked_by(self, caller: Caller) -> Rights:
        return Rights(caller, self._may, self._home)

    async def _may(self, caller: Caller, ask: Ask) -> bool:
        known = self._known.get((caller, ask))
        if known is not None:
            return known
        async with self._turns:
            # Somebody may have asked the same while this waited its turn.
            known = self._known.get((caller, ask))
            if known is None:
                known = await may(self._client, caller, ask)
                self._known.put((caller, ask), known)
        return known

    async def _home(self, namespace: str) -> Home:
        async with self._turns:
            try:
                meta = (await self._namespace(namespace)).metadata
            except SkoupaError:
                return _NOWHERE
        # Whole seconds, and by another clock than rows: but the server takes seconds to end a Namespace.
        made = meta.creation_timestamp
        return Home(uid=meta.uid, made=made.timestamp()) if made is not None else _NOWHERE

    async def _namespace(self, name: str) -> Partial:
        try:
            return await self._client.find(NAMESPACES, name, view=METADATA)
        except Forbidden:
            # A controller for some namespaces may have been given the right to get those.
            return await self._client.get(NAMESPACES, name, view=METADATA)


class Rights:
    """Of one caller, for one question: which Namespaces there are is looked at anew for the next one."""

    def __init__(
        self,
        caller: Caller,
        may_do: Callable[[Caller, Ask], Awaitable[bool]],
        home: Callable[[str], Awaitable[Home]],
    ) -> None:
        self.caller = caller
        self._may_do = may_do
        self._home = home
        self._homes: dict[str, Home] = {}

    async def of(self, verb: Verb, spots: Iterable[Spot]) -> dict[Spot, float]:
        """For each once: from when on what was there may be seen; `ALWAYS`, `NEVER`, or since its Namespace is there."""
        wanted = list(dict.fromkeys(spots))
        # Kind by kind first, so that what counts everywhere is known before anybody asks about a namespace.
        kinds = dict.fromkeys(one.resource for one in wanted)
        async with asyncio.TaskGroup() as group:
            asked = {kind: group.create_task(self._may(Ask(verb=verb, resource=kind))) for kind in kinds}
        narrow = [spot for spot in wanted if spot.namespace and not asked[spot.resource].result()]
        async with asyncio.TaskGroup() as group:
            inside = {
                spot: group.create_task(
                    self._may(Ask(verb=verb, resource=spot.resource, namespace=spot.namespace))
                )
                for spot in narrow
            }
        places = {spot.namespace for spot, answer in inside.items() if answer.result()}
        async with asyncio.TaskGroup() as group:
            for place in places - self._homes.keys():
                group.create_task(self._learn(place))
        return {
            spot: ALWAYS
            if asked[spot.resource].result()
            else self._homes[spot.namespace].made
            if spot in inside and inside[spot].result()
            else NEVER
            for spot in wanted
        }

    def reaches(self, since: float, entry: Entry) -> bool:
        """Whether what may be seen `since` then is part of this deletion, or went along with it."""
        if since != ALWAYS and entry.resource == NAMESPACES.qualified:
            # Of the Namespace itself its uid tells, whatever the clocks say.
            return since != NEVER and self._homes.get(entry.name, _NOWHERE).uid == entry.uid
        return entry.at >= since

    async def need(self, verb: Verb, entries: Iterable[Entry]) -> None:
        """Says what is missing; nothing about the objects but their kind and namespace."""
        wanted = list(entries)
        since = await self.of(verb, map(spot_of, wanted))
        missing = dict.fromkeys(spot for one in wanted if not self.reaches(since[spot := spot_of(one)], one))
        if not missing:
            return
        first, *others = missing
        more = f" and {len(others)} more" if others else ""
        why = "" if since[first] == NEVER else _BEFORE
        raise Refused(403, "Forbidden", f"{self.caller.username} may not {verb} {first}{why}{more}")

    async def _may(self, ask: Ask) -> bool:
        return await self._may_do(self.caller, ask)

    async def _learn(self, namespace: str) -> None:
        self._homes[namespace] = await self._home(namespace)
