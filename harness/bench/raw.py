"""The physical limit: our best bare client, with the same preconditions and nothing else to do.

Run as a process of its own (`python -m harness.bench.raw KUBECONFIG NAMESPACE IN_FLIGHT`), as the controller is, so that
both have the machine to themselves in the same way. It deletes all that is there, with `--read` after a GET of each, or
with `--copy-to` creates the same in another namespace. It prints the seconds that this took, without the list before.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import uvloop

from skoupa.clock import SystemClock
from skoupa.kube.client import Client
from skoupa.kube.http import HttpTransport
from skoupa.kube.lists import Scope, everything
from skoupa.kube.login import kubeconfig
from skoupa.kube.objects import METADATA, WHOLE, Partial
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request
from skoupa.ledger.trash.manifests import stripped

T = TypeVar("T")


async def delete_all(client: Client, namespace: str, *, in_flight: int, read: bool) -> float:
    found = await everything(client, CONFIG_MAPS, METADATA, scope=_scope(namespace))

    async def delete(item: Partial) -> None:
        meta = item.metadata
        if read:
            # As bytes: what becomes of them is not the server's work.
            path = CONFIG_MAPS.path(namespace=namespace, name=meta.name)
            headers = client.headers(("Accept", WHOLE.accept(many=False)))
            await client.ask(Request(path=path, headers=headers), doing="read")
        await client.delete(
            CONFIG_MAPS,
            meta.name,
            namespace=namespace,
            uid=meta.uid,
            resource_version=meta.resource_version,
            propagation="Background",
        )

    return await _seconds(found.items, delete, in_flight=in_flight)


async def copy_all(client: Client, namespace: str, *, in_flight: int, target: str) -> float:
    found = await everything(client, CONFIG_MAPS, WHOLE, scope=_scope(namespace))
    manifests = [stripped(item, CONFIG_MAPS) for item in found.items]
    for manifest in manifests:
        manifest["metadata"] = {**manifest["metadata"], "namespace": target}

    async def create(manifest: dict[str, Any]) -> None:
        await client.create(CONFIG_MAPS, manifest, namespace=target)

    return await _seconds(manifests, create, in_flight=in_flight)


def _scope(namespace: str) -> Scope:
    return Scope(namespace=namespace, labels="app=bench")


async def _seconds(items: Iterable[T], send: Callable[[T], Awaitable[None]], *, in_flight: int) -> float:
    ahead = iter(items)

    async def work() -> None:
        for item in ahead:
            await send(item)

    started = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for _ in range(in_flight):
            group.create_task(work())
    return time.monotonic() - started


async def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m harness.bench.raw")
    parser.add_argument("kubeconfig")
    parser.add_argument("namespace")
    parser.add_argument("in_flight", type=int)
    parser.add_argument("--read", action="store_true", help="GET each object before it goes")
    parser.add_argument("--copy-to", metavar="NAMESPACE", help="create the same there instead")
    asked = parser.parse_args()
    clock = SystemClock()
    async with AsyncExitStack() as stack:
        connection = kubeconfig.load(kubeconfig=asked.kubeconfig)
        client = Client(await stack.enter_async_context(HttpTransport(connection, clock)), clock)
        if asked.copy_to:
            took = await copy_all(client, asked.namespace, in_flight=asked.in_flight, target=asked.copy_to)
        else:
            took = await delete_all(client, asked.namespace, in_flight=asked.in_flight, read=asked.read)
    print(took)


if __name__ == "__main__":
    uvloop.run(main())
