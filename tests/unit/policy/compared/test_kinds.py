"""The kinds that a policy means to Kyverno, and those that it means to Skoupa."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.model.differences import Difference
from skoupa.policy.compared.kinds import kind_differences
from skoupa.policy.reading import read_policy
from tests.unit.policy.world import ALL, cleanup, deleting

pytestmark = pytest.mark.unit


def found(obj: dict[str, Any]) -> list[Difference]:
    reading = read_policy(obj, discovery=ALL)
    assert reading.policy is not None, reading.problems
    return list(kind_differences(reading.policy.subject, ALL, spec=obj["spec"]))


def codes(obj: dict[str, Any]) -> list[str]:
    return [one.code for one in found(obj)]


def test_named_kinds_mean_the_same_to_both() -> None:
    assert codes(cleanup({"kinds": ["ConfigMap", "apps/v1/Deployment", "v1/Pod"]})) == []
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    assert codes(deleting(rule)) == []


def test_a_wildcard_finds_nothing_in_kyverno_and_expands_here() -> None:
    (one,) = found(cleanup({"kinds": ["*"]}))
    assert (one.code, one.meaning.effect) == ("wild-kinds", "more")
    assert int(one.skoupa.split()[-2]) > 10
    (some,) = found(cleanup({"kinds": ["Config*"]}))
    assert "expands it to 1 kinds" in some.skoupa
    assert "wild-kinds" in codes(deleting({"resources": ["*"]}))


def test_the_kinds_that_a_wildcard_reaches_differ_in_nothing_else() -> None:
    assert codes(cleanup({"kinds": ["*"]})) == ["wild-kinds"]


def test_a_name_that_several_groups_have_is_told() -> None:
    (one,) = found(cleanup({"kinds": ["Service"]}))
    assert one.code == "same-names"
    assert "v1/Service" in one.skoupa
    assert "serving.knative.dev/v1/Service" in one.skoupa


def test_a_namespace_selector_is_asked_of_namespaces_here_alone() -> None:
    team = {"namespaceSelector": {"matchLabels": {"team": "a"}}}
    (one,) = found(cleanup({"kinds": ["Namespace"], **team}))
    assert (one.code, one.meaning.effect) == ("namespace-labels", "less")
    assert codes(cleanup({"kinds": ["Namespace"]}, {"kinds": ["ConfigMap"], **team})) == []
    assert codes(cleanup({"kinds": ["Namespace"], "namespaceSelector": {}})) == []
    assert codes(cleanup({"kinds": ["ConfigMap"], **team})) == []


def test_any_group_is_a_subresource_to_kyverno() -> None:
    assert "any-group" in codes(cleanup({"kinds": ["*/v1/Pod"]}))


def test_dependents_of_named_jobs_go_too_unless_the_policy_says_how() -> None:
    assert codes(cleanup({"kinds": ["Job"]})) == ["policy-propagation"]
    assert codes(cleanup({"kinds": ["Job"]}, deletionPropagationPolicy="Orphan")) == []
    rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    assert codes(deleting(rule)) == ["policy-propagation"]


def test_exclusions_with_operations_count_here_and_not_there() -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    excluded = {**rule, "resourceNames": ["a"], "operations": ["DELETE"]}
    assert codes(deleting(rule, excludeResourceRules=[excluded])) == ["exclusion-operations"]
    everything = {**excluded, "operations": ["*"]}
    assert codes(deleting(rule, excludeResourceRules=[everything])) == []
