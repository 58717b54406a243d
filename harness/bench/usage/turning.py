"""Builds and bare lists in turns, in a process of their own, which prints a `Measured`.

`python -m harness.bench.usage.turning --kubeconfig PATH` does so on a server, and with `--namespaces NUMBER` on the embedded cluster with
the objects of `templates` in it. There the list has neither a server nor a network to wait for: it is bytes that are
put together, and so the plain objects that any other client would make of them are what a build is compared with.
"""

from __future__ import annotations

import argparse
import sys

import msgspec
import uvloop

from harness.bench.usage import templates
from harness.bench.usage.building import Measured, turns
from skoupa.clock import SystemClock
from skoupa.kube.client import Client
from skoupa.kube.http import HttpTransport
from skoupa.kube.login import kubeconfig
from skoupa.sim.cluster import EmbeddedCluster


async def on_server(path: str, *, times: int) -> Measured:
    clock = SystemClock()
    async with HttpTransport(kubeconfig.load(kubeconfig=path), clock) as transport:
        return await turns(Client(transport, clock), times=times)


async def embedded(namespaces: int, *, times: int, plain: bool) -> Measured:
    clock = SystemClock()
    cluster = EmbeddedCluster(clock=clock)
    cluster.fill(templates.objects(namespaces))
    return await turns(Client(cluster, clock), times=times, plain=plain)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m harness.bench.usage.turning")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--kubeconfig")
    where.add_argument("--namespaces", type=int)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--plain", action="store_true", help="the list makes plain objects of what it reads")
    asked = parser.parse_args()
    if asked.kubeconfig:
        found = uvloop.run(on_server(asked.kubeconfig, times=asked.times))
    else:
        found = uvloop.run(embedded(asked.namespaces, times=asked.times, plain=asked.plain))
    sys.stdout.buffer.write(msgspec.json.encode(found))


if __name__ == "__main__":
    main()
