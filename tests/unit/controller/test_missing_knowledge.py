"""Whatever is not known, late or lost: the object stays, and nothing is forgotten for ever."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import LEASES, NAMESPACES, PODS, Resource
from skoupa.kube.transport import Request, Response
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Stage, owned_by, story

pytestmark = pytest.mark.unit

DEP = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
RS = Resource(group="apps", version="v1", plural="replicasets", kind="ReplicaSet", namespaced=True)


@story()
async def test_namespaces_that_can_not_be_read_at_the_start_hold_what_is_in_them(stage: Stage) -> None:
    await stage.label("shop", resource=NAMESPACES, keep="true")
    await stage.make("a", "1s")
    await stage.later(5)
    stage.cluster.faults.answer(500, when=lambda r: r.path == "/api/v1/namespaces", seconds=120)
    await stage.play()
    await stage.later(20)
    assert stage.there("a")


@story()
async def test_a_keep_label_on_a_namespace_counts_although_its_watch_is_broken(stage: Stage) -> None:
    await stage.make("a", "2h")
    await stage.play()
    stage.cluster.faults.answer(500, when=lambda r: r.path == "/api/v1/namespaces", seconds=5 * HOUR)
    stage.cluster.restart()
    await stage.later(60)
    await stage.label("shop", resource=NAMESPACES, keep="true")
    await stage.later(2.5 * HOUR)
    assert stage.there("a")


@story(also=(DEP, RS))
async def test_an_owner_stays_when_the_kept_objects_it_may_own_can_not_be_read(stage: Stage) -> None:
    d = await stage.make("web", "1h", resource=DEP)
    await stage.make("web-1", resource=PODS, keep="true", owner=d)
    stage.cluster.deny(user="skoupa", verbs=("list", "watch", "get"), resources=("pods",))
    await stage.play(user="skoupa")
    await stage.later(2 * HOUR)
    assert stage.there("web-1", PODS)


@story(also=(DEP, RS))
async def test_an_owner_that_adopted_a_kept_object_later_stays(stage: Stage) -> None:
    rs = await stage.make("rs", resource=RS)
    await stage.make("pod", resource=PODS, keep="true", owner=rs)
    await stage.play()
    await stage.later(MINUTE)
    d = await stage.make("dep", "1h", resource=DEP)
    await stage.people.merge_patch(
        RS, "rs", {"metadata": {"ownerReferences": [owned_by(d)]}}, namespace="shop"
    )
    await stage.later(3 * HOUR)
    assert stage.there("pod", PODS)


@story()
async def test_the_first_start_counts_what_a_wrong_clock_holds(stage: Stage) -> None:
    stage.old([f"a{i}" for i in range(300)], "2020-01-01", age=48 * HOUR)
    stage.cluster.skew = 30.0
    await stage.play()
    await stage.later(30)
    stage.cluster.skew = 0.0
    await stage.later(10 * MINUTE)
    assert len(stage.found()) == 300


@story()
async def test_the_first_start_waits_for_kinds_that_fail(stage: Stage) -> None:
    stage.old([f"a{i}" for i in range(300)], "2020-01-01", age=48 * HOUR)
    stage.cluster.faults.answer(500, when=lambda r: r.path == "/api/v1/configmaps", seconds=60)
    await stage.play()
    await stage.later(10 * MINUTE)
    assert len(stage.found()) == 300


@story()
async def test_a_mass_of_labels_is_held_over_later_writes_and_a_restart(stage: Stage) -> None:
    ns = [f"a{i}" for i in range(60)]
    for n in ns:
        await stage.make(n, labels={"app": "x"})
    await stage.later(2 * HOUR)
    play = await stage.play()
    for n in ns:
        await stage.label(n, ttl="1h")
    await stage.later(30 * MINUTE)
    assert len(stage.found()) == 60
    for n in ns:
        await stage.label(n, touched="yes")
        await stage.later(MINUTE)
    await stage.later(HOUR)
    assert len(stage.found()) == 60
    await play.stop()
    await stage.play()
    await stage.later(30 * MINUTE)
    assert len(stage.found()) == 60


@story()
async def test_a_delete_whose_answer_was_lost_leaves_nothing_overdue(stage: Stage) -> None:
    await stage.make("a", "1m")
    play = await stage.play()
    stage.cluster.faults.disconnect(when=lambda r: r.method == "DELETE", seconds=200, done=True)
    await stage.later(2 * HOUR)
    assert not stage.there("a")
    assert not play.overdue
    assert not play.engine.sweeper._plan._failures
    assert not play.engine.sweeper._plan._not_before


@story()
async def test_rights_in_namespaces_that_are_gone_are_forgotten(stage: Stage) -> None:
    stage.cluster.deny(user="skoupa", verbs=("delete",), resources=("configmaps",))
    play = await stage.play(user="skoupa")
    for i in range(60):
        ns = await stage.namespace(f"pr-{i}")
        await stage.make("x", "1s", namespace=f"pr-{i}")
        await stage.later(2)
        await stage.people.delete(NAMESPACES, f"pr-{i}", uid=ns["metadata"]["uid"], propagation="Background")
        await stage.later(2)
    await stage.later(HOUR)
    assert len(play.engine.rights._rules) < 10


@story()
async def test_a_delete_that_was_taken_but_not_done_is_sent_again(stage: Stage) -> None:
    await stage.make("a", "1m")
    play = await stage.play()

    async def send(request: Request) -> Response:
        if request.method == "DELETE":
            return Response(
                status=200, headers={}, body=b'{"kind":"Status","apiVersion":"v1","status":"Success"}'
            )
        return await stage.cluster.send(request)

    fake = {"send": staticmethod(send), "stream": stage.cluster.stream, "close": stage.cluster.close}
    play.wire._inner = type("T", (), fake)()
    await stage.later(10 * MINUTE)
    play.wire._inner = stage.cluster
    await stage.later(DAY)
    assert not stage.there("a")


@story()
async def test_a_kept_object_that_a_namespace_owns_holds_it(stage: Stage) -> None:
    owner = await stage.namespace("owner")
    await stage.label("owner", resource=NAMESPACES, ttl="1m")
    await stage.make("kept", resource=NAMESPACES, namespace="", keep="true", owner=owner)
    await stage.play()
    await stage.later(10 * MINUTE)
    assert stage.there("owner", NAMESPACES)
    assert stage.there("kept", NAMESPACES)


@story(protect={"selectors": ["tier=gold"]})
async def test_what_is_protected_by_a_setting_is_not_taken_along_with_its_namespace(stage: Stage) -> None:
    await stage.make("treasure", labels={"tier": "gold"})
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.play()
    await stage.later(10 * MINUTE)
    assert stage.there("treasure")
    await stage.label("treasure", tier=None)
    await stage.later(10 * MINUTE)
    assert not stage.there("treasure")


@story()
async def test_a_kept_lease_holds_its_namespace_although_leases_are_not_watched(stage: Stage) -> None:
    await stage.make("lock", resource=LEASES, keep="true")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.play()
    await stage.later(10 * MINUTE)
    assert stage.there("lock", LEASES)


@story(mode="observe")
async def test_an_observer_looks_into_a_namespace_before_it_says_that_it_would_go(stage: Stage) -> None:
    """As who enforces does: what can't be seen by watching is found by the last look."""
    await stage.make("lock", resource=LEASES, keep="true")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.namespace("empty", labels={"cleanup.kyverno.io/ttl": "1m"})
    play = await stage.play()
    await stage.later(10 * MINUTE)
    assert not play.told("would delete", SHOP)
    assert "Lease shop/lock" in play.why_held(SHOP)
    assert len(play.told("held", SHOP)) == 1
    assert len(play.told("would delete", "empty")) == 1
    looks = [at for at, request in play.wire.seen if "/namespaces/empty/" in request.path]
    assert max(looks) - min(looks) < MINUTE, "it is looked into once"
    await stage.label("lock", resource=LEASES, keep=None)
    await stage.later(6 * MINUTE)
    assert len(play.told("would delete", SHOP)) == 1


@story()
async def test_a_namespace_that_can_not_be_understood_may_be_kept(stage: Stage) -> None:
    stage.cluster.load(
        [
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": "odd", "labels": {"skoupa.dev/keep": "true", "team": 7}},
            }
        ]
    )
    play = await stage.play()
    await stage.make("web", "1m", namespace="odd")
    await stage.later(10 * MINUTE)
    assert stage.there("web", namespace="odd")
    assert play.overdue == {"feed-behind": 1}
