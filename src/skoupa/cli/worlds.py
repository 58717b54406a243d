"""Where a command looks: a cluster, or manifests that are loaded into a cluster in memory whose clock stands still.

Times are the server's: a laptop whose clock is off must not show another plan than the controller follows.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from skoupa.cli.options import Connecting
from skoupa.clock import SystemClock
from skoupa.errors import UsageError
from skoupa.expr.instants import parse_rfc3339
from skoupa.judge.circumstances import SKEW_SECONDS
from skoupa.kube.client import Client
from skoupa.kube.login.secret import Secret

R = TypeVar("R")
STANDARD_INPUT: Final = "-"


async def _no_token() -> Secret:
    return Secret()


class StandingClock(SystemClock):
    """The time that it is does not pass; waiting does, for processes that expressions run in take their time."""

    def __init__(self, moment: float) -> None:
        super().__init__()
        self._moment = moment

    def now(self) -> float:
        return self._moment


class World(msgspec.Struct, frozen=True, kw_only=True):
    """`namespace` is the one to look at unless told otherwise; empty: all. `cluster` is the server's address.

    `as_user` is whom --as names, `token` what we show the server, if that is how we prove who we are. `given` are the uids that manifests brought; others are made up and not shown. None: all are the server's.
    `as_caller` opens another way to the same cluster where --as names somebody: with our own rights.
    `brought` are the objects of manifests, as `named_in` tells them: a cluster in memory has some of its own besides.
    `secrets_known`: False where the manifests lack the values of Secrets, as a snapshot does.
    """

    client: Client
    namespace: str
    cluster: str = ""
    as_user: str = ""
    as_caller: Callable[[], AbstractAsyncContextManager[Client]] | None = None
    skew: Callable[[], float] = lambda: 0.0
    given: frozenset[str] | None = None
    brought: frozenset[tuple[str, str, str]] = frozenset()
    secrets_known: bool = True
    token: Callable[[], Awaitable[Secret]] = _no_token

    def now(self) -> float:
        skew = self.skew()
        return self.client.clock.now() + (skew if abs(skew) >= SKEW_SECONDS else 0.0)


Work = Callable[[World], Coroutine[Any, Any, R]]


def in_cluster(work: Work[R], *, connecting: Connecting) -> R:
    # The HTTP client is half of the start-up time of a command, and manifests need none.
    from skoupa.cli.connect import reached, run_async  # noqa: PLC0415

    @asynccontextmanager
    async def as_caller() -> AsyncIterator[Client]:
        async with reached(connecting._replace(as_user=None)) as cluster:
            yield cluster.client

    async def main() -> R:
        async with reached(connecting) as cluster:
            return await work(
                World(
                    client=cluster.client,
                    namespace=cluster.connection.namespace,
                    cluster=cluster.connection.server,
                    as_user=connecting.as_user or "",
                    as_caller=as_caller if connecting.as_user else None,
                    skew=lambda: cluster.meter.skew,
                    token=cluster.token,
                )
            )

    return run_async(main())


def in_files(work: Work[R], *, sources: tuple[str, ...], now: float | None, namespace: str) -> R:
    """`now` None: the moment at which the manifests were dumped."""
    # The cluster in memory is needed by nobody else here.
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

    brought = named_in(manifest.body for manifest in found)

    async def main() -> R:
        clock = StandingClock(now if now is not None else dumped_at(manifest.body for manifest in found))
        # Not entered: its controllers do not run, so nothing in it changes while it is looked at.
        cluster = EmbeddedCluster(clock=clock)
        cluster.load(found)
        client = Client(cluster, clock)
        return await work(
            World(
                client=client,
                namespace=namespace,
                given=given,
                brought=brought,
                secrets_known=not any(_lacks_values(manifest.body) for manifest in found),
            )
        )

    return asyncio.run(main())


def named_in(bodies: Iterable[Mapping[str, Any]]) -> frozenset[tuple[str, str, str]]:
    """Kind, namespace and name of objects; what names no namespace is in none, or in the default one."""
    return frozenset(
        (str(body.get("kind")), str(place), str(body["metadata"].get("name")))
        for body in bodies
        for place in (
            (body["metadata"]["namespace"],) if body["metadata"].get("namespace") else ("", "default")
        )
    )


def _lacks_values(body: Mapping[str, Any]) -> bool:
    """A Secret with keys and nothing behind them, as `snapshot` writes it: empty values would be taken for its own."""
    data = body.get("data")
    return body.get("kind") == "Secret" and isinstance(data, dict) and bool(data) and not any(data.values())


def dumped_at(bodies: Iterable[Mapping[str, Any]]) -> float:
    """When a dump was made, as far as it tells: Leases are renewed all the time, so the newest. Else the time it is.

    At another time everything in it would look long overdue. A time that is still to come was made up by somebody.
    """
    here = time.time()
    specs = [body.get("spec") for body in bodies if body.get("kind") == "Lease"]
    renewed = [parse_rfc3339(str(spec.get("renewTime"))) for spec in specs if isinstance(spec, dict)]
    return max((float(one) for one in renewed if isinstance(one, int) and one <= here), default=here)
