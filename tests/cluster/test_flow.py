"""How hard the server is pressed, seen from the server: what arrives, when, and how much of it at once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from harness.faultproxy import (
    Answer,
    Fault,
    FaultProxy,
    HalfClose,
    Reset,
    Rule,
    Seen,
    Silence,
    Slow,
    kube_status,
)
from skoupa.clock import SystemClock
from skoupa.errors import Conflict, Disconnected, NotFound, ServerFailure, SkoupaError, TooManyRequests
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.following import Patience
from skoupa.kube.lists import Scope
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request, Response, Stream, Transport
from tests.cluster.lateness import measured
from tests.cluster.reaching import connected, exists, until
from tests.cluster.reading import Reader

pytestmark = pytest.mark.cluster


async def make(client: Client, namespace: str, name: str = "thing") -> str:
    made = await client.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace=namespace)
    return str(made["metadata"]["uid"])


async def look(client: Client, namespace: str, name: str = "thing") -> None:
    await client.get(CONFIG_MAPS, name, namespace=namespace, view=METADATA)


def of(proxy: FaultProxy, method: str) -> list[Seen]:
    return [request for request in proxy.requests if request.method == method]


async def test_a_failure_with_retry_after_holds_back_only_the_request_that_failed(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    await make(admin, namespace)
    async with connected(proxy, clock=SystemClock(), limits=Limits(in_flight=1)) as client:
        await look(client, namespace)
        failing = proxy.script(Rule(kube_status(503, retry_after=5), times=1))
        async with asyncio.TaskGroup() as tasks:
            for _ in range(6):
                tasks.create_task(look(client, namespace))
        (told,) = (request for request in proxy.requests if request.fault == "Answer")
        *others, again = sorted(request.at - told.at for request in proxy.requests if request.at > told.at)
        assert proxy.hits(failing) == 1
        assert len(others) == 5
        assert max(others) < 4.9
        assert again >= 4.99


async def test_retry_after_of_a_busy_server_is_waited_for_by_every_request_of_the_client(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    await make(admin, namespace)
    async with connected(proxy, clock=SystemClock(), limits=Limits(in_flight=1)) as client:
        await look(client, namespace)
        busy = proxy.script(Rule(kube_status(429, retry_after=1), times=1))
        async with asyncio.TaskGroup() as tasks:
            # They stand in line behind the first, which is the one that is told to wait.
            for _ in range(6):
                tasks.create_task(look(client, namespace))
        (told,) = (request for request in proxy.requests if request.fault == "Answer")
        later = [request.at - told.at for request in proxy.requests if request.at > told.at]
        assert proxy.hits(busy) == 1
        assert len(later) == 6
        assert min(later) >= 0.99


async def test_a_watch_that_is_told_to_wait_holds_the_others_back_too(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    await make(admin, namespace)
    async with connected(proxy, clock=SystemClock()) as client, asyncio.TaskGroup() as tasks:
        busy = proxy.script(Rule(kube_status(429, retry_after=1), watch=True, times=1))
        reader = Reader()
        following = tasks.create_task(
            reader.follow(client, scope=Scope(namespace=namespace), patience=Patience())
        )
        await until(lambda: reader.errors, what="the watch is refused")
        await look(client, namespace)
        told, *later = proxy.requests
        assert proxy.hits(busy) == 1
        assert min(request.at - told.at for request in later) >= 0.99
        await until(lambda: reader.lists == 1, what="the watch goes on")
        following.cancel()


@pytest.mark.parametrize(
    "refusal",
    [kube_status(429), kube_status(429, retry_after=0), Answer(429, b"Too many requests")],
    ids=["a Status", "no time to wait", "plain text"],
)
async def test_what_the_server_refused_unread_is_sent_again_even_a_create(
    through_proxy: Client, proxy: FaultProxy, namespace: str, refusal: Answer
) -> None:
    proxy.script(Rule(refusal, method="POST", times=2))
    await make(through_proxy, namespace)
    first, second, third = of(proxy, "POST")
    assert first.at < second.at < third.at
    assert await exists(through_proxy, CONFIG_MAPS, "thing", namespace=namespace)


async def test_a_server_that_stays_overloaded_is_told_as_such_in_the_end(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    proxy.script(Rule(Answer(429, b"Too many requests"), times=None))
    with pytest.raises(TooManyRequests, match="Too many requests") as refused:
        await look(through_proxy, namespace)
    assert refused.value.exit_code == 3
    assert len(proxy.requests) == Limits().tries


@pytest.mark.parametrize("fault", [Reset(after_bytes=0), HalfClose(after_bytes=0), Reset(after_bytes=20)])
async def test_a_create_whose_answer_was_lost_is_not_sent_again(
    through_proxy: Client, proxy: FaultProxy, namespace: str, fault: Fault
) -> None:
    proxy.script(Rule(fault, method="POST", times=1))
    with pytest.raises(Disconnected):
        await make(through_proxy, namespace)
    assert len(of(proxy, "POST")) == 1
    assert await exists(through_proxy, CONFIG_MAPS, "thing", namespace=namespace), "though it was done"


async def test_a_replace_whose_answer_was_lost_is_not_sent_again(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    """aiohttp would by itself; the second one would meet a Conflict with the first."""
    await make(through_proxy, namespace)
    proxy.script(Rule(Reset(after_bytes=0), method="PUT", times=1))
    body = {"metadata": {"name": "thing"}, "data": {"a": "b"}}
    with pytest.raises(Disconnected):
        await through_proxy.replace(CONFIG_MAPS, body, namespace=namespace)
    assert len(of(proxy, "PUT")) == 1


async def test_a_patch_that_the_server_failed_on_is_not_sent_again(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    await make(through_proxy, namespace)
    proxy.script(Rule(kube_status(500), method="PATCH", times=None))
    with pytest.raises(ServerFailure):
        await through_proxy.merge_patch(CONFIG_MAPS, "thing", {"data": {"a": "b"}}, namespace=namespace)
    assert len(of(proxy, "PATCH")) == 1


async def test_what_never_left_is_sent_again_whatever_it_is(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    await proxy.down()
    async with asyncio.TaskGroup() as tasks:
        making = tasks.create_task(make(through_proxy, namespace))
        flow = through_proxy.transport
        assert isinstance(flow, Flow)
        await until(
            lambda: flow.requests["create", "configmaps", "Unreachable"] >= 1, what="the refusal is met"
        )
        await proxy.up()
        await making
    assert len(of(proxy, "POST")) == 1


class Between:
    """Stands between flow and wire, and does something when a delete gets no answer."""

    def __init__(self, inner: Transport, then: Callable[[], Awaitable[object]]) -> None:
        self._inner = inner
        self._then = then

    async def send(self, request: Request) -> Response:
        try:
            return await self._inner.send(request)
        except Disconnected:
            await self._then()
            raise

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


async def test_a_delete_that_is_repeated_after_a_lost_answer_hits_no_new_object_of_that_name(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    uid = await make(admin, namespace)
    made_anew: list[str] = []

    async def make_anew() -> None:
        made_anew.append(await make(admin, namespace))

    lost = proxy.script(Rule(Reset(after_bytes=0), method="DELETE", times=1))
    async with connected(proxy, wrap=lambda inner: Between(inner, make_anew)) as client:
        with pytest.raises(Conflict):
            await client.delete(CONFIG_MAPS, "thing", namespace=namespace, uid=uid, propagation="Background")
    assert proxy.hits(lost) == 1
    assert len(of(proxy, "DELETE")) == 2
    survivor = await admin.get(CONFIG_MAPS, "thing", namespace=namespace, view=METADATA)
    assert [survivor.metadata.uid] == made_anew


async def test_a_delete_that_is_repeated_after_a_lost_answer_finds_that_it_was_done(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    uid = await make(through_proxy, namespace)
    proxy.script(Rule(Reset(after_bytes=0), method="DELETE", times=1))
    deleted = await through_proxy.delete(
        CONFIG_MAPS, "thing", namespace=namespace, uid=uid, propagation="Background"
    )
    assert (deleted.gone, deleted.answered) == (True, False), (
        "it went, most likely by the try without an answer"
    )
    assert not await exists(through_proxy, CONFIG_MAPS, "thing", namespace=namespace)


class Gauge:
    """Counts what is under way between flow and wire, and notes when it left."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.now = 0
        self.most = 0
        self.times: list[float] = []

    async def send(self, request: Request) -> Response:
        self.times.append(asyncio.get_running_loop().time())
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            return await self._inner.send(request)
        finally:
            self.now -= 1

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


@asynccontextmanager
async def gauged(proxy: FaultProxy, limits: Limits) -> AsyncIterator[tuple[Client, Gauge]]:
    gauges: list[Gauge] = []

    def wrap(inner: Transport) -> Transport:
        gauges.append(Gauge(inner))
        return gauges[0]

    async with connected(proxy, limits=limits, wrap=wrap) as client:
        yield client, gauges[0]


async def many(client: Client, namespace: str, number: int) -> None:
    async def one() -> None:
        try:
            await look(client, namespace)
        except SkoupaError:
            return

    async with asyncio.TaskGroup() as tasks:
        for _ in range(number):
            tasks.create_task(one())


async def test_concurrency_grows_while_the_server_keeps_up_and_shrinks_when_it_is_overloaded(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    await make(admin, namespace)
    async with gauged(proxy, Limits(in_flight=24)) as (client, gauge):
        await many(client, namespace, 8)
        begun = gauge.most
        assert 1 <= begun <= 8
        await many(client, namespace, 600)
        assert begun < gauge.most <= 24
        wide = gauge.most

        overloaded = proxy.script(Rule(kube_status(429), times=None))
        await many(client, namespace, 40)
        assert proxy.hits(overloaded) >= 40
        proxy.clear()
        gauge.most = 0
        await many(client, namespace, 3)
        assert gauge.most < wide / 2

        gauge.most = 0
        await many(client, namespace, 600)
        assert gauge.most > 4, "it recovers"


async def test_never_more_than_the_ceiling_leaves_within_a_second(
    proxy: FaultProxy, admin: Client, namespace: str
) -> None:
    await make(admin, namespace)
    ceiling = 30
    async with gauged(proxy, Limits(per_second=ceiling)) as (client, gauge), measured() as lateness:
        await many(client, namespace, 75)
    assert len(gauge.times) == len(proxy.requests) == 75
    seconds = [later - earlier for earlier, later in zip(gauge.times, gauge.times[ceiling:], strict=False)]
    # A busy loop may run one timer late and the one behind it in time.
    assert min(seconds) > 0.95 - lateness.worst


async def test_an_open_watch_takes_nobodys_turn(proxy: FaultProxy, admin: Client, namespace: str) -> None:
    await make(admin, namespace)
    async with connected(proxy, limits=Limits(in_flight=1)) as client, asyncio.TaskGroup() as tasks:
        readers = [Reader() for _ in range(3)]
        following = [
            tasks.create_task(reader.follow(client, scope=Scope(namespace=namespace), patience=Patience()))
            for reader in readers
        ]
        await until(lambda: proxy.open_watches == 3, what="three watches are open")
        async with asyncio.timeout(60):
            await look(client, namespace)
        for task in following:
            task.cancel()


async def test_a_slow_answer_holds_up_only_itself(proxy: FaultProxy, admin: Client, namespace: str) -> None:
    await make(admin, namespace)
    await make(admin, namespace, "slow")
    async with connected(proxy) as client:
        proxy.script(Rule(Slow(delay=300), path=f"/api/v1/namespaces/{namespace}/configmaps/slow", times=1))
        async with asyncio.TaskGroup() as tasks:
            slow = tasks.create_task(look(client, namespace, "slow"))
            await proxy.wait_for(lambda request: request.path.endswith("/slow"), within=60)
            async with asyncio.timeout(60):
                await many(client, namespace, 20)
            assert not slow.done()
            slow.cancel()


async def test_requests_are_counted_by_verb_kind_and_outcome(
    through_proxy: Client, proxy: FaultProxy, namespace: str
) -> None:
    proxy.script(Rule(kube_status(429), method="POST", times=1))
    proxy.script(Rule(Silence(after_bytes=0), method="DELETE", times=1))
    await make(through_proxy, namespace)
    await look(through_proxy, namespace)
    with pytest.raises(NotFound):
        await look(through_proxy, namespace, "nothing")
    flow = through_proxy.transport
    assert isinstance(flow, Flow)
    assert flow.requests == {
        ("create", "configmaps", "429"): 1,
        ("create", "configmaps", "201"): 1,
        ("get", "configmaps", "200"): 1,
        ("get", "configmaps", "404"): 1,
    }
