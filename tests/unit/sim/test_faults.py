from __future__ import annotations

import asyncio

import msgspec
import pytest

from skoupa.errors import Disconnected, TimedOut, Unreachable
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.faults import asking
from tests.unit.sim.asking import CONFIG_MAPS, NAMESPACES, ask, exists, made, on_cluster, request, watching

pytestmark = pytest.mark.unit


def test_an_ordered_refusal_strikes_as_often_as_ordered() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        fault = cluster.faults.answer(429, retry_after=7, times=2, when=asking(path=CONFIG_MAPS))
        for _ in range(2):
            response = await cluster.send(request("GET", CONFIG_MAPS))
            assert (response.status, response.headers["retry-after"]) == (429, "7")
            assert msgspec.json.decode(response.body)["reason"] == "TooManyRequests"
        assert (await ask(cluster, "GET", CONFIG_MAPS))[0] == 200
        assert fault.hits == 2

    on_cluster(work)


def test_a_fault_is_for_those_it_is_meant_for() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        cluster.faults.answer(503, times=None, when=asking(method="DELETE"))
        await made(cluster, CONFIG_MAPS, "one")
        assert (await ask(cluster, "DELETE", f"{CONFIG_MAPS}/one"))[0] == 503
        assert await exists(cluster, f"{CONFIG_MAPS}/one")

    on_cluster(work)


def test_an_outage_lasts_as_long_as_ordered() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        cluster.faults.unreachable(seconds=30)
        for _ in range(3):
            with pytest.raises(Unreachable):
                await ask(cluster, "GET", NAMESPACES)
            await cluster.clock.sleep(9)
        await cluster.clock.sleep(3)
        assert (await ask(cluster, "GET", NAMESPACES))[0] == 200

    on_cluster(work)


def test_an_answer_can_be_lost_before_or_after_the_deed() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        await made(cluster, CONFIG_MAPS, "one")
        cluster.faults.disconnect()
        with pytest.raises(Disconnected):
            await ask(cluster, "DELETE", f"{CONFIG_MAPS}/one")
        assert await exists(cluster, f"{CONFIG_MAPS}/one")
        cluster.faults.disconnect(done=True)
        with pytest.raises(Disconnected):
            await ask(cluster, "DELETE", f"{CONFIG_MAPS}/one")
        assert not await exists(cluster, f"{CONFIG_MAPS}/one")

    on_cluster(work)


def test_a_slow_answer_arrives_or_times_out() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        clock = cluster.clock
        cluster.faults.delay(20)
        assert (await ask(cluster, "GET", NAMESPACES, timeout=30.0))[0] == 200
        assert clock.monotonic() == 20
        cluster.faults.delay(20)
        with pytest.raises(TimedOut):
            await ask(cluster, "GET", NAMESPACES, timeout=5.0)
        assert clock.monotonic() == 25

    on_cluster(work)


def test_a_watch_is_cut_in_the_middle_of_a_line() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        for name in ("a", "b", "c"):
            await made(cluster, CONFIG_MAPS, name)
        cluster.faults.cut_watch(after=2)
        received = bytearray()

        async def read() -> None:
            async with cluster.stream(request("GET", CONFIG_MAPS, query={"watch": "1"})) as stream:
                async for chunk in stream.chunks():
                    received.extend(chunk)

        with pytest.raises(Disconnected):
            await read()
        *lines, half = bytes(received).split(b"\n")
        assert len(lines) == 2
        assert half.startswith(b'{"type":"ADDED"')
        with pytest.raises(msgspec.DecodeError):
            msgspec.json.decode(half)

    on_cluster(work)


def test_a_silenced_watch_stays_open_and_tells_nothing() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        await made(cluster, CONFIG_MAPS, "a")
        cluster.faults.silence_watch(after=1)
        async with watching(cluster, CONFIG_MAPS, allowWatchBookmarks="true") as events:
            assert (await anext(events))["object"]["metadata"]["name"] == "a"
            await made(cluster, CONFIG_MAPS, "b")
            with pytest.raises(TimeoutError):
                async with cluster.clock.timeout(24 * 3600):
                    await anext(events)

    on_cluster(work)


def test_events_can_come_twice() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        cluster.faults.duplicate_events()
        async with watching(cluster, CONFIG_MAPS, timeoutSeconds="10") as events:
            names = [event["object"]["metadata"]["name"] async for event in events]
        assert names == ["kube-root-ca.crt", "kube-root-ca.crt"]

    on_cluster(work)


def test_controllers_are_not_struck() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        await made(cluster, NAMESPACES, "shop")
        await ask(cluster, "DELETE", f"{NAMESPACES}/shop")
        fault = cluster.faults.answer(500, times=None)
        await cluster.clock.sleep(60)
        cluster.faults.remove(fault)
        assert not await exists(cluster, f"{NAMESPACES}/shop")

    on_cluster(work)


def test_a_restart_cuts_watches_refuses_for_a_while_and_forgets() -> None:
    async def work(cluster: EmbeddedCluster) -> None:
        version = (await ask(cluster, "GET", CONFIG_MAPS))[1]["metadata"]["resourceVersion"]

        async def read() -> None:
            async with watching(cluster, CONFIG_MAPS, resourceVersion=version) as events:
                async for _ in events:
                    pass

        reading = asyncio.create_task(read())
        await cluster.clock.sleep(1)
        cluster.restart(seconds=5)
        with pytest.raises(Disconnected):
            await reading
        with pytest.raises(Unreachable):
            await ask(cluster, "GET", NAMESPACES)
        await cluster.clock.sleep(5)
        async with watching(cluster, CONFIG_MAPS, resourceVersion=version) as events:
            said = await anext(events)
        assert (said["type"], said["object"]["code"]) == ("ERROR", 410)

    on_cluster(work)
