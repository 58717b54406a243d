"""The usage graph of a running controller: what feeds bring goes in, and who is concerned by each change comes out.

Only what differs concerns anybody: targets that an object points at and did not before, or did and does not any more, those whose
name it says, and those that it owns when it comes or goes. A selector, or a name of which only a part is known, concerns all of a
kind that it may mean. `changes` grows with everything that is learned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat
from typing import Any, Final

import msgspec

from skoupa.controller.retaining.deployers import Deployers
from skoupa.controller.retaining.labelled import Labelled
from skoupa.facts.rows import Extraction, Row, Uid, pack_uid, uid_text
from skoupa.judge.cascade import is_namespace
from skoupa.kube.decoding import metadata_of
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource
from skoupa.usage import tracking
from skoupa.usage.bound_claims import VOLUME, claims_of
from skoupa.usage.edges.patterns import ANYTHING, kinds_meaning, means
from skoupa.usage.found import Choice, Found, Use
from skoupa.usage.graph import Graph, User, is_partly_known, kind_name
from skoupa.usage.leftovers.particulars import Particulars
from skoupa.usage.leftovers.views import KindView
from skoupa.usage.made_for import is_made_for
from skoupa.usage.mentioning import Mentions
from skoupa.usage.mentions import Said, said_by
from skoupa.usage.objects import Objects, both
from skoupa.usage.reading import Readings
from skoupa.usage.rules import Means
from skoupa.usage.tracking import Tracks

# Rows are made anew after so many, since pools keep what was ever seen.
_PRUNE_EVERY: Final = 100_000
_POD: Final = "Pod"
_TOO_MANY_WORDS: Final = Found(doubts=("there are too many words in annotations and custom objects",))
# The record of a release is a Secret, and is read whole beside all the Secrets: under this name both are in the graph.
RELEASES: Final = Resource(
    group="helm.sh", version="v1", plural="releases", kind="Release", namespaced=True, verbs=("list", "watch")
)


class UsageGraph:
    """`on_concerned` hears of objects that may be needed now, or not any more; `on_doubt` that all may be."""

    def __init__(
        self,
        objects: Objects,
        labelled: Labelled,
        *,
        on_concerned: Callable[[Iterable[Uid]], None],
        on_doubt: Callable[[], None],
    ) -> None:
        self._objects = objects
        self._labelled = labelled
        self._on_concerned = on_concerned
        self._on_doubt = on_doubt
        self._extraction = Extraction(annotations=())
        self._made = 0
        # Those that may point at anything.
        self._doubtful: set[Uid] = set()
        self.graph = Graph()
        self.deployers = Deployers()
        self.mentions = Mentions()
        # Of objects that are asked about more than what they point at.
        self.particulars: dict[Uid, Particulars] = {}
        self.changes = 0

    @property
    def readings(self) -> Readings:
        return self._objects.readings

    def put(
        self,
        resource: Resource,
        items: Sequence[Any],
        *,
        followed: bool,
        particulars: Iterable[Particulars | None] = repeat(None),
    ) -> list[Uid]:
        """A page at a time, one step after the other for all of it: a quarter quicker than all steps for one after the other."""
        kind = kind_name(resource)
        known = [metadata_of(item) for item in items]
        reads = [self._objects.read(resource, item, meta) for item, meta in zip(items, known, strict=True)]
        rows = [self.row_of(resource, meta) for meta in known]
        saying = [
            self._said(row, item, meta, read.found)
            for row, item, meta, read in zip(rows, items, known, reads, strict=True)
        ]
        for row, meta, read, said, more in zip(rows, known, reads, saying, particulars, strict=False):
            if self.mentions.has_room(row.uid, said):
                self.take(row, read.found, followed=followed, said=said, particulars=more)
            else:
                self.take(row, both(read.found, _TOO_MANY_WORDS), followed=followed, particulars=more)
            self.deploys(row.uid, kind, meta, read.tracks)
        return [row.uid for row in rows]

    def remove(self, uid: Uid, *, followed: bool) -> None:
        known = self.graph.by_uid(uid)
        if known is None:
            return
        before = self._edges(uid) if followed else ()
        doubtful = uid in self._doubtful
        self._doubtful.discard(uid)
        self.graph.remove(uid)
        self.particulars.pop(uid, None)
        self.changes += 1
        named = self.mentions.hush(uid)
        if followed:
            concerned = {*self._meant_by(before), *self._labelled.owned_by(uid), *named}
            self._on_concerned(concerned.union(self._made_for(known)))
        if self.deployers.remove(uid) or doubtful:
            self._on_doubt()

    def take(
        self,
        row: Row,
        found: Found,
        *,
        followed: bool,
        said: Said | None = None,
        particulars: Particulars | None = None,
    ) -> None:
        known = self.graph.by_uid(row.uid)
        before = self._edges(row.uid) if followed else ()
        if not self.graph.put(row, found):
            return
        self.changes += 1
        if particulars is not None:
            self.particulars[row.uid] = particulars
        named = self.mentions.say(row, said or [])
        if found.doubts or row.uid in self._doubtful:
            (self._doubtful.add if found.doubts else self._doubtful.discard)(row.uid)
            self._on_doubt()
        if not followed:
            return
        concerned = {*self._meant_by(set(before) ^ set(self._edges(row.uid))), *named}
        if known is None:
            concerned.update(self._labelled.owned_by(row.uid), self._made_for(row))
        elif is_namespace(row) and known.labels != row.labels:
            concerned.update(one.uid for one in self._labelled if one.namespace == row.name)
        self._on_concerned(concerned)

    def deploys(self, uid: Uid, kind: str, metadata: Metadata, tracks: Tracks | None) -> None:
        if self.deployers.put(uid, kind, metadata, tracks):
            self._on_doubt()

    def mentioning(self, row: Row) -> Iterator[User]:
        """Who says the name of a labelled object where no rule says what is meant."""
        kind = kind_name(row.resource)
        for uid, at in self.mentions.of(row.uid):
            known = self.graph.by_uid(uid)
            if known is not None and self._objects.may_point(kind_name(known.resource), (kind,)):
                yield User(known, at, Means.MENTIONS)

    def _said(self, row: Row, item: Any, metadata: Metadata, found: Found) -> Said:
        if kind_name(row.resource) == _POD and not found.uses:
            # It has ended: one that lives has a ServiceAccount at least.
            return []
        custom = row.resource.group not in BUILT_IN_GROUPS
        walked = custom and self._objects.is_walked(row.resource)
        return said_by(row, item, metadata, custom=custom, walked=walked)

    def _edges(self, uid: Uid) -> list[Use | Choice]:
        return [*self.graph.uses_of(uid), *(choice for _, choice in self.graph.selectors_of(uid))]

    def _meant_by(self, edges: Iterable[Use | Choice]) -> Iterator[Uid]:
        for edge in edges:
            if isinstance(edge, Choice):
                yield from (row.uid for row in self._may_be_meant(edge.kind, edge.namespace, edge.namespaces))
                continue
            target = edge.target
            if not is_partly_known(target):
                volume = self.graph.get(target) if target.kind == VOLUME else None
                for one in (target, *(claims_of(self.graph, volume) if volume is not None else ())):
                    uid = self._labelled.named(one)
                    if uid is not None:
                        yield uid
            else:
                for row in self._may_be_meant(target.kind, target.namespace):
                    if means(target.name, row.name):
                        yield row.uid

    def _made_for(self, maker: Row) -> Iterator[Uid]:
        """What an operator made for this object, which comes or goes."""
        if maker.resource.group not in BUILT_IN_GROUPS:
            meant = self._labelled.made_for(maker.name)
            yield from (row.uid for row in meant if is_made_for(row, maker))

    def _may_be_meant(self, kind: str, namespace: str, namespaces: str = "") -> Iterator[Row]:
        for known in self._labelled.kinds:
            if kind in kinds_meaning(known):
                for row in self._labelled.of_kind(known):
                    if namespaces or namespace in (ANYTHING, row.namespace):
                        yield row

    def row_of(self, resource: Resource, metadata: Metadata) -> Row:
        self._made += 1
        if self._made % _PRUNE_EVERY == 0:
            self._extraction.prune(self.graph)
        return self._extraction.row(resource, Partial(metadata=metadata))


class Detailed:
    """Takes objects of a kind that is asked about more than what it points at."""

    def __init__(self, graph: UsageGraph, how: KindView) -> None:
        self._graph = graph
        self._how = how

    def put(self, resource: Resource, items: Sequence[Any], *, followed: bool) -> list[Uid]:
        particulars = [self._how.particulars(item) for item in items]
        return self._graph.put(resource, items, followed=followed, particulars=particulars)

    def remove(self, uid: Uid, *, followed: bool) -> None:
        self._graph.remove(uid, followed=followed)


class ReleaseRecords:
    """Takes the records of Helm: each is a deployer beside the Secret (or ConfigMap) that it is kept in."""

    def __init__(self, graph: UsageGraph) -> None:
        self._graph = graph

    def put(self, resource: Resource, items: Sequence[Any], *, followed: bool) -> list[Uid]:
        return [self._put(resource, item, followed=followed) for item in items]

    def _put(self, resource: Resource, item: Any, *, followed: bool) -> Uid:
        kind, metadata = kind_name(resource), metadata_of(item)
        uid = release_of(metadata.uid)
        tracks = tracking.tracks(kind, item)
        found = tracks.found if tracks is not None else Found()
        row = self._graph.row_of(RELEASES, msgspec.structs.replace(metadata, uid=uid, owner_references=None))
        self._graph.take(row, found, followed=followed)
        self._graph.deploys(uid, kind, metadata, tracks)
        return pack_uid(metadata.uid)

    def remove(self, uid: Uid, *, followed: bool) -> None:
        self._graph.remove(release_of(uid_text(uid)), followed=followed)


def release_of(uid: str) -> str:
    """The uid under which the graph has the record that is kept in this Secret."""
    return f"release {uid}"
