"""Taking part, on the embedded cluster: joining, hearing, reporting, being done, and being late."""

from __future__ import annotations

import asyncio

import pytest

from skoupa.alive import sdk
from skoupa.alive.sdk import Participant, register
from skoupa.alive.signs import signs_of
from skoupa.errors import NotFound, TooLate
from skoupa.kinds.alive import ALIVES, manifest
from skoupa.kube.client import Client
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import LEASES, NAMESPACES
from skoupa.sim.cluster import EmbeddedCluster
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
    assert sdk.ALIVES.path(name="cluster") == ALIVES.path(name="cluster")
    assert sdk.ALIVES.kind == ALIVES.kind


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
