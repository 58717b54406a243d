"""Everything known about the objects of a cluster: by uid, namespace and kind.

Several feeds may see one object (a label-selected one and one of the whole kind). An object is known while at least
one feed sees it: DELETED, or a new list without it, on one feed ends only that feed's sight of it. The newest
resourceVersion wins, whichever feed brings it. A new list is a swap: until it is complete the old knowledge stands, and
a list that breaks off half-way leaves nothing behind. Two versions of a kind are the same objects: feeds of both may be
open while one takes over from the other. A Namespace that is served as another kind too, under the same uid, is known as a
Namespace alone: under its other name nobody would know what is in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from skoupa.facts.rows import Row, Uid, is_newer
from skoupa.kube.resources import NAMESPACES, Resource


class Delta(msgspec.Struct, frozen=True, gc=False):
    """How knowledge of one object changed: appeared (no `before`), changed, or disappeared (no `after`).

    `unfollowed`: it disappeared only because nobody follows it any more. `watched`: a watch told of it, change by change; a
    list tells only what has become of it.
    """

    before: Row | None
    after: Row | None
    unfollowed: bool = False
    watched: bool = False


class FeedView:
    """What one feed sees. `arriving` is a list that is not complete yet."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.seen: set[Uid] = set()
        self.arriving: set[Uid] | None = None

    def sees(self, uid: Uid) -> bool:
        return uid in self.seen or (self.arriving is not None and uid in self.arriving)


class Store:
    def __init__(self) -> None:
        self._rows: dict[Uid, Row] = {}
        # By the name of the kind, whichever version a feed reads.
        self._feeds: dict[str, list[FeedView]] = {}
        # Made when somebody first asks: it costs as much memory as the feeds' own sets.
        self._by_namespace: dict[str, set[Uid]] | None = None

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows.values())

    def get(self, uid: Uid) -> Row | None:
        return self._rows.get(uid)

    def in_namespace(self, namespace: str) -> Iterator[Row]:
        if self._by_namespace is None:
            self._by_namespace = {}
            for row in self:
                self._by_namespace.setdefault(row.namespace, set()).add(row.uid)
        return (self._rows[uid] for uid in self._by_namespace.get(namespace, ()))

    def of_kind(self, resource: Resource) -> Iterator[Row]:
        feeds = self._feeds.get(resource.qualified, [])
        if len(feeds) == 1 and feeds[0].arriving is None:
            uids = feeds[0].seen
        else:
            uids = {uid for feed in feeds for uid in (*feed.seen, *(feed.arriving or ()))}
        # One that another kind has too, under the same uid, may have left by that one.
        return (row for uid in uids if (row := self._rows.get(uid)) is not None)

    def add_feed(self, resource: Resource) -> FeedView:
        feed = FeedView(resource)
        self._feeds.setdefault(resource.qualified, []).append(feed)
        return feed

    def remove_feed(self, feed: FeedView) -> list[Delta]:
        """The feed is not followed any more; what only it saw is not known any more."""
        lost = feed.seen | (feed.arriving or set())
        kind = feed.resource.qualified
        self._feeds[kind].remove(feed)
        if not self._feeds[kind]:
            del self._feeds[kind]
        feed.seen, feed.arriving = set(), None
        dropped = (
            Delta(delta.before, None, unfollowed=True) for delta in self._drop_unseen(feed.resource, lost)
        )
        return [*dropped, *self._hand_over(feed.resource, lost)]

    def _hand_over(self, resource: Resource, uids: Iterable[Uid]) -> Iterator[Delta]:
        """What was read in a version that nobody reads any more is named by the version that somebody does."""
        feeds = self._feeds.get(resource.qualified, [])
        if not feeds or any(feed.resource == resource for feed in feeds):
            return
        for uid in uids:
            row = self._rows.get(uid)
            heir = next((feed for feed in feeds if feed.sees(uid)), None)
            if row is not None and row.resource == resource and heir is not None:
                self._rows[uid] = msgspec.structs.replace(row, resource=heir.resource)
                yield Delta(row, self._rows[uid])

    def begin(self, feed: FeedView) -> list[Delta]:
        """A new list starts; what an unfinished one brought is void."""
        void = feed.arriving or set()
        feed.arriving = set()
        return self._drop_unseen(feed.resource, void)

    def listed(self, feed: FeedView, rows: Iterable[Row]) -> list[Delta]:
        assert feed.arriving is not None, "a list brings objects after begin()"
        deltas = []
        for row in rows:
            if self._is_namespace_by_another_name(row):
                continue
            feed.arriving.add(row.uid)
            if delta := self._learn(row):
                deltas.append(delta)
        return deltas

    def synced(self, feed: FeedView) -> list[Delta]:
        """The list is complete: it is now what the feed sees."""
        assert feed.arriving is not None, "a list is complete after begin()"
        lost = feed.seen - feed.arriving
        feed.seen, feed.arriving = feed.arriving, None
        return self._drop_unseen(feed.resource, lost)

    def changed(self, feed: FeedView, row: Row, *, watched: bool = False) -> Delta | None:
        if self._is_namespace_by_another_name(row):
            return None
        feed.seen.add(row.uid)
        return self._learn(row, watched=watched)

    def deleted(self, feed: FeedView, uid: Uid) -> Delta | None:
        """Gone for this feed: it may have been deleted, or have left the feed's selector."""
        feed.seen.discard(uid)
        return next(iter(self._drop_unseen(feed.resource, (uid,))), None)

    def refresh(self, row: Row) -> Delta | None:
        """A newer state that was read beside the feeds; objects that no feed sees stay unknown."""
        if row.uid not in self._rows or self._is_namespace_by_another_name(row):
            return None
        return self._learn(row)

    def _is_namespace_by_another_name(self, row: Row) -> bool:
        known = self._rows.get(row.uid)
        if known is None or known.resource is row.resource:
            return False
        return _is_namespace(known) and not _is_namespace(row)

    def _learn(self, row: Row, *, watched: bool = False) -> Delta | None:
        known = self._rows.get(row.uid)
        if known is not None:
            if known.resource is not row.resource and _is_namespace(row) and not _is_namespace(known):
                self._lose_sight_as(known)
            elif not is_newer(row, known) or row == known:
                return None
        self._rows[row.uid] = row
        if known is None and self._by_namespace is not None:
            self._by_namespace.setdefault(row.namespace, set()).add(row.uid)
        return Delta(known, row, watched=watched)

    def _lose_sight_as(self, other: Row) -> None:
        for feed in self._feeds.get(other.resource.qualified, ()):
            feed.seen.discard(other.uid)
            if feed.arriving is not None:
                feed.arriving.discard(other.uid)

    def _drop_unseen(self, resource: Resource, uids: Iterable[Uid]) -> list[Delta]:
        feeds = self._feeds.get(resource.qualified, [])
        deltas = []
        for uid in uids:
            if any(feed.sees(uid) for feed in feeds):
                continue
            row = self._rows.get(uid)
            if row is None or (row.resource is not resource and row.resource.qualified != resource.qualified):
                continue
            del self._rows[uid]
            if self._by_namespace is not None:
                _take_out(self._by_namespace, row.namespace, uid)
            deltas.append(Delta(row, None))
        return deltas


def _is_namespace(row: Row) -> bool:
    return row.resource.kind == NAMESPACES.kind and not row.resource.group


def _take_out(index: dict[str, set[Uid]], key: str, uid: Uid) -> None:
    uids = index.get(key)
    if uids is not None:
        uids.discard(uid)
        if not uids:
            del index[key]
