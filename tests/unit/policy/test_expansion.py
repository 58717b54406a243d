"""From what policies write to the kinds of the server: wildcards expand, and what is missing is told with the nearest."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.kinds import Discovery, Gap
from skoupa.policy.expansion import Expansion, expand
from skoupa.policy.reach import out_of_reach
from tests.unit.policy.world import (
    ALL,
    CUSTOM,
    KNATIVE,
    REVIEW,
    WIDGET_V1,
    WIDGET_V2,
    WORKFLOW,
    cleanup,
    deleting,
    kind,
    subject,
)

pytestmark = pytest.mark.unit


def expanded(obj: dict[str, Any], discovery: Discovery = ALL) -> Expansion:
    return expand(subject(obj), discovery)


def kinds(*texts: str, **about: Any) -> Expansion:
    return expanded(cleanup({"kinds": list(texts)}, **about))


def test_a_wildcard_is_every_kind_that_can_be_listed_and_deleted_once_and_nothing_out_of_reach() -> None:
    found = kinds("*").resources
    assert {KNATIVE, WORKFLOW, WIDGET_V2, kind("Pod"), kind("Secret")} <= set(found)
    assert WIDGET_V1 not in found
    assert REVIEW not in found
    assert len({(row.group, row.plural) for row in found}) == len(found)
    wanted = {
        (row.group, row.plural)
        for row in ALL.resources
        if row.may("list", "delete") and not out_of_reach(row)
    }
    assert {(row.group, row.plural) for row in found} == wanted
    assert {row.kind for row in found}.isdisjoint(
        {"Node", "Namespace", "Event", "Lease", "Application", "Bucket"}
    )
    everything = expanded(deleting({})).resources
    assert {(row.group, row.plural) for row in everything} == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Service", ["v1/Service"]),
        ("v1/Service", ["v1/Service"]),
        ("*/*/Service", ["v1/Service", "serving.knative.dev/v1/Service"]),
        ("serving.knative.dev/*/Service", ["serving.knative.dev/v1/Service"]),
        ("Widget", ["shop.example/v2/Widget"]),
        ("v1/Widget", ["shop.example/v1/Widget"]),
        ("W*t", ["shop.example/v2/Widget"]),
        ("StatefulSe?", ["apps/v1/StatefulSet"]),
        ("*.example/v1/*", ["shop.example/v1/Widget"]),
        ("Node", ["v1/Node"]),
    ],
)
def test_a_pattern_means_these_kinds(text: str, wanted: list[str]) -> None:
    found = kinds(text)
    assert [f"{row.api_version}/{row.kind}" for row in found.resources] == wanted
    assert found.missing == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("PersistentVolumeClaims", "did you mean PersistentVolumeClaim?"),
        ("pod", "did you mean Pod?"),
        ("deploy", "did you mean Deployment?"),
        ("Deploymnt", "did you mean Deployment?"),
        ("v1/Deploymant", "did you mean Deployment?"),
        ("extensions/v1beta1/Deployment", "write apps/v1/Deployment"),
        ("Zzzzzz", "kubectl api-resources"),
        ("Review", "can't be listed and deleted"),
        ("Nod*", "a wildcard does not reach Node, and nothing else fits"),
    ],
)
def test_a_kind_that_is_not_there_is_told_with_the_nearest(text: str, says: str) -> None:
    found = kinds(text, "Pod")
    assert [row.kind for row in found.resources] == ["Pod"]
    (missing,) = found.missing
    assert says in f"{missing.what}; {missing.instead}"


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"apiGroups": [""], "resources": ["pod"]}, "did you mean pods?"),
        ({"apiGroups": [""], "resources": ["Pod"]}, "did you mean pods?"),
        ({"apiGroups": [""], "resources": ["deployments"]}, 'write apiGroups: ["apps"]'),
        ({"apiGroups": ["apps"], "resources": ["deployments"], "apiVersions": ["v1beta1"]}, '["v1"]'),
        ({"apiGroups": [""], "resources": ["nodes"], "scope": "Namespaced"}, "write scope: Cluster"),
        ({"apiGroups": [""], "resources": ["pod*"]}, 'only "*" alone is a wildcard here'),
    ],
)
def test_a_rule_that_means_nothing_is_told_with_what_to_write(rule: dict[str, Any], says: str) -> None:
    found = expanded(deleting(rule))
    assert found.resources == ()
    (missing,) = found.missing
    assert says in f"{missing.what}; {missing.instead}"


def test_a_rule_takes_the_version_that_it_names_first() -> None:
    rule = {"apiGroups": ["shop.example"], "resources": ["widgets"]}
    assert expanded(deleting(rule)).resources == (WIDGET_V2,)
    assert expanded(deleting({**rule, "apiVersions": ["v1", "v2"]})).resources == (WIDGET_V1,)


def test_a_policy_of_a_namespace_has_only_what_is_in_namespaces() -> None:
    found = expanded(cleanup({"kinds": ["*"]}, {"kinds": ["Node"]}, scope="CleanupPolicy"))
    assert found.resources
    assert all(row.namespaced for row in found.resources)


def test_a_kind_whose_group_could_not_be_read_is_not_called_unknown() -> None:
    partly = Discovery(resources=CUSTOM, gaps=(Gap(group="apps", version="v1", why="no endpoints"),))
    found = expanded(cleanup({"kinds": ["Deployment"]}), partly)
    (missing,) = found.missing
    assert missing.unreadable
    assert found.unread == {"Deployment"}
    assert missing.instead == "mend the API service first (no endpoints)"
    rule = {"apiGroups": ["apps"], "resources": ["deployments"]}
    (missing,) = expanded(deleting(rule), partly).missing
    assert missing.unreadable


@pytest.mark.parametrize("obj", [cleanup({"kinds": ["*"]}), deleting({})])
def test_a_wildcard_that_can_not_see_every_group_says_so(obj: dict[str, Any]) -> None:
    partly = Discovery(resources=CUSTOM, gaps=(Gap(group="apps", version="v1", why="no endpoints"),))
    found = expanded(obj, partly)
    assert WIDGET_V2 in found.resources
    assert found.unread == frozenset(), "it means others, too"
    (missing,) = found.missing
    assert missing.unreadable
    assert missing.what == 'all that "*" means is not known, for the kinds of apps/v1 could not be read'
