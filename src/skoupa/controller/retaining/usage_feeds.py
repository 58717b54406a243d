"""Which kinds are followed to know who uses what is labelled, and how much of that can be seen.

Which kinds those are says `wanted_feeds`; nothing is followed while nothing has the label. What is not followed though it matters, or not up to date, is what `sight` calls unread: it may point at
anything that it could. A group whose kinds the server can't tell for a while keeps its feeds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.usage_feed import NOT_READ_YET, Sink, UsageFeed
from skoupa.controller.retaining.usage_graph import Detailed, ReleaseRecords, UsageGraph
from skoupa.controller.retaining.wanted_feeds import Key, WantedFeeds
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.objects import WHOLE, View
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.runs.using.schemas import schemas_of
from skoupa.usage.edges.patterns import ANYTHING
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.views import KindView
from skoupa.usage.objects import Objects, is_waived, untold
from skoupa.usage.sight import Sight, Unread
from skoupa.usage.tracking import helm

# With what waives them.
_RECORDS: Final = "records of Helm releases (*.helm.sh)"


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
        self._wanted = WantedFeeds(objects, labelled, knowledge)
        self.reaches_across = self._wanted.reaches_across
        self._on_sight = on_sight
        self._open: dict[Key, tuple[UsageFeed, asyncio.Task[None]]] = {}
        self._made: Sight | None = None
        self._awaited: bool | None = None
        self._generation = 0
        # Kinds that were looked for when the feeds were last arranged.
        self._looked_for: frozenset[str] = frozenset()
        self._gaps: tuple[Gap, ...] = ()
        # Kinds that are served and that nobody follows yet.
        self._missing: set[Key] = set()
        # Of those that are on their way, what the sight was made with.
        self._coming: frozenset[str] = frozenset()
        self._learned: set[Resource] = set()
        self._schemas_unread: SkoupaError | None = None
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
        if self._wanted.kinds() != self._looked_for:
            return True
        self._generation = self._labelled.generation
        return False

    @property
    def awaited(self) -> bool:
        """Whether a first list is under way, or not even asked for. Asked for every object."""
        if self._awaited is None:
            self._awaited = any(feed.awaited for feed, _ in self._open.values())
        return self._awaited or self.outdated

    @property
    def expects_kinds(self) -> bool:
        """Whether some kinds were on their way when somebody last asked what can be seen."""
        return bool(self._coming)

    @property
    def unsettled(self) -> bool:
        """Whether what is not known ends without a word of any feed: kinds on their way, definitions that can't be read."""
        return self.expects_kinds or self._schemas_unread is not None

    def review(self) -> None:
        """What is served may be another: until the feeds are arranged nobody knows what new kinds point at."""
        missing = self._all_wanted() - self._open.keys()
        if missing != self._missing or self._knowledge.discovery.gaps != self._gaps:
            self._missing = missing
            self.doubt()

    async def arrange(self, group: asyncio.TaskGroup) -> None:
        """Opens what is wanted and not open, and closes what nobody wants any more."""
        misread = self._misread
        looked_for, gaps = self._wanted.kinds(), self._knowledge.discovery.gaps
        wanted = self._all_wanted()
        known = (wanted, looked_for, gaps) == (set(self._open), self._looked_for, self._gaps)
        if known and self._schemas_unread is None:
            self._misread -= misread
            self.review()
            return
        await self._learn_schemas(key.resource for key in wanted)
        for key in self._open.keys() - wanted:
            # At once: one that takes over from it may bring the same objects.
            self._close(key)
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
        self._missing = self._all_wanted() - self._open.keys()
        self.doubt()

    def reread(self, kinds: Collection[str]) -> None:
        """Other tables say how these are read. Until the feeds are arranged nobody knows what they point at."""
        for key in [key for key in self._open if kind_name(key.resource) in kinds]:
            self._close(key)
        self._misread += 1
        self.doubt()

    def _close(self, key: Key) -> None:
        feed, task = self._open.pop(key)
        task.cancel()
        feed.leave()

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
        if self._made is None or self._coming != self._knowledge.coming.keys():
            self._coming = frozenset(self._knowledge.coming)
            self._made = self._make_sight()
        return self._made

    def unread(self) -> int:
        """How many kinds could point at what is labelled and are not known at this moment."""
        return len(self.sight().unread)

    def referrers(self, targets: frozenset[str], owners: frozenset[str]) -> Iterator[tuple[Key, UsageFeed]]:
        """The feeds of what can point at such objects, deploy or own them, or says what they are good for."""
        for key in self._wanted.about(self._open, targets, owners):
            yield key, self._open[key][0]

    def _all_wanted(self) -> set[Key]:
        if not self._wanted.kinds():
            return set()
        unsure = {gap.group for gap in self._knowledge.discovery.gaps}
        return {*self._wanted.keys(), *(key for key in self._open if key.resource.group in unsure)}

    async def _learn_schemas(self, resources: Iterator[Resource]) -> None:
        new = {one for one in resources if self._objects.is_walked(one)} - self._learned
        found, self._schemas_unread = await schemas_of(self._client, new)
        for key in [key for key in self._open if key.resource in found.keys() - self._objects.schemas.keys()]:
            # What was searched without it is searched once more.
            self._close(key)
        self._objects.schemas.update(found)
        if self._schemas_unread is None:
            self._learned |= new

    def _make_sight(self) -> Sight:
        unread: list[Unread] = []
        doubted: set[str] = set()
        for key, (feed, _) in self._open.items():
            blindly = self._searched_blindly(key.resource) if len(feed) else ""
            doubt = feed.doubt or self._narrowness(key) or blindly
            kind = kind_name(key.resource)
            if doubt and key.records:
                unread.append(Unread(kind=helm.ANY_RELEASES, what=_RECORDS, why=doubt))
            elif doubt and kind not in doubted:
                doubted.add(kind)
                unread.append(Unread(kind=kind, what=key.resource.qualified, why=doubt))
        unread += untold(self._knowledge.discovery)
        unread += self.unclear(self._knowledge.discovery)
        unread += self._ahead()
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
            ignored=frozenset(ignored),
        )

    def _ahead(self) -> Iterator[Unread]:
        """Kinds that are on their way, or that nobody follows yet."""
        for name, blind in self._knowledge.coming.items() if self._wanted.kinds() else ():
            known = kind_name(blind.resource) if blind.resource.kind else ""
            yield Unread(kind=known or f"{blind.resource.group}/{ANYTHING}", what=name, why=blind.why)
        for key in sorted(self._missing, key=lambda key: key.resource.qualified):
            what = _RECORDS if key.records else key.resource.qualified
            kind = helm.ANY_RELEASES if key.records else kind_name(key.resource)
            yield Unread(kind=kind, what=what, why=NOT_READ_YET)

    def _searched_blindly(self, resource: Resource) -> str:
        """Only a definition says what some fields of its objects name, and it could not be read."""
        error = self._schemas_unread
        custom = resource.group not in BUILT_IN_GROUPS and self._objects.is_walked(resource)
        if error is None or not custom or resource in self._objects.schemas:
            return ""
        return f"their definition says which fields name something, and can't be read: {error.brief}"

    def _narrowness(self, key: Key) -> str:
        """Only some namespaces are looked into; what can point out of others into these is not known then."""
        if not key.namespace or not self._wanted.reaches_across(
            kind_name(key.resource), self._labelled.kinds
        ):
            return ""
        return "only those in the namespaces of the settings are read"
