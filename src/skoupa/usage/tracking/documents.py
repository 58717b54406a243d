"""The names of the objects in a manifest of several documents, and nothing else of it.

Releases have megabytes of YAML of which four lines a document matter. These are taken from the text where it is written as
everybody writes it; whatever else (JSON, a List, quoted keys) goes through the YAML reader.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.expr.jmespath.functions.yamltext import documents, written_out

_BETWEEN: Final = re.compile(r"^---(?:[ \t].*)?$", re.MULTILINE)
_VALUE: Final = r"""[ \t]*:[ \t]+(?:"([^"\n]*)"|'([^'\n]*)'|([^\s"'{\[&*!|>#][^\s#]*))[ \t]*(?:#.*)?$"""
_API_VERSION: Final = re.compile(f"^apiVersion{_VALUE}", re.MULTILINE)
_KIND: Final = re.compile(f"^kind{_VALUE}", re.MULTILINE)
_METADATA: Final = re.compile(
    r"^metadata[ \t]*:[ \t]*(?:#.*)?\n((?:[ \t]+.*\n?|[ \t]*\n|#.*\n)+)", re.MULTILINE
)
_FIRST_FIELD: Final = re.compile(r"^([ \t]+)[^\s#]", re.MULTILINE)
# One that the YAML reader is not asked to read.
_LONGEST_DOCUMENT: Final = 8 * 1024 * 1024
# With its aliases written out.
_MOST_VALUES: Final = 1_000_000


class Unreadable(ValueError):
    """The manifest is nothing of which the objects could be told."""


class Named(msgspec.Struct, frozen=True, gc=False):
    """`namespace` is empty where the manifest does not say; a name may end in `*` where the server finishes it."""

    kind: str
    namespace: str
    name: str


def named_in(manifest: str) -> Iterator[Named]:
    """Raises `Unreadable` where a document is neither empty nor an object."""
    for document in _BETWEEN.split(manifest):
        if not document or document.isspace():
            continue
        named = _plainly(document)
        if named is not None:
            yield named
        else:
            yield from _by_reading(document)


def _plainly(document: str) -> Named | None:
    kinds, versions = _KIND.findall(document), _API_VERSION.findall(document)
    metadata = _METADATA.search(document)
    if len(kinds) != 1 or len(versions) != 1 or metadata is None:
        return None
    kind, block = "".join(kinds[0]), metadata[1]
    first = _FIRST_FIELD.search(block)
    if first is None or kind.endswith("List"):
        return None
    names = _field("name", first[1], block)
    namespaces = _field("namespace", first[1], block)
    if (
        len(names) != 1
        or len(namespaces) > 1
        or (not namespaces and f"\n{first[1]}namespace" in f"\n{block}")
    ):
        return None
    return Named(_kind("".join(versions[0]), kind), namespaces[0] if namespaces else "", names[0])


def _field(field: str, indent: str, block: str) -> list[str]:
    return ["".join(found) for found in re.findall(f"^{indent}{field}{_VALUE}", block, re.MULTILINE)]


def _by_reading(document: str) -> Iterator[Named]:
    if len(document) > _LONGEST_DOCUMENT:
        raise Unreadable("a document of it is too long")
    try:
        values = list(documents(document))
    except ValueError as fault:
        raise Unreadable("a document of it is no YAML") from fault
    if sum(map(written_out, values)) > _MOST_VALUES:
        raise Unreadable("a document of it repeats itself too often")
    for value in values:
        yield from _in_value(value)


def _in_value(value: Any) -> Iterator[Named]:
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise Unreadable("a document of it is no object")
    if isinstance(items := value.get("items"), list) and str(value.get("kind", "")).endswith("List"):
        for item in items:
            yield from _in_value(item)
        return
    version, kind, metadata = value.get("apiVersion"), value.get("kind"), value.get("metadata")
    if not version or not kind or not isinstance(metadata, Mapping):
        raise Unreadable("a document of it is no object")
    name, beginning = metadata.get("name"), metadata.get("generateName")
    if name is None and beginning is None:
        raise Unreadable("an object in it has no name")
    whole = str(name) if name is not None else f"{beginning}*"
    yield Named(_kind(str(version), str(kind)), str(metadata.get("namespace") or ""), whole)


def _kind(version: str, kind: str) -> str:
    group = version.rpartition("/")[0]
    return f"{group}/{kind}" if group else kind
