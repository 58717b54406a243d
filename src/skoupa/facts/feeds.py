"""Keeps the store true: follows the watch of one kind and scope into it, and knows how good its knowledge is.

One task per feed. A feed that was never synced, or has been behind, says so in its `health`: what it does not know must
hold deletions, not allow them. Objects that arrived but could not be read are counted and named there too. After an
interruption what is kept is listed anew: that a watch stands again does not prove that the server has caught up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Extraction, Row, pack_uid
from skoupa.facts.store import Delta, FeedView, Store
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.decoding import Undecodable
from skoupa.kube.following import PATIENCE, Patience
from skoupa.kube.lines import Change
from skoupa.kube.lists import EVERYWHERE, Scope
from skoupa.kube.objects import METADATA, View
from skoupa.kube.resources import NAMESPACES, Resource

UNREADABLE_KEPT: Final = 100


class Health(msgspec.Struct, kw_only=True):
    """`synced_at` is None until the first list is complete; `behind_since` is None while the watch is connected.

    `heard_at` is when the watch last brought a change or a bookmark, by the clock that never jumps.
    """

    synced_at: float | None = None
    heard_at: float | None = None
    behind_since: float | None = None
    error: SkoupaError | None = None
    resource_version: str = ""
    lists: int = 0
    changes: int = 0
    unreadable: list[Undecodable] = msgspec.field(default_factory=list)


class Body(msgspec.Struct, frozen=True):
    """More of an object than its metadata: how to ask for it, and who hears of each, before the store does."""

    view: View[Any]
    seen: Callable[[Row, Any], None]


class Feed:
    """`body`: more is read than what the store keeps; whatever it is, it has metadata."""

    def __init__(
        self,
        client: Client,
        resource: Resource,
        *,
        store: Store,
        extraction: Extraction,
        scope: Scope = EVERYWHERE,
        on_change: Callable[[Sequence[Delta]], None] = lambda _: None,
        on_health: Callable[[], None] = lambda: None,
        patience: Patience = PATIENCE,
        body: Body | None = None,
    ) -> None:
        self._client = client
        self._patience = patience
        self._body = body
        self._store = store
        self._extraction = extraction
        self._on_change = on_change
        self._on_health = on_health
        self.resource = resource
        self.scope = scope
        self.health = Health()

    async def run(self) -> None:
        """Follows for ever; when cancelled, what only this feed saw leaves the store."""
        view = self._store.add_feed(self.resource)
        events = watch.watch(
            self._client,
            self.resource,
            METADATA if self._body is None else self._body.view,
            scope=self.scope,
            patience=self._patience,
            anew=_kept_of(self.resource, self.scope),
        )
        try:
            async with aclosing(events):
                async for event in events:
                    deltas = self._take(event, view)
                    if deltas:
                        self._on_change(deltas)
        finally:
            lost = self._store.remove_feed(view)
            if lost:
                self._on_change(lost)

    def _take(self, event: watched.WatchEvent[Any], view: FeedView) -> list[Delta]:
        store = self._store
        match event:
            case watched.Begun():
                self.health.unreadable.clear()
                return store.begin(view)
            case watched.Listed(objects, undecodable):
                self._note(undecodable)
                return store.listed(view, map(self._row, objects))
            case watched.Synced(version):
                now = self._client.clock.now()
                self._caught_up(version)
                self.health.synced_at = now
                self.health.lists += 1
                self._on_health()
                deltas = store.synced(view)
                self._extraction.prune(store)
                return deltas
            case watched.Changed(changes, undecodable):
                self._note(undecodable)
                self._heard("")
                self.health.changes += len(changes)
                deltas = [delta for change in changes if (delta := self._apply(change, view))]
                return [*deltas, *self._gone(undecodable, view)]
            case watched.Progressed(version):
                self._heard(version)
            case watched.Reread(objects, undecodable):
                self._note(undecodable)
                return [delta for row in map(self._row, objects) if (delta := store.changed(view, row))]
            case watched.Resumed():
                self._caught_up("")
            case watched.Interrupted(error, _):
                self.health.error = error
                self.health.behind_since = self.health.behind_since or self._client.clock.now()
                self._on_health()
        return []

    def _apply(self, change: Change[Any], view: FeedView) -> Delta | None:
        # What could not be read so far is new here when it can be, whatever happened to it before.
        watched = not self.health.unreadable
        if self.health.unreadable:
            uid = change.object.metadata.uid
            self.health.unreadable = [bad for bad in self.health.unreadable if bad.uid != uid]
        if change.deleted:
            return self._store.deleted(view, pack_uid(change.object.metadata.uid))
        self.health.resource_version = change.object.metadata.resource_version
        return self._store.changed(view, self._row(change.object), watched=watched)

    def _row(self, found: Any) -> Row:
        row = self._extraction.row(self.resource, found)
        if self._body is not None:
            self._body.seen(row, found)
        return row

    def _heard(self, version: str) -> None:
        self.health.heard_at = self._client.clock.monotonic()
        self._caught_up(version)

    def _caught_up(self, version: str) -> None:
        if self.health.behind_since is not None:
            self.health.behind_since = None
            self.health.error = None
            self._on_health()
        if version:
            self.health.resource_version = version

    def _gone(self, undecodable: Sequence[Undecodable], view: FeedView) -> Iterator[Delta]:
        """What can't be read may be read well enough to tell that it was deleted."""
        for bad in undecodable:
            if bad.gone and bad.uid and (delta := self._store.deleted(view, pack_uid(bad.uid))):
                yield delta

    def _note(self, undecodable: Sequence[Undecodable]) -> None:
        if undecodable:
            known = {bad.uid for bad in undecodable if bad.uid}
            left = [bad for bad in self.health.unreadable if bad.uid not in known]
            came = [bad for bad in undecodable if not bad.gone]
            self.health.unreadable = [*left, *came][:UNREADABLE_KEPT]
            self._on_health()


def _kept_of(resource: Resource, scope: Scope) -> Scope | None:
    """Which of what a feed sees is kept. Of Namespaces it is all: what is written on them concerns all that is in them."""
    if scope.labels == names.KEEP_LABEL or (not scope.labels and resource.qualified == NAMESPACES.qualified):
        return scope
    return None if scope.labels else msgspec.structs.replace(scope, labels=names.KEEP_LABEL)
