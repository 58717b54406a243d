"""Where a command looks: a cluster, or manifests that are loaded into a cluster in memory whose clock stands still.

Times are the server's: a laptop whose clock is off must not show another plan than the controller follows. Identities
that the memory had to make up for manifests without any are not shown.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from skoupa.cli.connect import reached, run_async
from skoupa.cli.options import Connecting
from skoupa.errors import UsageError
from skoupa.judge.circumstances import SKEW_SECONDS
from skoupa.kube.client import Client

R = TypeVar("R")
STANDARD_INPUT: Final = "-"


class World(msgspec.Struct, frozen=True, kw_only=True):
    """`namespace` is the one to look at unless told otherwise; empty: all. `made_up` are identities nobody gave."""

    client: Client
    namespace: str
    skew: Callable[[], float] = lambda: 0.0
    made_up: frozenset[str] = frozenset()

    def now(self) -> float:
        skew = self.skew()
        return self.client.clock.now() + (skew if abs(skew) >= SKEW_SECONDS else 0.0)


Work = Callable[[World], Coroutine[Any, Any, R]]


def in_cluster(work: Work[R], *, connecting: Connecting) -> R:
    async def main() -> R:
        async with reached(connecting) as cluster:
            return await work(
                World(
                    client=cluster.client,
                    namespace=cluster.connection.namespace,
                    skew=lambda: cluster.meter.skew,
                )
            )

    return run_async(main())


def in_files(work: Work[R], *, sources: tuple[str, ...], now: float, namespace: str) -> R:
    # The cluster in memory is needed by nobody else here.
    from skoupa.sim import manifests  # noqa: PLC0415
    from skoupa.sim.clock import VirtualClock, run  # noqa: PLC0415
    from skoupa.sim.cluster import EmbeddedCluster  # noqa: PLC0415
    from skoupa.sim.kinds import BUILT_IN  # noqa: PLC0415

    found: list[manifests.Manifest] = []
    for source in sources:
        if source == STANDARD_INPUT:
            found += manifests.parse(sys.stdin.read(), file="standard input")
        else:
            found += manifests.load(Path(source))
    if not found:
        raise UsageError(f"there are no objects in {', '.join(sources)}", advice="check --from")
    given = {str(manifest.body["metadata"].get("uid") or "") for manifest in found}

    async def main(clock: VirtualClock) -> R:
        # Not entered: its controllers do not run, so nothing in it changes while it is looked at.
        cluster = EmbeddedCluster(clock=clock)
        cluster.load(
            (manifest.body for manifest in found), resources=manifests.missing_kinds(found, BUILT_IN)
        )
        made_up = {uid for uid in _identities(cluster) if uid not in given}
        world = World(client=Client(cluster, clock), namespace=namespace, made_up=frozenset(made_up))
        return await work(world)

    def _identities(cluster: EmbeddedCluster) -> list[str]:
        return [row.uid for shelf in cluster.plane.store.shelves.values() for row in shelf.rows.values()]

    return run(main, start=now)
