"""What a run costs that reads everything: `python -m harness.bench.naive KUBECONFIG` lists all ConfigMaps at once, whole.

With our own transport, compressed as client-go asks for it, and as plain dicts. Prints the CPU seconds from start to end and
the most bytes that it had in memory.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import uvloop

from skoupa.clock import SystemClock
from skoupa.kube.client import Client
from skoupa.kube.http import HttpTransport
from skoupa.kube.login import kubeconfig
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request


async def main(path: str) -> None:
    clock = SystemClock()
    async with HttpTransport(kubeconfig.load(kubeconfig=path), clock, compress=True) as transport:
        client = Client(transport, clock)
        answer = await client.ask(
            Request(
                path=CONFIG_MAPS.path(), headers=client.headers(("Accept", "application/json")), timeout=120
            ),
            doing="list",
        )
        if not json.loads(answer.body)["items"]:
            raise RuntimeError("there is nothing to list")
    print(time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
