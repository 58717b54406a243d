"""What is not the tenant's alone stays, whatever hangs on what, and whatever changes between a reading and a delete."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from tests.unit.controller.stage import MINUTE, PRIORITIES, WIDGETS, Stage, definition, story
from tests.unit.controller.tenancy.town import (
    BINDINGS,
    CITIES,
    CLASSES,
    KINDS,
    ON,
    ROLES,
    SERVICES,
    SHARED,
    VOLUMES,
    city,
    everything,
    foos,
    gone,
    leave,
    lives,
    make,
    owner,
    ready,
    status,
    tenant,
    things_of,
)

pytestmark = pytest.mark.unit


@story(also=KINDS, features=ON)
async def test_one_whose_finalizers_are_taken_off_while_a_delete_waits_keeps_all_of_it(stage: Stage) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.delay(
        30.0,
        when=lambda asked: asked.method == "GET" and asked.path.endswith("/clusterrolebindings"),
        times=1,
    )
    await leave(stage, "111111")
    await stage.later(10)
    assert things_of(stage, "111111") == mine, "it is being counted"
    await stage.people.merge_patch(TENANTS, "111111", {"metadata": {"finalizers": None}})
    await stage.settle()
    assert not lives(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == mine


@story(also=KINDS, features=ON)
async def test_one_that_is_taken_back_unseen_keeps_what_has_not_gone_yet(stage: Stage) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    # The watch says nothing any more, and the first delete has to wait for its Tenants.
    stage.cluster.faults.answer(
        500, when=lambda asked: asked.method == "GET" and asked.path.endswith("/tenants"), times=None
    )
    await leave(stage, "111111")
    await stage.later(10)
    assert things_of(stage, "111111") == mine, "who is still deleted is not known"
    await stage.people.merge_patch(TENANTS, "111111", {"metadata": {"finalizers": None}})
    stage.cluster.faults.clear()
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == mine


@story(also=KINDS, features=ON)
async def test_what_is_labelled_shared_after_the_reading_and_before_its_delete_stays(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.delay(
        8.0, when=lambda asked: asked.method == "DELETE" and asked.path.endswith("/111111-hook"), times=1
    )
    await leave(stage, "111111")
    await stage.later(5)
    assert {"ClusterRole/111111-admin", "StorageClass/111111-fast"} <= things_of(stage, "111111")
    await stage.label("111111-admin", resource=ROLES, namespace="", **SHARED)
    await stage.label("111111-fast", resource=CLASSES, namespace="", **SHARED)
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == {"ClusterRole/111111-admin", "StorageClass/111111-fast"}
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_hangs_on_a_tenants_object_elsewhere_stays(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    if not stage.there("kube-system", NAMESPACES, ""):
        await stage.namespace("kube-system")
    owned = {"ownerReferences": owner(stage, "111111-high")}
    for where in ("222222-default", "shop", "kube-system"):
        await stage.people.create(CONFIG_MAPS, {"metadata": {"name": "theirs", **owned}}, namespace=where)
    await stage.people.create(CLASSES, {"metadata": {"name": "222222-x", **owned}, "provisioner": "x"})
    await stage.people.create(CLASSES, {"metadata": {"name": "nobodys", **owned}, "provisioner": "x"})
    further = {"ownerReferences": owner(stage, "nobodys", CLASSES)}
    await stage.people.create(ROLES, {"metadata": {"name": "222222-y", **further}, "rules": []})
    of_namespace = {"ownerReferences": owner(stage, "111111-default", NAMESPACES)}
    await stage.people.create(ROLES, {"metadata": {"name": "222222-z", **of_namespace}, "rules": []})
    await gone(stage, "111111")
    for where in ("222222-default", "shop", "kube-system"):
        assert stage.there("theirs", CONFIG_MAPS, where)
    assert {"222222-x", "nobodys"} <= stage.found(CLASSES)
    assert {"222222-y", "222222-z"} <= stage.found(ROLES)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_hangs_on_an_object_of_the_tenants_own_kind_stays(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    owned = {"ownerReferences": owner(stage, "111111-foo", foos("111111"))}
    await stage.people.create(
        CONFIG_MAPS, {"metadata": {"name": "theirs", **owned}}, namespace="222222-default"
    )
    await gone(stage, "111111")
    assert stage.there("theirs", CONFIG_MAPS, "222222-default")
    assert things_of(stage, "111111") == set()


@story(also=KINDS, features=ON)
async def test_a_namespace_with_something_shared_inside_stays_and_says_why(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.label("app", namespace="111111-default", **SHARED)
    await gone(stage, "111111")
    assert stage.there("app", CONFIG_MAPS, "111111-default")
    assert things_of(stage, "111111") == {"Namespace/111111-default"}
    assert lives(stage, "111111")
    (said,) = status(stage, "111111")["blockers"]
    assert said.startswith(
        "Namespace 111111-default: deleting it would take along ConfigMap 111111-default/app"
    )


@story(also=KINDS, features=ON)
async def test_a_definition_with_an_object_in_a_foreign_namespace_stays_and_says_why(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    bars = WIDGETS.__class__(
        group="111111-shop.example",
        version="v1",
        plural="bars",
        kind="Bar",
        namespaced=True,
        verbs=WIDGETS.verbs,
    )
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(bars))
    await stage.settle()
    body = {"apiVersion": bars.api_version, "kind": "Bar", "metadata": {"name": "theirs"}}
    await stage.people.create(bars, body, namespace="222222-default")
    await gone(stage, "111111")
    assert stage.there("theirs", bars, "222222-default")
    assert things_of(stage, "111111") == {"CustomResourceDefinition/bars.111111-shop.example"}
    assert (
        "Bar 222222-default/theirs, which is not of the Tenant 111111"
        in status(stage, "111111")["blockers"][0]
    )
    await stage.remove("theirs", resource=bars, namespace="222222-default")
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_volume_that_two_tenants_could_own_stays_and_so_does_what_would_take_it_along(
    stage: Stage,
) -> None:
    await city(stage, "111111", "222222")

    async def volume(name: str, namespace: str, policy: str = "Retain") -> None:
        claim = {"namespace": namespace, "name": "data", "uid": f"uid-{name}"}
        spec = {"claimRef": claim, "persistentVolumeReclaimPolicy": policy}
        await stage.people.create(VOLUMES, {"metadata": {"name": name}, "spec": spec})

    await volume("111111-theirs", "222222-default")
    await volume("111111-elses", "shop")
    await volume("222222-mine", "111111-default", "Delete")
    await gone(stage, "111111")
    assert stage.found(VOLUMES) == {"111111-theirs", "111111-elses", "222222-mine"}
    assert "Namespace/111111-default" in things_of(stage, "111111"), "with its claim the volume would go"
    kept = " ".join(status(stage, "111111")["kept"])
    assert "111111-theirs" in kept
    assert "111111-elses: its name begins with 111111-, but it is for the claim shop/data" in kept


@story(also=KINDS, features=ON)
async def test_a_tenant_that_came_since_and_whose_names_are_meant_too_stops_all(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.people.create(PRIORITIES, {"metadata": {"name": "111111-22222-x"}, "value": 1})
    await tenant(stage, "111111-22222")
    before = everything(stage)
    await gone(stage, "111111")
    assert everything(stage) == before
    assert "the Tenant 111111-22222" in ready(stage, "111111")["message"]


@story(also=KINDS, features=ON, protect={"kinds": ["PriorityClass"]})
async def test_what_the_operator_protects_stays_and_keeps_the_tenant(stage: Stage) -> None:
    await city(stage, "111111")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == {"PriorityClass/111111-high"}
    assert lives(stage, "111111")
    assert "protect.kinds" in status(stage, "111111")["blockers"][0]


@story(also=KINDS, features=ON)
async def test_an_api_service_of_a_definition_is_nobodys(stage: Stage) -> None:
    await city(stage, "111111")
    automatic = {
        "name": "v1.111111-shop.example",
        "labels": {"kube-aggregator.kubernetes.io/automanaged": "true"},
    }
    spec = {"group": "111111-shop.example", "version": "v1"}
    await stage.people.create(SERVICES, {"metadata": automatic, "spec": spec})
    own = {"metadata": {"name": "v1.111111-own.example"}, "spec": {**spec, "group": "111111-own.example"}}
    await stage.people.create(SERVICES, own)
    play = await gone(stage, "111111")
    assert stage.found(SERVICES) == {"v1.111111-shop.example"}
    assert not play.sent("DELETE", path="/v1.111111-shop.example")
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_kind_that_is_not_found_although_it_is_named_counts_as_unread(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.answer(
        404,
        when=lambda asked: asked.method == "GET" and asked.path.endswith("/storageclasses"),
        times=None,
    )
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == {"StorageClass/111111-fast"}
    assert lives(stage, "111111")
    assert (
        "storageclasses.storage.k8s.io (the server does not find the kind"
        in ready(stage, "111111")["message"]
    )
    stage.cluster.faults.clear()
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_kind_that_may_not_be_listed_holds_the_tenant_and_nothing_else(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.answer(
        403,
        when=lambda asked: asked.method == "GET" and asked.path.endswith("/clusterrolebindings"),
        times=None,
    )
    theirs = things_of(stage, "222222")
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    # A binding that nobody sees may grant the role.
    assert things_of(stage, "111111") == {"ClusterRoleBinding/111111-admin", "ClusterRole/111111-admin"}
    assert "no permission to list them" in ready(stage, "111111")["message"]
    assert things_of(stage, "222222") == theirs
    stage.cluster.faults.clear()
    await stage.later(5 * MINUTE)
    assert not stage.there("111111-admin", BINDINGS, "")
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_webhook_that_refuses_keeps_one_object_and_says_so(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.answer(
        403,
        message="not on fridays",
        when=lambda asked: asked.method == "DELETE" and asked.path.endswith("/111111-athens"),
        times=None,
    )
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == {"City/111111-athens"}
    (said,) = status(stage, "111111")["blockers"]
    assert said.startswith("City 111111-athens: its delete fails and is tried again: ")
    assert "not on fridays" in said
    stage.cluster.faults.clear()
    await stage.later(5 * MINUTE)
    assert not stage.there("111111-athens", CITIES, "")
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_brake_on_tenants_holds_until_it_is_released(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))
    await stage.settle()
    await make(stage, BRAKES, "stop", spec={"scope": {"mechanism": "tenants"}, "reason": "wait"})
    mine = things_of(stage, "111111")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == mine
    assert "brake stop: wait" in status(stage, "111111")["blockers"][0]
    await stage.remove("stop", resource=BRAKES)
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()


@story(also=KINDS, features=ON)
async def test_a_tenant_of_the_same_name_that_comes_again_keeps_what_it_has(stage: Stage) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.faults.delay(
        20.0, when=lambda asked: asked.method == "DELETE" and asked.path.endswith("/111111-hook"), times=1
    )
    await leave(stage, "111111")
    await stage.later(1)
    await stage.people.merge_patch(TENANTS, "111111", {"metadata": {"finalizers": None}})
    await tenant(stage, "111111")
    await stage.later(10 * MINUTE)
    assert lives(stage, "111111")
    assert things_of(stage, "111111") >= mine - {"ValidatingWebhookConfiguration/111111-hook"}
    assert names.TENANT_FINALIZER in next(
        one["metadata"]["finalizers"] for one in stage.cluster.objects(TENANTS)
    )


@story(also=KINDS, features=ON)
async def test_when_the_definition_of_tenant_goes_nothing_of_any_tenant_does(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    before = everything(stage) - {f"CustomResourceDefinition/{TENANTS.qualified}"}
    await stage.play()
    await stage.later(10)
    await stage.remove(TENANTS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS)
    await stage.later(10 * MINUTE)
    assert everything(stage) - {f"CustomResourceDefinition/{TENANTS.qualified}"} == before
    assert ready(stage, "111111")["reason"] == "DefinitionGoing"
    assert "no Tenant was meant" in ready(stage, "222222")["message"]


@story(also=KINDS, features=ON)
async def test_a_brake_on_one_tenant_holds_that_one(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))
    await stage.settle()
    await make(stage, BRAKES, "stop", spec={"scope": {"policy": "Tenant/111111"}})
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await leave(stage, "222222")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == mine
    assert things_of(stage, "222222") == set()


@story(also=KINDS, features=ON, tenants={"byName": False, "namespaceLabel": "example.org/tenant"})
async def test_by_a_label_of_namespaces_those_go_and_nothing_that_is_called_so(stage: Stage) -> None:
    await city(stage, "acme", "other")
    await stage.namespace("shop-one", labels={"example.org/tenant": "acme"})
    await stage.namespace("shop-two", labels={"example.org/tenant": "other"})
    claim = {"namespace": "shop-one", "name": "data", "uid": "uid-claim"}
    await stage.people.create(VOLUMES, {"metadata": {"name": "pvc-1"}, "spec": {"claimRef": claim}})
    before = everything(stage)
    await gone(stage, "acme")
    assert before - everything(stage) == {"Namespace/shop-one", "PersistentVolume/pvc-1"}
    assert not lives(stage, "acme")


@story(
    also=KINDS, features=ON, tenants={"byName": False, "namespaceLabel": "{tenant}.tree.hnc.x-k8s.io/depth"}
)
async def test_of_hierarchical_namespaces_all_below_go_and_what_two_tenants_are_above_stays(
    stage: Stage,
) -> None:
    await city(stage, "acme", "other")

    async def place(name: str, *above: str) -> None:
        labels = {f"{one}.tree.hnc.x-k8s.io/depth": str(depth) for depth, one in enumerate((name, *above))}
        await stage.namespace(name, labels=labels)

    await place("company")
    await place("acme", "company")
    await place("acme-one", "acme", "company")
    await place("theirs", "other", "company")
    await place("both", "other", "acme", "company")
    before = everything(stage)
    await gone(stage, "acme")
    assert before - everything(stage) == {"Namespace/acme", "Namespace/acme-one"}
    assert not lives(stage, "acme")
