"""Wildcards that mean nothing, or less than fits them, and names that fit nothing: the writer is told, and the policy runs."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.kinds import Discovery, Gap
from skoupa.kube.resources import Resource
from skoupa.policy.reading import read_policy
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.policy.world import (
    WIDGET_V2,
    cleanup,
    custom,
    deleting,
    warned,
)

pytestmark = pytest.mark.unit

OLD = {"names": ["old-*"]}
NODE_LIKE = custom("Rack", "shop.example", namespaced=False)


def warned_with(obj: dict[str, Any], *rows: Resource, gaps: tuple[Gap, ...] = ()) -> list[str]:
    reading = read_policy(obj, discovery=Discovery(resources=(*BUILT_IN, *rows), gaps=gaps))
    assert reading.policy is not None
    return [str(warning) for warning in reading.warnings]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Namespac?", 'a wildcard does not reach Namespace, and nothing else fits "Namespac?"; name those'),
        ("E*", "a wildcard does not reach Endpoints, Event and EndpointSlice, and nothing else fits"),
        ("argoproj.io/*/App*", "a wildcard does not reach Application, and nothing else fits"),
        ("Deploymnt*", 'no kind fits "Deploymnt*"; did you mean Deployment?'),
        ("app/v1/Deploy*", 'no kind fits "app/v1/Deploy*"; write apps/v1/Deploy*'),
        ("Zzz*", 'no kind fits "Zzz*"; `kubectl api-resources`'),
        ("TokenRev*", '"TokenRev*" can\'t be listed and deleted'),
    ],
)
@pytest.mark.parametrize("narrowed", [{}, OLD])
def test_a_wildcard_that_means_nothing_is_told_and_never_as_everything(
    text: str, says: str, narrowed: dict[str, Any]
) -> None:
    (warning,) = warned(cleanup({"kinds": [text], **narrowed}))
    assert warning.startswith("spec.match: ")
    assert says in warning


def test_beside_a_wildcard_that_means_nothing_the_other_kinds_go_whole() -> None:
    whole, nothing = warned(cleanup({"kinds": ["Namespac?", "Secret"]}))
    assert "nothing narrows it, so that every Secret in the cluster goes" in whole
    assert "does not reach Namespace" in nothing


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        (
            cleanup({"kinds": ["PersistentVolume*"], **OLD}),
            'spec.match: "PersistentVolume*" is a wildcard, which does not reach PersistentVolume; name those',
        ),
        (
            cleanup({"kinds": ["rbac.authorization.k8s.io/*/*"], **OLD}),
            "does not reach ClusterRoleBinding and ClusterRole;",
        ),
        (
            deleting(
                {"apiGroups": ["rbac.authorization.k8s.io"]}, objectSelector={"matchLabels": {"a": "b"}}
            ),
            'spec.matchConstraints: "*.rbac.authorization.k8s.io" is a wildcard, which does not reach',
        ),
    ],
)
def test_a_wildcard_that_means_less_than_fits_it_is_told(obj: dict[str, Any], says: str) -> None:
    (warning,) = warned(obj)
    assert says in warning


@pytest.mark.parametrize(
    "obj",
    [
        cleanup({"kinds": ["PersistentVolume*", "PersistentVolume"], **OLD}),
        cleanup({"kinds": ["PersistentVolume"], **OLD}, {"kinds": ["PersistentVolume*"]}, mode="all"),
        cleanup({"kinds": ["Namespace", "Namespac?"], **OLD}),
        cleanup({"kinds": ["PersistentVolume*"], **OLD}, scope="CleanupPolicy"),
        cleanup({"kinds": ["*"], **OLD}),
        cleanup({"kinds": ["v1/*"], **OLD}),
        cleanup({"kinds": ["Wid*"], **OLD}),
        deleting({}, objectSelector={"matchLabels": {"a": "b"}}),
        deleting({"apiGroups": ["apps"]}, objectSelector={"matchLabels": {"a": "b"}}),
    ],
)
def test_a_wildcard_that_means_what_it_says_is_not_commented_on(obj: dict[str, Any]) -> None:
    assert warned(obj) == []


def test_what_another_filter_names_a_wildcard_still_does_not_reach() -> None:
    (warning,) = warned(
        cleanup({"kinds": ["PersistentVolume"], **OLD}, {"kinds": ["PersistentVolume*"], **OLD})
    )
    assert "does not reach PersistentVolume;" in warning


@pytest.mark.parametrize("kinds", ["Node*", "Rac*"])
def test_for_a_policy_of_a_namespace_only_what_lies_in_one_fits(kinds: str) -> None:
    obj = cleanup({"kinds": [kinds], **OLD}, scope="CleanupPolicy")
    (warning,) = warned_with(obj, NODE_LIKE)
    assert f'no kind that lies in a namespace fits "{kinds}"; leave it out, or write a Cluster' in warning


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        ({"apiGroups": ["app"]}, 'there is no kind of the group "app"; did you mean "apps"?'),
        ({"apiGroups": ["zz"]}, 'there is no kind of the group "zz"; `kubectl api-resources`'),
        ({"apiGroups": ["scheduling.k8s.io"]}, "a wildcard does not reach PriorityClass, and nothing else"),
        (
            {"apiGroups": ["apps"], "scope": "Cluster"},
            "*.apps are not of scope Cluster; write scope: Namespaced",
        ),
        (
            {"apiGroups": ["apps"], "apiVersions": ["v9"]},
            'there is no *.apps in version v9; write apiVersions: ["v1"]',
        ),
        ({"apiVersions": ["v9"]}, "in version v9"),
        ({"apiGroups": ["authentication.k8s.io"]}, "can't be listed and deleted"),
        ({"apiGroups": ["apps"], "resources": ["deploymnts"]}, 'there is no kind "deploymnts.apps"'),
    ],
)
def test_a_rule_that_means_nothing_is_told_and_never_as_everything(rule: dict[str, Any], says: str) -> None:
    (warning,) = warned(deleting(rule))
    assert says in warning


def test_a_rule_of_a_namespace_about_a_group_that_is_in_none_is_told() -> None:
    (warning,) = warned(deleting({"apiGroups": ["scheduling.k8s.io"]}, scope="NamespacedDeletingPolicy"))
    assert "no kind of scheduling.k8s.io lies in a namespace; leave it out" in warning


def test_of_groups_only_those_that_are_there_go_whole() -> None:
    whole, nothing = warned(deleting({"apiGroups": ["apps", "appz"]}))
    assert "all kinds of apps in the cluster go" in whole
    assert 'no kind of the group "appz"' in nothing


@pytest.mark.parametrize("name", ["tmp-*", "tmp-?", "*"])
@pytest.mark.parametrize("field", ["resourceRules", "excludeResourceRules"])
def test_a_name_with_a_wildcard_where_names_are_exact_is_told(field: str, name: str) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["*"], "resources": ["secrets"], "resourceNames": [name, "a"]}
    obj = deleting(rule) if field == "resourceRules" else deleting(rule, excludeResourceRules=[rule])
    (told,) = [warning for warning in warned(obj) if f".{field}[" in warning]
    place, _, said = told.partition(": ")
    assert place == f"spec.matchConstraints.{field}[0].resourceNames"
    assert said.startswith(f'names are exact here, and no object is called "{name}"; let a condition look at')


def test_an_exclusion_by_a_wildcard_that_is_none_is_told() -> None:
    excluded = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["secret*"]}
    (warning,) = warned(deleting({"resources": ["secrets"]}, excludeResourceRules=[excluded]))
    assert 'only "*" alone is a wildcard here, so that "secret*" excludes nothing' in warning


def test_a_kind_that_comes_later_is_taken_and_no_longer_told() -> None:
    obj = cleanup({"kinds": ["Wid*"], **OLD})
    (warning,) = warned_with(obj)
    assert 'no kind fits "Wid*"' in warning
    assert warned_with(obj, WIDGET_V2) == []


def test_while_a_group_can_not_be_read_a_wildcard_is_not_said_to_mean_nothing() -> None:
    gap = Gap(group="shop.example", version="v1", why="no endpoints")
    (warning,) = warned_with(cleanup({"kinds": ["Wid*"], **OLD}), gaps=(gap,))
    assert 'all that "Wid*" means is not known' in warning


def test_while_a_group_can_not_be_read_everything_else_still_goes() -> None:
    gap = Gap(group="shop.example", version="v1", why="no endpoints")
    whole, unknown = warned_with(cleanup({"kinds": ["*"]}), gaps=(gap,))
    assert "everything in the cluster goes which a wildcard reaches" in whole
    assert "is not known" in unknown
