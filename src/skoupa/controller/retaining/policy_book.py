"""The retention policies of the cluster as they are read, kept true by watching: what counts, what is broken and why.

What the server has not told yet, or could not, is a doubt that holds, never an empty book. A policy that can't be understood is in
the book with its problems: what it is about is not known, so it takes nothing. Whose status we write ourselves does not change by that.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.errors import ApiError, SkoupaError
from skoupa.expr.instants import parse_rfc3339
from skoupa.kinds.definition import Definition
from skoupa.kinds.retention.policy import CLUSTER_RETENTION_POLICY, RETENTION_POLICY
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lines import Change
from skoupa.kube.lists import Scope
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.reading import RetentionReading, read_retention
from skoupa.runs.authors import last_write
from skoupa.runs.book import served

WATCHED: Final[tuple[Definition, ...]] = (RETENTION_POLICY, CLUSTER_RETENTION_POLICY)
_NOT_READ: Final = "they are not read yet"

Object = Mapping[str, Any]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """A policy as it stands in the cluster; `author` wrote its spec last, as far as that is known."""

    kind: Resource
    namespace: str
    name: str
    uid: str
    generation: int
    reading: RetentionReading
    author: str = ""
    created: float = 0.0
    status: Object = {}

    @property
    def policy(self) -> Retention | None:
        return self.reading.policy

    @property
    def called(self) -> str:
        return "/".join(part for part in (self.kind.kind, self.namespace, self.name) if part)


class RetentionBook:
    """`on_change` hears of a policy by its uid: new, changed or gone; `on_trust` that what is known can be trusted again, or not."""

    def __init__(
        self,
        client: Client,
        *,
        discovery: Callable[[], Discovery],
        namespaces: Collection[str],
        on_change: Callable[[str], None],
        on_trust: Callable[[], None],
    ) -> None:
        self._client = client
        self._discovery = discovery
        self._namespaces = namespaces
        self._on_change = on_change
        self._on_trust = on_trust
        self._group: asyncio.TaskGroup | None = None
        self._looked_at: Discovery | None = None
        self._followed: dict[tuple[Resource, str], asyncio.Task[None]] = {}
        self._objects: dict[str, tuple[Resource, Object]] = {}
        self._entries: dict[str, Entry] = {}
        self.doubts: dict[tuple[Resource, str], str] = {}

    def __iter__(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, uid: str) -> Entry | None:
        return self._entries.get(uid)

    def doubt(self) -> str:
        """Why what is known may be old; empty: it is not."""
        return next((why for why in self.doubts.values() if why), "")

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    def close(self) -> None:
        for task in self._followed.values():
            task.cancel()
        self._followed.clear()

    def arrange(self) -> bool:
        """After every look at the kinds: follows those that there are, and those alone; what was wrong may be right now.

        Whether there are other kinds than at the last look.
        """
        assert self._group is not None, "it was opened"
        discovery = self._discovery()
        if discovery is self._looked_at:
            return False
        self._looked_at = discovery
        gaps = {gap.group for gap in discovery.gaps}
        kinds = [kind for one in WATCHED if (kind := served(one, discovery)) is not None]
        wanted = {(kind, place) for kind in kinds for place in self._places(kind)}
        for key in [key for key in self._followed if key not in wanted and key[0].group not in gaps]:
            self._followed.pop(key).cancel()
            self.doubts.pop(key, None)
            self._lose(*key, but=frozenset())
        for key in wanted - self._followed.keys():
            self.doubts[key] = _NOT_READ
            self._followed[key] = self._group.create_task(self._follow(*key))
        for uid, (kind, found) in tuple(self._objects.items()):
            self._enter(uid, kind, found)
        return True

    def _places(self, kind: Resource) -> Collection[str]:
        if not self._namespaces:
            return ("",)
        return self._namespaces if kind.namespaced else ()

    async def _follow(self, kind: Resource, place: str) -> None:
        listed: set[str] = set()
        events = watch.watch(self._client, kind, WHOLE, scope=Scope(namespace=place))
        async with aclosing(events):
            async for event in events:
                match event:
                    case watched.Begun():
                        listed = set()
                    case watched.Listed(objects, _):
                        listed.update(self._learn(kind, found) for found in objects)
                    case watched.Synced():
                        self._lose(kind, place, but=listed)
                        self._trust((kind, place))
                    case watched.Interrupted(error, _):
                        self.doubts[kind, place] = _told(error)
                        self._on_trust()
                    case watched.Changed(changes, _):
                        self._change(kind, changes)
                        self._trust((kind, place))
                    case watched.Progressed() | watched.Resumed():
                        self._trust((kind, place))

    def _change(self, kind: Resource, changes: Iterable[Change[dict[str, Any]]]) -> None:
        for change in changes:
            if change.deleted:
                self._drop(_uid(change.object))
            else:
                self._learn(kind, change.object)

    def _trust(self, key: tuple[Resource, str]) -> None:
        if self.doubts.get(key):
            self.doubts[key] = ""
            self._on_trust()

    def _learn(self, kind: Resource, found: Object) -> str:
        uid = _uid(found)
        self._objects[uid] = (kind, found)
        self._enter(uid, kind, found)
        return uid

    def _enter(self, uid: str, kind: Resource, found: Object) -> None:
        entry = entry_of(kind, found, self._discovery())
        before, self._entries[uid] = self._entries.get(uid), entry
        if before is None or (before.reading, before.author) != (entry.reading, entry.author):
            self._on_change(uid)

    def _lose(self, kind: Resource, place: str, *, but: Container[str]) -> None:
        for uid, (known, found) in tuple(self._objects.items()):
            here = place in ("", str(found["metadata"].get("namespace") or ""))
            if known == kind and here and uid not in but:
                self._drop(uid)

    def _drop(self, uid: str) -> None:
        self._objects.pop(uid, None)
        if self._entries.pop(uid, None) is not None:
            self._on_change(uid)


def entry_of(kind: Resource, found: Object, discovery: Discovery) -> Entry:
    metadata = found["metadata"]
    return Entry(
        kind=kind,
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata["name"]),
        uid=_uid(found),
        generation=int(metadata.get("generation") or 0),
        reading=read_retention(
            {"apiVersion": kind.api_version, "kind": kind.kind, **found}, discovery=discovery
        ),
        author=last_write(metadata)[0],
        created=_moment(metadata.get("creationTimestamp")),
        status=found.get("status") or {},
    )


def _moment(text: Any) -> float:
    found = parse_rfc3339(text) if isinstance(text, str) else 0
    return float(found) if isinstance(found, int) else 0.0


def _uid(found: Object) -> str:
    return str(found["metadata"].get("uid", ""))


def _told(error: SkoupaError) -> str:
    said = error.status.message if isinstance(error, ApiError) else error.message
    return said or "the watch is behind"
