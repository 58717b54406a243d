"""What would go along with an owner that lives in no namespace, although something says that it stays.

Such an owner may have dependents anywhere, which the garbage collector takes along. Objects of no namespace are followed
down, a Namespace or a definition among them is looked into, and sheltered namespaces are looked through. Other namespaces
are not: what `protect` covers there by kind, name or selector goes with its owner. Who owns what is remembered for a few
seconds; whether it may go is judged each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Extraction, Owner, Row, Uid
from skoupa.judge.cascade import called, is_definition, is_namespace, waived
from skoupa.judge.owning import might_own
from skoupa.judge.protection import Protection
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.parents import FreshLook
from skoupa.sweep.sharing import SHORTEST_SECONDS, SharedReading
from skoupa.sweep.shelter import Shelter, rows_of, sheltered

# More of them than this, and one list of all namespaces costs the server less.
_MOST_PLACES: Final = 20
_EVERYWHERE: Final = ""
# What hangs on a Node is its own: its Lease in kube-node-lease and its static Pods would hold every Node.
_NODE: Final = "nodes"
_OF_NAMESPACES: Final = frozenset({"protected-namespace", "namespace-kept"})


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What hangs on owners of no namespace, by the uid of the owner; `places` are the namespaces looked through."""

    owned: dict[Uid, list[Row]]
    places: set[str]
    unread: dict[Resource, str]


class Dependents:
    """`kept_namespaces` are those with a keep label by the newest knowledge, which may be newer than any list."""

    def __init__(
        self,
        client: Client,
        *,
        look: FreshLook,
        protection: Protection,
        extraction: Extraction,
        ignore: Collection[str],
        kept_namespaces: Callable[[float], Collection[str]],
    ) -> None:
        self._client = client
        self._look = look
        self._protection = protection
        self._extraction = extraction
        self._ignore = ignore
        self._kept_namespaces = kept_namespaces
        self._shelters: SharedReading[Shelter] = SharedReading(client.clock, longest=SHORTEST_SECONDS)
        self._readings: SharedReading[_Reading] = SharedReading(client.clock)
        self._adding = asyncio.Lock()

    async def holds(self, row: Row, claim: Claim, *, discovery: Discovery, now: float) -> tuple[Hold, ...]:
        if row.namespace or is_namespace(row) or is_definition(row) or row.resource.qualified == _NODE:
            return ()
        shelter = await self._shelters.get(lambda: self._sheltered(now))
        reading = await self._readings.get(lambda: self._read(discovery, shelter))
        await self._look_through({*shelter.places, *self._kept_namespaces(now)}, reading, discovery)
        seen, ahead = {row.uid}, [row]
        while ahead:
            taken = ahead.pop()
            inside = await self._look.inside(taken, claim, discovery=discovery, now=now)
            if inside:
                return inside
            for one in reading.owned.get(taken.uid, ()):
                hold = self._stays(one, shelter, now)
                if hold is not None:
                    return (hold,)
                if not one.resource.namespaced and one.uid not in seen:
                    seen.add(one.uid)
                    ahead.append(one)
        unread = dict(reading.unread)
        if shelter.unknown:
            # Without the names of the namespaces there is nothing to look through.
            unread |= dict.fromkeys(_listed(discovery, namespaced=True), shelter.unknown)
        return self._of_unread(row, unread)

    def _of_unread(self, row: Row, unread: dict[Resource, str]) -> tuple[Hold, ...]:
        might = {
            resource: why
            for resource, why in unread.items()
            if might_own(row.resource, resource) and not waived(resource, self._ignore)
        }
        if not might:
            return ()
        kinds = ", ".join(sorted(resource.qualified for resource in might))
        return (Hold(reason=reason("keeps-unknown", kinds=kinds, why=next(iter(might.values())))),)

    async def _sheltered(self, now: float) -> Shelter:
        return await sheltered(
            self._client, protection=self._protection, extraction=self._extraction, now=now
        )

    async def _read(self, discovery: Discovery, shelter: Shelter) -> _Reading:
        many = len(shelter.places) > _MOST_PLACES
        places = {_EVERYWHERE} if many else set(shelter.places)
        reading = _Reading(owned={}, places=places, unread={})
        async with asyncio.TaskGroup() as group:
            for resource in _listed(discovery, namespaced=False):
                group.create_task(self._add(reading, resource, discovery, places=("",)))
            for resource in _listed(discovery, namespaced=True):
                group.create_task(self._add(reading, resource, discovery, places=places))
        for gap in discovery.gaps:
            lost = Resource(group=gap.group, version=gap.version, plural="*", kind="", namespaced=True)
            reading.unread[lost] = gap.why
        return reading

    async def _look_through(self, places: Collection[str], reading: _Reading, discovery: Discovery) -> None:
        """Namespaces that are sheltered by now and were not when it was read."""
        async with self._adding:
            missing = set() if _EVERYWHERE in reading.places else set(places) - reading.places
            if not missing:
                return
            async with asyncio.TaskGroup() as group:
                for resource in _listed(discovery, namespaced=True):
                    group.create_task(self._add(reading, resource, discovery, places=missing))
            reading.places.update(missing)

    async def _add(
        self, reading: _Reading, resource: Resource, discovery: Discovery, *, places: Collection[str]
    ) -> None:
        try:
            async with aclosing(rows_of(self._client, resource, self._extraction, places=places)) as rows:
                async for row in rows:
                    for owner in row.owners:
                        if not resource.namespaced or _reaches(owner, discovery):
                            reading.owned.setdefault(owner.uid, []).append(row)
        except SkoupaError as error:
            reading.unread[resource] = error.message

    def _stays(self, row: Row, shelter: Shelter, now: float) -> Hold | None:
        if row.resource.namespaced and (hold := shelter.hold(row)) is not None:
            return hold
        for told, until in self._protection.reasons(row, now):
            if not row.resource.namespaced or told.code in _OF_NAMESPACES:
                return Hold(
                    reason=reason("protects-inside", object=called(row), why=render(told)), until=until
                )
        return None


def _listed(discovery: Discovery, *, namespaced: bool) -> list[Resource]:
    return [one for one in discovery.preferred() if one.may("list") and one.namespaced == namespaced]


def _reaches(owner: Owner, discovery: Discovery) -> bool:
    """Whether it may live in no namespace: all others own what is in their own, and are not asked about here."""
    kind = discovery.find(owner.api_version.rpartition("/")[0], owner.kind)
    return kind is None or not kind.namespaced
