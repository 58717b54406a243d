"""Why an object is never garbage, though nothing points at it: known by its name, a label, its type (`usage/never_rows.py`).

Asked for every object that nothing uses, so that what can be looked up is looked up. Whatever else is known of an object, this
stands: nobody can say who reads a ConfigMap by a name that is written into a program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Final

import msgspec

from skoupa.kube.objects import Metadata
from skoupa.usage.edges.patterns import means
from skoupa.usage.never_rows import ROWS
from skoupa.usage.never_shape import Never

# Data is lost with these, so that to be unused is not enough: somebody has to name the kind, or the object.
ONLY_WHERE_NAMED: Final = frozenset(
    {
        "PersistentVolume",
        "PersistentVolumeClaim",
        "snapshot.storage.k8s.io/VolumeSnapshot",
        "snapshot.storage.k8s.io/VolumeSnapshotContent",
    }
)


class _Rows(msgspec.Struct, frozen=True):
    """The rows that can hold for one kind, by what an object has to have for them; `others` have to be tried."""

    by_mark: Mapping[str, tuple[Never, ...]]
    by_name: Mapping[str, tuple[Never, ...]]
    others: tuple[Never, ...]

    def for_object(self, metadata: Metadata) -> Iterator[Never]:
        yield from self.by_name.get(metadata.name, ())
        for marks in (metadata.labels, metadata.annotations):
            for key in marks or ():
                yield from self.by_mark.get(key, ())
        yield from self.others


def reason(metadata: Metadata, kind: str, type_: str = "") -> str | None:
    """`kind` is `Secret` or `apps/Deployment`, and `type_` the type of a Secret, where that is known.

    Why this object is never garbage, as the end of a sentence ("…, because it is …"); None: it may well be.
    """
    for row in _rows(kind).for_object(metadata):
        if _holds(row, metadata, type_):
            return row.because
    return None


@cache
def telling_types() -> tuple[str, ...]:
    """The types of Secrets that say why one is never garbage: of others it need not be known."""
    return tuple(sorted({one for row in ROWS for one in row.types}))


def needs_to_be_named(kind: str) -> bool:
    """Whether objects of this kind go only where somebody says so of just this kind, because data is lost with them."""
    return kind in ONLY_WHERE_NAMED


def _holds(row: Never, metadata: Metadata, type_: str) -> bool:
    if row.types and type_ not in row.types:
        return False
    if row.namespaces and metadata.namespace not in row.namespaces:
        return False
    if row.labels and not _written(row.labels, metadata.labels):
        return False
    if row.annotations and not _written(row.annotations, metadata.annotations):
        return False
    if row.finalizers and not _named(row.finalizers, metadata.finalizers or ()):
        return False
    return not row.names or _named(row.names, (metadata.name,))


def _written(wanted: Iterable[str], marks: Mapping[str, str] | None) -> bool:
    if not marks:
        return False
    for one in wanted:
        key, has_value, value = one.partition("=")
        if "*" in key:
            if any(means(key, mark) for mark in marks):
                return True
        elif key in marks and (not has_value or marks[key] == value):
            return True
    return False


def _named(patterns: Iterable[str], names: Iterable[str]) -> bool:
    return any(
        pattern == name or ("*" in pattern and means(pattern, name)) for pattern in patterns for name in names
    )


@lru_cache(maxsize=1024)
def _rows(kind: str) -> _Rows:
    by_mark: dict[str, tuple[Never, ...]] = {}
    by_name: dict[str, tuple[Never, ...]] = {}
    others: list[Never] = []
    for row in ROWS:
        if row.kinds and kind not in row.kinds:
            continue
        marks = [one.partition("=")[0] for one in (*row.labels, *row.annotations)]
        keys, known = (marks, by_mark) if marks else (row.names, by_name)
        if not keys or any("*" in key for key in keys):
            others.append(row)
        for key in keys:
            if "*" not in key and row not in others:
                known[key] = (*known.get(key, ()), row)
    return _Rows(by_mark, by_name, tuple(others))
