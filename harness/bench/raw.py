"""The physical limit: our best bare client, with the same preconditions and nothing else to do.

Run as a process of its own (`python -m harness.bench.raw KUBECONFIG NAMESPACE`), as the controller is, so that both have
the machine to themselves in the same way. It prints the seconds that its deletes took.
"""

from __future__ import annotations

import asyncio
import sys
import time

import uvloop

from skoupa.clock import SystemClock
from skoupa.kube.client import Client
from skoupa.kube.http import HttpTransport
from skoupa.kube.lists import Scope, everything
from skoupa.kube.login import kubeconfig
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS


async def delete_all(file: str, namespace: str, *, in_flight: int) -> float:
    clock = SystemClock()
    async with HttpTransport(kubeconfig.load(kubeconfig=file), clock) as transport:
        client = Client(transport, clock)
        found = await everything(
            client, CONFIG_MAPS, METADATA, scope=Scope(namespace=namespace, labels="app=bench")
        )
        items = iter(found.items)

        async def work() -> None:
            for item in items:
                meta = item.metadata
                await client.delete(
                    CONFIG_MAPS,
                    meta.name,
                    namespace=namespace,
                    uid=meta.uid,
                    resource_version=meta.resource_version,
                    propagation="Background",
                )

        started = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for _ in range(in_flight):
                group.create_task(work())
        return time.monotonic() - started


if __name__ == "__main__":
    print(uvloop.run(delete_all(sys.argv[1], sys.argv[2], in_flight=int(sys.argv[3]))))
