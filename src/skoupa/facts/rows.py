"""One object as the store remembers it, and how it is made from what the server sends.

A million of these have to fit into memory, so equal parts are one value: kinds, namespaces, label sets and owner
references are pooled, uids and resourceVersions are packed into numbers where they are numbers. Nothing else may look
into the packing: `uid_text` and `Row.resource_version` undo it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from skoupa import names
from skoupa.kube.objects import Metadata, OwnerReference, Partial
from skoupa.kube.resources import Resource

H = TypeVar("H", bound=Hashable)

# 16 bytes for a uid in the usual form; whatever else a server may choose stays as it is.
Uid = bytes | str
Pairs = tuple[tuple[str, str], ...]

NOBODY_KNOWS: Final = -1
_TTL_FIELD: Final = f'"f:{names.TTL_LABEL}":'.encode()
# What else can give an object its time, where a setting has it read.
LIFETIME_ANNOTATIONS: Final = (
    names.JANITOR_TTL_ANNOTATION,
    names.JANITOR_EXPIRES_ANNOTATION,
    names.TTL_CONTROLLER_TTL_ANNOTATION,
)
# Very few objects have one: a field of its own would cost every row.
REFRESH_WRITTEN: Final = "refresh written at"
_REFRESHES: Final = (names.REFRESHED_AT_ANNOTATION, names.TTL_CONTROLLER_REFRESHED_AT_ANNOTATION)
_REFRESH_FIELDS: Final = tuple(f'"f:{key}":'.encode() for key in _REFRESHES)
# Nothing that is understood is longer.
_LONGEST_ANNOTATION: Final = 100
_WITH_IT: Final = (0, "")
_UUID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def pack_uid(text: str) -> Uid:
    return bytes.fromhex(text.replace("-", "")) if _UUID.fullmatch(text) else text


def uid_text(uid: Uid) -> str:
    if isinstance(uid, str):
        return uid
    text = uid.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class Owner(msgspec.Struct, frozen=True, gc=False):
    """An owner reference; `uid` is how the store finds the owner."""

    api_version: str
    kind: str
    name: str
    uid: Uid
    controller: bool
    blocks: bool


class Row(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Times are whole seconds since the epoch; `deleted_at` is 0 while nobody has asked for its deletion.

    `labelled` is when what gives it a time (its TTL label, another tool's annotation that is heeded) was written, where that
    was a good while after its creation, else 0, and the program that wrote the label last; `NOBODY_KNOWS` where the server
    does not tell.
    `annotations` are those worth remembering, and under `REFRESH_WRITTEN` when the refresh was written.
    """

    resource: Resource
    namespace: str
    name: str
    uid: Uid
    version: int | str
    created: int
    deleted_at: int
    labels: Pairs
    annotations: Pairs
    owners: tuple[Owner, ...]
    finalizers: tuple[str, ...] = ()
    # One field for both, since most rows share it: a field more makes every row larger.
    labelled: tuple[int, str] = (0, "")

    @property
    def labelled_at(self) -> int:
        return self.labelled[0]

    @property
    def labelled_by(self) -> str:
        return self.labelled[1]

    @property
    def resource_version(self) -> str:
        return str(self.version)

    @property
    def refresh_written(self) -> int:
        """When its refresh was written; 0 where it has none or nobody can tell."""
        return int(self.annotation(REFRESH_WRITTEN) or 0)

    def label(self, key: str) -> str | None:
        # Asked a dozen times for every object that goes: a loop is quicker than a generator.
        for name, value in self.labels:
            if name == key:
                return value
        return None

    def annotation(self, key: str) -> str | None:
        for name, value in self.annotations:
            if name == key:
                return value
        return None


def is_newer(row: Row, known: Row) -> bool:
    """Whether `row` is at least as new; where versions are no numbers the one that arrived later is."""
    if isinstance(row.version, int) and isinstance(known.version, int):
        return row.version >= known.version
    return True


class Pool:
    """Gives back the first of equal values, so that a thousand Pods share one label set.

    A pool that is full gives back what it gets: values that are all different would only pay for their place in it.
    """

    def __init__(self, most: int = 100_000) -> None:
        self._values: dict[Hashable, Hashable] = {}
        self._most = most

    def one(self, value: H) -> H:
        if len(self._values) < self._most:
            return self._values.setdefault(value, value)  # type: ignore[return-value]
        return self._values.get(value, value)  # type: ignore[return-value]

    def __len__(self) -> int:
        return len(self._values)

    def __contains__(self, value: Hashable) -> bool:
        return value in self._values

    def keep_only(self, values: Iterable[Hashable]) -> None:
        self._values = {value: value for value in values}


class Extraction:
    """Makes rows. `annotations` names the keys worth remembering: the others are most of an object's metadata."""

    def __init__(self, *, annotations: Iterable[str] = ()) -> None:
        self._annotations = frozenset(annotations)
        self._lifetimes = {
            key: f'"f:{key}":'.encode() for key in LIFETIME_ANNOTATIONS if key in self._annotations
        }
        self._strings = Pool()
        self._label_pairs = Pool()
        self._sets = Pool(most=20_000)
        self._pruned_at = 1000

    def row(self, resource: Resource, found: Partial) -> Row:
        meta = found.metadata
        version = meta.resource_version
        return Row(
            resource=resource,
            namespace=self._strings.one(meta.namespace),
            name=meta.name,
            uid=pack_uid(meta.uid),
            version=int(version) if version.isdecimal() else version,
            created=_seconds(meta.creation_timestamp),
            deleted_at=_seconds(meta.deletion_timestamp),
            labels=self._pairs(meta.labels) if meta.labels else (),
            annotations=self._wanted(meta),
            owners=self._owners(meta.owner_references) if meta.owner_references else (),
            finalizers=self._sets.one(tuple(meta.finalizers)) if meta.finalizers else (),
            labelled=self._labelled(meta),
        )

    def prune(self, rows: Iterable[Row]) -> None:
        """Forgets pooled values that no row uses any more; cheap to call, seldom does anything."""
        if len(self._label_pairs) < 2 * self._pruned_at:
            return
        used: set[Hashable] = set()
        pairs: set[Hashable] = set()
        texts: set[Hashable] = set()
        for row in rows:
            used.update((row.labels, row.annotations, row.finalizers, row.owners, row.labelled, *row.owners))
            texts.add(row.namespace)
            pairs.update((*row.labels, *row.annotations))
            texts.update(text for pair in (*row.labels, *row.annotations) for text in pair)
        self._sets.keep_only(used)
        self._label_pairs.keep_only(pairs)
        self._strings.keep_only(texts)
        self._pruned_at = max(1000, len(self._label_pairs))

    def _pairs(self, labels: Mapping[str, str]) -> Pairs:
        as_sent = tuple(labels.items())
        if as_sent in self._sets:
            # Servers send them in order, which is how they are kept, and replicas have the same.
            return self._sets.one(as_sent)
        one, pair = self._strings.one, self._label_pairs.one
        return self._sets.one(tuple(sorted(pair((one(key), one(value))) for key, value in labels.items())))

    def _labelled(self, meta: Metadata) -> tuple[int, str]:
        fields = [_TTL_FIELD] if meta.labels and names.TTL_LABEL in meta.labels else []
        if self._lifetimes and meta.annotations:
            fields += [field for key, field in self._lifetimes.items() if key in meta.annotations]
        return self._sets.one(_labelled(meta, fields)) if fields else _WITH_IT

    def _wanted(self, meta: Metadata) -> Pairs:
        if not meta.annotations or self._annotations.isdisjoint(meta.annotations):
            return ()
        wanted = {key: _cut(value) for key, value in meta.annotations.items() if key in self._annotations}
        written = _refresh_written(meta)
        if written:
            wanted[REFRESH_WRITTEN] = str(written)
        return self._pairs(wanted)

    def _owners(self, references: Iterable[OwnerReference]) -> tuple[Owner, ...]:
        one = self._strings.one
        return self._sets.one(tuple(self._sets.one(owner) for owner in owners_of(references, one=one)))


def owners_of(references: Iterable[OwnerReference], *, one: Callable[[str], str] = str) -> Iterator[Owner]:
    """`one` gives back the first of equal strings."""
    for ref in references:
        yield Owner(
            api_version=one(ref.api_version),
            kind=one(ref.kind),
            name=ref.name,
            uid=pack_uid(ref.uid),
            controller=bool(ref.controller),
            blocks=bool(ref.block_owner_deletion),
        )


# A label that comes with the object, or just after it, is the creator's; one that comes later is a second thought.
_SECOND_THOUGHT_SECONDS: Final = 60


def _labelled(meta: Metadata, fields: Iterable[bytes]) -> tuple[int, str]:
    """The latest write of these, and who wrote the label; managers of other fields tell nothing about it."""
    writes = {field: _latest_write(meta, field) for field in fields}
    manager = writes.get(_TTL_FIELD, (0, ""))[1]
    if not all(moment for moment, _ in writes.values()):
        return NOBODY_KNOWS, manager
    latest = max(moment for moment, _ in writes.values())
    second_thought = latest > _seconds(meta.creation_timestamp) + _SECOND_THOUGHT_SECONDS
    return (latest if second_thought else 0), manager


def _refresh_written(meta: Metadata) -> int:
    if not meta.managed_fields or not meta.annotations or meta.annotations.keys().isdisjoint(_REFRESHES):
        return 0
    return max(_latest_write(meta, field)[0] for field in _REFRESH_FIELDS)


def _latest_write(meta: Metadata, field: bytes) -> tuple[int, str]:
    moments = (
        (_seconds(entry.time), entry.manager)
        for entry in meta.managed_fields or ()
        if entry.time is not None and field in bytes(entry.fields_v1)
    )
    return max(moments, default=(0, ""))


def _cut(value: str) -> str:
    """An annotation may have 256 KiB. What is cut off is marked, so that no grammar takes the beginning for the whole."""
    return value if len(value) <= _LONGEST_ANNOTATION else f"{value[:_LONGEST_ANNOTATION]}…"


def _seconds(moment: datetime | None) -> int:
    return int(moment.timestamp()) if moment is not None else 0
