"""One pass of lists over a cluster into a usage graph: who uses what, and what could not be read.

Of kinds with rules what the rules read is asked for, of custom kinds without any the whole object, which is walked and dropped,
of all others the metadata. Kinds that can neither use nor own what is asked about are not read at all. What could not be read
is told with the answer; it never looks like "there is nothing".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.cli.looking.usage_relevance import EVERYTHING, Relevance
from skoupa.cli.looking.usage_trackers import TrackersRead
from skoupa.cli.looking.usage_views import KindView, is_walked
from skoupa.cli.looking.usage_walks import Walks, both
from skoupa.errors import ApiError, BadReply, Forbidden, SkoupaError, TimedOut
from skoupa.facts.rows import Extraction, Row, Uid, pack_uid
from skoupa.kube.client import Client
from skoupa.kube.decoding import metadata_of
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Metadata, Partial
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage import never
from skoupa.usage.found import Found
from skoupa.usage.graph import Graph, kind_name
from skoupa.usage.leftovers.keys import KeyReading, KeyUses
from skoupa.usage.leftovers.particulars import Particulars
from skoupa.usage.needs import owner_kind
from skoupa.usage.never_rows import ROWS
from skoupa.usage.reading import Readings
from skoupa.usage.sight import Sight, Unread

LISTS_AT_A_TIME: Final = 8
# Copies and measurements: they own nothing, use nothing, and are many.
_NEVER_READ: Final = frozenset(
    {"events", "events.events.k8s.io", "componentstatuses", "projects.project.openshift.io"}
)
_NEVER_READ_GROUPS: Final = frozenset({"metrics.k8s.io", "custom.metrics.k8s.io", "external.metrics.k8s.io"})


class UsageReading:
    """`asked` are the kinds whose objects are to be judged, `place` the one namespace to judge in, or empty.

    `keys`: which keys of ConfigMaps and Secrets somebody reads is wanted too; Secrets are listed whole only then.
    """

    def __init__(
        self,
        client: Client,
        discovery: Discovery,
        readings: Readings,
        *,
        asked: Iterable[Resource],
        place: str,
        ignored: Iterable[str],
        keys: bool,
        progress: Callable[[str], None],
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._readings = readings
        self._asked = {kind_name(resource): resource for resource in asked}
        # What is about something in no namespace is about the whole cluster.
        self._place = place if all(one.namespaced for one in self._asked.values()) else ""
        self._ignored = frozenset(ignored)
        self._keys_too = keys
        self._progress = progress
        self._extraction = Extraction(annotations=(names.UNNEEDED_SINCE_ANNOTATION,))
        self._relevance = Relevance(self._asked, readings, place=self._place)
        self._walks = Walks(client)
        self._tracking = TrackersRead(client)
        self._read: set[str] = set()
        self._narrow: set[str] = set()
        self._walked: set[str] = set()
        self._unread: list[Unread] = []
        self.graph = Graph()
        self.particulars: dict[Uid, Particulars] = {}
        self.natures: dict[Uid, str] = {}
        # Where keys were asked for: those of the objects to be judged, and who reads which.
        self.keys: dict[Uid, tuple[str, ...]] = {}
        self.key_uses: dict[Uid, KeyUses] = {}
        # Kinds that are to be judged and could not be read at all.
        self.refused: dict[str, SkoupaError] = {}
        self._types: dict[Uid, str] = {}

    @property
    def served(self) -> dict[str, str]:
        return {resource.qualified: kind_name(resource) for resource in self._discovery.preferred()}

    @property
    def doubts(self) -> list[str]:
        """What makes it less certain, in words."""
        return [self._walks.doubt] if self._walks.doubt and self._walked else []

    def trackers(self) -> dict[Uid, str]:
        return self._tracking.reasons()

    async def read(self) -> None:
        self._unread += (
            Unread(kind=f"{gap.group}/{EVERYTHING}", what=f"the kinds of {gap.where}", why=gap.why)
            for gap in self._discovery.gaps
        )
        self._unread += (
            Unread(kind=kind_name(resource), what=resource.qualified, why="the server does not list them")
            for resource in self._discovery.preferred()
            if resource.group not in BUILT_IN_GROUPS and resource.may("get") and not resource.may("list")
        )
        every = {kind_name(resource): resource for resource in self._listable()}
        wanted = {kind: resource for kind, resource in every.items() if self._relevance.matters(resource)}
        await self._walks.learn(
            resource for resource in wanted.values() if is_walked(resource, self._readings)
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

    def sight(self) -> Sight:
        return Sight(
            readings=self._readings,
            read=frozenset(self._read),
            walked=frozenset(self._walked),
            unread=tuple(one for one in self._unread if not self._is_waived(one)),
            waived=tuple(one for one in self._unread if self._is_waived(one)),
            place=self._place,
            narrow=frozenset(self._narrow),
        )

    def _listable(self) -> Iterator[Resource]:
        for resource in self._discovery.preferred():
            never = resource.qualified in _NEVER_READ or resource.group in _NEVER_READ_GROUPS
            if resource.may("list") and not never:
                yield resource

    def _is_waived(self, unread: Unread) -> bool:
        named = unread.what if not unread.kind.endswith(f"/{EVERYTHING}") else ""
        return named in self._ignored or f"*.{unread.group}" in self._ignored

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
            self._could_not(resource, refused or error, inside=refused is None)
            return
        except (ApiError, BadReply, TimedOut) as error:
            self._could_not(resource, error)
            return
        self._read.add(kind)
        if scope.namespace:
            self._narrow.add(kind)

    async def _inside(self, resource: Resource) -> SkoupaError | None:
        try:
            await self._list(resource, Scope(namespace=self._place))
        except (ApiError, BadReply, TimedOut) as error:
            return error
        return None

    def _could_not(self, resource: Resource, error: SkoupaError, *, inside: bool = False) -> None:
        kind = kind_name(resource)
        if kind in self._asked and not inside:
            self.refused.setdefault(kind, error)
        why = (
            f"only those in the namespace {self._place} could be read: {error.brief}"
            if inside
            else error.brief
        )
        self._unread.append(Unread(kind=kind, what=resource.qualified, why=why))

    async def _list(self, resource: Resource, scope: Scope) -> None:
        kind = kind_name(resource)
        how = KindView(
            resource, self._readings, particulars=self._relevance.asks_more_of(resource), keys=self._keys_too
        )
        seen: list[Uid] = []
        if kind == "Secret" and kind in self._asked:
            await self._learn_types(resource, scope)
        async with aclosing(pages(self._client, resource, how.view, scope=scope)) as listing:
            async for page in listing:
                if page.first:
                    self._forget(seen)
                for item in page.items:
                    metadata = metadata_of(item)
                    row = self._extraction.row(resource, Partial(metadata=metadata))
                    self.graph.put(row, self._found(resource, item, metadata, walked=how.walked))
                    seen.append(row.uid)
                    if (particulars := how.particulars(item)) is not None:
                        self.particulars[row.uid] = particulars
                    if how.keys is not None:
                        self._learn_keys(row, item, how.keys)
                    self._remark(row, metadata)
                for bad in page.undecodable:
                    named = f"{resource.qualified}/{bad.name}"
                    self._unread.append(Unread(kind=kind, what=named, why=bad.why))
                self._progress(f"{len(self.graph)} objects, reading {resource.qualified}")
        if how.walked and seen:
            self._walked.add(kind)

    def _forget(self, uids: list[Uid]) -> None:
        for uid in uids:
            self.graph.remove(uid)
            self.particulars.pop(uid, None)
        uids.clear()

    def _found(self, resource: Resource, item: Any, metadata: Metadata, *, walked: bool) -> Found:
        kind = kind_name(resource)
        if walked:
            found = self._walks.found(resource, item, marks=self._readings)
        elif isinstance(item, dict):
            found = self._readings.from_manifest(kind, item)
        else:
            found = self._readings.found(kind, item)
        tracked = self._tracking.found(kind, metadata, item if isinstance(item, dict) else None)
        return found if tracked is None else both(found, tracked)

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
        for type_ in sorted({one for row in ROWS for one in row.types}):
            narrowed = msgspec.structs.replace(scope, fields=f"type={type_}")
            async with aclosing(pages(self._client, resource, METADATA, scope=narrowed)) as listing:
                async for page in listing:
                    self._types.update((pack_uid(one.metadata.uid), type_) for one in page.items)
