"""Manifests as objects: from files, folders, streams of documents, lists, and what `kubectl get -o yaml` prints.

Whatever can't be an object is a `ManifestError` that names file and document; an empty document is nothing. Kinds that
nobody knows get a row of their own (`missing_kinds`), so that a dump of any cluster can be loaded. In a folder, names
that begin with a dot are passed over.
Nothing here checks an object against a schema: that is for the server it is given to.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from skoupa.errors import ManifestError
from skoupa.kube.resources import Resource
from skoupa.sim.content.documents import documents
from skoupa.sim.state.kinds import CUSTOM_VERBS

SUFFIXES: Final = (".yaml", ".yml", ".json")
_FIRST: Final = ("CustomResourceDefinition", "Namespace")
_OF_AN_OWNER: Final = ("apiVersion", "kind", "name", "uid")


class Fault(msgspec.Struct, frozen=True):
    """Something about the metadata of an object that no server takes: its place, what is wrong there, and what to write."""

    path: str
    what: str
    advice: str


class Manifest(msgspec.Struct, frozen=True):
    """One object and where it stands; `faults` for who wants to tell of all, and not to stop at the first."""

    body: dict[str, Any]
    file: str
    document: int
    faults: tuple[Fault, ...] = ()

    @property
    def api_version(self) -> str:
        return str(self.body["apiVersion"])

    @property
    def kind(self) -> str:
        return str(self.body["kind"])


def load(*paths: Path, faulty: bool = False) -> list[Manifest]:
    """All objects under the paths, in the order of names; definitions and namespaces come before what needs them."""
    found = [
        manifest
        for path in paths
        for file in files_in(path)
        for manifest in parse(text_of(file), file=str(file), faulty=faulty)
    ]
    return sorted(
        found, key=lambda manifest: _FIRST.index(manifest.kind) if manifest.kind in _FIRST else len(_FIRST)
    )


def parse(text: str, *, file: str, faulty: bool = False) -> Iterator[Manifest]:
    """The objects of one text; `file` is the name that errors carry. `faulty`: also those whose metadata no server takes."""
    for number, document in documents(text, file=file):
        if document is not None:
            for place, body in _Place(file, number).objects(document):
                faults = tuple(_faults(body))
                if faults and not faulty:
                    raise place.fault(f"{_called(body)}{faults[0].what}", advice=faults[0].advice)
                yield Manifest(body, file, number, faults)


def missing_kinds(manifests: Iterable[Manifest], known: Iterable[Resource]) -> list[Resource]:
    """Rows for kinds that are neither known nor defined by the manifests; the plural is a guess."""
    defined = {(row.api_version, row.kind) for row in known}
    used: dict[tuple[str, str], Resource] = {}
    given = list(manifests)
    for manifest in given:
        if manifest.kind == "CustomResourceDefinition":
            defined |= _defined_by(manifest.body)
        key = (manifest.api_version, manifest.kind)
        used[key] = _row(manifest, before=used.get(key))
    spelled = {(version, kind.lower()): kind for version, kind in defined}
    for manifest in given:
        written = spelled.get((manifest.api_version, manifest.kind.lower()))
        if written is not None and (manifest.api_version, manifest.kind) not in defined:
            # No server takes it, and as a kind of its own nobody would look into it as what it is meant to be.
            raise ManifestError(
                f"there is no kind {manifest.kind} of {manifest.api_version}",
                file=manifest.file,
                document=manifest.document,
                advice=f"write kind: {written}",
            )
    return [row for key, row in used.items() if key not in defined]


def plural_of(kind: str) -> str:
    """The usual plural of a kind's name: policies, ingresses, gateways."""
    name = kind.lower()
    if re.search("[^aeiou]y$", name):
        return f"{name[:-1]}ies"
    return f"{name}es" if re.search("(s|x|z|ch|sh)$", name) else f"{name}s"


def _row(manifest: Manifest, *, before: Resource | None) -> Resource:
    group, _, version = manifest.api_version.rpartition("/")
    has_status = "status" in manifest.body or (before is not None and bool(before.subresources))
    return Resource(
        group=group,
        version=version,
        plural=plural_of(manifest.kind),
        kind=manifest.kind,
        namespaced="namespace" in manifest.body["metadata"] or (before is not None and before.namespaced),
        singular=manifest.kind.lower(),
        verbs=CUSTOM_VERBS,
        subresources=("status",) if has_status else (),
    )


def _defined_by(definition: Mapping[str, Any]) -> set[tuple[str, str]]:
    match definition.get("spec"):
        case {"group": group, "names": {"kind": kind}, "versions": list() as versions}:
            return {
                (f"{group}/{version.get('name')}", kind) for version in versions if isinstance(version, dict)
            }
        case _:
            return set()


def files_in(path: Path) -> list[Path]:
    """Those of a folder and below it that may hold objects, but for hidden ones; a file is itself."""
    if not path.is_dir():
        return [path]
    return sorted(
        file
        for file in path.rglob("*")
        if file.suffix in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(path).parts)
    )


def text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ManifestError("is not text in UTF-8", file=str(file), advice="save it as UTF-8") from fault
    except OSError as fault:
        reason = (fault.strerror or str(fault)).lower()
        raise ManifestError(
            f"can't be read: {reason}", file=str(file), advice="check path and rights"
        ) from fault


class _Place(msgspec.Struct, frozen=True):
    """Where an object stands, for the errors about it; `item` is its place in a List."""

    file: str
    document: int
    item: str = ""

    def fault(self, message: str, *, advice: str) -> ManifestError:
        return ManifestError(f"{self.item}{message}", file=self.file, document=self.document, advice=advice)

    def objects(self, value: Any) -> Iterator[tuple[_Place, dict[str, Any]]]:
        if not isinstance(value, dict):
            what = "a list" if isinstance(value, list) else f"the plain value {json.dumps(value)[:40]}"
            raise self.fault(
                f"{what} is not an object",
                advice="separate objects by a line with --- or put them into the items of a List",
            )
        for field in ("apiVersion", "kind"):
            if not isinstance(value.get(field), str) or not value[field]:
                raise self.fault(f"there is no {field}", advice="every object needs apiVersion and kind")
        if value["kind"].endswith("List") and isinstance(value.get("items"), list):
            yield from self.items(value)
        else:
            if not isinstance(value.get("metadata"), dict):
                raise self.fault(f"{value['kind']} has no metadata", advice="give it at least metadata.name")
            yield self, value

    def items(self, value: dict[str, Any]) -> Iterator[tuple[_Place, dict[str, Any]]]:
        for index, item in enumerate(value["items"], 1):
            place = _Place(self.file, self.document, f"{self.item}item {index}: ")
            if value["kind"] != "List" and isinstance(item, dict):
                # The API server's own lists leave out what the kind of the list says already.
                whole = {
                    "apiVersion": value["apiVersion"],
                    "kind": value["kind"].removesuffix("List"),
                    **item,
                }
                yield from place.objects(whole)
            else:
                yield from place.objects(item)


def _called(body: Mapping[str, Any]) -> str:
    """The object as an error begins with it; the one without a name goes on in its own words."""
    name = _name(body)
    return f"{body['kind']} {name}: " if isinstance(name, str) else f"{body['kind']} "


def _name(body: Mapping[str, Any]) -> Any:
    return body["metadata"].get("name") or body["metadata"].get("generateName")


def _faults(body: Mapping[str, Any]) -> Iterator[Fault]:
    metadata = body["metadata"]
    if not isinstance(_name(body), str):
        yield Fault("metadata.name", "has no name", "set metadata.name, in quotes if it is a number")
    for field in ("labels", "annotations"):
        texts, path = metadata.get(field) or {}, f"metadata.{field}"
        if not isinstance(texts, dict):
            yield Fault(path, f"{path} is not a mapping", "write keys with values under it")
            continue
        for key, text in texts.items():
            if not isinstance(text, str):
                what = f"the value of {path}[{key}], {json.dumps(text)[:40]}, is not text"
                yield Fault(f"{path}[{key}]", what, "put it in quotes")
    for field in ("namespace", "uid", "resourceVersion"):
        path = f"metadata.{field}"
        if not isinstance(metadata.get(field) or "", str):
            what = f"{path}, {json.dumps(metadata[field])[:40]}, is not text"
            yield Fault(path, what, "put it in quotes")
    yield from _owner_faults(metadata.get("ownerReferences") or [])


def _owner_faults(owners: Any) -> Iterator[Fault]:
    path, advice = (
        "metadata.ownerReferences",
        "write a list of {apiVersion, kind, name, uid}, or leave it out",
    )
    if not isinstance(owners, list):
        yield Fault(path, f"{path} is not a list", advice)
        return
    for owner in owners:
        texts = owner if isinstance(owner, dict) else {}
        missing = [one for one in _OF_AN_OWNER if not texts.get(one) or not isinstance(texts[one], str)]
        if missing:
            yield Fault(path, f"an owner in {path} has no {' and no '.join(missing)}", advice)
