"""From the options of a command to a client of the cluster that they mean."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import msgspec

from skoupa.cli.options import Connecting
from skoupa.clock import SystemClock
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow
from skoupa.kube.http import HttpTransport
from skoupa.kube.login import kubeconfig
from skoupa.kube.login.connection import Connection
from skoupa.kube.login.secret import Secret
from skoupa.kube.skew import SkewMeter

R = TypeVar("R")


class Reached(msgspec.Struct, frozen=True):
    """A cluster, the way to it, how far its clock is from ours, and the token that we show there, if any."""

    client: Client
    connection: Connection
    meter: SkewMeter
    token: Callable[[], Awaitable[Secret]]


@asynccontextmanager
async def reached(connecting: Connecting) -> AsyncIterator[Reached]:
    connection = kubeconfig.load(
        kubeconfig=connecting.kubeconfig,
        context=connecting.context,
        namespace=connecting.namespace,
        as_user=connecting.as_user,
    )
    clock = SystemClock()
    # A person's machine is usually far from the cluster: there compression pays.
    async with HttpTransport(connection, clock, compress=True) as transport:
        meter = SkewMeter(transport, clock)
        yield Reached(Client(Flow(meter, clock), clock), connection, meter, transport.bearer)


@asynccontextmanager
async def connected(connecting: Connecting) -> AsyncIterator[tuple[Client, Connection]]:
    async with reached(connecting) as cluster:
        yield cluster.client, cluster.connection


def run_async(work: Coroutine[Any, Any, R]) -> R:
    """On uvloop where it is installed: an idle watch costs a quarter of the memory there."""
    if sys.platform != "win32":
        try:
            import uvloop  # noqa: PLC0415
        except ImportError:
            pass
        else:
            return uvloop.run(work)
    return asyncio.run(work)
