"""A controller's desk over real HTTP, before a cluster in memory that stands for the API server on the way."""

from __future__ import annotations

import asyncio
import io
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from skoupa.cli.remembering.asking import ControllerSource
from skoupa.clock import SystemClock
from skoupa.errors import Status
from skoupa.kube.client import Client
from skoupa.kube.login.secret import Secret
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.transport import Request, Response, Stream
from skoupa.ledger.rows import Entry
from skoupa.ledger.sqlite import SqliteStore
from skoupa.ledger.store import Finish, Intent, Store
from skoupa.ledger.trash.contents import Kept, NotKept, packed
from skoupa.ledger.trash.sealing import Key, Seal
from skoupa.report.endpoints import listening
from skoupa.report.log import Log
from skoupa.report.opinions import Insight, Opinions
from skoupa.settings import Settings
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.state.access import Rule
from skoupa.web.serving import Desk
from tests.unit.ledger.entries import CLUSTER, entry

_PROXIED = re.compile(
    r"/api/v1/namespaces/(?P<home>[^/]+)/services/(?P<scheme>https?):skoupa:api/proxy(?P<path>/.*)"
)
ADMIN, ANNA, BEN = "token-of-admin", "token-of-anna", "token-of-ben"


class Ticking(SystemClock):
    """The machine's clock, moved on by hand."""

    def __init__(self) -> None:
        super().__init__(0)
        self.ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


class ServiceProxy:
    """A transport that hands on what goes to the controller, without the caller's credentials, over plain HTTP."""

    def __init__(self, cluster: EmbeddedCluster, address: str) -> None:
        self.cluster = cluster
        self.address = address
        self.asked: list[str] = []

    async def send(self, request: Request) -> Response:
        found = _PROXIED.fullmatch(request.path)
        if found is None or found["home"] != "skoupa":
            return await self.cluster.send(request)
        self.asked.append(f"{request.method} {found['scheme']} {found['path']}")
        if found["scheme"] == "https":
            return _trouble(
                "error trying to reach service: tls: first record does not look like a TLS handshake"
            )
        headers = [(name, value) for name, value in request.headers if name != "Authorization"]
        url = f"http://{self.address}{found['path']}"
        async with (
            aiohttp.ClientSession() as session,
            session.request(
                request.method, url, params=request.query, headers=headers, data=request.body or None
            ) as answer,
        ):
            lower = {name.lower(): value for name, value in answer.headers.items()}
            return Response(status=answer.status, headers=lower, body=await answer.read())

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        yield _Whole(await self.send(request))

    async def close(self) -> None:
        pass


class _Whole:
    def __init__(self, response: Response) -> None:
        self.status = response.status
        self.headers = response.headers
        self._body = response.body

    async def chunks(self) -> Any:
        # Cut anywhere, as a network does.
        for start in range(0, len(self._body), 1000):
            yield self._body[start : start + 1000]


def _trouble(message: str) -> Response:
    status = Status(code=503, reason="ServiceUnavailable", message=message, status="Failure")
    return Response(status=503, body=msgspec.json.encode(status))


class Office:
    """A controller with a ledger, and people who ask it: ANNA may read ConfigMaps in shop, BEN nothing, ADMIN all."""

    def __init__(self, cluster: EmbeddedCluster, store: Store, *, proxy: ServiceProxy, desk: Desk) -> None:
        self.cluster = cluster
        self.store = store
        self.proxy = proxy
        self.desk = desk

    def asked_by(self, token: str) -> ControllerSource:
        async def shown() -> Secret:
            return Secret(token)

        return ControllerSource(Client(self.proxy, self.cluster.clock), namespace="skoupa", token=shown)

    @property
    def reviews(self) -> int:
        return int(self.cluster.statistics()["requests"].get("review", 0))

    async def went(
        self,
        *,
        keys: tuple[Key, ...] = (),
        along: tuple[str, ...] = (),
        gaps: tuple[NotKept | str, ...] = (),
        **fields: Any,
    ) -> Entry:
        """A row of something deleted, kept in the trash with Secrets of these names that went along."""
        where = {"kind": "ConfigMap", "resource": "configmaps", "api_version": "v1", **fields}
        made = entry(**where)
        seal = Seal(cluster=CLUSTER, keys=keys)
        own = _kept(made.resource, made.namespace, made.name, uid=made.uid)
        parts = [msgspec.structs.replace(own, gaps=gaps)]
        inside = made.name if made.resource == NAMESPACES.qualified else made.namespace
        parts += [_kept("secrets", inside, name, uid=f"{made.uid}-{name}") for name in along]
        bodies = [
            seal.close(packed(kept), uid=made.uid, part=kept.part if number else "")
            for number, kept in enumerate(parts)
        ]
        await self.store.write([Intent(entry=made, bodies=tuple(bodies))])
        await self.store.write([Finish(uid=made.uid, epoch=made.epoch, outcome="deleted", at=made.at + 1)])
        found = await self.store.get(made.id)
        assert found is not None
        return found


def _kept(resource: str, namespace: str, name: str, *, uid: str) -> Kept:
    manifest = {"metadata": {"name": name, "namespace": namespace}, "data": {"value": f"value-of-{name}"}}
    return Kept(
        api_version="v1",
        kind=resource,
        resource=resource,
        namespaced=True,
        name=name,
        namespace=namespace,
        uid=uid,
        manifest=manifest,
    )


@asynccontextmanager
async def open_office(
    directory: Path,
    *,
    settings: Settings | None = None,
    store: Store | None = None,
    log: Log | None = None,
    opinions: Opinions | None = None,
    insight: Insight | None = None,
    acting: str = "",
) -> AsyncIterator[Office]:
    """`acting` is who the controller is; without one it may do everything."""
    clock = Ticking()
    cluster = EmbeddedCluster(clock=clock)
    for token, user in ((ADMIN, "admin"), (ANNA, "anna"), (BEN, "ben")):
        cluster.issue(token, user=user)
    cluster.allow_only(
        "anna", [Rule(verbs=("get", "create", "delete"), resources=("configmaps",), namespaces=("shop",))]
    )
    cluster.allow_only("ben", [])
    # Older than every row.
    for namespace in ("shop", "lab"):
        make_namespace(cluster, namespace, at="1969-12-31T00:00:00Z")
    kept = store or SqliteStore(directory / "ledger.db", cluster=CLUSTER)
    await kept.open()
    desk = Desk(
        Client(cluster.as_user(acting) if acting else cluster, clock),
        kept,
        settings=settings or Settings(),
        log=log or Log(clock, stream=io.StringIO()),
        opinions=opinions,
        insight=insight,
    )
    try:
        served = listening(desk.application(), "127.0.0.1:0", setting="api.address")
        async with desk.working(), served as address:
            yield Office(cluster, kept, proxy=ServiceProxy(cluster, address), desk=desk)
    finally:
        await kept.close()


def make_namespace(cluster: EmbeddedCluster, name: str, *, at: str) -> None:
    metadata = {"name": name, "creationTimestamp": at}
    cluster.load([{"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}])


async def until(condition: Callable[[], object], *, seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)
