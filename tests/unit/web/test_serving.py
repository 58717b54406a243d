"""The listener: TLS where it can be had, and said where it can't."""

from __future__ import annotations

import asyncio
import io
import ssl
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from skoupa import names
from skoupa.errors import UsageError
from skoupa.kube.client import Client
from skoupa.ledger.sqlite import SqliteStore
from skoupa.report.log import Log
from skoupa.settings import Settings
from skoupa.settings.fields import Api
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.web import serving
from skoupa.web.shapes import HISTORY
from tests.unit.web.desks import Ticking, open_office

pytestmark = pytest.mark.unit


async def served(stack: AsyncExitStack, directory: Path, address: str) -> tuple[str, str]:
    """Where, and what the log says of it."""
    clock, heard = Ticking(), io.StringIO()
    store = SqliteStore(directory / "ledger.db", cluster="east")
    await store.open()
    stack.push_async_callback(store.close)
    client = Client(EmbeddedCluster(clock=clock), clock)
    beside = serving.history_served(
        client, store, settings=Settings(api=Api(address=address)), log=Log(clock, stream=heard)
    )
    bound = await stack.enter_async_context(beside)
    return bound, heard.getvalue()


async def test_it_speaks_tls_with_a_certificate_of_its_own_making(tmp_path: Path) -> None:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    async with AsyncExitStack() as stack:
        address, said = await served(stack, tmp_path, "127.0.0.1:0")
        assert '"tls":"yes"' in said
        session = await stack.enter_async_context(
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context))
        )
        async with session.get(f"https://{address}/api/v1alpha1/history") as answer:
            assert answer.status == 401
        # Tokens of large organisations are long.
        long = {"Skoupa-Authorization": f"Bearer {'x' * 30_000}"}
        async with session.get(f"https://{address}/api/v1alpha1/history", headers=long) as answer:
            assert (answer.status, (await answer.json())["reason"]) == (401, "Unauthorized")


async def test_without_the_library_it_is_served_in_the_clear_and_the_log_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "own_context", lambda now: None)
    async with AsyncExitStack() as stack:
        address, said = await served(stack, tmp_path, "127.0.0.1:0")
        assert "history is served without TLS" in said
        assert "skoupa[encryption]" in said
        session = await stack.enter_async_context(aiohttp.ClientSession())
        async with session.get(f"http://{address}/api/v1alpha1/history") as answer:
            assert answer.status == 401


@pytest.mark.parametrize("address", ["", "none"])
async def test_it_can_be_left_out(tmp_path: Path, address: str) -> None:
    async with AsyncExitStack() as stack:
        assert await served(stack, tmp_path, address) == ("", "")


async def test_an_address_that_can_not_be_had_names_its_setting(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        address, _ = await served(stack, tmp_path, "127.0.0.1:0")
        with pytest.raises(UsageError, match=r"set another `api\.address`"):
            await served(stack, tmp_path, address)


async def test_a_token_of_bytes_that_are_no_text_is_none(tmp_path: Path) -> None:
    async with open_office(tmp_path) as office:
        host, _, port = office.proxy.address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        asked = (
            f"GET {HISTORY} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{names.CALLER_HEADER}: Bearer "
        )
        writer.write(asked.encode() + b"tok\xe9n\xff\r\n\r\n")
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 401 ")
