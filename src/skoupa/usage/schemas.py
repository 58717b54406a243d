"""What the schema of a definition says about its fields, beyond their names.

The walk takes it along (`usage/walking.py`), and `may_name` reads from it alone which kinds objects of this definition could point
at, so that a kind that names nothing need not be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.usage.shaped import ANY_KIND, Look, look_of_field, look_of_object

# A schema may point back into itself only by `$ref`, which definitions must not have; this bounds what is not one.
_DEEPEST: Final = 128
_MOST_NODES: Final = 500_000
_TOLD: Final = (
    (re.compile(r"\bsecrets?\b", re.IGNORECASE), "Secret"),
    (re.compile(r"\bconfig ?maps?\b", re.IGNORECASE), "ConfigMap"),
    (re.compile(r"\bservice ?accounts?\b", re.IGNORECASE), "ServiceAccount"),
    (re.compile(r"\b(pvcs?|persistent ?volume ?claims?)\b", re.IGNORECASE), "PersistentVolumeClaim"),
)
_NAMING: Final = re.compile(r"\b(names?|named|refer(s|ence|ences|ring)?)\b", re.IGNORECASE)
_COMBINED: Final = ("allOf", "anyOf", "oneOf")

Schema = Mapping[str, Any]


def of_field(schema: Schema | None, field: str) -> Schema | None:
    if schema is None:
        return None
    properties = schema.get("properties")
    found = properties.get(field) if isinstance(properties, Mapping) else None
    found = found if found is not None else schema.get("additionalProperties")
    return found if isinstance(found, Mapping) else None


def of_items(schema: Schema | None) -> Schema | None:
    items = schema.get("items") if schema is not None else None
    return items if isinstance(items, Mapping) else None


def look(schema: Schema | None) -> Look | None:
    """What a value of this schema seems to name, by its properties or by what its description tells."""
    if schema is None:
        return None
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        return look_of_object(properties) if "name" in properties else None
    description = schema.get("description")
    if schema.get("type") != "string" or not isinstance(description, str) or not _NAMING.search(description):
        return None
    kinds = tuple(kind for pattern, kind in _TOLD if pattern.search(description))
    return Look(kinds) if kinds else None


def may_name(schema: Schema) -> frozenset[str]:
    """The kinds that objects of this schema could point at; `*` where that can be any."""
    found: set[str] = set()
    nodes = 0
    left: list[tuple[str, Schema, int]] = [("", schema, 0)]
    while left:
        field, node, depth = left.pop()
        nodes += 1
        if depth > _DEEPEST or nodes > _MOST_NODES or _is_open(node):
            return frozenset({ANY_KIND})
        if depth == 1 and field in {"apiVersion", "kind", "metadata"}:
            continue
        seen = look_of_field(field) or look(node)
        if seen is not None:
            found.update(seen.kinds)
        left.extend((name, inner, depth + 1) for name, inner in _inside(node, field))
    return frozenset({ANY_KIND}) if ANY_KIND in found else frozenset(found)


def _is_open(node: Schema) -> bool:
    """Whether values may be there of which the schema says nothing."""
    if node.get("x-kubernetes-preserve-unknown-fields") or node.get("additionalProperties") is True:
        return True
    if any(node.get(word) for word in _COMBINED) or "matchLabels" in (node.get("properties") or {}):
        return True
    return "type" not in node and "properties" not in node and not node.get("x-kubernetes-int-or-string")


def _inside(node: Schema, field: str) -> Iterator[tuple[str, Schema]]:
    properties = node.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            if isinstance(inner, Mapping):
                yield name, inner
    for word in ("items", "additionalProperties"):
        inner = node.get(word)
        if isinstance(inner, Mapping):
            yield field, inner
