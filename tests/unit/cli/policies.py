"""Policies for the tests of `plan`: short forms of the two sorts, and a folder with policies beside objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.unit.cli.saying import Said, Shell

NOON = "2026-05-01T12:00:00Z"
STATE_IS_OLD = {"all": [{"key": "{{ target.data.state || '' }}", "operator": "Equals", "value": "old"}]}


def cleaning(
    name: str = "old",
    *,
    kinds: tuple[str, ...] = ("ConfigMap",),
    where: Mapping[str, Any] | None = None,
    namespace: str = "",
    annotations: Mapping[str, str] | None = None,
    schedule: str = "0 7 * * 0",
    **spec: Any,
) -> dict[str, Any]:
    metadata = {"name": name, "annotations": dict(annotations or {})}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        "metadata": {**metadata, "namespace": namespace} if namespace else metadata,
        "spec": {
            "schedule": schedule,
            "match": {"any": [{"resources": {"kinds": list(kinds), **(where or {})}}]},
            **spec,
        },
    }


def deleting(expression: str, name: str = "cel", *, schedule: str = "0 7 * * 0") -> dict[str, Any]:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
    return {
        "apiVersion": "policies.kyverno.io/v1beta1",
        "kind": "DeletingPolicy",
        "metadata": {"name": name},
        "spec": {
            "schedule": schedule,
            "matchConstraints": {"resourceRules": [rule]},
            "conditions": [{"name": "that", "expression": expression}],
        },
    }


class Files:
    """Policies in one folder, objects in another, and `plan` over both at noon of a Friday."""

    def __init__(self, folder: Path, skoupa: Shell) -> None:
        self.policies = folder / "policies"
        self.objects = folder / "objects"
        for each in (self.policies, self.objects):
            each.mkdir()
        self._skoupa = skoupa

    def holding(self, *objects: Mapping[str, Any]) -> Files:
        (self.objects / "all.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        return self

    def with_policies(self, *policies: Mapping[str, Any]) -> Files:
        (self.policies / "all.yaml").write_text(yaml.safe_dump_all(policies), encoding="utf-8")
        return self

    def plan(self, *args: str) -> Said:
        given = ("-f", str(self.policies / "all.yaml"), "--from", str(self.objects), "--now", NOON)
        return self._skoupa("plan", *given, *args, env={"TZ": "UTC"})

    def applied(self, *args: str) -> Said:
        """The same policies as if they were in the cluster."""
        given = ("--from", str(self.policies), "--from", str(self.objects), "--now", NOON)
        return self._skoupa("plan", *given, *args, env={"TZ": "UTC"})

    def document(self, *args: str, code: int = 0) -> dict[str, Any]:
        return _document(self.plan(*args, "-o", "json"), code)

    def applied_document(self, *args: str, code: int = 0) -> dict[str, Any]:
        return _document(self.applied(*args, "-o", "json"), code)


def _document(said: Said, code: int) -> dict[str, Any]:
    assert said.code == code, said.err
    found: dict[str, Any] = json.loads(said.out)
    return found


def holds(document: Mapping[str, Any]) -> dict[str, list[str]]:
    """By name, the codes of what holds each."""
    return {item["name"]: [hold["reason"]["code"] for hold in item["holds"]] for item in document["items"]}
