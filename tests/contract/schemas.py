"""Definitions of custom kinds for rules to try, and the shapes of their objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

Object = dict[str, Any]

_PLAIN: Object = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {"size": {"type": "integer"}, "color": {"type": "string"}},
        },
        "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
    },
}
_SHAPED: Object = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "map": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "word": {"type": "string", "pattern": "^a+$", "maxLength": 4, "nullable": True},
                "either": {"x-kubernetes-int-or-string": True},
            },
        },
    },
}
SCHEMAS: Mapping[str, Object] = {"plain": _PLAIN, "shaped": _SHAPED}


def definition_of(
    word: str,
    *,
    schema: Mapping[str, Any] = _PLAIN,
    selectable: Sequence[str] = (),
    status: bool = True,
    **parts: Any,
) -> Object:
    """A CustomResourceDefinition of the kind `word`; `parts` replace those of its spec."""
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}} if status else {},
        "selectableFields": [{"jsonPath": path} for path in selectable],
    }
    spec: Object = {
        "group": f"{word}.contract.skoupa.dev",
        "scope": "Namespaced",
        "names": {
            "plural": f"{word}s",
            "singular": word,
            "kind": word.capitalize(),
            "shortNames": [f"{word}x"],
        },
        "versions": [version],
        **parts,
    }
    return {
        "apiVersion": CUSTOM_RESOURCE_DEFINITIONS.api_version,
        "kind": CUSTOM_RESOURCE_DEFINITIONS.kind,
        "metadata": {"name": f"{spec['names']['plural']}.{spec['group']}"},
        "spec": spec,
    }


def established(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)
