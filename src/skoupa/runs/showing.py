"""Rows of what runs chose, in the store, although nobody watches them: so they are judged and swept like any other.

A row is shown while some policy chooses it. Where a feed knows the object as well, the newest of both counts; what the feed knows
of the same state is kept, for it may know more.
"""

from __future__ import annotations

from collections.abc import Iterable

from skoupa.facts.rows import Extraction, Row, Uid, pack_uid
from skoupa.facts.store import Delta, FeedView, Store
from skoupa.kube.objects import Metadata, Partial
from skoupa.kube.resources import Resource


class Showing:
    def __init__(self, store: Store, extraction: Extraction) -> None:
        self._store = store
        self._extraction = extraction
        self._views: dict[str, FeedView] = {}

    def row(self, resource: Resource, metadata: Metadata) -> Row:
        known = self._store.get(pack_uid(metadata.uid))
        row = self._extraction.row(resource, Partial(metadata=metadata))
        return known if known is not None and known.version == row.version else row

    def show(self, rows: Iterable[Row]) -> list[Delta]:
        deltas = []
        for row in rows:
            delta = self._store.changed(self._view(row.resource), row)
            if delta is not None:
                deltas.append(delta)
        return deltas

    def hide(self, uids: Iterable[Uid]) -> list[Delta]:
        """Whoever else sees one goes on seeing it."""
        deltas = []
        for uid in uids:
            row = self._store.get(uid)
            if row is None:
                continue
            delta = self._store.deleted(self._view(row.resource), uid)
            if delta is not None:
                deltas.append(delta)
        return deltas

    def _view(self, resource: Resource) -> FeedView:
        known = self._views.get(resource.qualified)
        if known is None:
            known = self._views[resource.qualified] = self._store.add_feed(resource)
        return known
