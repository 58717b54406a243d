"""A cluster in memory, rows of what is in it, and a keeper before it that counts what it asks."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from skoupa.facts.rows import Extraction, Row
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.ledger.rows import Body, Unkept
from skoupa.ledger.trash.contents import Kept
from skoupa.ledger.trash.keeper import Keeper, Keeping
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold, Propagation
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.kinds import BUILT_IN
from tests.unit.cli.worlds import NOON

R = TypeVar("R")
KINDS = {resource.qualified: resource for resource in BUILT_IN}
KEY = Key(b"k" * 32)


def claim(propagation: Propagation = "Background") -> Claim:
    return Claim(
        mechanism="ttl",
        rule="cleanup.kyverno.io/ttl=1h",
        due=NOON,
        reason=reason("ttl-date", key="cleanup.kyverno.io/ttl", value="1h"),
        propagation=propagation,
    )


class Counting:
    """Counts requests by verb and kind, refuses those that `refuse` names, and answers others with `instead`."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.asked: Counter[tuple[str, str]] = Counter()
        self.refuse: dict[tuple[str, str], int] = {}
        self.instead: dict[tuple[str, str], bytes] = {}

    async def send(self, request: Request) -> Response:
        key = (request.verb, request.kind)
        self.asked[key] += 1
        if key in self.refuse:
            return Response(
                status=self.refuse[key], body=b'{"kind":"Status","message":"refused by the test"}'
            )
        if key in self.instead:
            return Response(status=200, body=self.instead[key])
        return await self._inner.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as stream:
            yield stream

    async def close(self) -> None:
        await self._inner.close()


class Shop:
    """What a test holds in its hands."""

    def __init__(self, cluster: EmbeddedCluster, clock: VirtualClock, discovery: Discovery) -> None:
        self.cluster = cluster
        self.clock = clock
        self.wire = Counting(cluster)
        self.client = Client(self.wire, clock)
        self.discovery = discovery

    def keeper(self, *keys: Key, named: Callable[[Row], bool] = lambda _: False, **keeping: Any) -> Keeper:
        return Keeper(
            self.client,
            seal=lambda: Seal(cluster="east", keys=keys),
            discovery=lambda: self.discovery,
            keeping=Keeping(**keeping),
            named=named,
        )

    def kind(self, qualified: str) -> Resource:
        return next(one for one in self.discovery.resources if one.qualified == qualified)

    async def row(self, kind: str, name: str, *, namespace: str = "shop") -> Row:
        resource = self.kind(kind)
        where = namespace if resource.namespaced else ""
        found = await self.client.get(resource, name, namespace=where, view=METADATA)
        return Extraction().row(resource, found)


def opened(bodies: tuple[Body, ...] | Unkept | Hold, row: Row, *keys: Key) -> list[Kept]:
    from skoupa.facts.rows import uid_text

    assert isinstance(bodies, tuple), bodies
    seal = Seal(cluster="east", keys=keys)
    return [seal.open(body, uid=uid_text(row.uid)) for body in bodies]


def in_shop(work: Callable[[Shop], Coroutine[Any, Any, R]], *objects: Mapping[str, Any]) -> R:
    async def main(clock: VirtualClock) -> R:
        cluster = EmbeddedCluster(clock=clock)
        cluster.load(objects)
        discovery = await discover(Client(cluster, clock))
        return await work(Shop(cluster, clock, discovery))

    return run(main, start=NOON)
