"""Whom a 429 concerns: everybody where the server is busy, only its kind where that one can't be read."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager

import msgspec
import pytest

from skoupa.errors import Disconnected
from skoupa.kube.flow import Flow
from skoupa.kube.transport import Request, Response
from skoupa.sim.clock import VirtualClock, run
from tests.unit.kube.test_flow import (
    BUSY,
    NOT_READABLE,
    OK,
    OTHER,
    READ,
    Open,
    Scripted,
    flowing,
    wait_of_another,
)

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"Too many requests, please try again later.\n",
        b'{"kind": "Status", "reason": "TooManyRequests", "details": {"retryAfterSeconds": 7}}',
        b'{"kind": "Status", "reason": "TooManyRequests"}',
    ],
)
def test_a_server_that_is_busy_itself_is_left_alone_by_everybody(body: bytes) -> None:
    assert wait_of_another(msgspec.structs.replace(BUSY, body=body)) == pytest.approx(6.5)


class _Refused(Open):
    status = 429
    headers: Mapping[str, str] = {"retry-after": "20"}

    def __init__(self, *chunks: bytes, ends: bool) -> None:
        self._chunks = chunks
        self._ends = ends

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        for chunk in self._chunks:
            yield chunk
        if not self._ends:
            raise Disconnected("cut")


def refused_watch(*chunks: bytes, ends: bool = True) -> tuple[float, bytes]:
    """How long somebody else waits after a watch was refused so, and what the watch is told."""

    async def main(clock: VirtualClock) -> tuple[float, bytes]:
        class Refusing(Scripted):
            closed = False

            @asynccontextmanager
            async def stream(self, request: Request) -> AsyncIterator[Open]:
                try:
                    yield _Refused(*chunks, ends=ends)
                finally:
                    self.closed = True

        wire = Refusing(clock, OK)
        flow = Flow(wire, clock)
        width = flow._width.width
        async with flow.stream(READ) as stream:
            assert stream.status == 429
            told = b"".join([chunk async for chunk in stream.chunks()])
            began = clock.monotonic()
            await flow.send(OTHER)
            assert not wire.closed
        assert wire.closed
        waited = clock.monotonic() - began
        assert flow._width.width == width or waited, "and others are as many as before"
        return waited, told

    return run(main)


def test_a_watch_of_a_kind_that_can_not_be_read_holds_no_other_kind_back() -> None:
    assert refused_watch(NOT_READABLE[:50], NOT_READABLE[50:]) == (0, NOT_READABLE)


def test_a_watch_that_a_busy_server_refuses_holds_everybody_back() -> None:
    said = b"Too many requests, please try again later.\n"
    for ends in (True, False):
        waited, told = refused_watch(said, ends=ends)
        assert waited == pytest.approx(20)
        assert told == said


def test_a_kind_that_can_not_be_read_for_long_is_told_to_who_asked_and_a_moment_is_waited_for() -> None:
    answer, times, _ = flowing(Response(status=429, headers={"retry-after": "29"}, body=NOT_READABLE), OK)
    assert isinstance(answer, Response)
    assert answer.status == 429
    assert len(times) == 1
    answer, times, _ = flowing(Response(status=429, headers={"retry-after": "3"}, body=NOT_READABLE), OK)
    assert answer == OK
    assert times[1] - times[0] == pytest.approx(3, abs=0.01)
