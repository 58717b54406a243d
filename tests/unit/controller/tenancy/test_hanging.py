"""What would go with something else that goes: with the Tenant by an owner reference, with its claim, by being bound since."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from tests.unit.controller.stage import MINUTE, WIDGETS, Stage, definition, story
from tests.unit.controller.tenancy.town import (
    CLASSES,
    KINDS,
    ON,
    SHARED,
    VOLUMES,
    bring_tenants,
    city,
    gone,
    leave,
    lives,
    owner,
    ready,
    status,
    tenant,
    things_of,
)

pytestmark = pytest.mark.unit

CAPSULE = "capsule.clastix.io/tenant"
UNSHARED: dict[str, Any] = {names.SHARED_LABEL: "false"}


async def volume(stage: Stage, name: str, namespace: str, **more: Any) -> None:
    claim = {"namespace": namespace, "name": "data", "uid": f"uid-{name}"}
    spec = {"claimRef": claim, "persistentVolumeReclaimPolicy": "Retain", **more}
    await stage.people.create(VOLUMES, {"metadata": {"name": name}, "spec": spec})


async def bar(stage: Stage, name: str, namespace: str) -> Resource:
    """An object of a kind of the tenant 111111, in that namespace."""
    bars = Resource(
        group="111111-shop.example",
        version="v1",
        plural="bars",
        kind="Bar",
        namespaced=True,
        verbs=WIDGETS.verbs,
    )
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(bars))
    await stage.settle()
    body = {"apiVersion": bars.api_version, "kind": "Bar", "metadata": {"name": name}}
    await stage.people.create(bars, body, namespace=namespace)
    return bars


@pytest.mark.parametrize("name", ["111111-shared", "222222-theirs", "nobodys"])
def test_what_stays_and_has_the_tenant_as_an_owner_keeps_it(name: str) -> None:
    """With its last owner the server itself would collect it."""

    @story(also=KINDS, features=ON)
    async def tale(stage: Stage) -> None:
        await city(stage, "111111", "222222")
        owned = {"ownerReferences": owner(stage, "111111", TENANTS)}
        labels = SHARED if name.startswith("111111") else {}
        await stage.people.create(
            CLASSES, {"metadata": {"name": name, "labels": labels, **owned}, "provisioner": "x"}
        )
        await gone(stage, "111111")
        assert name in stage.found(CLASSES)
        assert lives(stage, "111111")
        assert things_of(stage, "111111") <= {f"StorageClass/{name}"}
        (said,) = status(stage, "111111")["blockers"]
        assert said.startswith(f"StorageClass {name}: the Tenant is among its owners")
        assert ready(stage, "111111")["reason"] == "Blocked"
        await stage.people.merge_patch(CLASSES, name, {"metadata": {"ownerReferences": None}})
        await stage.later(3 * MINUTE)
        assert not lives(stage, "111111")
        assert name in stage.found(CLASSES)

    tale()


@story(also=KINDS, features=ON)
async def test_a_volume_stays_as_long_as_the_namespace_of_its_claim_is_held(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.label("app", namespace="111111-default", **SHARED)
    await volume(stage, "pvc-1", "111111-default")
    await gone(stage, "111111")
    assert stage.found(VOLUMES) == {"pvc-1"}
    told = [one for one in status(stage, "111111")["blockers"] if one.startswith("PersistentVolume pvc-1")]
    assert "Namespace 111111-default" in told[0]
    await stage.label("app", namespace="111111-default", **UNSHARED)
    await stage.later(5 * MINUTE)
    assert stage.found(VOLUMES) == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_is_in_a_shared_namespace_or_for_a_claim_there_stays_too(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.label("111111-default", resource=NAMESPACES, namespace="", **SHARED)
    await volume(stage, "pvc-1", "111111-default")
    bars = await bar(stage, "inside", "111111-default")
    await gone(stage, "111111")
    assert stage.found(VOLUMES) == {"pvc-1"}
    assert stage.there("inside", bars, "111111-default")
    assert stage.there("app", CONFIG_MAPS, "111111-default")


@story(also=KINDS, features=ON)
async def test_a_volume_that_is_bound_elsewhere_since_it_was_read_stays(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    spec = {"persistentVolumeReclaimPolicy": "Retain"}
    await stage.people.create(VOLUMES, {"metadata": {"name": "111111-free"}, "spec": spec})
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.delay(
        8.0, when=lambda asked: asked.method == "DELETE" and asked.path.endswith("/111111-hook"), times=1
    )
    await leave(stage, "111111")
    await stage.later(5)
    claim = {"namespace": "222222-default", "name": "data", "uid": "uid-theirs"}
    await stage.people.merge_patch(VOLUMES, "111111-free", {"spec": {"claimRef": claim}})
    await stage.later(10 * MINUTE)
    assert stage.found(VOLUMES) == {"111111-free"}


async def _with_a_retained_volume(stage: Stage) -> None:
    """Of a tenant to whom nothing but a label of its Namespace gives anything; the delete of the volume takes its time."""
    await bring_tenants(stage)
    await tenant(stage, "solar")
    await stage.namespace("shopping", labels={CAPSULE: "solar"})
    await volume(stage, "pvc-1", "shopping")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.delay(
        25.0, when=lambda asked: asked.method == "DELETE" and asked.path.endswith("/pvc-1"), times=1
    )
    await leave(stage, "solar")
    while "shopping" in stage.found(NAMESPACES):
        await stage.later(1)
    assert stage.found(VOLUMES) == {"pvc-1"}


@story(also=KINDS, features=ON, tenants={"byName": False, "namespaceLabel": CAPSULE})
async def test_a_volume_that_is_released_when_its_namespace_is_gone_goes_all_the_same(stage: Stage) -> None:
    """It is in another state by then, and nobody can be asked any more whose that Namespace was."""
    await _with_a_retained_volume(stage)
    await stage.annotate("pvc-1", "example.com/state", "released", resource=VOLUMES, namespace="")
    await stage.later(10 * MINUTE)
    assert stage.found(VOLUMES) == set()
    assert not lives(stage, "solar")


@story(also=KINDS, features=ON, tenants={"byName": False, "namespaceLabel": CAPSULE})
async def test_a_volume_that_is_for_another_claim_by_then_stays(stage: Stage) -> None:
    """Also in a Namespace that is called the same, and also when that one is gone as well."""
    await _with_a_retained_volume(stage)
    claim = {"namespace": "shopping", "name": "data", "uid": "uid-theirs"}
    await stage.people.merge_patch(VOLUMES, "pvc-1", {"spec": {"claimRef": claim}})
    await stage.later(10 * MINUTE)
    assert stage.found(VOLUMES) == {"pvc-1"}
    assert not lives(stage, "solar")


@story(also=KINDS, features=ON)
async def test_while_namespaces_can_not_be_read_nothing_goes(stage: Stage) -> None:
    """Whose a Namespace is decides about what is in it and what is for a claim there."""
    await city(stage, "111111")
    before = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.answer(
        403,
        when=lambda asked: asked.verb == "list" and asked.path.endswith("/namespaces"),
        times=None,
    )
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == before
    assert "Namespaces can't be read" in ready(stage, "111111")["message"]
    stage.cluster.faults.clear()
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()


@story(also=KINDS, features=ON)
async def test_a_tenant_that_somebody_else_keeps_is_let_alone_and_told(stage: Stage) -> None:
    await city(stage, "111111")
    play = await stage.play()
    await stage.later(10)
    found = {"metadata": {"finalizers": [*_finalizers(stage), "example.com/theirs"]}}
    await stage.people.merge_patch(TENANTS, "111111", found)
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert _finalizers(stage) == ["example.com/theirs"]
    assert "example.com/theirs" in ready(stage, "111111")["message"]
    assert status(stage, "111111")["phase"] == "Waiting", "nothing new under its names is refused any more"
    before = len(play.wire.seen)
    await stage.later(10 * MINUTE)
    assert len(play.wire.seen) - before < 200


@story(also=KINDS, features=ON)
async def test_where_the_finalizers_may_not_be_taken_off_it_is_not_read_again_and_again(stage: Stage) -> None:
    await city(stage, "111111")
    play = await stage.play()
    await stage.later(10)
    stage.cluster.faults.answer(
        403, when=lambda asked: asked.method == "PATCH" and asked.path.endswith("/tenants/111111"), times=None
    )
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    before = len(play.wire.seen)
    await stage.later(30 * MINUTE)
    lists = [one for _, one in play.wire.seen[before:] if one.path.endswith("/storageclasses")]
    assert len(lists) <= 40
    stage.cluster.faults.clear()
    await stage.later(30 * MINUTE)
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_all_kinds_may_be_read_while_somebody_looks_into_a_definition(stage: Stage) -> None:
    """What is somebody else's in it counts all the same."""
    await city(stage, "111111", "222222")
    bars = await bar(stage, "theirs", "222222-default")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.delay(
        8.0, when=lambda asked: asked.verb == "list" and asked.path.endswith("/bars"), times=None
    )
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert stage.there("theirs", bars, "222222-default")


@story(also=KINDS, features=ON)
async def test_where_tenants_can_not_be_followed_that_is_told(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(2 * MINUTE)
    degraded = play.engine.outlook.degraded
    assert any("the server has no kind Tenant" in text for text in degraded)
    await city(stage, "111111")
    await stage.later(2 * MINUTE)
    assert not any("Tenant" in text for text in degraded)
    stage.cluster.faults.answer(
        403, when=lambda asked: asked.method == "GET" and asked.path.endswith("/tenants"), times=None
    )
    await stage.later(60 * MINUTE)
    assert any("features.tenants" in text for text in degraded)


def _finalizers(stage: Stage) -> list[str]:
    (found,) = (one for one in stage.cluster.objects(TENANTS) if one["metadata"]["name"] == "111111")
    return list(found["metadata"].get("finalizers") or ())
