"""The control plane, a client of it, and masses of labelled objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar

from harness.controlplane import Access
from skoupa import names
from skoupa.clock import SystemClock
from skoupa.errors import AlreadyExists, NotFound
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.http import HttpTransport
from skoupa.kube.lists import count
from skoupa.kube.login import kubeconfig
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES

T = TypeVar("T")

IN_FLIGHT: Final = 64
# Where controllers keep their Lease and their state.
HOME: Final = "skoupa-bench"


class Arena:
    def __init__(self, access: Access, client: Client, transport: HttpTransport) -> None:
        self.access = access
        self.client = client
        self.transport = transport

    async def namespace(self, name: str) -> str:
        with suppress(AlreadyExists):
            await self.client.create(NAMESPACES, {"metadata": {"name": name}})
        return name

    async def forget_state(self) -> None:
        with suppress(NotFound):
            found = await self.client.get(CONFIG_MAPS, names.STATE_CONFIG_MAP, namespace=HOME, view=METADATA)
            await self.client.delete(
                CONFIG_MAPS,
                names.STATE_CONFIG_MAP,
                namespace=HOME,
                uid=found.metadata.uid,
                propagation="Background",
            )

    @asynccontextmanager
    async def custom_kinds(self, number: int) -> AsyncIterator[None]:
        """Kinds beside the server's own, as every cluster has them by the dozen; they go again at the end."""
        made = [await self.client.create(CUSTOM_RESOURCE_DEFINITIONS, _definition(i)) for i in range(number)]
        try:
            yield
        finally:
            for found in made:
                await self.client.delete(
                    CUSTOM_RESOURCE_DEFINITIONS,
                    found["metadata"]["name"],
                    uid=found["metadata"]["uid"],
                    propagation="Background",
                )

    async def fill(
        self, namespace: str, number: int, *, ttl: Callable[[int], str], data: str = "x" * 100
    ) -> None:
        """Creates that many labelled ConfigMaps as fast as the server takes them."""

        async def create(index: int) -> None:
            metadata = {"name": f"cm-{index:06d}", "labels": {names.TTL_LABEL: ttl(index), "app": "bench"}}
            await self.client.create(
                CONFIG_MAPS, {"metadata": metadata, "data": {"x": data}}, namespace=namespace
            )

        await send_each(range(number), create)

    async def left(self, namespace: str) -> int:
        """How many ConfigMaps are there, but for the one that every namespace has."""
        return max(0, await count(self.client, CONFIG_MAPS, namespace=namespace) - 1)


async def send_each(items: Iterable[T], send: Callable[[T], Awaitable[Any]]) -> None:
    """As many at once as the client lets out."""
    ahead = iter(items)

    async def work() -> None:
        for item in ahead:
            await send(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())


def _definition(index: int) -> dict[str, Any]:
    plural, kind = f"things{index}", f"Thing{index}"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "metadata": {"name": f"{plural}.bench.example"},
        "spec": {
            "group": "bench.example",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


@asynccontextmanager
async def arena(access: Access) -> AsyncIterator[Arena]:
    clock = SystemClock()
    connection = kubeconfig.load(kubeconfig=str(access.kubeconfig))
    async with HttpTransport(connection, clock) as transport:
        client = Client(Flow(transport, clock, limits=Limits(in_flight=IN_FLIGHT)), clock)
        yield Arena(access, client, transport)
