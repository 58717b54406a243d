"""Ways to the control plane: a client with a kubeconfig, or one whose answers go through the fault proxy.

Waiting is always for a condition. `Hasty` makes pauses between tries short, so that many faults fit into a second;
it shortens no deadline.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from harness.controlplane import Access, ControlPlane
from harness.faultproxy import FaultProxy
from skoupa.clock import Clock, SystemClock
from skoupa.errors import NotFound, SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.http import HttpTransport
from skoupa.kube.login import kubeconfig as kubeconfigs
from skoupa.kube.login.connection import Connection, Pem, TlsSettings
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.kube.transport import Transport

T = TypeVar("T")

POLL_SECONDS = 0.02
# What stays as it is can be asked for less often the longer it takes; each question costs those who are waited for.
PATIENT_SECONDS = 0.1
# Three times what the slowest of them took where much else was going on.
DEADLINE_SECONDS = 60.0
SERVICE_ACCOUNTS = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)


class Hasty(SystemClock):
    def jitter(self, seconds: float) -> float:
        return super().jitter(seconds) / 20


def connection_to(target: Path | FaultProxy | Connection) -> Connection:
    if isinstance(target, Connection):
        return target
    if isinstance(target, FaultProxy):
        return Connection(server=target.url, tls=TlsSettings(ca=Pem(path=str(target.ca_file))))
    return kubeconfigs.load(kubeconfig=str(target), environ={})


@asynccontextmanager
async def connected(
    target: Path | FaultProxy | Connection,
    *,
    clock: Clock | None = None,
    limits: Limits | None = None,
    wrap: Callable[[Transport], Transport] = lambda inner: inner,
) -> AsyncIterator[Client]:
    """A client as the command line makes it; `wrap` stands between flow and wire."""
    clock = clock or Hasty()
    async with HttpTransport(connection_to(target), clock) as transport:
        yield Client(Flow(wrap(transport), clock, limits=limits), clock)


@asynccontextmanager
async def faulty(plane: Access | ControlPlane) -> AsyncIterator[FaultProxy]:
    pair = (plane.admin_certificate, plane.admin_key)
    async with FaultProxy(
        upstream_url=plane.url, upstream_ca=plane.ca_file, upstream_client_cert=pair
    ) as proxy:
        yield proxy


@asynccontextmanager
async def new_namespace(client: Client) -> AsyncIterator[str]:
    name = f"wire-{secrets.token_hex(4)}"
    made = await client.create(NAMESPACES, {"metadata": {"name": name}})
    try:
        yield name
    finally:
        await remove_namespace(client, name, uid=made["metadata"]["uid"])


async def remove_namespace(client: Client, name: str, *, uid: str) -> None:
    try:
        await client.delete(NAMESPACES, name, uid=uid, propagation="Background")
    except NotFound:
        return


async def until(
    condition: Callable[[], T],
    *,
    what: str | Callable[[], Any],
    seconds: float = DEADLINE_SECONDS,
    patiently: bool = True,
) -> T:
    """The first true value of the condition; the deadline is generous, for a slow machine is no fault."""

    async def asked() -> T:
        return condition()

    return await eventually(asked, what=what, seconds=seconds, patiently=patiently)


async def eventually(
    condition: Callable[[], Awaitable[T]],
    *,
    what: str | Callable[[], Any],
    seconds: float = DEADLINE_SECONDS,
    patiently: bool = True,
) -> T:
    """As `until`, for what has to be asked of the server. Not patiently: for a moment that passes."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    pause = POLL_SECONDS
    while not (value := await condition()):
        if loop.time() > end:
            raise AssertionError(f"not within {seconds:g} s: {what() if callable(what) else what}")
        await asyncio.sleep(pause)
        if patiently:
            pause = min(1.1 * pause, PATIENT_SECONDS)
    return value


async def exists(client: Client, resource: Resource, name: str, *, namespace: str = "") -> bool:
    try:
        await client.get(resource, name, namespace=namespace, view=METADATA)
    except NotFound:
        return False
    except SkoupaError as error:
        raise AssertionError(f"asked for {name}: {error}") from error
    return True


async def token_of(admin: Client, namespace: str, name: str = "default") -> str:
    """A token of a ServiceAccount, from the server's TokenRequest; the account is there once its controller ran."""
    await eventually(
        lambda: exists(admin, SERVICE_ACCOUNTS, name, namespace=namespace), what=f"ServiceAccount {name}"
    )
    made = await admin.create(
        SERVICE_ACCOUNTS, {"spec": {}}, namespace=namespace, name=name, subresource="token"
    )
    return str(made["status"]["token"])
