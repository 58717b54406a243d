"""A dump instead of a cluster: loaded into a cluster in memory, at a moment that stands still.

The moment is that of the dump where it has one: Leases are renewed all the time, so the newest of those tells when it was made. At
another time everything in it would look long overdue. Time does not pass for the objects, but waiting takes its time: expressions are
evaluated in processes of their own.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from skoupa.cli.worlds import STANDARD_INPUT, Work, World
from skoupa.clock import SystemClock
from skoupa.errors import UsageError
from skoupa.expr.instants import parse_rfc3339
from skoupa.kube.client import Client
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content.manifests import Manifest, load, parse

R = TypeVar("R")


class _Standing(SystemClock):
    def __init__(self, moment: float) -> None:
        super().__init__()
        self._moment = moment

    def now(self) -> float:
        return self._moment


def in_dump(work: Work[R], *, sources: tuple[str, ...], now: float | None, namespace: str) -> R:
    """`now` None: the moment of the dump."""
    found: list[Manifest] = []
    for source in sources:
        if source == STANDARD_INPUT:
            found += parse(sys.stdin.read(), file="standard input")
        else:
            found += load(Path(source))
    if not found:
        raise UsageError(f"there are no objects in {', '.join(sources)}", advice="check --from")
    given = frozenset(str(manifest.body["metadata"].get("uid") or "") for manifest in found)
    clock = _Standing(now if now is not None else made_at(found))

    async def main() -> R:
        # Not entered: its controllers do not run, so nothing in it changes while it is looked at.
        cluster = EmbeddedCluster(clock=clock)
        cluster.load(found)
        return await work(World(client=Client(cluster, clock), namespace=namespace, given=given))

    return asyncio.run(main())


def made_at(found: Iterable[Manifest]) -> float:
    """When a dump was made, as far as it tells; else the time it is."""
    renewed = [
        parse_rfc3339(str(manifest.body.get("spec", {}).get("renewTime")))
        for manifest in found
        if manifest.kind == "Lease" and isinstance(manifest.body.get("spec"), dict)
    ]
    return max((float(one) for one in renewed if isinstance(one, int)), default=time.time())
