"""What has to be so before a deletion begins, and how to take it back; a feature that is switched off holds no Tenant."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kinds.tenant import TENANTS
from skoupa.kube.objects import WHOLE
from tests.unit.controller.stage import HOUR, MINUTE, PRIORITIES, Stage, story
from tests.unit.controller.tenancy.town import (
    KINDS,
    ON,
    bring_tenants,
    city,
    everything,
    gone,
    leave,
    lives,
    make,
    ready,
    status,
    tenant,
    things_of,
)

pytestmark = pytest.mark.unit


@story(also=KINDS, features=ON, tenants={"guard": True})
async def test_with_the_guard_nothing_goes_until_somebody_confirms(stage: Stage) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == mine
    assert status(stage, "111111")["phase"] == "Waiting"
    assert names.CONFIRM_DELETION_ANNOTATION in ready(stage, "111111")["message"]
    await stage.annotate(
        "111111", names.CONFIRM_DELETION_ANNOTATION, "another uid", resource=TENANTS, namespace=""
    )
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == mine
    found = await stage.people.get(TENANTS, "111111", view=WHOLE)
    uid = found["metadata"]["uid"]
    await stage.annotate("111111", names.CONFIRM_DELETION_ANNOTATION, uid, resource=TENANTS, namespace="")
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON, tenants={"grace": "1h"})
async def test_nothing_goes_within_the_grace_and_all_of_it_after(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    mine, theirs = things_of(stage, "111111"), things_of(stage, "222222")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    await leave(stage, "222222")
    await stage.later(59 * MINUTE)
    assert things_of(stage, "111111") == mine
    assert ready(stage, "111111")["reason"] == "Grace"
    await stage.people.merge_patch(TENANTS, "222222", {"metadata": {"finalizers": None}})
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")
    await stage.later(HOUR)
    assert things_of(stage, "222222") == theirs, "it was taken back in time"


@story(also=KINDS, features=ON, tenants={"grace": "1h"})
async def test_a_kubezoo_that_takes_its_own_finalizer_off_early_neither_cancels_nor_ends_anything(
    stage: Stage,
) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    await leave(stage, "111111")
    early = {"metadata": {"finalizers": [names.TENANT_FINALIZER]}}
    await stage.people.merge_patch(TENANTS, "111111", early)
    await stage.later(59 * MINUTE)
    assert things_of(stage, "111111") == mine
    assert ready(stage, "111111")["reason"] == "Grace"
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")


@story(also=KINDS, features=ON, tenants={"mostObjects": 3})
async def test_one_with_more_than_may_go_is_held_and_says_so(stage: Stage) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await gone(stage, "111111")
    assert things_of(stage, "111111") == mine
    assert ready(stage, "111111")["reason"] == "TooMany"


@story(also=KINDS, features=ON)
async def test_while_discovery_is_partial_nothing_goes(stage: Stage) -> None:
    await city(stage, "111111")
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(10)
    stage.cluster.discovery.stale.add("geo.example")
    await leave(stage, "111111")
    await stage.later(10 * MINUTE)
    assert things_of(stage, "111111") == mine
    assert "geo.example" in ready(stage, "111111")["message"]
    stage.cluster.discovery.stale.clear()
    await stage.later(5 * MINUTE)
    assert things_of(stage, "111111") == set()


@story(also=KINDS, features=ON)
async def test_an_id_that_says_something_else_is_refused(stage: Stage) -> None:
    await city(stage, "111111")
    await tenant(stage, "333333", id=444444)
    await tenant(stage, "444444", id="444444")
    await make(stage, PRIORITIES, "333333-high", value=1)
    before = everything(stage)
    await stage.play()
    await stage.later(10)
    await leave(stage, "333333")
    await leave(stage, "444444")
    await stage.later(5 * MINUTE)
    assert everything(stage) == before
    assert "its spec.id (444444) is not its name" in ready(stage, "333333")["message"]
    assert not lives(stage, "444444"), "that has nothing, and says the same twice"


@story(also=KINDS, features=ON)
async def test_an_id_that_means_too_much_says_so_while_it_lives(stage: Stage) -> None:
    await bring_tenants(stage)
    await tenant(stage, "system")
    await stage.play()
    await stage.later(10)
    assert ready(stage, "system")["status"] == "False"
    assert ready(stage, "system")["reason"] == "Refused"


@story(also=KINDS)
async def test_a_feature_that_is_switched_off_takes_its_finalizers_off(stage: Stage) -> None:
    await city(stage, "111111", "222222")
    kubezoo = {"metadata": {"finalizers": [names.KUBEZOO_TENANT_FINALIZER]}}
    await stage.people.merge_patch(TENANTS, "222222", kubezoo, manager="kubezoo")
    play = await stage.play(features=ON)
    await stage.later(10)
    await play.stop()
    mine = things_of(stage, "111111")
    await stage.play()
    await stage.later(MINUTE)
    found = {one["metadata"]["name"]: one["metadata"] for one in stage.cluster.objects(TENANTS)}
    assert "finalizers" not in found["111111"]
    assert found["222222"]["finalizers"] == [names.KUBEZOO_TENANT_FINALIZER], "that is KubeZoo's own"
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert not lives(stage, "111111")
    assert things_of(stage, "111111") == mine, "nobody looks after it"


@story(also=KINDS, features=ON)
async def test_each_kind_is_read_once_to_plan_and_once_to_verify(stage: Stage) -> None:
    await bring_tenants(stage)
    await tenant(stage, "111111")
    await stage.namespace("111111-default")
    await stage.make("app", namespace="111111-default")
    await make(stage, PRIORITIES, "111111-high", value=1)
    play = await stage.play()
    await stage.later(10)
    began = len(play.wire.seen)
    await leave(stage, "111111")
    await stage.later(5 * MINUTE)
    assert not lives(stage, "111111")
    # Single ones are looked for by their names.
    asked = [
        request.path
        for _, request in play.wire.seen[began:]
        if request.verb == "list" and "fieldSelector" not in dict(request.query)
    ]
    for kind in ("/storageclasses", "/priorityclasses", "/validatingwebhookconfigurations"):
        assert len([path for path in asked if path.endswith(kind)]) == 2


@story(also=KINDS, features=ON)
async def test_many_that_are_deleted_at_once_share_each_reading(stage: Stage) -> None:
    ids = [f"{number}{number}{number}{number}{number}{number}" for number in range(1, 6)]
    await city(stage, *ids)
    play = await stage.play()
    await stage.later(10)
    began = len(play.wire.seen)
    for one in ids:
        await leave(stage, one)
    await stage.later(5 * MINUTE)
    assert not any(things_of(stage, one) for one in ids)
    lists = [request for _, request in play.wire.seen[began:] if request.path.endswith("/storageclasses")]
    assert len([one for one in lists if one.method == "GET"]) <= 6


@story(also=KINDS, features=ON)
async def test_one_of_two_replicas_acts_and_the_other_goes_on_after_it(stage: Stage) -> None:
    await city(stage, "111111")
    first, second = await stage.play(), await stage.play()
    second.standing_by = True
    await stage.later(10)
    await leave(stage, "111111")
    await stage.later(0.3)
    assert not second.sent("DELETE")
    first.standing_by, second.standing_by = True, False
    await stage.later(5 * MINUTE)
    assert second.sent("DELETE")
    assert things_of(stage, "111111") == set()
    assert not lives(stage, "111111")
