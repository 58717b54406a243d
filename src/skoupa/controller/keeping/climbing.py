"""Reads whom kept objects hang on, upwards from owner to owner.

One `Climber` is one round of reading. Before something goes, all kept objects near it are climbed from anew, since somebody
may have given an owner to their owners, which no feed sees. Those who ask while a round is under way share the next one:
nobody gets a round that began before he asked, so nothing in it is older than the question. A kind that does not answer is
not waited for long, and what hangs on it is not known.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.controller.sight.served import Served, named
from skoupa.errors import ApiError, Forbidden, NotFound, SkoupaError
from skoupa.facts.rows import Owner, Row, Uid, owners_of, pack_uid
from skoupa.judge.cascade import Ancestry
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Metadata, Partial
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.sweep.sharing import SharedReading

_Place = tuple[Resource, str]
_SINGLE_READS: Final = 8


class Climber:
    """One round of reading: nothing is asked twice, neither a kind that refused nor an owner that many share."""

    def __init__(self, patience: Patience, discovery: Discovery, served: Served) -> None:
        self._patience = patience
        self._client = patience.client
        self._discovery = discovery
        self._served = served
        self._refused: dict[_Place, SkoupaError] = {}
        self._found: dict[_Place, dict[str, Metadata | None]] = {}
        self._listed: set[_Place] = set()
        # How many owners of a kind are going to be asked for: by group, kind and namespace.
        self._expected: dict[tuple[str, str, str], set[str]] = {}

    def expect(self, rows: Iterable[Row]) -> None:
        for row in rows:
            for owner in row.owners:
                group = owner.api_version.rpartition("/")[0]
                self._expected.setdefault((group, owner.kind, row.namespace), set()).add(owner.name)

    async def climb(self, row: Row) -> Ancestry:
        owners: set[Uid] = set()
        kinds: set[str] = set()
        unknown, beyond = "", False
        ahead = [(owner, row.namespace) for owner in row.owners]
        seen: set[tuple[Owner, str]] = set()
        while ahead:
            step = owner, namespace = ahead.pop()
            if step in seen:
                continue
            seen.add(step)
            owners.add(owner.uid)
            resource: Resource | None = None
            try:
                resource = await self._kind(owner)
                # The garbage collector takes no namespaced object for the owner of one that lives in none.
                if resource is None or (resource.namespaced and not namespace):
                    continue
                namespace = namespace if resource.namespaced else ""
                found = await self._owner(owner, resource, namespace)
            except SkoupaError as error:
                unknown = error.status.message if isinstance(error, ApiError) else error.message
                beyond = beyond or resource is None or not resource.namespaced
                if resource is not None:
                    kinds.add(resource.qualified)
                continue
            if found is not None:
                kinds.add(resource.qualified)
                ahead += ((above, namespace) for above in owners_of(found.owner_references or ()))
        return Ancestry(
            owners=frozenset(owners), kinds=frozenset(kinds), unknown=unknown, beyond_namespace=beyond
        )

    async def _kind(self, owner: Owner) -> Resource | None:
        """None where there is none: nothing takes along what hangs on it."""
        group, _, version = owner.api_version.rpartition("/")
        known = named(self._discovery, group, owner.kind, version)
        # It may have come since the kinds were read.
        return known or await self._served.find(group, owner.kind, version)

    async def _owner(self, owner: Owner, resource: Resource, namespace: str) -> Metadata | None:
        """The owner's metadata; None when it is gone, or another has its name."""
        place = (resource, namespace)
        refused = self._refused.get(place)
        if refused is not None:
            raise refused
        known = self._found.setdefault(place, {})
        try:
            if owner.name not in known and place not in self._listed:
                self._patience.check(resource.qualified)
                with self._patience.asking(resource.qualified):
                    await self._read(place, owner.name, known)
        except SkoupaError as error:
            self._refused[place] = error
            raise
        found = known.get(owner.name)
        return found if found is not None and pack_uid(found.uid) == owner.uid else None

    async def _read(self, place: _Place, name: str, known: dict[str, Metadata | None]) -> None:
        """One by one while there are few: a list puts an end to asking, however many owners somebody wrote down."""
        resource, namespace = place
        expected = self._expected.get((resource.group, resource.kind, namespace), ())
        if max(len(known), len(expected) - 1) >= _SINGLE_READS and resource.may("list"):
            listing = pages(self._client, resource, METADATA, scope=Scope(namespace=namespace))
            async with aclosing(listing):
                async for page in listing:
                    if page.undecodable:
                        raise SkoupaError(f"{resource.qualified}: {page.undecodable[0].why}")
                    known.update({item.metadata.name: item.metadata for item in page.items})
            self._listed.add(place)
            return
        try:
            found = await self._get(resource, name, namespace)
        except NotFound:
            known[name] = None
        else:
            known[name] = found.metadata

    async def _get(self, resource: Resource, name: str, namespace: str) -> Partial:
        try:
            return await self._client.get(resource, name, namespace=namespace, view=METADATA)
        except Forbidden:
            return await self._client.find(resource, name, namespace=namespace, view=METADATA)


class Climbed(msgspec.Struct, frozen=True, kw_only=True):
    """One round: whom each hangs on, with the row that was climbed from."""

    discovery: Discovery
    found: dict[Uid, tuple[Row, Ancestry]]


class Rounds:
    """Rounds that many share, by the namespace that they are about; empty: all."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._served = Served(patience)
        self._shared: dict[str, SharedReading[Climbed]] = {}
        self._waiting: dict[str, int] = {}

    def climber(self, discovery: Discovery) -> Climber:
        return Climber(self._patience, discovery, self._served)

    async def climb(
        self, reach: str, rows: Callable[[], Iterable[Row]], *, discovery: Discovery
    ) -> Callable[[Row], Awaitable[Ancestry]]:
        """What tells whom one of them hangs on, by a round that begins from now on. `rows` is asked as it begins."""

        async def read() -> Climbed:
            return await self._round(list(rows()), discovery)

        if self._patience.finding_out:
            return self._ancestry(await read(), discovery)
        shared = self._shared.setdefault(
            reach, SharedReading(self._patience.client.clock, longest=0.0, shortest=0.0)
        )
        self._waiting[reach] = self._waiting.get(reach, 0) + 1
        try:
            climbed = await shared.get(read)
        finally:
            self._waiting[reach] -= 1
            if not self._waiting[reach]:
                del self._waiting[reach], self._shared[reach]
        if climbed.discovery != discovery:
            # Who began it knew other kinds.
            climbed = await read()
        return self._ancestry(climbed, discovery)

    def _ancestry(self, climbed: Climbed, discovery: Discovery) -> Callable[[Row], Awaitable[Ancestry]]:
        async def ancestry(row: Row) -> Ancestry:
            known = climbed.found.get(row.uid)
            if known is not None and known[0].owners == row.owners:
                return known[1]
            return await self.climber(discovery).climb(row)

        return ancestry

    async def _round(self, rows: list[Row], discovery: Discovery) -> Climbed:
        climber = self.climber(discovery)
        climber.expect(rows)
        return Climbed(discovery=discovery, found={row.uid: (row, await climber.climb(row)) for row in rows})
