"""What a policy and its converted form say of one object: kinds that are listed, match, and conditions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from skoupa.errors import ExpressionError
from skoupa.expr import jmespath
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.converting.conversion import Converted, converted
from skoupa.policy.expansion import expand
from skoupa.policy.match import answer
from skoupa.policy.operators import holds
from skoupa.policy.policies import Policy
from skoupa.policy.reading import read_policy
from skoupa.policy.variables import roots_of, substitute
from tests.unit.expr.cel.asking import compiler, source
from tests.unit.policy.world import ALL

NOW = datetime(2026, 1, 31, 12, 0, tzinfo=UTC)
NAME_LABEL = "kubernetes.io/metadata.name"

Labels = Mapping[str, Mapping[str, str]]


def with_names(namespaces: Labels) -> dict[str, dict[str, str]]:
    """Every Namespace has its name as a label."""
    return {name: {**labels, NAME_LABEL: name} for name, labels in namespaces.items()}


class Asked:
    """A policy made ready to be asked about many objects."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        reading = read_policy(body, discovery=ALL)
        assert reading.policy is not None, [str(problem) for problem in reading.problems]
        self.policy: Policy = reading.policy
        self.listed = frozenset(expand(self.policy.subject, ALL).resources)
        self._program: Any = None
        if self.policy.clauses.expressions:
            made, _ = compiler()
            texts = [one.expression for one in self.policy.clauses.expressions]
            self._program, report = made.compile(source(*texts, namespace=self.policy.namespace))
            assert not report.problems, [str(problem) for problem in report.problems]

    def matches(self, resource: Resource, metadata: Metadata, namespaces: Labels) -> bool:
        if resource not in self.listed:
            return False
        labels = namespaces.get(metadata.namespace)
        return answer(self.policy.subject, resource, metadata, namespace_labels=labels).matches

    def by_wildcard(self, resource: Resource, metadata: Metadata, namespaces: Labels) -> bool:
        labels = namespaces.get(metadata.namespace)
        return answer(self.policy.subject, resource, metadata, namespace_labels=labels).wildcard

    def claims(self, resource: Resource, body: Mapping[str, Any], namespaces: Labels) -> bool:
        metadata = msgspec.convert(body["metadata"], Metadata)
        return self.matches(resource, metadata, namespaces) and self._holds(resource, body, namespaces)

    def _holds(self, resource: Resource, body: Mapping[str, Any], namespaces: Labels) -> bool:
        seen = {**body, "apiVersion": resource.api_version, "kind": resource.kind}
        if self._program is not None:
            made, world = compiler()
            world.now = NOW
            data = {"object": seen, "namespaceObject": _namespace_of(seen, namespaces)}
            result = self._program.judge(made.evaluator.Activation(data), world=world)
            return bool(result.matched) and not result.error
        return _compared(self.policy.clauses.comparisons, seen)


def _namespace_of(seen: Mapping[str, Any], namespaces: Labels) -> Any:
    if seen["kind"] == "Namespace" and seen["apiVersion"] == "v1":
        return seen
    name = seen["metadata"].get("namespace")
    return {"metadata": {"name": name, "labels": dict(namespaces[name])}} if name else None


def _compared(comparisons: Mapping[str, Any], target: Mapping[str, Any]) -> bool:
    """All of `all`, then `any` until one holds; the first that can't be answered ends it."""
    roots, context = roots_of(target), jmespath.Context(now=NOW.timestamp())

    def ask(one: Mapping[str, Any]) -> bool:
        key = substitute(one.get("key"), roots, context)
        return holds(one["operator"], key, substitute(one.get("value"), roots, context))

    try:
        if not all(ask(one) for one in comparisons.get("all") or ()):
            return False
        return not comparisons.get("any") or any(ask(one) for one in comparisons["any"])
    except ExpressionError:
        return False


def body_of(metadata: Metadata, **rest: Any) -> dict[str, Any]:
    kept = {key: value for key, value in msgspec.to_builtins(metadata).items() if value not in (None, "", 0)}
    return {"metadata": kept, **rest}


def form_of(body: Mapping[str, Any]) -> Converted:
    return converted(body, ALL)
