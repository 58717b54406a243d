"""Conditions and context that Kyverno works out in another way."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.policy.compared.clauses import clause_differences
from skoupa.policy.policies import Clauses
from skoupa.policy.reading import read_policy
from tests.unit.policy.world import cleanup

pytestmark = pytest.mark.unit


def clauses(*conditions: dict[str, Any], context: list[dict[str, Any]] | None = None) -> Clauses:
    obj = cleanup({"kinds": ["ConfigMap"]}, conditions={"all": list(conditions)}, context=context or [])
    reading = read_policy(obj)
    assert reading.policy is not None, reading.problems
    return reading.policy.clauses


def codes(*conditions: dict[str, Any], context: list[dict[str, Any]] | None = None) -> list[str]:
    return [one.code for one in clause_differences(clauses(*conditions, context=context))]


def condition(operator: str, value: Any, key: str = "{{ target.metadata.name }}") -> dict[str, Any]:
    return {"key": key, "operator": operator, "value": value}


@pytest.mark.parametrize(
    ("operator", "value", "expected"),
    [
        ("Equals", "a", []),
        ("equals", "a", []),
        ("GreaterThan", "1Gi", []),
        ("greaterthan", "1Gi", ["operator-case"]),
        ("AnyIn", ["a", 5, True], []),
        ("AnyIn", "1-10", []),
        ("AnyIn", "!1-10", ["negated-range"]),
        ("anynotin", ["!1h-2h"], ["negated-range"]),
        ("Equals", "!1-10", []),
        ("AllIn", [999_999], []),
        ("AllIn", [1_000_000, 2_000_000], ["large-number", "large-number"]),
        ("AllIn", None, []),
        ("AllIn", {"a": 1}, []),
    ],
)
def test_operators_that_differ_are_found(operator: str, value: Any, expected: list[str]) -> None:
    assert codes(condition(operator, value)) == expected


def test_versions_are_told_with_odd_ranges() -> None:
    plain = "{{ semver_compare(target.spec.version, '>=1.0.0') }}"
    assert codes(condition("Equals", True, plain)) == ["no-version"]
    for odd in ("!=1.x", "! 1.0.0", ">=1.x.x"):
        written = f"{{{{ semver_compare(target.spec.version, '{odd}') }}}}"
        assert codes(condition("Equals", True, written)) == ["no-version", "version-range"]
    for even in ("1.x", "1.2.x || 2.x"):
        written = f"{{{{ semver_compare(target.spec.version, '{even}') }}}}"
        assert codes(condition("Equals", True, written)) == ["no-version"]


def test_context_that_looks_at_the_object_is_told() -> None:
    path = "/api/v1/namespaces/{{ target.metadata.namespace }}/pods"
    entry = {"name": "pods", "apiCall": {"urlPath": path, "jmesPath": "items"}}
    assert codes(context=[entry]) == ["target-context"]
    fixed = {"name": "pods", "apiCall": {"urlPath": "/api/v1/pods", "jmesPath": "items"}}
    assert codes(context=[fixed]) == []


def test_defaults_are_told() -> None:
    call = {"name": "pods", "apiCall": {"urlPath": "/api/v1/pods", "default": []}}
    assert codes(context=[call]) == ["call-default"]
    variable = {"name": "x", "variable": {"value": {"a": None}, "jmesPath": "a", "default": "b"}}
    assert codes(context=[variable]) == ["null-default"]


def test_the_same_difference_is_told_once() -> None:
    assert codes(condition("greaterthan", 1), condition("greaterthan", 2)) == ["operator-case"]
