"""What would take along something that stays is held, and nobody can hold more than that by what he writes down."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.controller.recreation.loops import FREE_ROUNDS, REMEMBERED, Recreations
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from skoupa.sim.faults import asking
from tests.unit.controller.braking import bring_kind, pull, release
from tests.unit.controller.stage import (
    ALL_VERBS,
    APPS,
    MINUTE,
    PRIORITIES,
    REPLICA_SETS,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    owned_by,
    story,
)
from tests.unit.judge.rows import CREATED, owner_of
from tests.unit.judge.rows import row as judged_row

pytestmark = pytest.mark.unit

TENANTS = Resource(
    group="shop.example", version="v1", plural="tenants", kind="Tenant", namespaced=False, verbs=ALL_VERBS
)
CRONS = Resource(group="batch", version="v1", plural="cronjobs", kind="CronJob", namespaced=True)
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)


@story()
async def test_a_definition_does_not_go_with_objects_in_a_kept_namespace(stage: Stage) -> None:
    play = await stage.play()
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.make("deed", resource=WIDGETS)
    await stage.label(WIDGETS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.later(5 * MINUTE)
    assert stage.there("deed", WIDGETS)
    assert play.why_held(WIDGETS.qualified) == (
        "deleting it would take along Widget shop/deed, which stays: "
        "kept: its Namespace has the label skoupa.dev/keep=true"
    )
    await stage.label(SHOP, resource=NAMESPACES, keep=None)
    await stage.later(MINUTE)
    assert play.why_held(WIDGETS.qualified) == (
        "there are objects of the kind that it defines, Widget shop/deed for one: delete these first"
    )
    await stage.remove("deed", resource=WIDGETS)
    await stage.later(MINUTE)
    assert not stage.there(WIDGETS.qualified, CUSTOM_RESOURCE_DEFINITIONS)


@story()
async def test_a_namespace_that_was_kept_a_moment_ago_keeps_its_objects_from_a_definitions_end(
    stage: Stage,
) -> None:
    """The feed of Namespaces is cut, so only a fresh look tells."""
    await stage.play()
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    await stage.make("deed", resource=WIDGETS)
    await stage.label(WIDGETS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="5m")
    stage.cluster.faults.silence_watch(when=asking(kind="namespaces"), times=None)
    stage.cluster.faults.unreachable(when=asking(verb="watch", kind="namespaces"), times=None)
    await stage.later(1)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.later(6 * MINUTE)
    assert stage.there("deed", WIDGETS)


@pytest.mark.parametrize("way", ["kept namespace", "protected namespace", "nobody cares"])
@story(protect={"namespaces": ["vault"]})
async def test_an_owner_of_no_namespace_does_not_take_along_what_its_namespace_keeps(
    stage: Stage, way: str
) -> None:
    stage.cluster.install(TENANTS)
    where = "vault" if way == "protected namespace" else "home"
    await stage.namespace(where)
    if way == "kept namespace":
        await stage.label(where, resource=NAMESPACES, keep="true")
    play = await stage.play()
    tenant = await stage.make("acme", "1m", resource=TENANTS)
    await stage.make("deed", namespace=where, owner=tenant)
    await stage.until(5 * MINUTE)
    if way == "nobody cares":
        assert not stage.there("acme", TENANTS)
        return
    assert stage.there("deed", namespace=where)
    assert f"deleting it would take along ConfigMap {where}/deed, which stays" in play.why_held("acme")


@story(also=(PRIORITIES,), protect={"kinds": ["priorityclasses"]})
async def test_protected_objects_of_no_namespace_and_kept_ones_in_a_namespace_that_goes_along_hold_the_owner(
    stage: Stage,
) -> None:
    stage.cluster.install(TENANTS)
    play = await stage.play()
    acme = await stage.make("acme", "1m", resource=TENANTS)
    initech = await stage.make("initech", "1m", resource=TENANTS)
    between = await stage.make("between", resource=TENANTS, owner=acme)
    await stage.make("high", resource=PRIORITIES, owner=between)
    await stage.namespace("theirs", ownerReferences=[owned_by(initech)])
    await stage.make("deed", namespace="theirs", keep="true")
    await stage.until(5 * MINUTE)
    assert "PriorityClass high" in play.why_held("acme")
    assert "ConfigMap theirs/deed" in play.why_held("initech")
    assert stage.there("high", PRIORITIES)
    assert stage.there("deed", namespace="theirs")


@story()
async def test_an_owner_of_no_namespace_does_not_take_along_what_a_brake_holds(stage: Stage) -> None:
    await bring_kind(stage)
    stage.cluster.install(TENANTS)
    await stage.namespace("other")
    play = await stage.play()
    acme = await stage.make("acme", "5m", resource=TENANTS)
    initech = await stage.make("initech", "5m", resource=TENANTS)
    between = await stage.make("between", resource=TENANTS, owner=acme)
    await stage.make("deed", owner=between)
    await stage.make("deed", owner=initech, namespace="other")
    await pull(stage, "stop", namespace=SHOP, reason="the audit")
    await stage.later(10 * MINUTE)
    assert stage.there("deed")
    assert stage.there("acme", TENANTS)
    assert not stage.there("initech", TENANTS), "nothing of it stands still"
    assert play.why_held("acme") == (
        "deleting it would take along ConfigMap shop/deed, which stays: brake stop: the audit"
    )
    await release(stage, "stop")
    await stage.later(2 * MINUTE)
    assert not stage.there("acme", TENANTS)


@story()
async def test_an_owner_whose_delete_waits_is_looked_at_again_once_a_brake_is_there(stage: Stage) -> None:
    """A server that is busy tells all deletes to come back later; meanwhile what it would take along is braked."""
    await bring_kind(stage)
    stage.cluster.install(TENANTS)
    acme = await stage.make("acme", "1m", resource=TENANTS)
    await stage.make("deed", owner=acme)
    await stage.play()
    stage.cluster.faults.answer(429, when=asking(method="DELETE"), times=1, seconds=100, retry_after=20)
    await stage.later(MINUTE + 5)
    await pull(stage, "stop", namespace=SHOP)
    await stage.later(10 * MINUTE)
    assert stage.there("deed")
    assert stage.there("acme", TENANTS)


@story()
async def test_dependents_that_can_not_be_looked_for_hold_their_owner(stage: Stage) -> None:
    stage.cluster.install(TENANTS)
    play = await stage.play()
    await stage.make("acme", "1m", resource=TENANTS)
    stage.cluster.faults.answer(
        500, when=asking(verb="list", kind="configmaps", path="/api/v1/namespaces/kube-system"), times=None
    )
    await stage.until(3 * MINUTE)
    assert stage.there("acme", TENANTS)
    assert "configmaps" in play.why_held("acme")
    stage.cluster.faults.clear()
    await stage.later(MINUTE)
    assert not stage.there("acme", TENANTS)


def reference(number: int, *, kind: str, api_version: str = "v1") -> dict[str, Any]:
    uid = f"00000000-0000-4000-8000-{number:012d}"
    return {"apiVersion": api_version, "kind": kind, "name": f"nobody-{number}", "uid": uid}


@pytest.mark.parametrize(
    ("kind", "api_version"),
    [("Nothing", "nowhere.example/v1"), ("ConfigMap", "v1"), ("Namespace", "v1")],
    ids=["a kind that is not served", "objects that are not there", "namespaces that are not there"],
)
@story(also=(PRIORITIES,))
async def test_owners_that_do_not_exist_hold_nothing_however_many_somebody_writes_down(
    stage: Stage, kind: str, api_version: str
) -> None:
    await stage.namespace("evil")
    many = [reference(number, kind=kind, api_version=api_version) for number in range(300)]
    # With one that exists the garbage collector leaves it alone.
    real = await stage.make("real", namespace="evil")
    await stage.make("k", keep="true", namespace="evil", ownerReferences=[*many, owned_by(real)])
    play = await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.make("high", "1m", resource=PRIORITIES)
    await stage.make("bystander", "1m", namespace="evil")
    await stage.until(2 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)
    assert not stage.there("high", PRIORITIES)
    assert not stage.there("bystander", namespace="evil")
    assert len(play.sent("GET", path="nobody")) < 100, "a list ends the asking"


@story(also=APPS)
async def test_one_among_hundreds_of_owners_is_held(stage: Stage) -> None:
    play = await stage.play()
    real = [await stage.make(f"owner-{number}", resource=CONFIG_MAPS) for number in range(60)]
    top = await stage.make("top", "1m")
    middle = await stage.make("middle", owner=top)
    refs = [owned_by(one, controller=False) for one in (*real, middle)]
    await stage.make("deed", keep="true", ownerReferences=refs)
    await stage.until(5 * MINUTE)
    assert stage.there("top")
    assert "ConfigMap shop/deed" in play.why_held("top")


@story(also=APPS)
async def test_an_owner_that_can_not_be_read_holds_no_namespace_but_its_own(stage: Stage) -> None:
    stage.cluster.faults.answer(
        500,
        when=asking(method="GET", kind="replicasets.apps", path=f"/apis/apps/v1/namespaces/{SHOP}"),
        times=None,
    )
    play = await stage.play()
    await stage.namespace("other")
    middle = await stage.make("web-1", resource=REPLICA_SETS)
    await stage.make("web-1-a", resource=PODS, owner=middle, keep="true")
    await stage.make("bystander", "1m")
    for namespace in ("other", SHOP):
        await stage.label(namespace, resource=NAMESPACES, ttl="1m")
    await stage.until(3 * MINUTE)
    assert not stage.there("other", NAMESPACES)
    assert "Pod shop/web-1-a, which is kept: who owns that can't be read" in play.why_held("bystander")
    assert "Pod shop/web-1-a, which is kept" in play.why_held(SHOP)


@story(also=APPS)
async def test_owners_that_are_just_being_read_hold_in_silence(stage: Stage) -> None:
    """At each start, and whenever a kept object appears, the chain takes a moment to read."""
    await stage.namespace("other")
    await stage.label("other", resource=NAMESPACES, ttl="0")
    middle = await stage.make("web-1", resource=REPLICA_SETS)
    await stage.make("web-1-a", resource=PODS, owner=middle, keep="true")
    stage.cluster.faults.delay(
        2.0, when=asking(method="GET", path=f"/apis/apps/v1/namespaces/{SHOP}/replicasets/web-1"), times=None
    )
    play = await stage.play()
    await stage.later(0.5)
    assert play.overdue == {"owners-unread": 1}
    await stage.later(MINUTE)
    assert not stage.there("other", NAMESPACES)
    assert play.told("held") == []


@story(also=APPS)
async def test_a_hold_that_is_only_worded_differently_is_told_once(stage: Stage) -> None:
    path = f"/apis/apps/v1/namespaces/{SHOP}/replicasets/web-1"
    stage.cluster.faults.answer(500, when=asking(method="GET", path=path), times=None)
    play = await stage.play()
    middle = await stage.make("web-1", resource=REPLICA_SETS)
    await stage.make("web-1-a", resource=PODS, owner=middle, keep="true")
    await stage.make("bystander", "30s")
    await stage.until(2 * MINUTE)
    stage.cluster.faults.clear()
    stage.cluster.faults.unreachable(when=asking(method="GET", path=path), times=None)
    await stage.until(10 * MINUTE)
    assert stage.there("bystander")
    assert len(play.told("held", "bystander")) == 1


async def looping(stage: Stage, owner: dict[str, Any], *, seconds: int, ttl: str, pods: int = 1) -> int:
    """Plays the controller that replaces its Pods; how many were deleted meanwhile."""
    made = 0
    ends = stage.now + seconds
    while stage.now < ends:
        while len(stage.found(PODS)) < pods:
            made += 1
            await stage.make(f"web-{made}", ttl, resource=PODS, owner=owner)
        await stage.later(0.25)
    return made - len(stage.found(PODS))


@story(also=APPS)
async def test_pods_that_their_controller_replaces_under_other_names_are_backed_off_and_shown(
    stage: Stage,
) -> None:
    play = await stage.play()
    owner = await stage.make("web", resource=REPLICA_SETS)
    assert await looping(stage, owner, seconds=60, ttl="1s") <= 2 * FREE_ROUNDS
    (name,) = stage.found(PODS)
    assert play.why_held(name).startswith(f"ReplicaSet web made another one {FREE_ROUNDS} times after")
    assert stage.events("SkoupaHeld", name)
    assert await looping(stage, owner, seconds=10 * 60, ttl="1s") <= 6, "each time it waits twice as long"


@story(also=APPS)
async def test_siblings_that_go_together_are_one_round(stage: Stage) -> None:
    play = await stage.play()
    owner = await stage.make("web", resource=REPLICA_SETS)
    for ttl in ("0", "1s"):
        for number in range(100):
            await stage.make(f"web-{ttl}-{number}", ttl, resource=PODS, owner=owner)
        await stage.later(5)
        assert stage.found(PODS) == set()
    assert play.told("held") == []


@story(also=(CRONS, JOBS))
async def test_what_a_schedule_makes_is_no_replacement(stage: Stage) -> None:
    play = await stage.play()
    owner = await stage.make("report", resource=CRONS)
    for number in range(20):
        await stage.make(f"report-{number}", "2m", resource=JOBS, owner=owner)
        await stage.later(MINUTE)
    assert len(stage.found(JOBS)) <= 3
    assert play.told("held") == []


def test_what_is_remembered_of_deletions_is_bounded() -> None:
    remembered = Recreations()
    for number in range(REMEMBERED):
        parent = judged_row(f"set-{number}", resource=REPLICA_SETS)
        remembered.deleted(judged_row(f"web-{number}", resource=PODS, owners=(owner_of(parent),)), CREATED)
    assert len(remembered) == REMEMBERED
