"""What would go along with an owner that lives in no namespace, although something says that it stays.

Such an owner may have dependents anywhere, which the garbage collector takes along. Objects of no namespace are followed
down, and so are those that a definition defines; a Namespace or a definition among them is looked into, and namespaces that
are sheltered or that a Brake names are looked through. Other namespaces are not: what `protect` or a Brake covers there by
kind, name or selector goes with its owner. Who owns what is read after each question: those that ask while it is read share
the next reading, and nothing that was read for another one before.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa import names
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Extraction, Owner, Row, Uid
from skoupa.judge.brakes import BrakeGuard, braked_inside
from skoupa.judge.cascade import called, is_definition, is_namespace, waived
from skoupa.judge.owning import could_own, might_own
from skoupa.judge.protection import Protection
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason, render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.parents import FreshLook
from skoupa.sweep.sharing import SharedReading
from skoupa.sweep.shelter import Shelter, rows_of, sheltered

# More of them than this, and one list of all namespaces costs the server less.
_MOST_PLACES: Final = 20
_EVERYWHERE: Final = ""
# What hangs on a Node is its own: its Lease in kube-node-lease and its static Pods would hold every Node.
_NODE: Final = "nodes"
# Rights change seldom, and a refusal for each kind before each delete would fill audit logs.
_REFUSED_SECONDS: Final = 60.0
_REACHING_UP: Final = frozenset({"protected-namespace", "namespace-kept", "kept"})
_THE_SAME: Final = "it is the same object under another kind"


class _Unread(msgspec.Struct, frozen=True, kw_only=True):
    """`denied`: for want of a right, so that somebody may have decided to do without."""

    why: str
    denied: bool = False


class _Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What hangs on owners of no namespace, by the uid of the owner; `places` are the namespaces looked through."""

    discovery: Discovery
    owned: dict[Uid, list[Row]]
    places: set[str]
    unread: dict[Resource, _Unread]


class Dependents:
    """`kept_namespaces` are those with a keep label by the newest knowledge, which may be newer than any list.

    `unwatched`: kept objects are watched in some namespaces only, so that all others have to be asked for.
    """

    def __init__(
        self,
        client: Client,
        *,
        look: FreshLook,
        protection: Protection,
        brakes: BrakeGuard,
        extraction: Extraction,
        ignore: Collection[str],
        kept_namespaces: Callable[[float], Collection[str]],
        unwatched: bool = False,
    ) -> None:
        self._client = client
        self._look = look
        self._protection = protection
        self._brakes = brakes
        self._extraction = extraction
        self._ignore = ignore
        self._kept_namespaces = kept_namespaces
        self._unwatched = unwatched
        self._shelters: SharedReading[Shelter] = SharedReading(client.clock, longest=0.0, shortest=0.0)
        self._readings: SharedReading[_Reading] = SharedReading(client.clock, longest=0.0, shortest=0.0)
        # What may not be listed, and until when that is believed.
        self._refused: dict[tuple[Resource, frozenset[str], str], tuple[_Unread, float]] = {}
        self._adding = asyncio.Lock()

    async def holds(self, row: Row, claim: Claim, *, discovery: Discovery, now: float) -> tuple[Hold, ...]:
        """Of what hangs on it; what is inside the object itself is looked at elsewhere."""
        if row.namespace or row.resource.qualified == _NODE:
            return ()
        shelter = await self._sheltered(now)
        places = {*shelter.places, *self._kept_namespaces(now), *self._brakes.namespaces(claim, now)}
        reading = await self._who_owns(places, shelter, discovery)
        seen, ahead = {row.uid}, [row]
        while ahead:
            taken = ahead.pop()
            inside = taken is not row and await self._look.inside(taken, claim, discovery=discovery, now=now)
            if inside:
                return inside
            if is_definition(taken):
                try:
                    instances = await self._instances(taken, discovery)
                except SkoupaError as error:
                    return (Hold(reason=reason("keeps-unknown", kinds=taken.name, why=error.message)),)
                ahead += (one for one in instances if one.uid not in seen)
                seen.update(one.uid for one in instances)
            for one in reading.owned.get(taken.uid, ()):
                hold = self._stays(one, claim, shelter, now)
                if hold is not None:
                    return (hold,)
                if not one.resource.namespaced and one.uid not in seen:
                    seen.add(one.uid)
                    ahead.append(one)
        unread = dict(reading.unread)
        if shelter.unknown:
            # Without the names of the namespaces there is nothing to look through.
            nothing = _Unread(why=shelter.unknown, denied=shelter.denied)
            unread |= dict.fromkeys(_listed(discovery, namespaced=True), nothing)
        return self._of_unread(row, unread)

    async def mirrored(self, row: Row, now: float) -> Hold | None:
        """Whether it is a Namespace that is served as another kind: nobody would look at what is in it."""
        if row.namespace or is_namespace(row) or is_definition(row):
            return None
        shelter = await self._sheltered(now)
        name = shelter.uids.get(row.uid)
        if name is None:
            return None
        return Hold(reason=reason("protects-inside", object=f"Namespace {name}", why=_THE_SAME))

    def _of_unread(self, row: Row, unread: dict[Resource, _Unread]) -> tuple[Hold, ...]:
        might = {
            resource: found.why
            for resource, found in unread.items()
            if (is_definition(row) or _might_own(row.resource, resource, denied=found.denied))
            and not waived(resource, self._ignore)
        }
        if not might:
            return ()
        kinds = ", ".join(sorted(resource.qualified for resource in might))
        return (Hold(reason=reason("keeps-unknown", kinds=kinds, why=next(iter(might.values())))),)

    async def _instances(self, definition: Row, discovery: Discovery) -> list[Row]:
        """Those of no namespace: all others own only what is beside them."""
        kinds = (one for one in _listed(discovery, namespaced=False) if one.qualified == definition.name)
        resource = next(kinds, None)
        if resource is None:
            return []
        patience = self._look.patience
        patience.check(resource.qualified)
        with patience.asking(resource.qualified):
            async with aclosing(rows_of(patience.client, resource, self._extraction, places=("",))) as rows:
                return [row async for row in rows]

    async def _sheltered(self, now: float) -> Shelter:
        patience = self._look.patience

        async def read() -> Shelter:
            return await sheltered(
                patience, protection=self._protection, extraction=self._extraction, now=now
            )

        # Who finds out whether the server answers again is not waited for.
        return await (read() if patience.finding_out else self._shelters.get(read))

    async def _who_owns(self, places: Collection[str], shelter: Shelter, discovery: Discovery) -> _Reading:
        reading = await self._readings.get(lambda: self._read(discovery, shelter))
        if reading.discovery != discovery:
            # Who began it knew other kinds.
            reading = await self._read(discovery, shelter)
        await self._look_through(places, reading, discovery)
        return reading

    async def _read(self, discovery: Discovery, shelter: Shelter) -> _Reading:
        many = len(shelter.places) > _MOST_PLACES
        places = {_EVERYWHERE} if many else set(shelter.places)
        reading = _Reading(discovery=discovery, owned={}, places=places, unread={})
        now = self._client.clock.monotonic()
        self._refused = {asked: known for asked, known in self._refused.items() if now < known[1]}
        async with asyncio.TaskGroup() as group:
            for resource in _listed(discovery, namespaced=False):
                group.create_task(self._add(reading, resource, discovery, places=("",)))
            for resource in _listed(discovery, namespaced=True):
                group.create_task(self._add(reading, resource, discovery, places=places))
                if self._unwatched and not many:
                    kept = self._add(reading, resource, discovery, places=("",), labels=names.KEEP_LABEL)
                    group.create_task(kept)
        for gap in discovery.gaps:
            lost = Resource(group=gap.group, version=gap.version, plural="*", kind="", namespaced=True)
            reading.unread[lost] = _Unread(why=gap.why)
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
        self,
        reading: _Reading,
        resource: Resource,
        discovery: Discovery,
        *,
        places: Collection[str],
        labels: str = "",
    ) -> None:
        asked = (resource, frozenset(places), labels)
        refused = self._refused.get(asked)
        if refused is not None and self._client.clock.monotonic() < refused[1]:
            reading.unread.setdefault(resource, refused[0])
            return
        patience = self._look.patience
        listing = rows_of(patience.client, resource, self._extraction, places=places, labels=labels)
        try:
            patience.check(resource.qualified)
            with patience.asking(resource.qualified):
                async with aclosing(listing) as rows:
                    async for row in rows:
                        for owner in row.owners:
                            if not resource.namespaced or _reaches(owner, discovery):
                                reading.owned.setdefault(owner.uid, []).append(row)
        except SkoupaError as error:
            found = _Unread(why=error.message, denied=isinstance(error, Forbidden))
            if found.denied:
                self._refused[asked] = (found, self._client.clock.monotonic() + _REFUSED_SECONDS)
            known = reading.unread.get(resource)
            if known is None or known.denied:
                reading.unread[resource] = found

    def _stays(self, row: Row, claim: Claim, shelter: Shelter, now: float) -> Hold | None:
        if row.resource.namespaced and (hold := shelter.hold(row)) is not None:
            return hold
        for told, until in self._protection.reasons(row, now):
            if not row.resource.namespaced or told.code in _REACHING_UP:
                return Hold(
                    reason=reason("protects-inside", object=called(row), why=render(told)), until=until
                )
        braked = self._brakes.holds(row, claim, now)
        return braked_inside(braked[0], called(row)) if braked else None


def _might_own(owner: Resource, owned: Resource, *, denied: bool) -> bool:
    return might_own(owner, owned) if denied else could_own(owner, owned)


def _listed(discovery: Discovery, *, namespaced: bool) -> list[Resource]:
    return [one for one in discovery.preferred() if one.may("list") and one.namespaced == namespaced]


def _reaches(owner: Owner, discovery: Discovery) -> bool:
    """Whether it may live in no namespace: all others own what is in their own, and are not asked about here."""
    kind = discovery.find(owner.api_version.rpartition("/")[0], owner.kind)
    return kind is None or not kind.namespaced
