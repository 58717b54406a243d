"""Which objects a DeletingPolicy is about: read as the API server reads MatchResources."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.policy.world import BUCKET, WIDGET_V1, WIDGET_V2, asked, deleting

pytestmark = pytest.mark.unit

PODS = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
WIDGETS = {"apiGroups": ["shop.example"], "resources": ["widgets"]}


@pytest.mark.parametrize(
    ("rule", "what", "fits"),
    [
        (PODS, "Pod", True),
        (PODS, "ConfigMap", False),
        ({"resources": ["pods", "configmaps"]}, "ConfigMap", True),
        ({"apiGroups": ["apps"]}, "Deployment", True),
        ({"apiGroups": ["apps"]}, "Pod", False),
        ({**WIDGETS, "apiVersions": ["v1"]}, WIDGET_V1, True),
        ({**WIDGETS, "apiVersions": ["v1"]}, WIDGET_V2, False),
        ({"resources": ["nodes"]}, "Node", True),
        ({"resources": ["nodes"], "scope": "Namespaced"}, "Node", False),
        ({"resources": ["nodes"], "scope": "Cluster"}, "Node", True),
        ({"resources": ["namespaces"], "scope": "Cluster"}, "Namespace", True),
        ({**PODS, "scope": "Cluster"}, "Pod", False),
        ({**PODS, "resourceNames": ["web"]}, "Pod", True),
        # Names have no wildcards here.
        ({**PODS, "resourceNames": ["w*"]}, "Pod", False),
        ({**PODS, "operations": ["CREATE"]}, "Pod", True),
        ({}, "Pod", True),
        ({}, "Node", False),
        ({}, BUCKET, False),
    ],
)
def test_a_rule_is_about_kinds_scope_and_names(rule: dict[str, Any], what: Any, *, fits: bool) -> None:
    found = asked(deleting(rule), what)
    assert found.matches == fits
    assert bool(found.why) != fits


def test_what_only_a_wildcard_reaches_is_marked() -> None:
    assert asked(deleting({}), "Pod").wildcard
    assert not asked(deleting({}, PODS), "Pod").wildcard
    assert "a wildcard does not reach it" in asked(deleting({}), "ServiceAccount", name="default").why
    assert asked(deleting({"resources": ["serviceaccounts"]}), "ServiceAccount", name="default").matches


def test_one_of_the_rules_has_to_fit() -> None:
    two = deleting(PODS, {"resources": ["configmaps"], "resourceNames": ["web"]})
    assert asked(two, "ConfigMap").matches
    assert asked(two, "ConfigMap", name="db").why == "resourceRules[0]: it is of another kind"


@pytest.mark.parametrize("operations", [[], ["DELETE"], ["CREATE"], ["*"]])
def test_exclusions_count_whatever_operations_they_name(operations: list[str]) -> None:
    excluded = {**PODS, "resourceNames": ["web"], "operations": operations}
    policy = deleting(PODS, excludeResourceRules=[excluded])
    assert asked(policy).why == "excludeResourceRules[0] fits"
    assert asked(policy, name="db").matches


def test_an_exclusion_means_every_version_of_a_kind_unless_it_is_exact() -> None:
    excluded = {**WIDGETS, "apiVersions": ["v1"]}
    assert not asked(deleting(WIDGETS, excludeResourceRules=[excluded]), WIDGET_V2).matches
    exact = deleting(WIDGETS, excludeResourceRules=[excluded], matchPolicy="Exact")
    assert asked(exact, WIDGET_V2).matches
    assert not asked(exact, WIDGET_V1).matches


def test_selectors_are_asked_of_the_object_and_of_its_namespace() -> None:
    policy = deleting(PODS, objectSelector={"matchLabels": {"app": "web"}})
    assert asked(policy, labels={"app": "web"}).matches
    assert asked(policy).why == "its labels do not fit objectSelector"
    team = {"matchExpressions": [{"key": "team", "operator": "In", "values": ["a"]}]}
    policy = deleting(PODS, {"resources": ["namespaces", "nodes"]}, namespaceSelector=team)
    assert asked(policy, around={"team": "a"}).matches
    assert not asked(policy, around={"team": "b"}).matches
    assert asked(policy).why == "the labels of its namespace are not known"


def test_a_namespace_is_asked_for_its_own_labels_and_other_cluster_wide_objects_for_none() -> None:
    policy = deleting(
        {"resources": ["namespaces", "nodes"]}, namespaceSelector={"matchLabels": {"team": "a"}}
    )
    assert asked(policy, "Namespace", labels={"team": "a"}).matches
    assert not asked(policy, "Namespace", labels={}).matches
    assert asked(policy, "Node").matches


def test_a_policy_of_a_namespace_matches_nothing_outside_of_it() -> None:
    policy = deleting(PODS, scope="NamespacedDeletingPolicy")
    assert asked(policy).matches
    assert not asked(policy, namespace="other").matches
