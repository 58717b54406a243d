"""What the embedded cluster keeps: objects as encoded bytes, one revision for all of them, and a bounded past.

A `Shelf` holds the objects of one kind, whatever versions it is served in, in the key order of etcd; a `Store` has all
shelves, the revision and the compaction. Every write is one `Change` in the shelf's log: watches read it forwards,
a list of an older revision is today's shelf with the later changes undone. Reading never decodes an object.
It does not judge what it is given: names, preconditions and finalizers are the business of the callers.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from skoupa.clock import Clock

Event = Literal["ADDED", "MODIFIED", "DELETED"]

# etcd is compacted every five minutes, to where it was five minutes before.
COMPACTION_INTERVAL = 300.0
# A shelf remembers no more changes than the watch cache of a real server would (100 x 1024).
LONGEST_LOG = 102_400
# What the watch cache keeps of an idle kind, however old it is.
SHORTEST_LOG = 100

# The order in which a server writes metadata, and what it leaves out.
_METADATA_ORDER = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
)
_NOTHING: tuple[Any, ...] = (None, "", {}, [])

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Row(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One object: `meta` is its metadata as JSON, `rest` all other fields but kind and apiVersion, without braces."""

    key: str
    namespace: str
    name: str
    uid: str
    version: int
    meta: bytes
    rest: bytes
    labels: Mapping[str, str] | None = None
    owners: tuple[str, ...] = ()
    deleting: bool = False

    def decode(self) -> dict[str, Any]:
        """The object without kind and apiVersion, the caller's to change."""
        return _decode(b'{"metadata":' + self.meta + (b"," + self.rest if self.rest else b"") + b"}")

    def metadata(self) -> dict[str, Any]:
        return _decode(self.meta)


class Change(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One write; a DELETED row is the last state under the revision of its removal."""

    event: Event
    version: int
    row: Row
    previous: Row | None = None


Listener = Callable[["Shelf", Change], None]


def key_of(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


class Shelf:
    """The objects of one kind and its recent changes."""

    def __init__(self, *, group: str, plural: str) -> None:
        self.group = group
        self.plural = plural
        self.rows: dict[str, Row] = {}
        self.keys: list[str] = []
        self.log: list[Change] = []
        # The revision after which the log is complete: a watch from an older one can't be served.
        self.complete_after = 0
        self.listeners: list[Callable[[Change], None]] = []
        self._past: tuple[int, list[str], dict[str, Row]] | None = None

    def get(self, namespace: str, name: str) -> Row | None:
        return self.rows.get(key_of(namespace, name))

    def span(self, namespace: str) -> tuple[int, int]:
        """Where the keys of a namespace lie; of all of them if it is empty."""
        if not namespace:
            return 0, len(self.keys)
        # "0" follows "/" in ASCII, so nothing of another namespace lies between.
        return bisect_left(self.keys, f"{namespace}/"), bisect_left(self.keys, f"{namespace}0")

    def in_namespace(self, namespace: str) -> Iterator[Row]:
        start, end = self.span(namespace)
        rows = self.rows
        return (rows[key] for key in self.keys[start:end])

    def since(self, version: int) -> list[Change]:
        return self.log[bisect_right(self.log, version, key=_version_of) :]

    def at(self, version: int) -> tuple[list[str], Mapping[str, Row]]:
        """Keys in order and rows as they were at `version`, which must not be older than `complete_after`."""
        later = self.since(version)
        if not later:
            return self.keys, self.rows
        # The past does not change: the pages of one list share what was worked out for the first of them.
        if self._past is not None and self._past[0] == version:
            return self._past[1:]
        before: dict[str, Row | None] = {}
        for change in later:
            before.setdefault(change.row.key, change.previous)
        rows = dict(self.rows)
        for key, row in before.items():
            if row is None:
                rows.pop(key, None)
            else:
                rows[key] = row
        self._past = (version, sorted(rows), rows)
        return self._past[1:]

    def _forget(self, upto: int) -> None:
        """Drops the log up to and including a revision."""
        cut = bisect_right(self.log, upto, key=_version_of)
        if cut:
            self.complete_after = max(self.complete_after, self.log[cut - 1].version)
            del self.log[:cut]
        self._past = None


def _version_of(change: Change) -> int:
    return change.version


class Store:
    """All shelves under one revision, which every write raises by one."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.revision = 1
        self.compacted = 0
        self.shelves: dict[tuple[str, str], Shelf] = {}
        self.listeners: list[Listener] = []
        self._mark = 1
        self._next = clock.monotonic() + COMPACTION_INTERVAL

    def shelf(self, *, group: str, plural: str) -> Shelf:
        found = self.shelves.get((group, plural))
        if found is None:
            found = self.shelves[group, plural] = Shelf(group=group, plural=plural)
            found.complete_after = self.revision
        return found

    def put(self, shelf: Shelf, obj: Mapping[str, Any]) -> Row:
        """Writes an object, new or changed; its resourceVersion becomes the new revision."""
        self.tick()
        self.revision += 1
        row = row_of(obj, self.revision)
        previous = shelf.rows.get(row.key)
        if previous is None:
            insort(shelf.keys, row.key)
        shelf.rows[row.key] = row
        event: Event = "ADDED" if previous is None else "MODIFIED"
        self._record(shelf, Change(event=event, version=row.version, row=row, previous=previous))
        return row

    def remove(self, shelf: Shelf, row: Row) -> Row:
        self.tick()
        self.revision += 1
        del shelf.rows[row.key]
        del shelf.keys[bisect_left(shelf.keys, row.key)]
        last = row_of(row.decode(), self.revision)
        self._record(shelf, Change(event="DELETED", version=last.version, row=last, previous=row))
        return last

    def restore(self, shelf: Shelf, objects: Iterable[Mapping[str, Any]]) -> int:
        """Puts many objects at once, as a restored backup of etcd would: nothing of it is in the log."""
        known = len(shelf.keys)
        changes: list[Change] = []
        heard = bool(self.listeners or shelf.listeners)
        for obj in objects:
            self.revision += 1
            row = row_of(obj, self.revision)
            previous = shelf.rows.get(row.key)
            if previous is None:
                shelf.keys.append(row.key)
            shelf.rows[row.key] = row
            if heard:
                event: Event = "ADDED" if previous is None else "MODIFIED"
                changes.append(Change(event=event, version=row.version, row=row, previous=previous))
        shelf.keys.sort()
        shelf.log.clear()
        shelf.complete_after = self.revision
        for change in changes:
            self._tell(shelf, change)
        return len(shelf.keys) - known

    def tick(self) -> None:
        """Compacts if it is time; called before whatever depends on how much of the past is kept."""
        now = self._clock.monotonic()
        while now >= self._next:
            self._forget(self._mark, keep=SHORTEST_LOG)
            self._mark = self.revision
            late = now - self._next
            # After a long silence two steps are as good as all of them: nothing was written in between.
            self._next += COMPACTION_INTERVAL * max(1, int(late // COMPACTION_INTERVAL))

    def compact(self) -> None:
        """Forgets the past now: every older resourceVersion and continue token is expired."""
        # A server writes down how far it compacted, so that even the newest version a client knows is older.
        self.revision += 1
        self._forget(self.revision, keep=0)
        for shelf in self.shelves.values():
            shelf.complete_after = self.revision

    def _forget(self, upto: int, *, keep: int) -> None:
        self.compacted = max(self.compacted, upto)
        for shelf in self.shelves.values():
            if len(shelf.log) > keep:
                newest_dropped = shelf.log[len(shelf.log) - keep - 1].version if keep else upto
                shelf._forget(min(upto, newest_dropped))  # noqa: SLF001 - a shelf belongs to its store

    def _record(self, shelf: Shelf, change: Change) -> None:
        shelf.log.append(change)
        if len(shelf.log) > LONGEST_LOG + LONGEST_LOG // 8:
            shelf._forget(shelf.log[-LONGEST_LOG - 1].version)  # noqa: SLF001 - a shelf belongs to its store
        self._tell(shelf, change)

    def _tell(self, shelf: Shelf, change: Change) -> None:
        for hear in tuple(shelf.listeners):
            hear(change)
        for listener in self.listeners:
            listener(shelf, change)


def row_of(obj: Mapping[str, Any], version: int | None) -> Row:
    """The row of an object under a revision; None is that of a create that was only tried."""
    given = obj["metadata"]
    metadata = {field: given[field] for field in _METADATA_ORDER if given.get(field) not in _NOTHING}
    if version is None:
        metadata.pop("resourceVersion", None)
    else:
        metadata["resourceVersion"] = str(version)
    rest = {field: obj[field] for field in obj if field not in {"metadata", "kind", "apiVersion"}}
    namespace = sys.intern(metadata.get("namespace") or "")
    name = metadata["name"]
    labels = metadata.get("labels")
    return Row(
        key=key_of(namespace, name),
        namespace=namespace,
        name=name,
        uid=metadata["uid"],
        version=version or 0,
        meta=_encode(metadata),
        rest=_encode(rest)[1:-1],
        labels={sys.intern(key): value for key, value in labels.items()} if labels else None,
        owners=tuple(owner["uid"] for owner in metadata.get("ownerReferences") or ()),
        deleting="deletionTimestamp" in metadata,
    )
