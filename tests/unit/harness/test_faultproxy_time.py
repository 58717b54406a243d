"""Faults of time: an answer that is dated by another clock, and a request that comes late."""

import ssl
import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from harness.faultproxy import Answer, FaultProxy, OtherClock, Rule, Slow

pytestmark = pytest.mark.unit

PODS = Answer(
    body=b'{"kind":"PodList","items":[]}',
    headers=(("Content-Type", "application/json"), ("Date", "Tue, 31 Dec 2024 23:59:50 GMT")),
)


@pytest.fixture
async def proxy() -> AsyncIterator[FaultProxy]:
    async with FaultProxy() as proxy:
        yield proxy


async def date_seen(proxy: FaultProxy) -> str:
    context = ssl.create_default_context(cafile=proxy.ca_file)
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(proxy.url, connector=connector) as session,
        session.get("/api/v1/pods") as response,
    ):
        assert await response.read() == PODS.body
        return response.headers["Date"]


@pytest.mark.parametrize(
    ("ahead", "date"),
    [
        (30, "Wed, 01 Jan 2025 00:00:20 GMT"),
        (-3600, "Tue, 31 Dec 2024 22:59:50 GMT"),
        (0, PODS.headers[1][1]),
    ],
)
async def test_an_answer_is_dated_by_another_clock(proxy: FaultProxy, ahead: float, date: str) -> None:
    proxy.script(Rule(OtherClock(ahead), answer=PODS))
    assert await date_seen(proxy) == date


async def test_a_request_waits_before_it_goes_upstream(proxy: FaultProxy) -> None:
    proxy.script(Rule(Slow(before=0.2), answer=PODS))
    asked = time.monotonic()
    await date_seen(proxy)
    assert time.monotonic() - asked >= 0.19


def test_a_wait_is_not_negative() -> None:
    with pytest.raises(ValueError, match="0 or more"):
        Slow(before=-1.0)
