"""What was read for one delete serves another only where that one asked before it was read."""

from __future__ import annotations

from collections import Counter

import pytest

from skoupa import names
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS
from skoupa.sim.faults import asking
from tests.unit.controller.stage import (
    APPS,
    MINUTE,
    PRIORITIES,
    REPLICA_SETS,
    SECRETS,
    WIDGETS,
    Stage,
    definition,
    owned_by,
    story,
)
from tests.unit.controller.test_carried import CLAIMS, VOLUMES, a_claim

pytestmark = pytest.mark.unit

SYSTEM = "kube-system"


@story(also=(CLAIMS, VOLUMES))
async def test_a_keep_label_on_a_volume_counts_although_another_claim_went_a_second_before(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.until(20)
    for name, ttl in (("one", "1s"), ("two", "2s")):
        await a_claim(stage, name, policy="Delete")
        await stage.label(name, resource=CLAIMS, ttl=ttl)
    await stage.until(21.3)
    assert not stage.there("one", CLAIMS)
    await stage.label("pv-two", resource=VOLUMES, keep="true")
    await stage.later(MINUTE)
    assert stage.there("two", CLAIMS)
    assert play.why_held("two") == "deleting it would take along PersistentVolume pv-two, which is kept"


@story(also=(CLAIMS, VOLUMES))
async def test_a_keep_label_on_a_volume_counts_while_the_delete_of_its_claim_waits(stage: Stage) -> None:
    play = await stage.play()
    await a_claim(stage, "data", policy="Delete")
    await stage.label("data", resource=CLAIMS, ttl="1m")
    stage.cluster.faults.answer(429, when=asking(method="DELETE"), times=1, retry_after=1)
    await stage.until(60.5)
    assert len(play.sent("DELETE")) == 1
    await stage.label("pv-data", resource=VOLUMES, keep="true")
    await stage.later(MINUTE)
    assert stage.there("data", CLAIMS)
    assert len(play.sent("DELETE")) == 1
    assert "pv-data" in play.why_held("data")


@pytest.mark.parametrize("slow", [0.0, 0.7], ids=["fast server", "slow server"])
@story(also=(PRIORITIES,))
async def test_what_is_owned_from_outside_counts_although_another_owner_went_before(
    stage: Stage, *, slow: float
) -> None:
    play = await stage.play()
    await stage.until(20)
    if slow:
        # The longer a reading took, the longer it was believed in.
        lists = asking(verb="list", path=f"/api/v1/namespaces/{SYSTEM}/configmaps")
        stage.cluster.faults.delay(slow, when=lists, times=None)
    await stage.make("first", "1s", resource=PRIORITIES)
    second = await stage.make("second", "3s" if slow else "2s", resource=PRIORITIES)
    await stage.until(22.6 if slow else 21.5)
    assert not stage.there("first", PRIORITIES)
    await stage.make("precious", namespace=SYSTEM, owner=second)
    await stage.later(MINUTE)
    assert stage.there("precious", namespace=SYSTEM)
    assert "precious" in play.why_held("second")


@story()
async def test_a_kind_that_came_since_another_namespace_went_is_looked_at(stage: Stage) -> None:
    # Nobody hears of the definition: the look has to find it by itself.
    watches = asking(verb="watch", kind=CUSTOM_RESOURCE_DEFINITIONS.qualified)
    stage.cluster.faults.silence_watch(when=watches, times=None, after=1)
    play = await stage.play()
    await stage.until(20)
    await stage.namespace("a", labels={names.TTL_LABEL: "2s"})
    await stage.namespace("b", labels={names.TTL_LABEL: "3s"})
    await stage.until(22.2)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(0.3)
    await stage.make("deed", resource=WIDGETS, namespace="b", keep="true")
    await stage.later(MINUTE)
    assert not stage.there("a", NAMESPACES)
    assert stage.there("deed", WIDGETS, "b")
    assert "deed" in play.why_held("b")


@story(also=APPS)
async def test_an_owner_of_the_owner_counts_although_another_object_went_a_second_before(
    stage: Stage,
) -> None:
    middle = await stage.make("middle", resource=REPLICA_SETS)
    await stage.make("deed", resource=PODS, keep="true", owner=middle)
    play = await stage.play()
    await stage.until(20)
    await stage.make("first", "1s")
    second = await stage.make("second", "2s")
    await stage.until(21.5)
    assert not stage.there("first")
    patch = {"metadata": {"ownerReferences": [owned_by(second)]}}
    await stage.people.merge_patch(REPLICA_SETS, "middle", patch, namespace="shop")
    await stage.later(MINUTE)
    assert stage.there("deed", PODS)
    assert play.why_held("second") == "deleting it would take along Pod shop/deed, which is kept"


@pytest.mark.parametrize("takes", [0.0, 0.05])
@story(also=APPS)
async def test_objects_that_go_together_share_the_look_at_the_owners_of_kept_ones(
    stage: Stage, *, takes: float
) -> None:
    for number in range(40):
        owner = await stage.make(f"set-{number}", resource=REPLICA_SETS)
        await stage.make(f"pod-{number}", resource=PODS, keep="true", owner=owner)
    play = await stage.play()
    await stage.until(20)
    for number in range(50):
        await stage.make(f"config-{number}", "10s")
    if takes:
        stage.cluster.faults.delay(takes, when=asking(kind=REPLICA_SETS.qualified, method="GET"), times=None)
    play.wire.seen.clear()
    await stage.later(MINUTE)
    assert not stage.found()
    asked = Counter(request.verb for _, request in play.wire.seen if request.kind == REPLICA_SETS.qualified)
    # As many rounds as there are times that all workers have their hands full, and one.
    assert asked["get"] == 0
    assert 1 <= asked["list"] <= 6


@story(also=(SECRETS,), cascade={"ignoreKinds": ["secrets"]})
async def test_refusals_that_nobody_believes_any_more_are_forgotten(stage: Stage) -> None:
    stage.cluster.deny(user="blind", verbs=("get", "list", "watch"), resources=("secrets",))
    play = await stage.play(user="blind")
    knowledge = play.engine.knowledge
    around = Surroundings(play.client, knowledge)
    for number in range(8):
        await stage.namespace(f"kept-{number}", labels={names.KEEP_LABEL: "true"})
        await stage.namespace(f"preview-{number}", labels={names.TTL_LABEL: "1h"})
        await stage.later(100)
        (row,) = (row for row in knowledge.store if row.name == f"preview-{number}")
        (claim,) = knowledge.verdict(row, stage.clock.now()).claims
        assert not await around.holds(row, claim)
        # Memory shows nowhere else.
        assert len(around._dependents._refused) <= 2
