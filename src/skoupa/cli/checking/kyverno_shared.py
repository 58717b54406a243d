"""`globalContextEntries` of Kyverno's test files: values of shared context that a test gives.

A value is `data`, or the list of `resources`, or of the objects in `resourceFiles`; `fieldPath` takes a part of it. With `projections` the
value is what they make of that, each under its name.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa.errors import ExpressionError, ManifestError
from skoupa.expr import jmespath
from skoupa.runs.calls.given import GivenEntry
from skoupa.sim.content.manifests import load

_ONE: Final = "write data, resources or resourceFiles, and one of them alone"


class Projection(msgspec.Struct, frozen=True):
    name: str
    path: str


class SharedEntry(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    data: dict[str, Any] | None = None
    resources: list[dict[str, Any]] | None = None
    resource_files: tuple[str, ...] | None = None
    field_path: str = ""
    projections: tuple[Projection, ...] = ()


def given_entry(entry: SharedEntry, file: Path, *, now: float) -> GivenEntry:
    """`file` is the test; paths are relative to its folder."""
    sources = [one for one in (entry.data, entry.resources, entry.resource_files) if one is not None]
    if len(sources) != 1:
        raise _fault(entry, "has no value" if not sources else "has more than one value", file, _ONE)
    objects = entry.resources
    if entry.resource_files is not None:
        objects = [one.body for one in load(*(file.parent / path for path in entry.resource_files))]
    try:
        value = _projected(entry, entry.data if objects is None else objects, now=now)
    except ExpressionError as error:
        raise _fault(entry, str(error), file, error.advice) from error
    if objects is None:
        return GivenEntry(value)
    return GivenEntry(
        value,
        namespaces=frozenset(str((one.get("metadata") or {}).get("namespace") or "") for one in objects),
        about_secrets=any(one.get("kind") == "Secret" for one in objects),
    )


def _projected(entry: SharedEntry, root: Any, *, now: float) -> Any:
    context = jmespath.Context(now=now)
    if entry.field_path:
        root = jmespath.compile(entry.field_path).search(root, context)
    if not entry.projections:
        return root
    return {one.name: jmespath.compile(one.path).search(root, context) for one in entry.projections}


def _fault(entry: SharedEntry, what: str, file: Path, advice: str) -> ManifestError:
    return ManifestError(f"globalContextEntries: {entry.name}: {what}", file=str(file), advice=advice)
