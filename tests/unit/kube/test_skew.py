"""The distance between two clocks, when ours is set and when answers are slow."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from email.utils import formatdate

import pytest

from skoupa.clock import SystemClock
from skoupa.kube.skew import SkewMeter
from skoupa.kube.transport import Request, Response, Stream

pytestmark = pytest.mark.unit

START = 1_767_225_600.25
HOUR = 3600.0


class Hands(SystemClock):
    """Moved by the test."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0
        self.wrong_by = 0.0

    def now(self) -> float:
        return START + self.passed + self.wrong_by

    def monotonic(self) -> float:
        return self.passed


class Scene:
    """A server whose clock is right, or `ahead`, and a meter on the way to it."""

    def __init__(self) -> None:
        self.clock = Hands()
        self.ahead = 0.0
        self.meter = SkewMeter(self, self.clock)
        self._takes = 0.0
        self._jump = 0.0

    async def ask(self, *, takes: float = 0.1, jump: float = 0.0) -> float:
        """What is measured after an answer that was so long under way; our clock is set meanwhile."""
        self.clock.passed += 2.0
        self._takes, self._jump = takes, jump
        await self.meter.send(Request(path="/version"))
        return self.meter.skew

    async def send(self, request: Request) -> Response:
        self.clock.passed += self._takes / 2
        date = formatdate(START + self.clock.passed + self.ahead, usegmt=True)
        self.clock.wrong_by += self._jump
        self.clock.passed += self._takes / 2
        return Response(status=200, headers={"date": date})

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError(request.path)

    async def close(self) -> None:
        """Nothing is open."""


async def test_a_server_in_step_is_not_apart() -> None:
    scene = Scene()
    for takes in (0.0, 0.3, 0.9, 5.0, 60.0):
        assert await scene.ask(takes=takes) == pytest.approx(0.0, abs=0.001)


@pytest.mark.parametrize("ahead", [HOUR, -HOUR, 30.0, -30.0])
async def test_a_server_that_differs_is_apart_until_it_does_not(ahead: float) -> None:
    scene = Scene()
    scene.ahead = ahead
    assert await scene.ask() == pytest.approx(ahead, abs=1.2)
    scene.ahead = 0.0
    assert await scene.ask() == pytest.approx(0.0, abs=0.001)


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 30.0, -30.0])
async def test_a_jump_of_ours_is_seen_before_the_next_answer(jump: float) -> None:
    scene = Scene()
    await scene.ask()
    scene.clock.wrong_by = jump
    assert scene.meter.skew == pytest.approx(-jump, abs=0.001)
    assert await scene.ask() == pytest.approx(-jump, abs=1.2)


@pytest.mark.parametrize("jump", [HOUR, -HOUR, 30.0, -30.0])
@pytest.mark.parametrize("takes", [0.1, 3.0, 20.0])
async def test_a_jump_of_ours_is_not_hidden_by_an_answer_that_is_under_way(jump: float, takes: float) -> None:
    scene = Scene()
    await scene.ask()
    assert await scene.ask(takes=takes, jump=jump) == pytest.approx(-jump, abs=1.2)
    assert await scene.ask() == pytest.approx(-jump, abs=1.2)


@pytest.mark.parametrize("ahead", [20.0, -20.0])
async def test_a_slow_answer_does_not_undo_what_a_quick_one_showed(ahead: float) -> None:
    """Its date fits clocks in step as well: it was written any time between asking and hearing."""
    scene = Scene()
    scene.ahead = ahead
    await scene.ask()
    assert await scene.ask(takes=45.0) == pytest.approx(ahead, abs=1.2)


async def test_where_all_answers_are_slow_clocks_that_were_set_right_come_together_again() -> None:
    scene = Scene()
    scene.ahead = 20.0
    await scene.ask()
    scene.ahead = 0.0
    for _ in range(10):
        await scene.ask(takes=8.0)
    assert scene.meter.skew == pytest.approx(0.0, abs=0.001)
