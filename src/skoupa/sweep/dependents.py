"""What would go along with an owner that lives in no namespace, although something says that it stays.

Such an owner may have dependents anywhere, which the garbage collector takes along. Objects of no namespace are followed
down, a Namespace or a definition among them is looked into, and sheltered namespaces are looked through. Other namespaces
are not: what `protect` covers there by kind, name or selector goes with its owner.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Extraction, Row, Uid
from skoupa.judge.cascade import called, is_definition, is_namespace, might_own, waived
from skoupa.judge.protection import Protection
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.parents import FreshLook
from skoupa.sweep.shelter import Shelter, rows_of, sheltered

# One reading serves all owners that go together: it counts for so many times as long as it took.
_SHARE: Final = 4.0
_SHORTEST_SECONDS: Final = 2.0
# More of them than this, and one list of all namespaces costs the server less.
_MOST_PLACES: Final = 20
# What hangs on a Node is its own: its Lease in kube-node-lease and its static Pods would hold every Node.
_NODE: Final = "nodes"


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    shelter: Shelter
    # By the uid of the owner: what of no namespace hangs on it, and why something that does must stay.
    links: dict[Uid, list[Row]]
    holds: dict[Uid, Hold]
    unread: dict[Resource, str]


class Dependents:
    def __init__(
        self,
        client: Client,
        *,
        look: FreshLook,
        protection: Protection,
        extraction: Extraction,
        ignore: Collection[str],
    ) -> None:
        self._client = client
        self._look = look
        self._protection = protection
        self._extraction = extraction
        self._ignore = ignore
        self._lock = asyncio.Lock()
        self._reading: _Reading | None = None
        self._good_until = 0.0

    async def holds(self, row: Row, claim: Claim, *, discovery: Discovery, now: float) -> tuple[Hold, ...]:
        if row.namespace or is_namespace(row) or is_definition(row) or row.resource.qualified == _NODE:
            return ()
        reading = await self._fresh(discovery, now)
        seen, ahead = {row.uid}, [row]
        while ahead:
            taken = ahead.pop()
            hold = reading.holds.get(taken.uid)
            if hold is not None:
                return (hold,)
            inside = await self._look.inside(taken, claim, discovery=discovery, now=now)
            if inside:
                return inside
            further = [one for one in reading.links.get(taken.uid, ()) if one.uid not in seen]
            seen.update(one.uid for one in further)
            ahead += further
        unread = {
            resource: why
            for resource, why in reading.unread.items()
            if might_own(row.resource, resource) and not waived(resource, self._ignore)
        }
        if not unread:
            return ()
        kinds = ", ".join(sorted(resource.qualified for resource in unread))
        return (Hold(reason=reason("keeps-unknown", kinds=kinds, why=next(iter(unread.values())))),)

    async def _fresh(self, discovery: Discovery, now: float) -> _Reading:
        clock = self._client.clock
        async with self._lock:
            began = clock.monotonic()
            if self._reading is None or began >= self._good_until:
                self._reading = await self._read(discovery, now)
                self._good_until = began + max(_SHORTEST_SECONDS, _SHARE * (clock.monotonic() - began))
            return self._reading

    async def _read(self, discovery: Discovery, now: float) -> _Reading:
        shelter = await sheltered(
            self._client, protection=self._protection, extraction=self._extraction, now=now
        )
        reading = _Reading(shelter=shelter, links={}, holds={}, unread={})
        async with asyncio.TaskGroup() as group:
            for resource in discovery.preferred():
                if not resource.may("list"):
                    continue
                if resource.namespaced and shelter.unknown:
                    # Without the names of the namespaces there is nothing to look through.
                    reading.unread[resource] = shelter.unknown
                else:
                    group.create_task(self._add(reading, resource, now))
        for gap in discovery.gaps:
            lost = Resource(group=gap.group, version=gap.version, plural="*", kind="", namespaced=True)
            reading.unread[lost] = gap.why
        return reading

    async def _add(self, reading: _Reading, resource: Resource, now: float) -> None:
        places: Collection[str] = ("",)
        if resource.namespaced and len(reading.shelter.places) <= _MOST_PLACES:
            places = reading.shelter.places.keys()
        try:
            async with aclosing(rows_of(self._client, resource, self._extraction, places=places)) as rows:
                async for row in rows:
                    if row.owners:
                        self._note(reading, row, now)
        except SkoupaError as error:
            reading.unread[resource] = error.message

    def _note(self, reading: _Reading, row: Row, now: float) -> None:
        hold = reading.shelter.hold(row) if row.resource.namespaced else self._stays(row, now)
        for owner in row.owners:
            if hold is not None:
                reading.holds.setdefault(owner.uid, hold)
            if not row.resource.namespaced:
                reading.links.setdefault(owner.uid, []).append(row)

    def _stays(self, row: Row, now: float) -> Hold | None:
        for told, until in self._protection.reasons(row, now):
            return Hold(reason=reason("protects-inside", object=called(row), why=render(told)), until=until)
        return None
