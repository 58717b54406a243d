"""What a client sees of each fault; the answers that the faults work on are scripted, there is no upstream."""

import asyncio
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
import pytest
from harness.faultproxy import (
    Answer,
    Close,
    CutLine,
    Duplicate,
    EndWatch,
    Fault,
    FaultProxy,
    Garbage,
    HalfClose,
    InjectLine,
    Reset,
    Rule,
    Silence,
    Slow,
    Stream,
    WatchError,
    kube_status,
)

pytestmark = pytest.mark.unit

PODS = Answer(body=b'{"kind":"PodList","items":[]}')
EVENTS = Stream((b'{"type":"ADDED"}', b'{"type":"MODIFIED"}', b'{"type":"DELETED"}'))


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with FaultProxy() as proxy:
        yield proxy


@asynccontextmanager
async def talking_to(proxy: FaultProxy) -> AsyncIterator[aiohttp.ClientSession]:
    context = ssl.create_default_context(cafile=proxy.ca_file)
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(proxy.url, connector=connector) as session:
        yield session


async def read_all(response: aiohttp.ClientResponse) -> tuple[bytes, BaseException | None]:
    """What came of the body, and how it ended."""
    got = b""
    try:
        async for data in response.content.iter_any():
            got += data
    except aiohttp.ClientError as error:
        return got, error
    return got, None


async def body_under(proxy: FaultProxy, fault: Fault, answer: Answer | Stream) -> tuple[bytes, object]:
    proxy.script(Rule(fault, answer=answer))
    async with talking_to(proxy) as session, session.get("/api/v1/pods") as response:
        assert response.status == 200
        got, error = await read_all(response)
    return got, type(error)


class BareClient(threading.Thread):
    """A blocking TLS client that tells RST, FIN and close_notify apart, which asyncio does not."""


def bare_exchange(proxy: FaultProxy, *, then: Callable[[ssl.SSLSocket], None] | None = None) -> bytes:
    """Sends one request; gives what came up to a close_notify, or raises what the socket raised."""
    context = ssl.create_default_context(cafile=proxy.ca_file)
    host, port = proxy.url.removeprefix("https://").split(":")
    with (
        socket.create_connection((host, int(port)), timeout=5) as plain,
        context.wrap_socket(plain, server_hostname=host, suppress_ragged_eofs=False) as tls,
    ):
        tls.sendall(b"GET /api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        try:
            while data := tls.recv(1000):
                got += data
        finally:
            if then is not None:
                then(tls)
        return got
