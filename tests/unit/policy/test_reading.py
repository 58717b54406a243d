"""Reading policies: what can run becomes a Policy, and what can't is told with place, fault and what to write."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.policy.policies import Clauses
from skoupa.policy.problems import Problem
from skoupa.policy.reading import read_policy
from tests.unit.policy.world import ALL, cleanup, deleting, excluding, read, told

pytestmark = pytest.mark.unit

PODS = {"kinds": ["Pod"]}
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def spec(**fields: Any) -> dict[str, Any]:
    return {**cleanup(PODS), "spec": {**cleanup(PODS)["spec"], **fields}}


def filtered(**resources: Any) -> dict[str, Any]:
    return cleanup(PODS | resources)


def test_everything_that_a_cleanup_policy_says_is_read() -> None:
    obj = cleanup(
        PODS,
        scope="CleanupPolicy",
        **excluding({"names": ["x"]}),
        schedule="CRON_TZ=Europe/Athens 0 3 * * *",
        conditions={"all": [{"key": "{{ a }}", "operator": "equals", "value": {"b": None}}], "any": None},
        context=[{"name": "a", "apiCall": {"urlPath": "/api/v1/namespaces/shop/pods", "default": []}}],
        deletionPropagationPolicy="Orphan",
    )
    obj["metadata"] |= {"uid": "7", "generation": 3, "creationTimestamp": "2026-11-15T00:00:00Z"}
    policy = read(obj, discovery=ALL)
    assert (policy.kind, policy.namespace, policy.name) == ("CleanupPolicy", "shop", "old")
    assert (policy.uid, policy.generation, policy.created) == ("7", 3, 1794700800.0)
    assert policy.called == "CleanupPolicy/shop/old"
    assert policy.subject.namespace == "shop"
    assert policy.schedule.zone_name == "Europe/Athens"
    assert policy.clauses.comparisons == obj["spec"]["conditions"]
    assert not policy.clauses.empty
    assert policy.clauses.context[0].api_call is not None
    assert policy.clauses.context[0].api_call.default == []
    assert policy.propagation == "Orphan"


def test_everything_that_a_deleting_policy_says_is_read() -> None:
    obj = deleting(RULE)
    obj["spec"] |= {
        "conditions": [{"name": "old", "expression": "variables.age > 1"}],
        "variables": [{"name": "age", "expression": "2"}],
    }
    policy = read(obj, discovery=ALL)
    assert (policy.namespace, policy.called, policy.propagation) == ("", "DeletingPolicy/old", "Background")
    assert policy.clauses.expressions == (NamedExpression(name="old", expression="variables.age > 1"),)
    assert policy.clauses.variables == (NamedExpression(name="age", expression="2"),)


@pytest.mark.parametrize("version", ["v2", "v2beta1", "v2alpha1", "v1alpha1"])
def test_every_version_is_read(version: str) -> None:
    assert read({**cleanup(PODS), "apiVersion": f"kyverno.io/{version}"})


def test_a_policy_of_a_namespace_that_names_none_is_never_about_the_cluster() -> None:
    obj = cleanup(PODS, scope="CleanupPolicy")
    del obj["metadata"]["namespace"]
    assert read(obj).subject.namespace == "default"
    assert read(obj, default_namespace="here").namespace == "here"
    wide = cleanup(PODS)
    wide["metadata"]["namespace"] = "shop"
    assert read(wide).namespace == ""


@pytest.mark.parametrize("conditions", [None, {}, {"any": []}, {"all": None}])
def test_no_conditions_are_no_conditions(conditions: Any) -> None:
    assert read(spec(conditions=conditions)).clauses.empty


AT_ONCE: list[tuple[Any, list[str]]] = [
    (
        cleanup({"kind": ["Pod"], "nmes": ["a"]}),
        [
            'spec.match.any[0].resources: there is no field "kind"',
            'spec.match.any[0].resources: there is no field "nmes"',
        ],
    ),
    (
        spec(match={"any": [{"resources": {"kinds": ["Pod/exec"], "x": 1}, "roles": ["a"], "subject": []}]}),
        [
            'spec.match.any[0].resources: there is no field "x"',
            'spec.match.any[0]: there is no field "subject"',
            "spec.match.any[0].roles: it can't be used here",
            'spec.match.any[0].resources.kinds[0]: "Pod/exec" names the subresource',
        ],
    ),
    (
        filtered(kinds=["Pod"], selector={"matchLabel": {"a": "b"}}),
        ['spec.match.any[0].resources.selector: there is no field "matchLabel"'],
    ),
    (
        spec(context=[{"name": "a", "aplCall": {}}, {"name": True, "variable": {"value": 1}}, {"name": "c"}]),
        [
            'spec.context[0]: there is no field "aplCall"',
            "spec.context[1].name: true is not a text",
            "spec.context[2]: it has no sources",
        ],
    ),
]


@pytest.mark.parametrize(("obj", "says"), AT_ONCE)
def test_all_problems_are_told_at_once_and_none_that_only_follows(
    obj: dict[str, Any], says: list[str]
) -> None:
    reading = read_policy(obj)
    assert reading.policy is None
    found = [str(problem) for problem in reading.problems]
    assert len(found) == len(says), found
    assert all(text.startswith(said) for text, said in zip(found, says, strict=True)), found
    # What a match that is only half read would mean is not told.
    assert not reading.warnings or "spec.context" in says[0]


@pytest.mark.parametrize(
    ("obj", "says"),
    [
        ({**cleanup(PODS), "kind": "CleanUpPolicy"}, "kind: .* did you mean CleanupPolicy"),
        ({**cleanup(PODS), "kind": "Pod"}, "there are CleanupPolicy, ClusterCleanupPolicy"),
        ({}, "kind: it is missing"),
        ({**cleanup(PODS), "apiVersion": "kyverno.io/v1"}, "apiVersion: .* write kyverno.io/v2; also known"),
        ({**cleanup(PODS), "apiVersion": "v1"}, "write kyverno.io/v2$"),
        ({**cleanup(PODS), "metadata": {}}, "metadata.name: it is missing"),
        ({**cleanup(PODS), "metadata": "x"}, "metadata: it is no object with fields"),
        ({**cleanup(PODS), "spec": None}, "spec: it is missing"),
        ({**cleanup(PODS), "spec": []}, "spec: it is no object with fields"),
        (spec(match=None), "spec.match: it is missing"),
        (spec(schedule=None), "spec.schedule: it is missing"),
        (spec(shedule="@daily"), 'spec: there is no field "shedule"; did you mean schedule'),
        (spec(match={"any": [{"resource": {}}]}), r'spec.match.any\[0\]: there is no field "resource"'),
        (spec(match={"resources": {"kinds": ["Pod"]}}), 'spec.match: there is no field "resources"'),
        (spec(match=["Pod"]), "spec.match: .* is not an object with fields"),
        (spec(match={}), "spec.match: it matches nothing"),
        (spec(match={"any": []}), "spec.match: it matches nothing"),
        (cleanup({"names": ["a"]}), "spec.match: it matches nothing; write any or all"),
        (cleanup(PODS, {}, mode="all"), r"spec.match.all\[1\]: the filter is empty"),
        (
            spec(match={"any": [{"resources": PODS}], "all": []}),
            "spec.match: any and all can't stand together",
        ),
        (spec(exclude={"any": [], "all": []}), "spec.exclude: any and all can't stand together"),
        (filtered(name="a", names=["b"]), "name and names can't stand together; write names alone"),
        (
            filtered(kinds=["Pod/exec"]),
            r'kinds\[0\]: "Pod/exec" names the subresource "exec", .* write "Pod"',
        ),
        (filtered(kinds=["apps/v1/Deployment.scale"]), 'write "apps/v1/Deployment"'),
        (
            filtered(kinds=["apps/Deployment"]),
            r'"apps/Deployment" has no version; write "apps/\*/Deployment"',
        ),
        (filtered(kinds=["v1/Pod/exec"]), 'write "v1/Pod"'),
        (filtered(kinds=["*/*"]), r'write "\*"'),
        (filtered(kinds=["a/b/c/d/e"]), '"a/b/c/d/e" is no kind; write a kind such as Pod'),
        (filtered(kinds="Pod"), "spec.match.any.0..resources.kinds: .* is not a list"),
        (filtered(selector={}), r"spec.match.any\[0\].resources.selector: it is empty"),
        (filtered(selector={"matchLabels": {"a b": "c"}}), '"a b" is no key of a label'),
        (filtered(selector={"matchLabels": {"a": "c d"}}), 'a: "c d" is no value of a label'),
        (
            filtered(namespaceSelector={"matchExpressions": [{"key": "a", "operator": "In"}]}),
            r"namespaceSelector.matchExpressions\[0\]: In has no values",
        ),
        (
            filtered(selector={"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
            "Exists takes no values",
        ),
        (
            filtered(selector={"matchExpressions": [{"key": "a", "operator": "Equals"}]}),
            "write DoesNotExist or Exists or In or NotIn",
        ),
        (
            spec(match={"any": [{"resources": PODS, "subjects": [{"kind": "User", "name": "a"}]}]}),
            r"spec.match.any\[0\].subjects: it can't be used here: .* no user",
        ),
        (spec(exclude={"all": [{"roles": ["a"]}]}), r"spec.exclude.all\[0\].roles: it can't be used here"),
        (spec(exclude={"any": [{"clusterRoles": ["a"]}]}), r"exclude.any\[0\].clusterRoles: it can't be"),
        (
            cleanup(PODS, **excluding(PODS)),
            r"spec.exclude.any\[0\]: it is the same as a filter of spec.match",
        ),
        (
            cleanup(PODS, mode="all", **excluding(PODS, mode="all")),
            "spec.exclude.all: all of it stands in spec.match too",
        ),
        (spec(schedule="@every 1h"), 'spec.schedule: .* write "@hourly"'),
        (spec(schedule="0 0 0 * * *"), "spec.schedule: .* leave out the seconds"),
        (spec(schedule="30 2 31 2 *"), "spec.schedule: .* never comes"),
        (spec(schedule=5), "spec.schedule: 5 is not a text"),
        (spec(schedule=""), "spec.schedule: the cron expression is empty; write "),
        (spec(schedule=" "), "spec.schedule: the cron expression is empty; write "),
        (spec(deletionPropagationPolicy="background"), "write Background or Foreground or Orphan"),
        (spec(conditions=[]), "spec.conditions: it is no object with fields"),
        (spec(conditions={"every": []}), 'spec.conditions: there is no field "every"; write any or all'),
        (spec(conditions={"all": {"key": 1}}), "spec.conditions.all: it is no list"),
        (spec(conditions={"all": [1]}), r"spec.conditions.all\[0\]: it is no object with fields"),
        (spec(conditions={"all": [{"key": 1}]}), r"all\[0\].operator: it is missing; write one of Equals"),
        (spec(conditions={"all": [{"operator": "Equals"}]}), r"all\[0\].key: it is missing"),
        (
            spec(conditions={"any": [{"key": 1, "operator": "GreatherThan", "value": 1}]}),
            "did you mean GreaterThan",
        ),
        (spec(conditions={"any": [{"key": 1, "operator": "In", "value": 1}]}), "write AnyIn or AllIn"),
        (
            spec(conditions={"any": [{"key": 1, "operator": "Equals", "values": 1}]}),
            'no field "values"; did you mean value',
        ),
        (spec(context=[{"name": "a"}]), r"spec.context\[0\]: it has no sources"),
        (
            spec(context=[{"name": "a", "variable": {}, "globalReference": {"name": "b"}}]),
            "it has 2 sources; write exactly one",
        ),
        (
            spec(context=[{"name": "a", "configMap": {"name": "b"}}]),
            r"spec.context\[0\]: configMap can't be used here; write an apiCall",
        ),
        (
            spec(context=[{"name": "a", "imageRegistry": {"reference": "b"}}]),
            "imageRegistry can't be used here",
        ),
        (spec(context=[{"name": "a", "apiCall": {}}]), "apiCall: it says not where to"),
        (spec(context=[{"variable": {"value": 1}}]), r"spec.context\[0\].name: it is missing"),
        (
            {**deleting(RULE), "spec": {"schedule": "@daily"}},
            "spec.matchConstraints: it is missing",
        ),
        (deleting(), "spec.matchConstraints: it matches nothing"),
        (deleting({**RULE, "apiGroups": []}), r"resourceRules\[0\].apiGroups: it names nothing"),
        (deleting({**RULE, "apiVersions": []}), r"resourceRules\[0\].apiVersions: it names nothing"),
        (deleting({**RULE, "resources": []}), r"resourceRules\[0\].resources: it names nothing"),
        (deleting({**RULE, "resources": ["pods/*"]}), r'resources\[0\]: .* can.t be deleted; write "pods"'),
        (deleting({**RULE, "scope": "Namespace"}), r"write \* or Cluster or Namespaced"),
        (
            deleting(RULE, excludeResourceRules=[{**RULE, "apiGroups": []}]),
            r"excludeResourceRules\[0\].apiGroups: it names nothing",
        ),
        (
            deleting(RULE, objectSelector={"matchLabels": {"a": "?*"}}),
            "has wildcards, which are not known here; use matchExpressions",
        ),
        (
            deleting({**RULE, "scope": "Cluster"}, scope="NamespacedDeletingPolicy"),
            "about nothing outside of it",
        ),
    ],
)
def test_what_can_not_run_is_told_with_place_and_what_to_write(obj: dict[str, Any], says: str) -> None:
    (problem,) = told(obj)
    assert re.search(says, problem), problem


def test_names_of_expressions_stand_once() -> None:
    obj = deleting(RULE)
    obj["spec"]["conditions"] = [{"name": "a", "expression": "true"}] * 2
    assert told(obj) == ['spec.conditions[1].name: the name "a" stands here twice; choose another name']


@pytest.mark.parametrize(
    ("kinds", "fine"),
    [
        (["Node"], False),
        (["Pod", "v1/Namespace"], False),
        (["*"], True),
        (["Pod"], True),
        (["Nothing"], True),
    ],
)
def test_a_policy_of_a_namespace_names_no_cluster_wide_kinds(kinds: list[str], *, fine: bool) -> None:
    obj = cleanup({"kinds": kinds}, scope="CleanupPolicy")
    assert read(obj)
    if fine:
        assert read(obj, discovery=ALL)
    else:
        (problem,) = told(obj, discovery=ALL)
        assert f"kinds[{len(kinds) - 1}]" in problem
        assert "is in no namespace" in problem
    assert read(cleanup({"kinds": kinds}), discovery=ALL)


def test_a_namespaced_deleting_policy_names_no_cluster_wide_kinds() -> None:
    obj = deleting({"resources": ["pods", "nodes"]}, scope="NamespacedDeletingPolicy")
    (problem,) = told(obj, discovery=ALL)
    assert problem.startswith("spec.matchConstraints.resourceRules[0].resources[1]: ")


def test_a_policy_of_a_namespace_neither_filters_namespaces_nor_reads_elsewhere() -> None:
    (problem,) = told(cleanup(PODS | {"namespaces": ["a"]}, scope="CleanupPolicy"))
    assert problem == (
        "spec.match.any[0].resources.namespaces: a policy of a namespace is about that namespace only; "
        "leave it out, or write a ClusterCleanupPolicy"
    )
    call = {"name": "a", "apiCall": {"urlPath": "/api/v1/namespaces/other/pods"}}
    (problem,) = told(cleanup(PODS, scope="CleanupPolicy", context=[call]))
    assert problem.startswith("spec.context[0].apiCall.urlPath: ")
    assert read(cleanup(PODS, context=[call]))


def test_a_minimum_interval_is_kept() -> None:
    assert "policies run at most every 1h" in told(spec(schedule="*/5 * * * *"), minimum_seconds=3600)[0]


def test_all_problems_are_told_at_once() -> None:
    obj = spec(schedule="0 0", exclude={"any": [{"roles": ["a"]}]}, context=[{"name": "a"}])
    obj["metadata"]["annotations"] = {"skoupa.dev/suspend": "yes"}
    assert [problem.partition(":")[0] for problem in told(obj)] == [
        "spec.schedule",
        "spec.exclude.any[0].roles",
        "spec.context[0]",
        "metadata.annotations[skoupa.dev/suspend]",
    ]


def test_expressions_are_checked_by_who_can() -> None:
    seen: list[Clauses] = []

    def check(clauses: Clauses) -> list[Problem]:
        seen.append(clauses)
        return [Problem(path="spec.conditions.all[0].key", what="it does not parse", instead="close it")]

    obj = cleanup(
        PODS,
        scope="CleanupPolicy",
        conditions={"all": [{"key": "{{ a", "operator": "Equals", "value": 1}]},
    )
    assert told(obj, check=check) == ["spec.conditions.all[0].key: it does not parse; close it"]
    assert seen[0].namespace == "shop"
    assert seen[0].comparisons == obj["spec"]["conditions"]


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
_PLACES = [
    ("metadata",),
    ("spec",),
    ("spec", "match"),
    ("spec", "match", "any"),
    ("spec", "exclude"),
    ("spec", "schedule"),
    ("spec", "conditions"),
    ("spec", "context"),
    ("spec", "matchConstraints"),
    ("metadata", "annotations"),
]


@given(st.sampled_from(_PLACES), _json, st.sampled_from([cleanup(PODS), deleting(RULE)]))
def test_no_object_makes_reading_fail(place: tuple[str, ...], value: Any, obj: dict[str, Any]) -> None:
    obj = copy.deepcopy(obj)
    inside = obj
    for step in place[:-1]:
        inside = inside.setdefault(step, {})
    inside[place[-1]] = value
    reading = read_policy(obj, discovery=ALL)
    assert (reading.policy is None) == bool(reading.problems)
