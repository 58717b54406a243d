"""What the one who asks may see or do, by kind and namespace, as the API server decides it for its own objects.

A row of the history is as visible as the object was: who may `get` its kind in its namespace sees it. Answers are
remembered for half a minute, and a right everywhere is asked for first: then an administrator costs one review per
kind, and not one per namespace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final, Literal

import msgspec

from skoupa.kube.client import Client
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.reviews import Ask, Caller, may
from skoupa.ledger.rows import Entry
from skoupa.web.refusing import Refused
from skoupa.web.remembering import Answers

Verb = Literal["get", "create", "delete"]

_FRESH_SECONDS: Final = 30.0
_MOST: Final = 20_000
_AT_A_TIME: Final = 8


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


class Permissions:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._known = Answers[tuple[Caller, Ask], bool](client.clock, seconds=_FRESH_SECONDS, most=_MOST)
        self._turns = asyncio.Semaphore(_AT_A_TIME)

    async def of(self, caller: Caller, verb: Verb, spots: Iterable[Spot]) -> dict[Spot, bool]:
        """For each once."""
        wanted = list(dict.fromkeys(spots))
        # Kind by kind first, so that what counts everywhere is known before anybody asks about a namespace.
        everywhere = [Ask(verb=verb, resource=kind) for kind in dict.fromkeys(one.resource for one in wanted)]
        async with asyncio.TaskGroup() as group:
            for ask in everywhere:
                group.create_task(self._may(caller, ask))
        async with asyncio.TaskGroup() as group:
            answers = {spot: group.create_task(self.may(caller, verb, spot)) for spot in wanted}
        return {spot: answer.result() for spot, answer in answers.items()}

    async def may(self, caller: Caller, verb: Verb, spot: Spot) -> bool:
        if await self._may(caller, Ask(verb=verb, resource=spot.resource)):
            return True
        if not spot.namespace:
            return False
        return await self._may(caller, Ask(verb=verb, resource=spot.resource, namespace=spot.namespace))

    async def need(self, caller: Caller, verb: Verb, spots: Iterable[Spot]) -> None:
        """Says what is missing; nothing about the objects but their kind and namespace."""
        missing = [spot for spot, allowed in (await self.of(caller, verb, spots)).items() if not allowed]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise Refused(403, "Forbidden", f"{caller.username} may not {verb} {missing[0]}{more}")

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
