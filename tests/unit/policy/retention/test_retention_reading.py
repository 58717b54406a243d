"""Retention policies are read with what to write instead, and know what they are about."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.policy.retention.policies import Limit, Newest, Retention
from skoupa.policy.retention.reading import read_retention
from skoupa.sim.state.kinds import BUILT_IN

pytestmark = pytest.mark.unit

KIND = names.RETENTION_POLICY_KIND
PODS = Resource(version="v1", plural="pods", kind="Pod", namespaced=True)
SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
ACCOUNTS = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)
OF_CLUSTER = names.CLUSTER_RETENTION_POLICY_KIND


def manifest(kind: str = KIND, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{names.SKOUPA_GROUP}/v1alpha1",
        "kind": kind,
        "metadata": {"name": "tidy", "namespace": "shop", "uid": "u1", "generation": 3},
        "spec": spec,
    }


def policy(kind: str = KIND, **spec: Any) -> Retention:
    reading = read_retention(manifest(kind, **spec))
    assert reading.policy is not None, reading.problems
    return reading.policy


def problems(**spec: Any) -> list[str]:
    reading = read_retention(manifest(**spec))
    assert reading.policy is None
    return [str(problem) for problem in reading.problems]


def about(found: Retention, resource: Resource, *, has_rules: bool = True, **metadata: Any) -> str:
    said = found.is_about(
        resource,
        Metadata(**{"name": "one", "namespace": "shop", **metadata}),
        has_rules=has_rules,
        namespace_labels={},
    )
    assert said.matches == (not said.why)
    return said.why


def kinds(*written: str, **more: Any) -> dict[str, Any]:
    return {"any": [{"resources": {"kinds": list(written), **more}}]}


def test_everything_that_is_written_counts() -> None:
    found = policy(
        after={"succeeded": "1h", "failed": "1d12h", "unused": "0"},
        keepNewest={"count": 3, "per": "Owner"},
        owners="Ignore",
        capacity={"atMost": 100, "divide": "Cluster"},
        suspend=True,
        deletionPropagationPolicy="Orphan",
    )
    assert found.after == {"succeeded": 3600, "failed": 129600, "unused": 0}
    assert found.newest == Newest(count=3, per="Owner")
    assert found.limit == Limit(at_most=100, divide="Cluster")
    assert (found.owners_hold, found.suspended, found.propagation) == (False, True, "Orphan")
    assert (found.called, found.uid, found.generation) == ("RetentionPolicy/shop/tidy", "u1", 3)


def test_without_a_word_a_living_owner_holds_and_a_quota_counts_for_each_namespace() -> None:
    found = policy(OF_CLUSTER, capacity={"fromQuota": "count/jobs.batch"})
    assert found.owners_hold
    assert found.limit == Limit(quota="count/jobs.batch", divide="PerNamespace")
    assert found.called == "ClusterRetentionPolicy/tidy"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({}, "spec: it says nothing; write after, keepNewest or capacity"),
        ({"after": {}}, "spec.after: it names no moment; write one of created, finished"),
        ({"after": {"done": "1h"}}, "spec.after"),
        ({"after": {"finished": "2days"}}, "spec.after.finished"),
        ({"after": {"finished": 60}}, "spec.after.finished"),
        ({"afer": {"finished": "1h"}}, "after"),
        ({"keepNewest": {"count": -1}}, "spec.keepNewest.count"),
        ({"keepNewest": {}}, "spec.keepNewest.count: it is missing"),
        ({"keepNewest": {"count": 1, "family": "a("}}, "is no regular expression"),
        ({"keepNewest": {"count": 1, "family": "abc"}}, "it has no group; put the family in parentheses"),
        (
            {"keepNewest": {"count": 1, "per": "Owner", "family": "(a)"}},
            "per is Owner; write per: Family with it, or leave family out",
        ),
        ({"capacity": {}}, "spec.capacity: it says not how many; write one of atMost and fromQuota"),
        ({"capacity": {"atMost": 1, "fromQuota": "pods"}}, "atMost and fromQuota can't stand together"),
        ({"capacity": {"fromQuota": "pods", "divide": "Cluster"}}, "spec.capacity.divide"),
        ({"after": {"unused": "1h"}, "match": {}}, "spec.match: it matches nothing"),
        (
            {"after": {"unused": "1h"}, "match": kinds("Job", namespaces=["a"])},
            "a policy of a namespace is about that namespace only; leave it out, or write a ClusterRetentionPolicy",
        ),
        ({"after": {"unused": "1h"}, "match": kinds("pods/log")}, "subresource"),
        ({"after": {"unused": "1h"}, "owners": "None"}, "spec.owners"),
        (
            {"after": {"created": "10m"}, "match": kinds("events.k8s.io/v1/Event")},
            "nothing goes by a policy for events.k8s.io; write the kind Event",
        ),
    ],
)
def test_what_can_not_be_meant_is_no_policy_and_says_what_to_write(spec: dict[str, Any], said: str) -> None:
    found = problems(**spec)
    assert any(said in problem for problem in found), found


def test_all_problems_are_told_at_once() -> None:
    found = problems(after={"finished": "soon"}, keepNewest={"count": -1}, capacity={})
    assert {problem.partition(":")[0] for problem in found} == {
        "spec.after.finished",
        "spec.keepNewest.count",
        "spec.capacity",
    }


def test_another_kind_is_none_of_these() -> None:
    reading = read_retention(manifest("CleanupPolicy", after={"unused": "1h"}))
    assert reading.policy is None
    assert "is no retention policy" in str(reading.problems[0])


def test_a_policy_that_names_no_kinds_takes_what_has_rules_but_nothing_that_holds_data() -> None:
    for found in (
        policy(after={"unused": "1h"}),
        policy(after={"unused": "1h"}, match=labelled("tier", "test")),
    ):
        assert not about(found, CONFIG_MAPS, labels={"tier": "test"})
        assert "has no rules" in about(found, CONFIG_MAPS, has_rules=False, labels={"tier": "test"})
        for data in (SECRETS, CLAIMS, ACCOUNTS):
            assert "write the kind" in about(found, data, labels={"tier": "test"})
        assert about(found, PODS, namespace="other", labels={"tier": "test"})
    assert about(policy(OF_CLUSTER, after={"unused": "1h"}), NAMESPACES, namespace="")


def labelled(key: str, value: str) -> dict[str, Any]:
    return {"any": [{"resources": {"selector": {"matchLabels": {key: value}}}}]}


def test_what_is_named_is_taken_also_if_it_holds_data() -> None:
    found = policy(after={"unused": "1h"}, match=kinds("Secret"))
    assert not about(found, SECRETS)
    assert not about(found, SECRETS, has_rules=False)
    assert about(found, PODS) == "match.any[0]: it is of another kind"
    assert "write the kind" in about(policy(after={"unused": "1h"}, match=kinds("*")), SECRETS)


def test_exclude_counts_also_without_match() -> None:
    found = policy(after={"unused": "1h"}, exclude=labelled("audit", "yes"))
    assert not about(found, CONFIG_MAPS)
    assert "exclude" in about(found, CONFIG_MAPS, labels={"audit": "yes"})


def test_what_every_namespace_has_is_left_alone() -> None:
    assert about(policy(after={"unused": "1h"}), CONFIG_MAPS, name="kube-root-ca.crt")


def test_what_is_mostly_not_meant_is_told() -> None:
    reading = read_retention(manifest(keepNewest={"count": 3}, owners="Ignore"))
    assert [warning.path for warning in reading.warnings] == ["spec.keepNewest", "spec.owners", "spec.match"]


@pytest.mark.parametrize(
    ("quota", "said"),
    [
        ("count/pods", ["write count/jobs.batch"]),
        ("pods", ["write count/jobs.batch"]),
        ("count/jobs.batch", []),
    ],
)
def test_a_quota_of_what_it_is_not_about_limits_nothing_and_that_is_told(quota: str, said: list[str]) -> None:
    found = manifest(match=kinds("Job"), capacity={"fromQuota": quota})
    reading = read_retention(found, discovery=Discovery(resources=BUILT_IN))
    assert [one.instead for one in reading.warnings if one.path == "spec.capacity.fromQuota"] == said


def annotated(**annotations: str) -> dict[str, Any]:
    found = manifest(match=kinds("Job"), after={"finished": "1h"})
    marks = {f"{names.SKOUPA_GROUP}/{key.replace('_', '-')}": value for key, value in annotations.items()}
    return {**found, "metadata": {**found["metadata"], "annotations": marks}}


@pytest.mark.parametrize(("value", "suspended"), [("true", True), ("false", False)])
def test_the_annotation_that_suspends_other_policies_suspends_this_one(
    value: str, *, suspended: bool
) -> None:
    reading = read_retention(annotated(suspend=value))
    assert reading.policy is not None
    assert reading.policy.suspended == suspended
    assert not reading.warnings


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"suspend": "yes"}, 'write "true" or "false"'),
        ({"observe": "24h"}, "write spec.suspend: true and look at what would go with `skoupa plan -f`"),
        ({"max_deletions": "5"}, "brakes.maxPerRun"),
        ({"service_account": "janitor"}, "take it out, or write spec.suspend: true"),
    ],
    ids=str,
)
def test_what_would_hold_another_policy_back_lets_nothing_go_by_this_one(
    annotations: dict[str, str], said: str
) -> None:
    reading = read_retention(annotated(**annotations))
    assert reading.policy is None
    assert any(said in problem.instead for problem in reading.problems), reading.problems


def test_an_annotation_that_does_nothing_here_and_one_that_is_a_label_are_told() -> None:
    found = annotated(missed_runs="Skip")
    found["metadata"]["labels"] = {names.SUSPEND_ANNOTATION: "true"}
    reading = read_retention(found)
    assert [one.path for one in reading.warnings] == [
        f"metadata.annotations[{names.MISSED_RUNS_ANNOTATION}]",
        f"metadata.labels[{names.SUSPEND_ANNOTATION}]",
    ]


@pytest.mark.parametrize("kind", ["Pod", "*"])
def test_a_quota_that_does_not_count_what_has_ended_is_told(kind: str) -> None:
    found = manifest(capacity={"fromQuota": "pods"}, match=kinds(kind))
    reading = read_retention(found, discovery=Discovery(resources=BUILT_IN))
    (told,) = [one for one in reading.warnings if one.path == "spec.capacity.fromQuota"]
    assert told.instead == "write count/pods, which counts both"


TRAININGS = Resource(
    group="example.com",
    version="v1",
    plural="trainings",
    kind="Training",
    namespaced=True,
    verbs=("list", "watch", "delete"),
)


@pytest.mark.parametrize(
    ("kind", "spec", "told"),
    [
        ("Training", {"capacity": {"atMost": 9}}, True),
        ("Training", {"capacity": {"atMost": 9}, "after": {"finished": "1h"}}, True),
        ("Training", {"keepNewest": {"count": 3}}, True),
        ("Training", {"after": {"created": "1d"}}, True),
        ("Training", {"after": {"finished": "1h"}, "keepNewest": {"count": 3}}, False),
        ("Job", {"capacity": {"atMost": 9}}, False),
        ("ConfigMap", {"capacity": {"atMost": 9}}, False),
    ],
    ids=str,
)
def test_that_nobody_knows_when_one_is_at_work_is_told_where_that_is_not_waited_for(
    kind: str, spec: dict[str, Any], *, told: bool
) -> None:
    discovery = Discovery(resources=(*BUILT_IN, TRAININGS))
    reading = read_retention(manifest(match=kinds(kind), **spec), discovery=discovery)
    assert not reading.problems
    assert any("KindProfile" in one.what for one in reading.warnings) == told


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("Deployment", ["deployments.apps"]),
        ("ReplicaSet", ["replicasets.apps"]),
        ("ConfigMap", []),
        ("Job", []),
        ("Event", []),
        ("*", []),
    ],
)
def test_that_a_kind_is_there_for_itself_and_never_goes_is_told(kind: str, told: list[str]) -> None:
    after = {"created": "10m"} if kind == "Event" else {"unused": "1h"}
    reading = read_retention(
        manifest(match=kinds(kind), after=after), discovery=Discovery(resources=BUILT_IN)
    )
    assert not reading.problems
    found = [one.what for one in reading.warnings if "there for themselves" in one.what]
    assert [one.partition(" ")[0] for one in found] == told


def test_an_exclusion_that_spares_nothing_is_told() -> None:
    written = manifest(match=kinds("Job"), after={"finished": "1h"}, exclude=kinds("Jobs", names=["keep"]))
    reading = read_retention(written, discovery=Discovery(resources=BUILT_IN))
    assert [str(one) for one in reading.warnings] == [
        'spec.exclude.any[0].resources.kinds[0]: there is no kind "Jobs", so that it excludes nothing; did you mean Job?'
    ]
