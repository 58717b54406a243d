"""Objects read as they come from a server, by the tables of the built-in kinds."""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa.kube.decoding import decode_list
from skoupa.usage import builtin
from skoupa.usage.found import Found
from skoupa.usage.reading import Readings

READINGS = Readings(builtin.RULES, builtin.ANNOTATED)


def listed(kind: str, *manifests: dict[str, Any], readings: Readings = READINGS) -> list[Found]:
    body = msgspec.json.encode({"metadata": {}, "items": manifests})
    _, items, bad = decode_list(body, readings.view(kind), doing="test")
    assert not bad
    return [readings.found(kind, item) for item in items]


def targets(found: Found) -> set[tuple[str, str, str]]:
    return {(use.target.kind, use.target.namespace, use.target.name) for use in found.uses}


def pod(name: str = "web", *, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "uid": name}
    return {"kind": "Pod", "metadata": metadata, "spec": spec, "status": {"phase": phase}}
