"""An embedded cluster with two namespaces, and what a policy gets when it asks there."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from skoupa.clock import Clock, SystemClock
from skoupa.expr.cel.messages import Question
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.runs.calls.outside import Outside, PolicyCalls
from skoupa.settings import PolicySettings
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.runs.calls.serving import Names


class Counting:
    """A transport that notes the paths it is asked for."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.paths: list[str] = []

    async def send(self, request: Request) -> Response:
        self.paths.append(request.path)
        return await self._inner.send(request)

    def stream(self, request: Request) -> Any:
        self.paths.append(request.path)
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()


class Stage:
    def __init__(self, cluster: EmbeddedCluster, settings: PolicySettings, **more: Any) -> None:
        self.cluster = cluster
        self.wire = Counting(more.pop("transport", cluster))
        self.client = Client(self.wire, cluster.clock)
        self.outside = Outside(self.client, settings=settings, **more)

    async def calls(self, namespace: str = "", *, since: float = -math.inf) -> PolicyCalls:
        """Those of a run that begins now."""
        discovery = await discover(Client(self.cluster, self.cluster.clock))
        return self.outside.calls(namespace=namespace, discovery=discovery, since=since)

    async def config_map(self, name: str, namespace: str, **data: str) -> dict[str, Any]:
        body = {"metadata": {"name": name, "labels": {"app": name}}, "data": data}
        return await self.client.create(CONFIG_MAPS, body, namespace=namespace)

    async def entry(self, name: str, **spec: Any) -> None:
        await self.client.create(
            GLOBAL_CONTEXT_ENTRIES,
            {
                "apiVersion": GLOBAL_CONTEXT_ENTRIES.api_version,
                "kind": GLOBAL_CONTEXT_ENTRIES.kind,
                "metadata": {"name": name},
                "spec": spec,
            },
        )

    def asked(self, part: str) -> int:
        return sum(part in path for path in self.wire.paths)


@asynccontextmanager
async def staged(
    settings: PolicySettings | None = None,
    *,
    clock: Clock | None = None,
    namespaces: Iterable[str] = ("shop", "bank"),
    services: bool = True,
    lookup: Names | None = None,
) -> AsyncIterator[Stage]:
    cluster = EmbeddedCluster(clock=clock or SystemClock())
    cluster.install(GLOBAL_CONTEXT_ENTRIES)
    stage = Stage(cluster, settings or PolicySettings(), services=services, lookup=lookup)
    for name in namespaces:
        await stage.client.create(NAMESPACES, {"metadata": {"name": name}})
    await stage.config_map("prices", "shop", pear="3")
    await stage.config_map("vault", "bank", pin="1234")
    try:
        yield stage
    finally:
        await stage.outside.close()


async def answer(calls: PolicyCalls, question: Question) -> Any:
    return msgspec.json.decode(await calls.broker.answer(question))


class Endless:
    """An API server whose answer does not end: pieces come for as long as somebody reads, or nothing comes at all."""

    def __init__(self, piece: bytes = b"", *, wait: Any = None) -> None:
        self._piece = piece
        self._wait = wait
        self.sent = 0

    async def send(self, request: Request) -> Response:
        raise AssertionError("what a policy asks for is read in pieces")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        yield self  # type: ignore[misc] # it is both

    @property
    def status(self) -> int:
        return 200

    @property
    def headers(self) -> dict[str, str]:
        return {}

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            if self._wait is not None:
                await self._wait.wait()
            self.sent += len(self._piece)
            yield self._piece

    async def close(self) -> None:
        """There is nothing to let go."""
