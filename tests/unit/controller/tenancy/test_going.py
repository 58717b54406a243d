"""A deleted Tenant: what was its goes in its order, nothing of anybody else's does, and the Tenant goes last."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from tests.unit.controller.stage import MINUTE, PRIORITIES, Stage, story
from tests.unit.controller.tenancy.town import (
    KINDS,
    ON,
    ROLES,
    VOLUMES,
    city,
    deleted,
    everything,
    foos,
    gone,
    leave,
    lives,
    make,
    order_of,
    ready,
    status,
    things_of,
)

pytestmark = pytest.mark.unit


@story(also=KINDS, features=ON)
async def test_all_of_a_deleted_tenant_goes_and_nothing_of_its_neighbours(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    await stage.people.create(PRIORITIES, {"metadata": {"name": "1111112-foo"}, "value": 1})
    await stage.people.create(PRIORITIES, {"metadata": {"name": "x-111111-foo"}, "value": 1})
    await stage.people.create(PRIORITIES, {"metadata": {"name": "111111"}, "value": 1})
    before, mine = everything(stage), things_of(stage, "111111")
    assert len(mine) == 8
    await gone(stage, "111111")
    assert everything(stage) == before - mine
    assert stage.there("app", CONFIG_MAPS, "222222-default")
    assert not lives(stage, "111111")
    assert lives(stage, "222222")


@story(also=KINDS, features=ON)
async def test_webhooks_go_first_and_roles_last(stage: Stage) -> None:
    await city(stage, "111111")
    play = await gone(stage, "111111")
    went = deleted(play)
    assert len(went) == len(set(went))
    steps = (
        "validatingwebhookconfigurations/111111-hook",
        "foos/111111-foo",
        "customresourcedefinitions/foos.111111-shop.example",
        "priorityclasses/111111-high",
        "clusterroles/111111-admin",
    )
    assert order_of(went, steps) == sorted(order_of(went, steps))


@story(also=KINDS, features=ON, rate={"deletionsPerSecond": 1})
async def test_roles_go_last_however_long_all_others_take(stage: Stage) -> None:
    """Who finishes the objects of a kind needs its rights until the last of them is gone."""
    await city(stage, "111111")
    for number in range(90):
        await make(stage, foos("111111"), f"111111-foo{number}")
    play = await gone(stage, "111111")
    went = deleted(play)
    assert len(went) > 90
    steps = [
        "validatingwebhookconfigurations/111111-hook",
        *(one for one in went if one.startswith("foos/")),
        "customresourcedefinitions/foos.111111-shop.example",
        "priorityclasses/111111-high",
        "clusterroles/111111-admin",
    ]
    assert order_of(went, steps) == sorted(order_of(went, steps))
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_every_tenant_has_both_finalizers_while_it_lives(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.play()
    await stage.later(10)
    found = await stage.people.get(TENANTS, "111111", view=WHOLE)
    assert found["metadata"]["finalizers"] == [names.KUBEZOO_TENANT_FINALIZER, names.TENANT_FINALIZER]


@story(also=KINDS, features=ON, mode="observe")
async def test_an_observer_writes_nothing_and_deletes_nothing(stage: Stage) -> None:
    await city(stage, "111111")
    kept = {"metadata": {"finalizers": [names.KUBEZOO_TENANT_FINALIZER]}}
    await stage.people.merge_patch(TENANTS, "111111", kept)
    before = everything(stage)
    play = await gone(stage, "111111")
    assert everything(stage) == before
    assert lives(stage, "111111")
    assert {request.method for _, request in play.wire.seen} <= {"GET", "POST"}
    assert play.told("would delete", "111111-hook")


@story(also=KINDS, features=ON)
async def test_a_tenant_waits_for_what_a_finalizer_keeps_and_says_so(stage: Stage) -> None:
    await city(stage, "111111")
    stuck = {"metadata": {"finalizers": ["example.com/never"]}}
    await stage.people.merge_patch(PRIORITIES, "111111-high", stuck)
    await gone(stage, "111111")
    assert things_of(stage, "111111") == {"PriorityClass/111111-high"}, "all others went all the same"
    assert lives(stage, "111111")
    said = status(stage, "111111")
    assert said["phase"] == "Deleting"
    assert said["remaining"] == [{"kind": "priorityclasses.scheduling.k8s.io", "count": 1}]
    assert "PriorityClass 111111-high waits for example.com/never" in said["blockers"][0]
    await stage.people.merge_patch(PRIORITIES, "111111-high", {"metadata": {"finalizers": None}})
    await stage.later(3 * MINUTE)
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_volume_of_its_claims_goes_and_its_data_is_named(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    for one in ("111111", "222222"):
        claim = {"namespace": f"{one}-default", "name": "data", "uid": f"uid-{one}"}
        spec = {
            "claimRef": claim,
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": "disks.example", "volumeHandle": f"vol-{one}"},
        }
        await stage.people.create(VOLUMES, {"metadata": {"name": f"pvc-{one}"}, "spec": spec})
    stuck = {"metadata": {"finalizers": ["example.com/never"]}}
    await stage.people.merge_patch(ROLES, "111111-admin", stuck)
    await gone(stage, "111111")
    assert stage.found(VOLUMES) == {"pvc-222222"}
    volume = {"name": "pvc-111111", "handle": "disks.example vol-111111", "claim": "111111-default/data"}
    assert status(stage, "111111")["volumes"] == [volume]


@story(also=KINDS, features=ON)
async def test_what_is_made_while_all_is_read_once_more_goes_too(stage: Stage) -> None:
    await city(stage, "111111")
    play = await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    while things_of(stage, "111111"):
        await stage.later(0.2)
    assert lives(stage, "111111")
    await stage.people.create(PRIORITIES, {"metadata": {"name": "111111-late"}, "value": 1})
    await stage.later(10 * MINUTE)
    assert "priorityclasses/111111-late" in deleted(play)
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_what_is_made_while_something_still_hangs_goes_however_late(stage: Stage) -> None:
    await city(stage, "111111")
    stuck = {"metadata": {"finalizers": ["example.com/slow"]}}
    await stage.people.merge_patch(ROLES, "111111-admin", stuck)
    play = await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(3 * MINUTE)
    assert things_of(stage, "111111") == {"ClusterRole/111111-admin"}
    began = len(play.wire.seen)
    await stage.people.merge_patch(ROLES, "111111-admin", {"metadata": {"finalizers": None}})
    await stage.settle()
    await stage.later(10 * MINUTE)
    assert not lives(stage, "111111")
    read = [at for at, request in play.wire.seen[began:] if request.path.endswith("/storageclasses")]
    assert len(read) >= 2, "nobody knew how long it had been there"
    assert read[-1] - read[0] >= 3


@story(also=KINDS, features=ON)
async def test_what_the_tenant_kept_goes_with_it(stage: Stage) -> None:
    await city(stage, "111111")
    await stage.label("111111-high", resource=PRIORITIES, namespace="", keep="true")
    await stage.label("app", namespace="111111-default", keep="true")
    await stage.label("111111-default", resource=NAMESPACES, namespace="", keep="true")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_restart_goes_on_where_the_one_before_stopped(stage: Stage) -> None:
    await city(stage, "111111")
    play = await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(0.5)
    await play.kill()
    await stage.play()
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON)
async def test_a_tenant_of_an_id_that_means_too_much_is_refused(stage: Stage) -> None:
    await city(stage, "kube-s", "111111")
    before = everything(stage)
    await gone(stage, "kube-s")
    assert everything(stage) == before
    assert status(stage, "kube-s")["phase"] == "Refused"
    assert "names that begin with kube belong to the cluster itself" in ready(stage, "kube-s")["message"]


@story(also=KINDS, features=ON)
async def test_a_tenant_that_leaves_is_marked_for_the_server_and_one_that_lives_is_not(stage: Stage) -> None:
    """Whenever anything is made the server looks through all that are marked."""
    await city(stage, "111111", "222222")
    await make(stage, ROLES, "111111-held", metadata={"finalizers": ["example.com/x"]})
    play = await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert status(stage, "111111")["phase"] == "Deleting"
    labels = {
        one["metadata"]["name"]: one["metadata"].get("labels", {}) for one in stage.cluster.objects(TENANTS)
    }
    assert labels == {"111111": {names.LEAVING_LABEL: "true"}, "222222": {}}
    marks = [body for _, request in play.sent("PATCH") if b'"labels"' in (body := request.body or b"")]
    assert len(marks) == 1
