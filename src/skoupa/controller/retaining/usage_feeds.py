"""Which kinds are followed to know who uses what is labelled, and how much of that can be seen.

Followed are the kinds that can point at what is labelled or deploy it, those that own some of it, those that say what it is good
for, and Namespaces; nothing is while nothing has the label. What is not followed though it matters, or not up to date, is what `sight` calls unread: it may point at
anything that it could. A group whose kinds the server can't tell for a while keeps its feeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.usage_feed import Sink, UsageFeed
from skoupa.controller.retaining.usage_graph import Detailed, ReleaseRecords, UsageGraph
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.lists import Scope
from skoupa.kube.objects import WHOLE, View
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.runs.using.schemas import schemas_of
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.questions import REQUIRED_EVERYWHERE
from skoupa.usage.leftovers.relevance import Relevance
from skoupa.usage.leftovers.views import KindView
from skoupa.usage.leftovers.worth import is_asked
from skoupa.usage.objects import Objects, is_waived, readable, untold
from skoupa.usage.sight import Sight, Unread
from skoupa.usage.tracking import KINDS as TRACKING_KINDS
from skoupa.usage.tracking import helm

SECRETS: Final = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
_RECORDS: Final = "records of Helm releases"


class Key(msgspec.Struct, frozen=True):
    """`records`: only the records of Helm among them, and these whole. `detailed`: questions ask about it, too."""

    resource: Resource
    namespace: str = ""
    records: bool = False
    detailed: bool = False

    @property
    def scope(self) -> Scope:
        if not self.records:
            return Scope(namespace=self.namespace)
        fields = f"type={helm.RELEASE_TYPE}" if self.resource.kind == "Secret" else ""
        return Scope(namespace=self.namespace, labels=helm.RECORDS, fields=fields)


class UsageFeeds:
    """Runs feeds as tasks of the group that it is given; `on_sight` hears that what is not known is another now."""

    def __init__(
        self,
        client: Client,
        objects: Objects,
        graph: UsageGraph,
        *,
        labelled: Labelled,
        knowledge: Knowledge,
        on_sight: Callable[[], None],
    ) -> None:
        self._client = client
        self._objects = objects
        self._graph = graph
        self._records = ReleaseRecords(graph)
        self._labelled = labelled
        self._knowledge = knowledge
        self._on_sight = on_sight
        self._open: dict[Key, tuple[UsageFeed, asyncio.Task[None]]] = {}
        self._made: Sight | None = None
        self._awaited: bool | None = None
        self._generation = 0
        # Kinds that were looked for when the feeds were last arranged.
        self._looked_for: frozenset[str] = frozenset()
        self._gaps: tuple[Gap, ...] = ()
        self._learned: set[Resource] = set()
        # How often some kinds were to be read by other tables since the feeds were arranged.
        self._misread = 0
        # What is known of no table for sure, beside what was not read.
        self.unclear: Callable[[Discovery], Iterable[Unread]] = lambda _discovery: ()

    def __iter__(self) -> Iterator[tuple[Key, UsageFeed]]:
        return ((key, feed) for key, (feed, _) in self._open.items())

    def __len__(self) -> int:
        return len(self._open)

    @property
    def outdated(self) -> bool:
        """Whether other kinds are labelled, or own what is, than when the feeds were arranged, or some are to be read otherwise."""
        if self._misread:
            return True
        if self._labelled.generation == self._generation:
            return False
        if self._wanted_for() != self._looked_for:
            return True
        self._generation = self._labelled.generation
        return False

    @property
    def awaited(self) -> bool:
        """Whether a first list is under way, or not even asked for. Asked for every object."""
        if self._awaited is None:
            self._awaited = any(feed.awaited for feed, _ in self._open.values())
        return self._awaited or self.outdated

    async def arrange(self, group: asyncio.TaskGroup) -> None:
        """Opens what is wanted and not open, and closes what nobody wants any more."""
        misread = self._misread
        looked_for, gaps = self._wanted_for(), self._knowledge.discovery.gaps
        wanted = set(self._wanted()) if looked_for else set()
        unsure = {gap.group for gap in gaps} if looked_for else set()
        wanted |= {key for key in self._open if key.resource.group in unsure}
        if (wanted, looked_for, gaps) == (set(self._open), self._looked_for, self._gaps):
            self._misread -= misread
            return
        await self._learn_schemas(key.resource for key in wanted)
        for key in self._open.keys() - wanted:
            feed, task = self._open.pop(key)
            task.cancel()
            # At once: one that takes over from it may bring the same objects.
            feed.leave()
        for key in wanted - self._open.keys():
            view, sink = self._reading(key)
            feed = UsageFeed(
                self._client,
                key.resource,
                view=view,
                sink=sink,
                on_health=self.doubt,
                scope=key.scope,
            )
            self._open[key] = (feed, group.create_task(feed.run()))
        self._looked_for, self._gaps = looked_for, gaps
        self._misread -= misread
        self.doubt()

    def reread(self, kinds: Collection[str]) -> None:
        """Other tables say how these are read. Until the feeds are arranged nobody knows what they point at."""
        for key in [key for key in self._open if kind_name(key.resource) in kinds]:
            feed, task = self._open.pop(key)
            task.cancel()
            feed.leave()
        self._misread += 1
        self.doubt()

    def _reading(self, key: Key) -> tuple[View[Any], Sink]:
        if key.records:
            return WHOLE, self._records
        if not key.detailed:
            return self._objects.view(key.resource), self._graph
        how = KindView(key.resource, self._objects.readings, particulars=True, keys=False)
        return how.view, Detailed(self._graph, how)

    def close(self) -> None:
        for _, task in self._open.values():
            task.cancel()

    def doubt(self) -> None:
        """What can be seen may be another now."""
        self._made = self._awaited = None
        self._on_sight()

    def sight(self) -> Sight:
        if self._made is None:
            self._made = self._make_sight()
        return self._made

    def unread(self) -> int:
        """How many kinds could point at what is labelled and are not known at this moment."""
        return len(self.sight().unread)

    def referrers(self, targets: frozenset[str], owners: frozenset[str]) -> Iterator[tuple[Key, UsageFeed]]:
        """The feeds of what can point at such objects, deploy or own them, or says what they are good for."""
        relevance = self._relevance(targets)
        for key, (feed, _) in self._open.items():
            kind = kind_name(key.resource)
            asked = (kind in targets and is_asked(kind)) or relevance.requires(key.resource)
            if key.records or asked or kind in owners or self._objects.may_point(kind, targets):
                yield key, feed

    def reaches_across(self, kind: str, targets: frozenset[str]) -> bool:
        """Whether something of this kind may point at such objects in another namespace than its own."""
        return kind in TRACKING_KINDS or any(
            kind in REQUIRED_EVERYWHERE.get(target, ())
            or (
                self._objects.may_point(kind, (target,)) and self._objects.readings.reach.across(kind, target)
            )
            for target in targets
        )

    def _relevance(self, targets: frozenset[str]) -> Relevance:
        """What questions about such objects ask about."""
        asked = frozenset(kind for kind in targets if is_asked(kind))
        return Relevance(asked, self._objects.readings, place="")

    def _wanted_for(self) -> frozenset[str]:
        return self._labelled.kinds | self._labelled.owner_kinds

    def _wanted(self) -> Iterator[Key]:
        places = self._knowledge.settings.namespaces or ("",)
        targets, owners = self._labelled.kinds, self._labelled.owner_kinds
        relevance = self._relevance(targets)
        for resource in readable(self._knowledge.discovery):
            kind = kind_name(resource)
            is_namespaces = resource.qualified == NAMESPACES.qualified
            detailed = (kind in targets and is_asked(kind)) or relevance.requires(resource)
            if detailed or kind in owners or is_namespaces or self._objects.may_point(kind, targets):
                for place in places if resource.namespaced else ("",):
                    yield Key(resource, place, detailed=detailed)
        for resource in (SECRETS, CONFIG_MAPS):
            if self._knowledge.discovery.find("", resource.kind) is not None:
                yield from (Key(resource, place, records=True) for place in places)

    async def _learn_schemas(self, resources: Iterator[Resource]) -> None:
        new = {one for one in resources if self._objects.is_walked(one)} - self._learned
        found, error = await schemas_of(self._client, new)
        self._objects.schemas.update(found)
        if error is None:
            self._learned |= new

    def _make_sight(self) -> Sight:
        unread: list[Unread] = []
        doubted: set[str] = set()
        for key, (feed, _) in self._open.items():
            doubt = feed.doubt or self._narrowness(key)
            kind = kind_name(key.resource)
            if doubt and key.records:
                unread.append(Unread(kind="helm.sh/*", what=_RECORDS, why=doubt))
            elif doubt and kind not in doubted:
                doubted.add(kind)
                unread.append(Unread(kind=kind, what=key.resource.qualified, why=doubt))
        unread += untold(self._knowledge.discovery)
        unread += self.unclear(self._knowledge.discovery)
        ignored = self._knowledge.settings.usage.ignore_kinds
        kinds = {kind_name(key.resource): feed for key, (feed, _) in self._open.items() if not key.records}
        return Sight(
            readings=self._objects.readings,
            read=frozenset(kinds.keys() - doubted),
            walked=frozenset(
                kind for kind, feed in kinds.items() if len(feed) and self._objects.is_walked(feed.resource)
            ),
            unread=tuple(one for one in unread if not is_waived(one, ignored)),
            waived=tuple(one for one in unread if is_waived(one, ignored)),
        )

    def _narrowness(self, key: Key) -> str:
        """Only some namespaces are looked into; what can point out of others into these is not known then."""
        if not key.namespace or not self.reaches_across(kind_name(key.resource), self._labelled.kinds):
            return ""
        return "only those in the namespaces of the settings are read"
