"""What the server is asked for: as little as can be said to it, and never less than what a policy matches."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.kube.lists import Scope
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.kube.selectors import parse_labels
from skoupa.policy.match import Subject, answer
from skoupa.policy.queries import MOST_LISTS, queries
from tests.unit.policy.world import cleanup, deleting, excluding, kind, subject
from tests.unit.policy.writing_policies import (
    EVERYTHING,
    KINDS,
    PLACES,
    constrained,
    excludes,
    matches,
    namespaces,
)

pytestmark = pytest.mark.unit

POD = kind("Pod")
PODS = {"kinds": ["Pod"]}
Labels = dict[str, dict[str, str]]


def listed(scope: Scope, resource: Resource, metadata: Metadata) -> bool:
    """Whether the server's answer holds the object."""
    if scope.namespace and scope.namespace != metadata.namespace:
        return False
    if not parse_labels(scope.labels).matches(metadata.labels or {}):
        return False
    values = {"metadata.name": metadata.name, "metadata.namespace": metadata.namespace}
    for term in filter(None, scope.fields.split(",")):
        field, _, value = term.partition("!=" if "!=" in term else "=")
        assert resource.namespaced or field == "metadata.name"
        if (values[field] == value) == ("!=" in term):
            return False
    return True


def scopes(obj: dict[str, Any], resource: Resource = POD, **about: Any) -> list[Scope]:
    return [query.scope for query in queries(subject(obj), [resource], **about)]


@settings(max_examples=200)
@given(
    match=matches,
    exclude=excludes | st.none(),
    namespace=st.sampled_from(["", "", *PLACES]),
    labels=namespaces,
    known=st.booleans(),
)
def test_whatever_filters_match_is_in_what_is_asked_for(
    match: Any, exclude: Any, namespace: str, labels: Labels, *, known: bool
) -> None:
    nothing_is_lost(Subject(match=match, exclude=exclude, namespace=namespace), labels, known=known)


@given(exclude=excludes, labels=namespaces, known=st.booleans())
def test_whatever_is_not_excluded_is_in_what_is_asked_for(
    exclude: Any, labels: Labels, *, known: bool
) -> None:
    everything = subject(cleanup({"kinds": [each.kind for each in KINDS]}))
    nothing_is_lost(msgspec.structs.replace(everything, exclude=exclude), labels, known=known)


@given(match=constrained, namespace=st.sampled_from(["", *PLACES]), labels=namespaces, known=st.booleans())
def test_whatever_constraints_match_is_in_what_is_asked_for(
    match: Any, namespace: str, labels: Labels, *, known: bool
) -> None:
    nothing_is_lost(Subject(match=match, namespace=namespace), labels, known=known)


def nothing_is_lost(about: Subject, labels: Labels, *, known: bool) -> None:
    asked = {each: queries(about, [each], namespaces=labels if known else None) for each in KINDS}
    for resource, metadata in EVERYTHING:
        if answer(about, resource, metadata, namespace_labels=labels.get(metadata.namespace)).matches:
            assert any(listed(query.scope, resource, metadata) for query in asked[resource]), metadata


@pytest.mark.parametrize(
    ("filters", "wanted"),
    [
        ({}, [Scope()]),
        ({"names": ["web"]}, [Scope(fields="metadata.name=web")]),
        ({"name": "web", "namespaces": ["a"]}, [Scope(namespace="a", fields="metadata.name=web")]),
        ({"namespaces": ["b", "a"]}, [Scope(namespace="a"), Scope(namespace="b")]),
        ({"names": ["web-*"], "namespaces": ["a", "team-*"]}, [Scope()]),
        (
            {"selector": {"matchLabels": {"app": "web", "tier": "?*", "x*": "1"}}},
            [Scope(labels="app=web,tier")],
        ),
        (
            {
                "selector": {
                    "matchExpressions": [
                        {"key": "a", "operator": "NotIn", "values": ["1", "2"]},
                        {"key": "b", "operator": "DoesNotExist"},
                    ]
                }
            },
            [Scope(labels="!b,a notin (1,2)")],
        ),
    ],
)
def test_names_namespaces_and_labels_are_asked_of_the_server(
    filters: dict[str, Any], wanted: list[Scope]
) -> None:
    assert scopes(cleanup(PODS | filters)) == wanted


def test_filters_are_asked_for_together() -> None:
    shop = PODS | {"namespaces": ["a"], "selector": {"matchLabels": {"app": "web", "tier": "1"}}}
    other = PODS | {"namespaces": ["b"], "selector": {"matchLabels": {"app": "web"}}}
    assert scopes(cleanup(shop, other)) == [
        Scope(namespace="a", labels="app=web"),
        Scope(namespace="b", labels="app=web"),
    ]
    assert scopes(cleanup(shop, other, mode="all")) == []
    assert scopes(cleanup(shop, {"names": ["x"]}, mode="all")) == [
        Scope(namespace="a", labels="app=web,tier=1", fields="metadata.name=x")
    ]
    # A filter about other kinds says nothing of this one.
    assert scopes(cleanup(shop, {"kinds": ["Secret"]})) == [Scope(namespace="a", labels="app=web,tier=1")]


def test_what_is_excluded_for_one_plain_reason_is_not_asked_for() -> None:
    without = excluding(
        {"namespaces": ["kube-system", "x*"]},
        {"names": ["keep"]},
        {"selector": {"matchLabels": {"stay": "true"}}},
        {"kinds": ["Secret"], "namespaces": ["b"]},
        {"names": ["a"], "namespaces": ["c"]},
    )
    assert scopes(cleanup(PODS, **without)) == [
        Scope(labels="stay!=true", fields="metadata.name!=keep,metadata.namespace!=kube-system")
    ]
    assert scopes(cleanup(PODS | {"namespaces": ["kube-system", "a"]}, **without)) == [
        Scope(namespace="a", labels="stay!=true", fields="metadata.name!=keep")
    ]


def test_many_namespaces_are_one_list() -> None:
    many = [f"n{number}" for number in range(MOST_LISTS + 1)]
    assert scopes(cleanup(PODS | {"namespaces": many})) == [Scope()]
    assert len(scopes(cleanup(PODS | {"namespaces": many[:-1]}))) == MOST_LISTS
    assert scopes(cleanup(PODS | {"namespaces": ["a"], "names": many})) == [Scope(namespace="a")]


def test_known_namespaces_turn_wildcards_and_selectors_into_namespaces() -> None:
    known = {"team-a": {"team": "1"}, "team-b": {}, "prod": {"team": "1"}}
    team = PODS | {"namespaces": ["team-*"]}
    assert scopes(cleanup(team), namespaces=known) == [Scope(namespace="team-a"), Scope(namespace="team-b")]
    first = team | {"namespaceSelector": {"matchLabels": {"team": "?*"}}}
    assert scopes(cleanup(first), namespaces=known) == [Scope(namespace="team-a")]
    assert scopes(cleanup(PODS | {"namespaces": ["x*"]}), namespaces=known) == []


def test_a_policy_of_a_namespace_asks_there_only() -> None:
    assert scopes(cleanup(PODS, scope="CleanupPolicy")) == [Scope(namespace="shop")]
    pods = deleting({"resources": ["pods"]}, scope="NamespacedDeletingPolicy")
    assert scopes(pods) == [Scope(namespace="shop")]


def test_a_namespace_is_asked_for_by_its_own_name() -> None:
    policy = cleanup({"kinds": ["Namespace"], "namespaces": ["team-a"]})
    assert scopes(policy, kind("Namespace")) == [Scope(fields="metadata.name=team-a")]


def test_a_namespace_is_asked_for_by_its_own_labels() -> None:
    policy = cleanup({"kinds": ["Namespace"], "namespaceSelector": {"matchLabels": {"env": "pr"}}})
    known = {"team-a": {"env": "pr"}}
    assert scopes(policy, kind("Namespace"), namespaces=known) == [Scope(labels="env=pr")]


def test_constraints_are_asked_of_the_server() -> None:
    policy = deleting(
        {"resources": ["pods"], "resourceNames": ["web"]},
        objectSelector={"matchLabels": {"app": "web"}},
        namespaceSelector={"matchLabels": {"team": "1"}},
    )
    assert scopes(policy) == [Scope(labels="app=web", fields="metadata.name=web")]
    known = {"a": {"team": "1"}, "b": {}}
    assert scopes(policy, namespaces=known) == [
        Scope(namespace="a", labels="app=web", fields="metadata.name=web")
    ]
    assert scopes(policy, kind("Secret")) == []


def test_what_no_server_would_take_is_left_to_matching() -> None:
    values = [f"value-{number}" for number in range(500)]
    long = {"selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": values}]}}
    assert scopes(cleanup(PODS | long)) == [Scope()]
    odd = msgspec.structs.replace(POD, kind="Pod")
    assert scopes(cleanup(PODS | {"names": ["a,b=c"]}), odd) == [Scope(fields="metadata.name=a\\,b\\=c")]
