"""Judging while time is made up: a child takes no virtual time, what it asks for takes what the Broker takes."""

from __future__ import annotations

import pytest

from skoupa.expr.cel.messages import Circumstances, Question
from skoupa.expr.cel.pool import Pool
from skoupa.sim.clock import VirtualClock, run
from tests.unit.expr.cel.asking import source

pytestmark = pytest.mark.unit


class Slow:
    def __init__(self, clock: VirtualClock, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds

    async def answer(self, question: Question) -> bytes:
        await self._clock.sleep(self._seconds)
        return b'"yes"'


def test_only_answers_take_virtual_time() -> None:
    async def main(clock: VirtualClock) -> None:
        async with Pool(clock=clock) as judges:
            began = clock.monotonic()
            now = Circumstances(now=clock.now())
            assert [
                r.matched for r in await judges.judge(source("true"), b'{"items":[{}]}', circumstances=now)
            ] == [True]
            assert clock.monotonic() == began
            asks = source('globalContext.Get("x") == "yes"')
            found = await judges.judge(asks, b'{"items":[{}]}', broker=Slow(clock, 2), circumstances=now)
            assert [result.matched for result in found] == [True]
            assert clock.monotonic() == began + 2
            late = await judges.judge(asks, b'{"items":[{}]}', broker=Slow(clock, 3600), circumstances=now)
            assert "got no answer within 10 s" in late[0].error
            assert clock.monotonic() == began + 12

    run(main)
