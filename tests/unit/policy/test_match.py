"""Which objects a CleanupPolicy is about, as Kyverno decides it, and how far its wildcards reach."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy import reach
from skoupa.policy.match import Subject, answer
from skoupa.policy.reach import owner_that_goes
from tests.unit.policy.world import (
    ARGO,
    BUCKET,
    CLAIM,
    CLUSTER,
    KNATIVE,
    POLICIES,
    WIDGET_V1,
    WIDGET_V2,
    WORKFLOW,
    asked,
    cleanup,
    custom,
    deleting,
    excluding,
    kind,
    owned,
    subject,
)
from tests.unit.policy.writing_policies import EVERYTHING, excludes, matches, namespaces

pytestmark = pytest.mark.unit

PODS = {"kinds": ["Pod"]}
PR = {"namespaceSelector": {"matchLabels": {"env": "pr"}}}
# Said in words, and these are part of `k8s.io` or said by Flux's kinds.
_WORDED = {"x-k8s.io", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"}


@pytest.mark.parametrize(
    ("filters", "about", "fits"),
    [
        ({}, {}, True),
        ({"names": ["web", "db"]}, {}, True),
        ({"names": ["w?b"]}, {}, True),
        ({"names": ["w?"]}, {}, False),
        ({"name": "we*"}, {}, True),
        ({"name": "db"}, {}, False),
        ({"namespaces": ["shop"]}, {}, True),
        ({"namespaces": ["s*"]}, {}, True),
        ({"namespaces": ["sho"]}, {}, False),
        ({"annotations": {"team": "a"}}, {"annotations": {"team": "a"}}, True),
        ({"annotations": {"te*": "?"}}, {"annotations": {"x": "yy", "team": "a"}}, True),
        ({"annotations": {"te*": "?", "x": "y"}}, {"annotations": {"team": "a"}}, False),
        # One annotation has to fit both key and value.
        ({"annotations": {"*": "a"}}, {"annotations": {"team": "b"}}, False),
        ({"annotations": {"team": "a"}}, {}, False),
        ({"selector": {"matchLabels": {"app": "web"}}}, {"labels": {"app": "web"}}, True),
        ({"selector": {"matchLabels": {"app": "?*"}}}, {"labels": {"app": "web"}}, True),
        ({"selector": {"matchLabels": {"app": "?*"}}}, {"labels": {"app": ""}}, False),
        ({"selector": {"matchLabels": {"app": "*"}}}, {"labels": {"app": ""}}, True),
        ({"selector": {"matchLabels": {"app": "*"}}}, {}, False),
        ({"selector": {"matchLabels": {"*": "*"}}}, {}, False),
        ({"selector": {"matchLabels": {"app/*": "v?"}}}, {"labels": {"app/x": "v1"}}, True),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["web"]}]}},
            {},
            True,
        ),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]}},
            {"labels": {"app": "b"}},
            True,
        ),
        (
            {"selector": {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]}},
            {"labels": {"app": "b"}},
            False,
        ),
        ({"namespaceSelector": {"matchLabels": {"team": "a*"}}}, {"around": {"team": "ab"}}, True),
        ({"namespaceSelector": {"matchLabels": {"team": "a*"}}}, {"around": {}}, False),
        ({"namespaceSelector": {}}, {"around": {}}, True),
        ({"operations": ["CREATE"]}, {}, True),
        # Everything that is written has to fit.
        ({"names": ["web"], "namespaces": ["other"]}, {}, False),
    ],
)
def test_every_demand_of_a_filter_has_to_be_met(
    filters: dict[str, Any], about: dict[str, Any], *, fits: bool
) -> None:
    found = asked(cleanup(PODS | filters), **about)
    assert found.matches == fits
    assert bool(found.why) != fits


def test_any_needs_one_filter_and_all_needs_every_one() -> None:
    two = ({"kinds": ["Pod"], "names": ["a*"]}, {"kinds": ["Pod"], "names": ["*b"]})
    assert [asked(cleanup(*two), name=name).matches for name in ("ab", "ax", "xx")] == [True, True, False]
    everything = cleanup(*two, mode="all")
    assert [asked(everything, name=name).matches for name in ("ab", "ax", "xx")] == [True, False, False]


def test_why_not_is_told_with_the_place() -> None:
    assert asked(cleanup(PODS, mode="all"), "ConfigMap").why == "match.all[0]: it is of another kind"
    two = cleanup({**PODS, "names": ["a"]}, {**PODS, "names": ["b"]})
    assert asked(two).why == "match.any[0]: it has another name; nor does another filter of match.any fit"
    excluded = cleanup(PODS, **excluding({"names": ["a"]}, {"namespaces": ["shop"]}))
    assert asked(excluded).why == "exclude.any[1] fits"


def test_a_filter_without_kinds_is_about_the_kinds_of_the_others() -> None:
    policy = cleanup(PODS | {"names": ["a"]}, {"names": ["b"]})
    assert [asked(policy, name=name).matches for name in "abc"] == [True, True, False]


def test_an_empty_filter_fits_nothing() -> None:
    assert asked(cleanup(PODS, **excluding({}))).matches
    assert not asked(cleanup(PODS | {"names": ["a"]}, {})).matches


def test_an_empty_exclude_excludes_everything_as_in_kyverno() -> None:
    found = asked(cleanup(PODS, exclude={}))
    assert not found.matches
    assert found.why == "exclude is empty, which excludes everything"


def test_exclude_all_needs_every_filter() -> None:
    two = excluding({"names": ["web"]}, {"namespaces": ["shop"]}, mode="all")
    assert not asked(cleanup(PODS, **two)).matches
    assert asked(cleanup(PODS, **two), namespace="other").matches


def test_a_namespace_is_asked_for_its_own_name() -> None:
    policy = cleanup({"kinds": ["Namespace"], "namespaces": ["team-*"]})
    assert asked(policy, "Namespace", name="team-a").matches
    assert not asked(policy, "Namespace", name="prod").matches


@pytest.mark.parametrize("mode", ["any", "all"])
def test_a_namespace_selector_in_match_is_asked_of_a_namespaces_own_labels(mode: str) -> None:
    """Kyverno passes over it, and every Namespace would go."""
    policy = cleanup({"kinds": ["Namespace"], **PR}, mode=mode)
    assert asked(policy, "Namespace", labels={"env": "pr"}).matches
    for labels in ({"env": "prod"}, None):
        found = asked(policy, "Namespace", labels=labels)
        assert found.why == (
            f"match.{mode}[0]: its own labels do not fit namespaceSelector "
            "(Kyverno would not ask a Namespace for them)"
        )


def test_a_namespace_selector_in_exclude_spares_every_namespace_as_in_kyverno() -> None:
    for labels in ({"env": "pr"}, {"env": "prod"}, None):
        excluded = cleanup({"kinds": ["Namespace"]}, **excluding(PR))
        assert asked(excluded, "Namespace", labels=labels).why == "exclude.any[0] fits"
        others = cleanup({"kinds": ["Namespace"]}, **excluding({"kinds": ["Pod"], **PR}))
        assert asked(others, "Namespace", labels=labels).matches


def test_another_kind_called_namespace_is_asked_for_the_namespace_that_it_is_in() -> None:
    bus = custom("Namespace", "bus.example")
    policy = cleanup({"kinds": ["bus.example/*/Namespace"], **PR})
    assert asked(policy, bus, around={"env": "pr"}).matches
    assert not asked(policy, bus, around={}, labels={"env": "pr"}).matches
    assert not asked(cleanup({"kinds": ["bus.example/*/Namespace"]}, **excluding(PR)), bus, around={}).matches


def test_a_cluster_wide_object_is_in_no_namespace() -> None:
    nodes = {"kinds": ["Node"]}
    assert not asked(cleanup(nodes | {"namespaces": ["a*"]}), "Node").matches
    assert asked(cleanup(nodes | {"namespaces": ["*"]}), "Node").matches
    labelled = nodes | {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    assert not asked(cleanup(labelled), "Node").matches


def test_where_labels_of_a_namespace_are_not_known_the_object_stays() -> None:
    team = {"namespaceSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}}
    assert asked(cleanup(PODS | team)).why == "match.any[0]: the labels of its namespace are not known"
    assert not asked(cleanup(PODS, **excluding(team))).matches
    assert asked(cleanup(PODS | team), around={}).matches


def test_a_policy_of_a_namespace_matches_nothing_outside_of_it() -> None:
    policy = cleanup(PODS, scope="CleanupPolicy")
    assert asked(policy).matches
    assert asked(policy, namespace="other").why == "it is not in shop, the namespace of the policy"
    assert not asked(policy, "Node").matches


@pytest.mark.parametrize(
    "what", ["Deployment", "Secret", "PersistentVolumeClaim", WIDGET_V2, KNATIVE, WORKFLOW]
)
def test_a_wildcard_reaches_what_lives_in_namespaces(what: Any) -> None:
    found = asked(cleanup({"kinds": ["*"]}), what)
    assert found.matches
    assert found.wildcard


@pytest.mark.parametrize(
    "what",
    [
        *(
            "Node",
            "APIService",
            "CustomResourceDefinition",
            "StorageClass",
            "ClusterRole",
            "ClusterRoleBinding",
        ),
        *("PersistentVolume", "Namespace", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
        *("ValidatingAdmissionPolicy", "PriorityClass", "EndpointSlice", "Endpoints", "Lease", "Event"),
        *(ARGO, CLUSTER, BUCKET, CLAIM, POLICIES),
    ],
)
def test_a_wildcard_never_reaches_what_a_cluster_or_a_system_stands_on_but_its_name_does(what: Any) -> None:
    resource = kind(what) if isinstance(what, str) else what
    for pattern in ("*", f"{resource.kind[:3]}*", f"{resource.kind[:-1]}?"):
        assert "a wildcard does not reach it" in asked(cleanup({"kinds": [pattern]}), resource).why
    found = asked(cleanup({"kinds": ["*"]}, {"kinds": [resource.kind]}), resource)
    assert found.matches
    assert not found.wildcard
    assert asked(cleanup({"kinds": ["*"]}, {"kinds": [resource.kind]}, mode="all"), resource).matches


@pytest.mark.parametrize(
    "resource",
    [
        # A Namespace, and a ClusterRole, by other names.
        custom("Project", "project.openshift.io", namespaced=False),
        custom("ClusterRole", "authorization.openshift.io", namespaced=False),
        custom("VolumeSnapshotContent", "snapshot.storage.k8s.io", namespaced=False),
        custom("GatewayClass", "gateway.networking.k8s.io", namespaced=False),
        custom("CiliumNode", "cilium.io", namespaced=False),
        # These make Namespaces, machines and clusters, and take them along.
        custom("Tenant", "capsule.clastix.io", namespaced=False),
        custom("SubnamespaceAnchor", "hnc.x-k8s.io"),
        custom("NodeClaim", "karpenter.sh", namespaced=False),
        custom("MachineSet", "machine.openshift.io"),
        custom("ClusterDeployment", "hive.openshift.io"),
        custom("Cluster", "provisioning.cattle.io"),
        custom("Shoot", "core.gardener.cloud"),
        custom("StorageBucket", "storage.cnrm.cloud.google.com"),
        custom("Bucket", "s3.services.k8s.aws"),
    ],
)
def test_a_wildcard_does_not_reach_the_parents_of_other_platforms(resource: Resource) -> None:
    selector = {"matchLabels": {"team": "blue"}}
    for obj in (
        cleanup({"kinds": ["*"], "selector": selector}),
        deleting({}, objectSelector=selector),
    ):
        assert "a wildcard does not reach it" in asked(obj, resource, labels={"team": "blue"}).why
    assert asked(cleanup({"kinds": [resource.kind]}), resource).matches


@pytest.mark.parametrize(
    ("kind_name", "group"),
    [
        ("Route", "route.openshift.io"),
        ("VolumeSnapshot", "snapshot.storage.k8s.io"),
        ("LocalQueue", "kueue.x-k8s.io"),
        # It only ends in the same letters.
        ("Widget", "notk8s.io"),
    ],
)
def test_what_lives_in_namespaces_of_other_platforms_is_reached(kind_name: str, group: str) -> None:
    assert asked(cleanup({"kinds": ["*"]}), custom(kind_name, group)).matches


def test_the_guide_names_all_groups_that_a_wildcard_does_not_reach() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "policies.md").read_text()
    chapter = guide.partition("## How far a wildcard reaches")[2].partition("\n## ")[0]
    assert all(
        f"`{group}`" in chapter for group in (*reach.PLATFORMS, *reach.SYSTEMS) if group not in _WORDED
    )


@pytest.mark.parametrize(
    ("what", "name", "namespace"),
    [
        ("ServiceAccount", "default", "shop"),
        ("ConfigMap", "kube-root-ca.crt", "shop"),
        ("ConfigMap", "openshift-service-ca.crt", "shop"),
        ("ConfigMap", "istio-ca-root-cert", "shop"),
        ("Service", "kubernetes", "default"),
    ],
)
def test_a_wildcard_leaves_out_what_would_only_be_made_again(what: str, name: str, namespace: str) -> None:
    everything = cleanup({"kinds": ["*"]}, {"names": [name]})
    assert not asked(everything, what, name=name, namespace=namespace).matches
    assert asked(everything, what, name="mine", namespace=namespace).matches
    named = cleanup({"kinds": ["*"]}, {"kinds": [what], "names": ["other"]})
    assert not asked(named, what, name=name, namespace=namespace).matches
    assert asked(cleanup({"kinds": [what]}), what, name=name, namespace=namespace).matches


def test_a_wildcard_in_exclude_reaches_everything() -> None:
    assert not asked(cleanup({"kinds": ["Node"]}, **excluding({"kinds": ["*"]})), "Node").matches


def test_an_object_matches_by_wildcard_where_the_filter_that_names_its_kind_does_not_fit() -> None:
    policy = cleanup({"kinds": ["*"]}, {"kinds": ["Pod"], "names": ["db"]})
    assert asked(policy).wildcard
    assert not asked(policy, name="db").wildcard
    assert not asked(cleanup({"kinds": ["*"]}, {"kinds": ["Pod"]}, mode="all")).wildcard


def test_what_goes_with_an_owner_is_found_by_uid() -> None:
    child = Metadata(name="web-1", owner_references=owned("7"))
    assert owner_that_goes(child, {"7"}) == "web"
    assert owner_that_goes(child, {"8"}) == ""
    assert owner_that_goes(Metadata(name="web"), {"7"}) == ""


def test_a_kind_in_two_versions_is_matched_in_the_version_that_is_named() -> None:
    policy = cleanup({"kinds": ["shop.example/v1/Widget"]})
    assert asked(policy, WIDGET_V1).matches
    assert not asked(policy, WIDGET_V2).matches


def test_ten_thousand_names_take_no_longer_than_one() -> None:
    policy = subject(cleanup(PODS | {"names": [f"web-{number}" for number in range(10_000)]}))
    pods = kind("Pod")
    for number in range(20_000):
        found = answer(policy, pods, Metadata(name=f"web-{number}", namespace="shop"))
        assert found.matches == (number < 10_000)


# Each example is asked of everything.
@settings(max_examples=40)
@given(match=matches, exclude=excludes, labels=namespaces | st.just({}))
def test_with_an_exclude_nothing_matches_that_does_not_match_without(
    match: Any, exclude: Any, labels: dict[str, dict[str, str]]
) -> None:
    narrow, wide = Subject(match=match, exclude=exclude), Subject(match=match)
    inside = Subject(match=match, exclude=exclude, namespace="a")
    for resource, metadata in EVERYTHING:
        around = labels.get(metadata.namespace)
        loose, tight, tightest = (
            answer(each, resource, metadata, namespace_labels=around) for each in (wide, narrow, inside)
        )
        assert loose.matches or not tight.matches
        assert tight.matches or not tightest.matches
        assert tight.matches == (not tight.why)
