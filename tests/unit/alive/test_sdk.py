"""Taking part, on the embedded cluster: joining, hearing, reporting, being done, and being late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from skoupa.alive import joining
from skoupa.alive.preserving import Thing, preserved
from skoupa.alive.sdk import Participant, deletion, register
from skoupa.alive.signs import signs_of
from skoupa.errors import Forbidden, NotFound, ServerFailure, TooLate, UsageError
from skoupa.kinds.alive import ALIVES, NAMESPACED_ALIVES, manifest
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import LEASES, NAMESPACES
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.kinds.test_embedded import installed
from tests.unit.sim.asking import on_cluster

pytestmark = pytest.mark.unit

DNS, DISKS = "dns.example.com/cleanup", "disks.example.com/cleanup"


async def prepared(cluster: EmbeddedCluster) -> Client:
    client = await installed(cluster)
    await client.create(NAMESPACES, {"metadata": {"name": "work"}})
    return client


async def made(client: Client) -> str:
    return str((await client.create(ALIVES, manifest()))["metadata"]["uid"])


async def joined(client: Client, finalizer: str) -> Participant:
    name = finalizer.split(".", maxsplit=1)[0]
    return await register(client, finalizer, lease=("work", name), identity=f"{name}-operator")


async def finalizers(client: Client) -> list[str]:
    found = await client.get(ALIVES, "cluster", view=WHOLE)
    return list(found["metadata"].get("finalizers") or ())


def test_the_sdk_means_the_kind_that_is_defined() -> None:
    for ours, defined in (
        (joining.ALIVES, ALIVES),
        (joining.NAMESPACED_ALIVES, NAMESPACED_ALIVES),
    ):
        assert ours.kind == defined.kind
        place = "work" if defined.namespaced else ""
        path = ours.path(name="cluster", namespace=place)
        assert path == defined.path(name="cluster", namespace=place)


def test_who_joins_is_waited_for_hears_of_the_deletion_and_leaves_nobody_else_free() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns, disks = await joined(client, DNS), await joined(client, DISKS)
        spec = (await client.get(ALIVES, "cluster", view=WHOLE))["spec"]
        assert {one["finalizer"]: one["identity"] for one in spec["participants"]} == {
            DNS: "dns-operator",
            DISKS: "disks-operator",
        }
        hearing = asyncio.ensure_future(dns.on_deletion())
        await cluster.clock.sleep(30)
        assert not hearing.done()
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        assert (await hearing).uid == uid
        await dns.done()
        await dns.done()
        assert await finalizers(client) == ["skoupa.dev/alive", DISKS]
        await disks.done()

    on_cluster(work)


def test_who_preserves_more_while_others_clean_up_is_heard() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        assert await deletion(client) is None
        uid = await made(client)
        assert await deletion(client) is None, "nobody has asked for it"
        dns = await joined(client, DNS)
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        first = await dns.on_deletion()
        assert (first.uid, first.preserve) == (uid, ())
        more = {"names": ["web"], "reason": "sold"}
        await client.merge_patch(ALIVES, "cluster", {"spec": {"preserve": [more]}})
        now = await deletion(client)
        assert now is not None
        assert now.preserve == (more,)
        things = [Thing(id="vol-1", name="web"), Thing(id="vol-2", name="db"), Thing(id="vol-3")]
        assert preserved(things, now.preserve, now=0).keys() == {"vol-1"}
        await client.merge_patch(ALIVES, "cluster", {"spec": {"deletionPolicy": "Preserve"}})
        now = await deletion(client)
        assert now is not None
        assert preserved(things, now.preserve, now=0).keys() == {"vol-1", "vol-2", "vol-3"}
        await dns.done()

    on_cluster(work)


def test_who_may_only_get_and_patch_hears_of_the_deletion_too_and_joins_anew() -> None:
    """These rights are enough for any other language, and are what the documentation asks for."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        rules = [
            Rule(verbs=("get", "patch"), resources=(ALIVES.qualified,)),
            Rule(verbs=("get", "create", "patch"), resources=(LEASES.qualified,)),
        ]
        cluster.allow_only("dns-operator", rules)
        dns = await joined(Client(cluster.as_user("dns-operator"), cluster.clock), DNS)
        hearing = asyncio.ensure_future(dns.on_deletion())
        await cluster.clock.sleep(30)
        await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        await cluster.clock.sleep(30)
        uid = await made(client)
        await cluster.clock.sleep(150)
        assert DNS in await finalizers(client)
        assert not hearing.done()
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        began = cluster.clock.now()
        assert (await hearing).uid == uid
        assert cluster.clock.now() - began < 10
        await dns.done()
        assert DNS not in await finalizers(client)
        for status in (401, 403):
            when = asking(method="GET", path=ALIVES.path(name="cluster"))
            cluster.faults.answer(status, when=when, times=None, seconds=30)
            assert await deletion(client) is not None, "a server that comes back knows nobody for a moment"
        cluster.allow_only("dns-operator", [])
        with pytest.raises(Forbidden):
            await dns.on_deletion()

    on_cluster(work)


def test_who_comes_late_is_told_so() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        await joined(client, DNS)
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        with pytest.raises(TooLate, match="is not among those"):
            await joined(client, DISKS)
        again = await joined(client, DNS)
        assert (await again.on_deletion()).uid == uid

    on_cluster(work)


def test_where_there_is_no_alive_nothing_is_dying_and_it_is_joined_when_it_comes() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        joining = asyncio.ensure_future(joined(client, DNS))
        await cluster.clock.sleep(60)
        assert not joining.done()
        await made(client)
        await joining
        assert DNS in await finalizers(client)

    on_cluster(work)


def test_who_was_lost_with_an_earlier_alive_joins_the_next() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns = await joined(client, DNS)
        hearing = asyncio.ensure_future(dns.on_deletion())
        await cluster.clock.sleep(5)
        # Somebody took everything off and deleted it within a moment, and Skoupa made it anew.
        await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        await made(client)
        while DNS not in await finalizers(client):
            await cluster.clock.sleep(1)
        assert not hearing.done()
        hearing.cancel()

    on_cluster(work)


def test_what_is_reported_is_on_the_lease_as_a_sign_of_life() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await made(client)
        dns = await joined(client, DNS)
        await dns.report(remaining=4, message="removing records", preserved=("zone example.com",))
        lease = await client.get(LEASES, "dns", namespace="work", view=WHOLE)
        assert lease["metadata"]["labels"] == {"skoupa.dev/participant": "true"}
        sign = signs_of([lease])["work", "dns"]
        assert (sign.remaining, sign.message, sign.failed) == (4, "removing records", False)
        assert sign.preserved == ("zone example.com",)
        before = sign.seen
        assert before is not None
        await cluster.clock.sleep(20)
        await dns.report(remaining=4, message="no token", failed=True)
        lease = await client.get(LEASES, "dns", namespace="work", view=WHOLE)
        sign = signs_of([lease])["work", "dns"]
        assert sign.failed
        assert sign.seen is not None
        assert sign.seen >= before + 20
        assert sign.preserved == ()

    on_cluster(work)


def test_being_done_where_alive_is_gone_is_no_error() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns = await joined(client, DNS)
        await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        with pytest.raises(NotFound):
            await finalizers(client)
        await dns.done()

    on_cluster(work)


async def asked_for(client: Client, uid: str) -> None:
    await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")


def test_who_comes_back_with_another_lease_says_so_in_its_entry_at_its_place() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        await joined(client, DNS)
        await joined(client, DISKS)
        moved = await register(client, DNS, lease=("work", "other"), identity="dns-operator", title="DNS")
        entries = (await client.get(ALIVES, "cluster", view=WHOLE))["spec"]["participants"]
        assert [one["finalizer"] for one in entries] == [DNS, DISKS]
        assert entries[0]["lease"]["name"] == "other"
        assert entries[0]["title"] == "DNS"
        assert await finalizers(client) == ["skoupa.dev/alive", DNS, DISKS]
        await asked_for(client, uid)
        again = await joined(client, DNS)
        assert (await again.on_deletion()).uid == uid, "an entry stays as it is once it goes"
        await moved.done()
        assert await finalizers(client) == ["skoupa.dev/alive", DISKS]

    on_cluster(work)


def test_done_is_said_of_the_alive_that_was_joined_and_of_no_other() -> None:
    """One is still at work for an Alive that is gone when its other replica has joined the next."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        slow = await joined(client, DNS)
        await asked_for(client, uid)
        await slow.on_deletion()
        await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
        await made(client)
        await joined(client, DNS)
        await slow.done()
        assert DNS in await finalizers(client)

    on_cluster(work)


def test_done_is_refused_where_nobody_asked_for_it_and_leaving_takes_off_both() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await made(client)
        dns, disks = await joined(client, DNS), await joined(client, DISKS)
        with pytest.raises(UsageError, match="nobody has asked for the deletion"):
            await dns.done()
        assert DNS in await finalizers(client)
        await dns.leave()
        await dns.leave()
        found = await client.get(ALIVES, "cluster", view=WHOLE)
        assert found["metadata"]["finalizers"] == ["skoupa.dev/alive", DISKS]
        assert [one["finalizer"] for one in found["spec"]["participants"]] == [DISKS]
        assert disks.identity == "disks-operator"

    on_cluster(work)


def test_who_leaves_is_waited_for_no_more_also_by_an_alive_that_another_process_of_it_joined() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns = await joined(client, DNS)
        await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
        await client.delete(ALIVES, "cluster", uid=uid, propagation="Background")
        await made(client)
        await joined(client, DNS)
        await dns.leave()
        found = await client.get(ALIVES, "cluster", view=WHOLE)
        assert (found["metadata"]["finalizers"], found["spec"]["participants"]) == (["skoupa.dev/alive"], [])

    on_cluster(work)


def test_a_deletion_of_yesterday_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose cache is behind shows an Alive that another has followed."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        await joined(client, DNS)
        await asked_for(client, uid)
        old = await client.get(ALIVES, "cluster", view=WHOLE)
        await client.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
        fresh = await made(client)
        again = await joined(client, DNS)
        shown: list[Any] = [old]

        async def behind(*_: Any, **__: Any) -> AsyncGenerator[Any, None]:
            while True:
                yield watched.Listed([shown[-1]], ())
                await cluster.clock.sleep(1)

        monkeypatch.setattr(watch, "watch", behind)
        hearing = asyncio.ensure_future(again.on_deletion())
        await cluster.clock.sleep(30)
        assert not hearing.done()
        await asked_for(client, fresh)
        shown.append(await client.get(ALIVES, "cluster", view=WHOLE))
        assert (await hearing).uid == fresh

    on_cluster(work)


def test_a_server_that_is_away_for_a_while_is_waited_for_at_every_step() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        away = 600.0

        async def out() -> float:
            cluster.faults.unreachable(times=None, seconds=away)
            return cluster.clock.now()

        began = await out()
        dns = await joined(client, DNS)
        assert cluster.clock.now() - began >= away
        living = asyncio.ensure_future(dns.live())
        hearing = asyncio.ensure_future(dns.on_deletion())
        await cluster.clock.sleep(30)
        await asked_for(client, uid)
        assert (await hearing).uid == uid
        began = await out()
        await dns.report(remaining=2, message="at it")
        assert cluster.clock.now() - began < 60, "the work does not stand still for it"
        await cluster.clock.sleep(away + 60)
        lease = await client.get(LEASES, "dns", namespace="work", view=WHOLE)
        sign = signs_of([lease])["work", "dns"]
        assert sign.remaining == 2
        began = await out()
        await dns.done()
        assert cluster.clock.now() - began >= away
        assert await finalizers(client) == ["skoupa.dev/alive"]
        await living

    on_cluster(work)


def test_an_alive_that_is_full_is_told_and_not_waited_for() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        await made(client)
        joining = asking(method="PATCH", path=ALIVES.path(name="cluster"))
        cluster.faults.answer(500, when=joining, message="etcdserver: request is too large", times=None)
        with pytest.raises(ServerFailure, match="is too large") as told:
            await joined(client, DNS)
        assert "shorten what is in it" in str(told.value)

    on_cluster(work)


def test_a_lease_that_can_not_be_written_any_more_keeps_nobody_from_being_done() -> None:
    """Its namespace went first."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns = await joined(client, DNS)
        await asked_for(client, uid)
        cluster.faults.answer(403, when=asking(kind="leases.coordination.k8s.io"), times=None)
        await dns.report(remaining=1)
        await dns.done()
        assert DNS not in await finalizers(client)

    on_cluster(work)


def test_not_found_by_something_that_knows_no_alive_frees_nobody_and_hides_no_deletion() -> None:
    """A load balancer whose servers go away says 404 to everything."""

    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns = await joined(client, DNS)
        waiting = asyncio.ensure_future(dns.on_deletion())
        await cluster.clock.sleep(1)
        strange = asking(method="GET", path=ALIVES.path(name="cluster"))
        cluster.faults.answer(404, when=strange, times=None, seconds=20)
        await asked_for(client, uid)
        async with cluster.clock.timeout(60):
            assert (await waiting).uid == uid
        cluster.faults.answer(404, when=strange, times=None, seconds=20)
        cluster.faults.answer(404, when=asking(method="PATCH", path=ALIVES.path(name="cluster")), times=3)
        await dns.done()
        assert await finalizers(client) == ["skoupa.dev/alive"]

    on_cluster(work)


def test_where_its_definition_is_gone_for_good_who_is_done_goes_on() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        dns = await joined(client, DNS)
        await asked_for(client, uid)
        cluster.faults.answer(404, when=asking(path="/apis/skoupa.dev"), times=None)
        began = cluster.clock.now()
        await dns.done()
        assert 60 <= cluster.clock.now() - began < 120

    on_cluster(work)


def test_very_many_join_and_leave_at_once() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        client = await prepared(cluster)
        uid = await made(client)
        # So that what was read is old when it is written.
        cluster.faults.delay(0.1, when=asking(method="PATCH", path="/apis/skoupa.dev"), times=None)
        everybody = await asyncio.gather(
            *(
                register(
                    client, f"p{number}.example.com/cleanup", lease=("work", f"p{number}"), identity="all"
                )
                for number in range(40)
            )
        )
        assert len(await finalizers(client)) == 41
        await asked_for(client, uid)
        began = cluster.clock.now()
        await asyncio.gather(*(one.done() for one in everybody))
        assert await finalizers(client) == ["skoupa.dev/alive"]
        assert cluster.clock.now() - began < 300

    on_cluster(work)
