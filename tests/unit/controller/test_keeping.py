"""Five ways to stay: kept, in a kept Namespace, protected, Skoupa's own, and holding on to something kept."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from skoupa.sim.faults import asking
from tests.unit.controller.stage import (
    ALL_VERBS,
    APPS,
    DEPLOYMENTS,
    HOME,
    HOUR,
    MINUTE,
    REPLICA_SETS,
    SECRETS,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    story,
)

pytestmark = pytest.mark.unit


async def deployed(stage: Stage, *, keep: str | None = "true", **deployment: Any) -> None:
    """A Deployment with its ReplicaSet and a kept Pod."""
    top = await stage.make("web", "1m", resource=DEPLOYMENTS, **deployment)
    middle = await stage.make("web-1", resource=REPLICA_SETS, owner=top)
    await stage.make("web-1-a", resource=PODS, owner=middle, keep=keep)


@pytest.mark.parametrize("value", ["true", "yes", "for-the-audit", "", "2026-13-01", "no"])
@story()
async def test_any_value_but_false_keeps_for_good(stage: Stage, value: str) -> None:
    play = await stage.play()
    await stage.make("web", "1m", keep=value)
    await stage.until(HOUR)
    assert stage.there("web")
    assert "kept by its label skoupa.dev/keep" in play.why_held("web")


@story()
async def test_false_keeps_nothing(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "1m", keep="false")
    await stage.until(61)
    assert not stage.there("web")


@story()
async def test_a_date_keeps_until_then_and_ends_by_itself(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "1m", keep="2026-01-01T013000Z")
    await stage.until(1.5 * HOUR - 0.5)
    assert stage.there("web")
    await stage.until(1.5 * HOUR + 0.1)
    assert not stage.there("web")


@story()
async def test_a_keep_label_that_is_taken_off_lets_go_at_once(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "1m", keep="true")
    await stage.until(2 * MINUTE)
    await stage.label("web", keep=None)
    await stage.later(1.1)
    assert not stage.there("web")


@story()
async def test_a_keep_label_that_comes_before_the_time_holds(stage: Stage) -> None:
    await stage.play()
    await stage.make("web", "1m")
    await stage.until(59)
    await stage.label("web", keep="true")
    await stage.until(HOUR)
    assert stage.there("web")


@story()
async def test_a_kept_namespace_keeps_all_that_lives_in_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, keep="2026-01-01T003000Z")
    await stage.make("web", "1m")
    await stage.until(2 * MINUTE)
    assert "its Namespace has the label" in play.why_held("web")
    await stage.until(30 * MINUTE - 0.5)
    assert stage.there("web")
    await stage.until(30 * MINUTE + 0.1)
    assert not stage.there("web")


@story()
async def test_a_namespace_that_came_back_under_its_name_still_keeps_after_a_gap_in_the_feed(
    stage: Stage,
) -> None:
    """The old one is found missing after the new one was read: that must not end the new one's keeping."""
    play = await stage.play()
    await stage.namespace("team", labels={names.KEEP_LABEL: "true"})
    await stage.later(1)
    old = stage.cluster.objects(NAMESPACES)
    uid = next(found["metadata"]["uid"] for found in old if found["metadata"]["name"] == "team")
    stage.cluster.faults.unreachable(when=asking(verb="watch"), times=None, seconds=60)
    stage.cluster.restart()
    await stage.people.delete(NAMESPACES, "team", uid=uid, propagation="Background")
    await stage.later(30)
    await stage.namespace("team", labels={names.KEEP_LABEL: "true"})
    await stage.later(3 * MINUTE)
    await stage.make("web", "1m", namespace="team")
    await stage.later(5 * MINUTE)
    assert stage.there("web", namespace="team")
    assert "its Namespace has the label" in play.why_held("web")


@story()
async def test_a_kept_object_holds_its_namespace_and_the_release_lets_both_go(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("deed", keep="true")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.until(HOUR)
    assert stage.there("deed")
    assert play.why_held(SHOP) == "deleting it would take along ConfigMap shop/deed, which is kept"
    await stage.label("deed", keep=None)
    await stage.later(MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story()
async def test_a_kept_object_of_another_namespace_holds_nothing_here(stage: Stage) -> None:
    await stage.play()
    await stage.namespace("other")
    await stage.make("deed", keep="true", namespace="other")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.until(2 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story()
async def test_a_keep_label_that_the_feed_has_not_brought_yet_is_found_by_the_fresh_look(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("deed")
    await stage.label(SHOP, resource=NAMESPACES, ttl="5m")
    await stage.later(10)
    # Frozen, not cut: what is known to be behind holds without a look.
    stage.cluster.faults.silence_watch(when=asking(kind="configmaps"), times=None)
    stage.cluster.restart()
    await stage.later(5)
    await stage.label("deed", keep="true")
    await stage.until(10 * MINUTE)
    assert stage.there("deed")
    assert "ConfigMap shop/deed" in play.why_held(SHOP)


@story(also=APPS)
async def test_a_kept_pod_holds_its_replica_set_and_deployment(stage: Stage) -> None:
    play = await stage.play()
    await deployed(stage)
    await stage.until(HOUR)
    assert stage.there("web", DEPLOYMENTS)
    assert play.why_held("web") == "deleting it would take along Pod shop/web-1-a, which is kept"
    await stage.label("web-1-a", resource=PODS, keep=None)
    await stage.later(5)
    assert not stage.there("web", DEPLOYMENTS)


@story(also=APPS)
async def test_orphaning_takes_nothing_along_and_so_is_not_held(stage: Stage) -> None:
    await stage.play()
    await deployed(stage, annotations={names.PROPAGATION_POLICY_ANNOTATION: "Orphan"})
    await stage.until(2 * MINUTE)
    assert not stage.there("web", DEPLOYMENTS)
    assert stage.there("web-1-a", PODS)


@story(also=APPS)
async def test_a_chain_of_owners_that_can_not_be_read_holds_and_lets_go_when_it_can(stage: Stage) -> None:
    stage.cluster.faults.answer(
        500, when=asking(method="GET", kind="replicasets.apps", path="/apis/apps/v1/namespaces"), times=None
    )
    play = await stage.play()
    await deployed(stage, keep="2026-01-01T000500Z")
    await stage.make("bystander", "2m")
    await stage.until(4 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    assert "Pod shop/web-1-a, which is kept: who owns that can't be read" in play.why_held("bystander")
    stage.cluster.faults.clear()
    await stage.later(MINUTE - 10)
    assert not stage.there("bystander")
    assert stage.there("web", DEPLOYMENTS)
    await stage.until(5 * MINUTE + 5)
    assert not stage.there("web", DEPLOYMENTS)


@story()
async def test_a_kept_custom_object_holds_its_definition(stage: Stage) -> None:
    play = await stage.play()
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    await stage.make("deed", resource=WIDGETS, keep="true")
    await stage.label(WIDGETS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.later(5 * MINUTE)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held(WIDGETS.qualified)
    await stage.label("deed", resource=WIDGETS, keep="false")
    await stage.later(MINUTE)
    assert "there are objects of the kind that it defines" in play.why_held(WIDGETS.qualified)
    await stage.remove("deed", resource=WIDGETS)
    await stage.later(MINUTE)
    assert not stage.there(WIDGETS.qualified, CUSTOM_RESOURCE_DEFINITIONS)


@pytest.mark.parametrize("waived", [False, True])
@story(also=(SECRETS,))
async def test_a_kind_that_can_not_be_read_holds_a_namespace_unless_it_is_waived(
    stage: Stage, *, waived: bool
) -> None:
    stage.cluster.deny(user="blind", verbs=("list", "watch"), resources=("secrets",))
    cascade: dict[str, Any] = (
        {"cascade": {"ignoreKinds": ["secrets", "events", "events.events.k8s.io"]}} if waived else {}
    )
    play = await stage.play(user="blind", **cascade)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.until(3 * MINUTE)
    if waived:
        assert not stage.there(SHOP, NAMESPACES)
        return
    assert stage.there(SHOP, NAMESPACES)
    assert "kept objects of secrets can't be read" in play.why_held(SHOP)
    stage.cluster.plane.access.clear()
    await stage.later(2 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story()
async def test_a_group_that_the_server_can_not_tell_holds_namespaces_until_it_can(stage: Stage) -> None:
    stage.cluster.install(WIDGETS)
    stage.cluster.discovery.stale.add(WIDGETS.group)
    play = await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.until(3 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert "shop.example" in play.why_held(SHOP)
    stage.cluster.discovery.stale.clear()
    await stage.later(6 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story(also=APPS)
async def test_a_group_that_falls_silent_does_not_make_its_kept_objects_forgotten(stage: Stage) -> None:
    stage.cluster.install(WIDGETS)
    play = await stage.play()
    top = await stage.make("web", "20m", resource=DEPLOYMENTS)
    await stage.make("deed", resource=WIDGETS, keep="true", owner=top)
    await stage.until(MINUTE)
    stage.cluster.discovery.stale.add(WIDGETS.group)
    await stage.until(30 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    assert "Widget shop/deed" in play.why_held("web")


@story(also=(SECRETS,))
async def test_a_list_that_fails_once_before_a_namespace_goes_is_tried_again(stage: Stage) -> None:
    await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    stage.cluster.faults.answer(403, when=asking(verb="list", kind="secrets"), times=2)
    await stage.until(3 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@pytest.mark.parametrize("namespace", ["kube-system", "kube-public", "kube-node-lease"])
@story()
async def test_nothing_goes_in_the_namespaces_of_kubernetes_itself(stage: Stage, namespace: str) -> None:
    play = await stage.play()
    await stage.make("web", "1m", namespace=namespace)
    await stage.label(namespace, resource=NAMESPACES, ttl="1m")
    await stage.until(30 * MINUTE)
    assert stage.there("web", namespace=namespace)
    assert stage.there(namespace, NAMESPACES)
    assert play.why_held("web") == f"the namespace {namespace} is protected"


@pytest.mark.parametrize(
    ("protect", "stays"),
    [
        ({"namespaces": ["shop"]}, True),
        ({"namespaces": ["sh*"]}, True),
        ({"namespaces": ["shop-*"]}, False),
        ({"kinds": ["ConfigMap"]}, True),
        ({"kinds": ["configmaps"]}, True),
        ({"kinds": ["secrets"]}, False),
        ({"names": ["configmap/web"]}, True),
        ({"names": ["ConfigMap/w?b"]}, True),
        ({"names": ["ConfigMap/shop/w*"]}, True),
        ({"names": ["*/shop/*"]}, True),
        ({"names": ["ConfigMap/other/web"]}, False),
        ({"names": ["ConfigMap/we"]}, False),
        ({"selectors": ["team=payments,tier!=dev"]}, True),
        ({"selectors": ["team in (payments, sales)"]}, True),
        ({"selectors": ["team=payments,tier=dev"]}, False),
    ],
)
@story()
async def test_what_the_operator_protects_stays(
    stage: Stage, *, protect: dict[str, Any], stays: bool
) -> None:
    play = await stage.play(protect=protect)
    await stage.make("web", "1m", labels={"team": "payments", "tier": "prod"})
    await stage.until(2 * MINUTE)
    assert stage.there("web") is stays
    assert bool(play.why_held("web")) is stays


@story()
async def test_what_belongs_to_skoupa_never_goes_by_a_label_and_the_label_is_warned_about(
    stage: Stage,
) -> None:
    policy = Resource(
        group="skoupa.dev",
        version="v1alpha1",
        plural="retentionpolicies",
        kind="RetentionPolicy",
        namespaced=True,
        verbs=ALL_VERBS,
    )
    kyverno = Resource(
        group="kyverno.io",
        version="v2",
        plural="clustercleanuppolicies",
        kind="ClusterCleanupPolicy",
        namespaced=False,
        verbs=ALL_VERBS,
    )
    exception = Resource(
        group="kyverno.io",
        version="v2",
        plural="policyexceptions",
        kind="PolicyException",
        namespaced=True,
        verbs=ALL_VERBS,
    )
    tenant = Resource(
        group="tenant.kubezoo.io",
        version="v1alpha1",
        plural="tenants",
        kind="Tenant",
        namespaced=False,
        verbs=ALL_VERBS,
    )
    for kind in (policy, kyverno, exception, tenant):
        stage.cluster.install(kind)
    play = await stage.play()
    await stage.make("nightly", "1m", resource=policy)
    await stage.make("weekly", "1m", resource=kyverno)
    await stage.make("skoupa-settings", "1m", labels={"app.kubernetes.io/part-of": "skoupa"})
    await stage.make("a-while", "1m", resource=exception)
    await stage.make("acme", "1m", resource=tenant)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(policy))
    await stage.label(policy.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.label(HOME, resource=NAMESPACES, ttl="1m")
    await stage.until(30 * MINUTE)
    assert stage.there("nightly", policy)
    assert stage.there("weekly", kyverno)
    assert stage.there("skoupa-settings")
    assert stage.there(policy.qualified, CUSTOM_RESOURCE_DEFINITIONS)
    assert stage.there(HOME, NAMESPACES)
    for name in ("nightly", "weekly", "skoupa-settings", policy.qualified):
        assert "Skoupa's own objects do not go by a label" in play.told("label problem", name)[0]["why"]
    assert not stage.there("acme", tenant), "a Tenant may carry a TTL"
    assert not stage.there("a-while", exception), "an exception that ends by itself is a common wish"


@story()
async def test_keep_and_ttl_written_as_annotations_are_warned_about(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1h", annotations={names.KEEP_LABEL: "true"})
    await stage.make("deed", keep="true", annotations={names.TTL_LABEL: "1h"})
    await stage.later(1)
    assert "keeps nothing: write it under metadata.labels" in play.told("label problem", "web")[0]["why"]
    assert "does nothing: write it under metadata.labels" in play.told("label problem", "deed")[0]["why"]


@pytest.mark.parametrize("ttl", [None, "10m"])
@story()
async def test_a_keep_label_with_a_slip_in_it_keeps_and_is_told_at_once(
    stage: Stage, ttl: str | None
) -> None:
    play = await stage.play()
    await stage.make("web", ttl, keep="1h")
    await stage.later(2)
    (warned,) = play.told("label problem", "web")
    assert "skoupa.dev/keep=1h keeps for good: a duration does not say until when" in warned["why"]
    (event,) = stage.events("SkoupaLabelProblem", "web")
    assert event["type"] == "Warning"
    await stage.until(3 * 3600)
    assert stage.there("web")
    assert len(play.told("label problem", "web")) == 1
