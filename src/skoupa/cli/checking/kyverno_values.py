"""What Kyverno's test files bring beside policies and objects: values, Context files, ClusterResource files.

The Namespaces of the first and the objects of the others, with their definitions, are part of the cluster that policies ask, and none of
them is tried itself. What a file says besides is named, never passed over silently.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa.errors import ManifestError
from skoupa.sim.content.documents import documents
from skoupa.sim.content.manifests import Manifest, load, parse, text_of

_HEAD: Final = frozenset({"apiVersion", "kind", "metadata"})
_NAMESPACES: Final = frozenset({"namespaces", "namespaceSelector"})


class Surroundings(msgspec.Struct, frozen=True):
    manifests: tuple[Manifest, ...] = ()
    remarks: tuple[str, ...] = ()


def read_values(path: Path, written: str) -> Surroundings:
    """`written` is how the test file names it; the Namespaces of it, in either of Kyverno's two forms."""
    return _values(_bodies(path), path, written)


def inline_values(values: Mapping[str, Any], file: Path) -> Surroundings:
    """The same where they stand in the test itself: Kyverno then reads no Value file."""
    return _values([(1, values)], file, "values")


def _values(bodies: Iterable[tuple[int, Mapping[str, Any]]], path: Path, written: str) -> Surroundings:
    found: list[Manifest] = []
    others: set[str] = set()
    for number, body in bodies:
        others |= body.keys() - _HEAD - _NAMESPACES
        found += (Manifest(_namespace(one), str(path), number) for one in _list(body, "namespaces", path))
        for one in _list(body, "namespaceSelector", path):
            metadata = {"name": one.get("name"), "labels": one.get("labels")}
            found.append(Manifest(_namespace({"metadata": metadata}), str(path), number))
    remark = (
        f"{', '.join(sorted(others))} of {written} are not read: context is asked of the objects in the test"
    )
    return Surroundings(tuple(found), (remark,) if others else ())


def read_context(path: Path, written: str) -> Surroundings:
    """The objects that policies may ask for."""
    found: list[Manifest] = []
    others: set[str] = set()
    for spec in _specs(path):
        others |= spec.keys() - {"resources"}
        found += _resources(spec, path)
    remark = f"{', '.join(sorted(others))} of {written} are not read"
    return Surroundings(tuple(found), (remark,) if others else ())


def read_cluster_resources(path: Path, written: str, *, folder: Path) -> Surroundings:
    """The same, and definitions; their paths are relative to the folder of the test, as Kyverno reads them."""
    found: list[Manifest] = []
    others: set[str] = set()
    for spec in _specs(path):
        others |= spec.keys() - {"resources", "crds"}
        crds = spec.get("crds") or []
        if not isinstance(crds, list) or not all(isinstance(crd, str) for crd in crds):
            raise ManifestError(
                "crds is no list of paths", file=str(path), advice="write paths of definitions"
            )
        found += load(*(folder / crd for crd in crds))
        found += _resources(spec, path)
    remark = f"{', '.join(sorted(others))} of {written} are not read"
    return Surroundings(tuple(found), (remark,) if others else ())


def _specs(path: Path) -> Iterator[Mapping[str, Any]]:
    for _, body in _bodies(path):
        spec = body.get("spec")
        if isinstance(spec, Mapping):
            yield spec


def _resources(spec: Mapping[str, Any], path: Path) -> Iterator[Manifest]:
    listing = {"apiVersion": "v1", "kind": "List", "items": _list(spec, "resources", path)}
    return parse(msgspec.json.encode(listing).decode(), file=str(path))


def _bodies(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, document in documents(text_of(path), file=str(path)):
        if isinstance(document, dict):
            yield number, document


def _list(body: Mapping[str, Any], field: str, path: Path) -> list[dict[str, Any]]:
    found = body.get(field) or []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ManifestError(f"{field} is no list of objects", file=str(path), advice="write objects under it")
    return found


def _namespace(body: Mapping[str, Any]) -> dict[str, Any]:
    """Kyverno takes any spelling of its kind."""
    found = body.get("metadata")
    metadata = {key: value for key, value in found.items() if value} if isinstance(found, Mapping) else {}
    if not isinstance(metadata.get("name"), str):
        raise ManifestError("a namespace has no name", advice="write metadata.name")
    return {**body, "apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
