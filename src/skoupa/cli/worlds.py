"""Where a command looks: a cluster, or manifests that are loaded into a cluster in memory whose clock stands still.

Times are the server's: a laptop whose clock is off must not show another plan than the controller follows.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from skoupa.cli.options import Connecting
from skoupa.errors import UsageError
from skoupa.judge.circumstances import SKEW_SECONDS
from skoupa.kube.client import Client
from skoupa.kube.login.secret import Secret

R = TypeVar("R")
STANDARD_INPUT: Final = "-"


async def _no_token() -> Secret:
    return Secret()


class World(msgspec.Struct, frozen=True, kw_only=True):
    """`namespace` is the one to look at unless told otherwise; empty: all. `cluster` is the server's address.

    `as_user` is whom --as names, `token` what we show the server, if that is how we prove who we are. `given` are the uids that manifests brought; others are made up and not shown. None: all are the server's.
    """

    client: Client
    namespace: str
    cluster: str = ""
    as_user: str = ""
    skew: Callable[[], float] = lambda: 0.0
    given: frozenset[str] | None = None
    token: Callable[[], Awaitable[Secret]] = _no_token

    def now(self) -> float:
        skew = self.skew()
        return self.client.clock.now() + (skew if abs(skew) >= SKEW_SECONDS else 0.0)


Work = Callable[[World], Coroutine[Any, Any, R]]


def in_cluster(work: Work[R], *, connecting: Connecting) -> R:
    # The HTTP client is half of the start-up time of a command, and manifests need none.
    from skoupa.cli.connect import reached, run_async  # noqa: PLC0415

    async def main() -> R:
        async with reached(connecting) as cluster:
            return await work(
                World(
                    client=cluster.client,
                    namespace=cluster.connection.namespace,
                    cluster=cluster.connection.server,
                    as_user=connecting.as_user or "",
                    skew=lambda: cluster.meter.skew,
                    token=cluster.token,
                )
            )

    return run_async(main())


def in_files(work: Work[R], *, sources: tuple[str, ...], now: float, namespace: str) -> R:
    # The cluster in memory is needed by nobody else here.
    from skoupa.sim.clock import VirtualClock, run  # noqa: PLC0415
    from skoupa.sim.cluster import EmbeddedCluster  # noqa: PLC0415
    from skoupa.sim.content import manifests  # noqa: PLC0415

    found: list[manifests.Manifest] = []
    for source in sources:
        if source == STANDARD_INPUT:
            found += manifests.parse(sys.stdin.read(), file="standard input")
        else:
            found += manifests.load(Path(source))
    if not found:
        raise UsageError(f"there are no objects in {', '.join(sources)}", advice="check --from")
    given = frozenset(str(manifest.body["metadata"].get("uid") or "") for manifest in found)

    async def main(clock: VirtualClock) -> R:
        # Not entered: its controllers do not run, so nothing in it changes while it is looked at.
        cluster = EmbeddedCluster(clock=clock)
        cluster.load(found)
        return await work(World(client=Client(cluster, clock), namespace=namespace, given=given))

    return run(main, start=now)
