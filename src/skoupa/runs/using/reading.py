"""One pass of lists over a cluster into a usage graph: who uses what, and what could not be read.

Of kinds with rules what the rules read is asked for, of custom kinds without any the whole object, which is walked and dropped,
of all others the metadata. Kinds that can neither use nor own what is asked about are not read at all. What could not be read
is told with the answer; it never looks like "there is nothing". Others get their turn in between: a controller reads too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing, suppress
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import ApiError, BadReply, Forbidden, SkoupaError, TimedOut
from skoupa.facts.rows import Extraction, Row, Uid, pack_uid
from skoupa.kube.client import Client
from skoupa.kube.decoding import metadata_of
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Metadata, Partial
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.policy.retention.teaching import Taught
from skoupa.runs.turns import Turns
from skoupa.runs.using.kinds_read import KindsRead
from skoupa.runs.using.schemas import schemas_of
from skoupa.runs.using.trackers import TrackersRead
from skoupa.usage import never
from skoupa.usage.found import Found
from skoupa.usage.graph import Graph, kind_name
from skoupa.usage.leftovers.keys import KeyReading, KeyUses
from skoupa.usage.leftovers.particulars import Particulars
from skoupa.usage.leftovers.relevance import Relevance
from skoupa.usage.leftovers.views import KindView
from skoupa.usage.mentions import Mentioned
from skoupa.usage.needs import owner_kind
from skoupa.usage.objects import Objects, both, readable, untold
from skoupa.usage.sight import Sight

LISTS_AT_A_TIME: Final = 8
_AT_A_TIME: Final = 50


class UsageReading:
    """`asked` are the kinds whose objects are to be judged, `place` the one namespace to judge in, or empty.

    `keys`: which keys of ConfigMaps and Secrets somebody reads is wanted too; Secrets are listed whole only then.
    """

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        taught: Taught,
        *,
        asked: Iterable[Resource],
        place: str,
        ignored: Iterable[str],
        keys: bool,
        progress: Callable[[str], None],
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._taught = taught
        self._readings = readings = taught.readings()
        self._asked = {kind_name(resource): resource for resource in asked}
        # What is about something in no namespace is about the whole cluster.
        self._place = place if all(one.namespaced for one in self._asked.values()) else ""
        self._known = KindsRead(readings, self._asked, place=self._place, ignored=ignored)
        self._keys_too = keys
        self._progress = progress
        self._extraction = Extraction(annotations=(names.UNNEEDED_SINCE_ANNOTATION,))
        self._relevance = Relevance(self._asked, readings, place=self._place)
        self._objects = Objects(readings)
        self._tracking = TrackersRead(client)
        self._mentioned = Mentioned()
        self.graph = Graph()
        self.particulars: dict[Uid, Particulars] = {}
        self.natures: dict[Uid, str] = {}
        # Where keys were asked for: those of the objects to be judged, and who reads which.
        self.keys: dict[Uid, tuple[str, ...]] = {}
        self.key_uses: dict[Uid, KeyUses] = {}
        self._types: dict[Uid, str] = {}

    @property
    def may_come(self) -> bool:
        """Whether something was not read for a reason that passes."""
        return self._known.may_come or self._tracking.may_come

    @property
    def refused(self) -> dict[str, SkoupaError]:
        """Kinds that are to be judged and could not be read at all."""
        return self._known.refused

    @property
    def served(self) -> dict[str, str]:
        return {resource.qualified: kind_name(resource) for resource in self._discovery.preferred()}

    def trackers(self) -> dict[Uid, str]:
        return self._tracking.reasons()

    def sight(self) -> Sight:
        return self._known.sight(self.graph, unread=self._tracking.unread, schemas=self._objects.schemas)

    async def read(self) -> None:
        self._known.unread += untold(self._discovery)
        self._known.unread += self._taught.unclear(self._discovery)
        every = {kind_name(resource): resource for resource in readable(self._discovery)}
        wanted = {kind: resource for kind, resource in every.items() if self._relevance.matters(resource)}
        self._objects.schemas, self._known.schemas_unread = await schemas_of(
            self._client, filter(self._objects.is_walked, wanted.values())
        )
        async for record in self._tracking.records(self._place):
            row = self._extraction.row(record.resource, Partial(metadata=record.metadata))
            self.graph.put(row, record.found)
        await self._lists(wanted.values())
        # Whoever owns one of them may be of any kind; only of kinds that do own is it worth to ask.
        owning = {
            owner_kind(owner)
            for row in self.graph
            if kind_name(row.resource) in self._asked
            for owner in row.owners
            if self.graph.by_uid(owner.uid) is None
        }
        await self._lists(every[kind] for kind in sorted(owning & every.keys()) if kind not in wanted)
        turns = Turns(self._client.clock)
        for _ in self._mentioned.resolved(self.graph, self._asked, may_point=self._relevance.may_point):
            await turns.pause()

    async def _lists(self, resources: Iterable[Resource]) -> None:
        ahead = iter(tuple(resources))

        async def work() -> None:
            for resource in ahead:
                await self._kind(resource)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(LISTS_AT_A_TIME):
                    group.create_task(work())
        except* SkoupaError as errors:
            first = errors.exceptions[0]
        else:
            return
        raise first

    async def _kind(self, resource: Resource) -> None:
        kind = kind_name(resource)
        scope = self._relevance.scope(resource)
        try:
            await self._list(resource, scope)
        except Forbidden as error:
            # What is in the namespace itself may be readable all the same, and every user found is one.
            beside = resource.namespaced and self._place and not scope.namespace
            refused = await self._inside(resource) if beside else error
            if kind == "Namespace" and self._place:
                await self._namespace(resource)
            self._known.could_not(resource, refused or error, inside=refused is None)
            return
        except (ApiError, BadReply, TimedOut) as error:
            self._known.could_not(resource, error)
            return
        self._known.all_of(kind, narrow=bool(scope.namespace))

    async def _inside(self, resource: Resource) -> SkoupaError | None:
        try:
            await self._list(resource, Scope(namespace=self._place))
        except (ApiError, BadReply, TimedOut) as error:
            return error
        return None

    async def _namespace(self, resource: Resource) -> None:
        """Who has rights in one namespace may mostly read that itself, and whether it is kept is asked of nothing else."""
        with suppress(ApiError, BadReply, TimedOut):
            found = await self._client.get(resource, self._place, view=METADATA)
            self.graph.put(self._extraction.row(resource, found), Found())

    async def _list(self, resource: Resource, scope: Scope) -> None:
        kind = kind_name(resource)
        how = KindView(
            resource, self._readings, particulars=self._relevance.asks_more_of(resource), keys=self._keys_too
        )
        seen: list[Uid] = []
        turns = Turns(self._client.clock)
        if kind == "Secret" and kind in self._asked:
            await self._learn_types(resource, scope)
        async with aclosing(pages(self._client, resource, how.view, scope=scope)) as listing:
            async for page in listing:
                if page.first:
                    self._forget(seen)
                # A few at a time, one step after the other: quicker than all steps for one object after the other.
                for first in range(0, len(page.items), _AT_A_TIME):
                    await turns.pause()
                    seen += self._put(resource, page.items[first : first + _AT_A_TIME], how)
                for bad in page.undecodable:
                    self._known.could_not_decode(resource, bad)
                self._progress(f"{len(self.graph)} objects, reading {resource.qualified}")
        if how.walked and seen:
            self._known.walked[kind] = resource

    def _put(self, resource: Resource, items: list[Any], how: KindView) -> list[Uid]:
        known = [metadata_of(item) for item in items]
        rows = [self._extraction.row(resource, Partial(metadata=metadata)) for metadata in known]
        heard = list(map(self._heard, rows, items, known))
        for row, item, metadata, found in zip(rows, items, known, heard, strict=True):
            self.graph.put(row, found)
            if (particulars := how.particulars(item)) is not None:
                self.particulars[row.uid] = particulars
            if how.keys is not None:
                self._learn_keys(row, item, how.keys)
            self._remark(row, metadata)
        return [row.uid for row in rows]

    def _forget(self, uids: list[Uid]) -> None:
        for uid in uids:
            self.graph.remove(uid)
            self.particulars.pop(uid, None)
        uids.clear()

    def _found(self, resource: Resource, item: Any, metadata: Metadata) -> Found:
        read = self._objects.read(resource, item, metadata)
        if read.tracks is not None:
            self._tracking.put(kind_name(resource), metadata, read.tracks)
        record = self._tracking.record(pack_uid(metadata.uid))
        return read.found if record is None else both(read.found, record)

    def _heard(self, row: Row, item: Any, metadata: Metadata) -> Found:
        found = self._found(row.resource, item, metadata)
        if kind_name(row.resource) == "Pod" and not found.uses:
            # It has ended: one that lives has a ServiceAccount at least.
            return found
        custom = row.resource.group not in BUILT_IN_GROUPS
        walked = custom and self._objects.is_walked(row.resource)
        if self._mentioned.note(row, item, metadata, custom=custom, walked=walked):
            return found
        return both(found, Found(doubts=("there are too many words in annotations and custom objects",)))

    def _learn_keys(self, row: Row, item: Any, keyed: KeyReading) -> None:
        if kind_name(row.resource) in self._asked:
            self.keys[row.uid] = keyed.keys(item)
        uses = keyed.uses(item, row.namespace)
        if uses:
            self.key_uses[row.uid] = uses

    def _remark(self, row: Row, metadata: Metadata) -> None:
        kind = kind_name(row.resource)
        if kind not in self._asked:
            return
        self._tracking.note(row.uid, kind, metadata)
        nature = never.reason(metadata, kind, self._types.get(row.uid, ""))
        if nature is not None:
            self.natures[row.uid] = nature

    async def _learn_types(self, resource: Resource, scope: Scope) -> None:
        """Of what type Secrets are, without their values: the server sorts them."""
        for type_ in never.telling_types():
            narrowed = msgspec.structs.replace(scope, fields=f"type={type_}")
            async with aclosing(pages(self._client, resource, METADATA, scope=narrowed)) as listing:
                async for page in listing:
                    self._types.update((pack_uid(one.metadata.uid), type_) for one in page.items)
