"""A TLS server on loopback that tells its clients who they are."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from skoupa.kube.login import tls
from tests.unit.kube.login.pki import Pair


@asynccontextmanager
async def serving(pair: Pair, *, clients_of: Pair | None = None) -> AsyncIterator[int]:
    """A TLS server on loopback that answers with the name in the client's certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tls._as_path(pair.certificate) as certificate, tls._as_path(pair.key) as key:
        context.load_cert_chain(certificate, key)
    if clients_of is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients_of.certificate)

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        peer = writer.get_extra_info("peercert") or {}
        writer.write(
            str(dict(pairs[0] for pairs in peer.get("subject", ())).get("commonName", "nobody")).encode()
        )
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def greeted(context: ssl.SSLContext, port: int, *, name: str = "127.0.0.1") -> str:
    async with asyncio.timeout(60):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=name)
        try:
            return (await reader.read()).decode()
        finally:
            writer.close()
