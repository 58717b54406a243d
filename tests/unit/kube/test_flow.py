"""How hard the server is pressed, on virtual time with a transport that answers by script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import pytest

from skoupa.clock import Clock
from skoupa.errors import Disconnected, SkoupaError, TimedOut, Unreachable, Withdrawn
from skoupa.kube.flow import Flow, Limits
from skoupa.kube.transport import Request, Response
from skoupa.kube.turns import AdaptiveWidth
from skoupa.sim.clock import VirtualClock, run

pytestmark = pytest.mark.unit

READ = Request(path="/api/v1/pods", verb="list", kind="pods", repeatable=True)
CREATE = Request(method="POST", path="/api/v1/namespaces/a/pods", verb="create", kind="pods")
OTHER = Request(path="/api/v1/secrets", verb="list", kind="secrets", repeatable=True)
OK = Response(status=200)
BUSY = Response(status=429, headers={"retry-after": "7"})
# A kind whose conversion webhook is dead.
NOT_READABLE = (
    b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"storage is (re)initializing",'
    b'"reason":"TooManyRequests","details":{"retryAfterSeconds":29},"code":429}'
)


class Open:
    status = 200
    headers: Mapping[str, str] = {}

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield b"{}"


class Scripted:
    """Answers each request with the next of its answers, the last one for ever; counts what is under way."""

    def __init__(self, clock: Clock, *answers: Response | SkoupaError, seconds: float = 0.0) -> None:
        self._clock = clock
        self._answers = list(answers)
        self._seconds = seconds
        self.times: list[float] = []
        self.under_way = 0
        self.most = 0

    async def send(self, request: Request) -> Response:
        self.times.append(self._clock.monotonic())
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self._clock.sleep(self._seconds)
        finally:
            self.under_way -= 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, SkoupaError):
            raise answer
        return answer

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Open]:
        yield Open()

    async def close(self) -> None:
        return None


def flowing(
    *answers: Response | SkoupaError, request: Request = READ, limits: Limits | None = None
) -> tuple[Response | SkoupaError, list[float], Flow]:
    async def main(clock: VirtualClock) -> tuple[Response | SkoupaError, list[float], Flow]:
        server = Scripted(clock, *answers)
        flow = Flow(server, clock, limits=limits)
        try:
            return await flow.send(request), server.times, flow
        except SkoupaError as error:
            return error, server.times, flow

    return run(main)


def test_retry_after_is_waited_for_and_the_request_sent_again() -> None:
    answer, times, _ = flowing(BUSY, OK, request=CREATE)
    assert answer == OK
    assert times[1] - times[0] == pytest.approx(7, abs=0.01)


def test_retry_after_holds_back_every_request_of_the_client() -> None:
    async def main(clock: VirtualClock) -> list[float]:
        server = Scripted(clock, BUSY, OK)
        flow = Flow(server, clock)
        first = asyncio.create_task(flow.send(READ))
        await clock.sleep(1)
        await flow.send(CREATE)
        await first
        return server.times

    times = run(main)
    assert all(moment >= 7 for moment in times[1:])


def wait_of_another(first: Response) -> float:
    """When somebody else's request is sent after one was answered so."""

    async def main(clock: VirtualClock) -> float:
        flow = Flow(Scripted(clock, first, *(OK,) * 9), clock)
        task = asyncio.create_task(flow.send(READ))
        await clock.sleep(0.5)
        began = clock.monotonic()
        await flow.send(READ)
        waited = clock.monotonic() - began
        await task
        return waited

    return run(main)


def test_no_server_holds_everybody_back_for_longer_than_half_a_minute() -> None:
    patient = Response(status=429, headers={"retry-after": "3600"})
    assert 29 <= wait_of_another(patient) <= 30


@pytest.mark.parametrize(
    "answer",
    [
        Response(status=503, headers={"retry-after": "300"}),
        Response(status=500, headers={"retry-after": "3"}),
        Response(
            status=429,
            headers={"retry-after": "300"},
            body=b'{"message": "admission webhook \\"slow.example\\" denied the request"}',
        ),
        Response(status=429, headers={"retry-after": "3"}, body=NOT_READABLE),
        Response(status=429, headers={"retry-after": "29"}, body=NOT_READABLE),
        Response(
            status=429,
            headers={"retry-after": "29"},
            body=b'{"kind": "Status", "message": "too many", "details": {"group": "shop.example", "kind": "widgets"}}',
        ),
    ],
)
def test_what_hangs_on_one_request_holds_nobody_else_back(answer: Response) -> None:
    assert wait_of_another(answer) == 0


def test_a_failure_that_asks_for_much_patience_is_told_to_who_asked() -> None:
    answer, times, _ = flowing(Response(status=503, headers={"retry-after": "300"}), OK)
    assert isinstance(answer, Response)
    assert answer.status == 503
    assert len(times) == 1


def test_a_failure_that_asks_for_a_moment_gets_it() -> None:
    answer, times, _ = flowing(Response(status=503, headers={"retry-after": "3"}), OK)
    assert answer == OK
    assert times[1] - times[0] == pytest.approx(3, abs=0.01)


def test_a_429_without_retry_after_is_tried_again_after_a_growing_wait() -> None:
    answer, times, _ = flowing(Response(status=429), Response(status=429), OK, request=CREATE)
    assert answer == OK
    assert 0.1 <= times[1] - times[0] <= 0.2
    assert 0.2 <= times[2] - times[1] <= 0.4


@pytest.mark.parametrize("failure", [Disconnected("cut"), TimedOut("late"), Response(status=503)])
def test_what_may_have_been_done_is_repeated_only_where_repeating_is_harmless(
    failure: Response | SkoupaError,
) -> None:
    read, reads, _ = flowing(failure, OK, request=READ)
    create, creates, _ = flowing(failure, OK, request=CREATE)
    assert read == OK
    assert len(reads) == 2
    assert create == failure
    assert len(creates) == 1


def test_what_never_left_is_sent_again_whatever_it_is() -> None:
    answer, times, _ = flowing(Unreachable("refused"), OK, request=CREATE)
    assert answer == OK
    assert len(times) == 2


def test_tries_are_counted_and_end() -> None:
    answer, times, flow = flowing(Unreachable("refused"), limits=Limits(tries=3))
    assert isinstance(answer, Unreachable)
    assert len(times) == 3
    assert flow.requests["list", "pods", "Unreachable"] == 3


def test_a_refusal_is_the_answer_and_not_repeated() -> None:
    answer, times, flow = flowing(Response(status=404))
    assert isinstance(answer, Response)
    assert answer.status == 404
    assert len(times) == 1
    assert flow.requests["list", "pods", "404"] == 1


@pytest.mark.parametrize(("ceiling", "count"), [(50, 130), (0.5, 4), (7.5, 40)])
def test_no_more_than_the_ceiling_within_any_second(ceiling: float, count: int) -> None:
    async def main(clock: VirtualClock) -> list[float]:
        server = Scripted(clock, OK)
        flow = Flow(server, clock, limits=Limits(per_second=ceiling, in_flight=1000))
        await asyncio.gather(*(flow.send(READ) for _ in range(count)))
        return server.times

    times = run(main)
    window = max(1, int(ceiling)) / ceiling
    for start in times:
        assert sum(start <= moment < start + window - 1e-6 for moment in times) <= max(1, ceiling)
    assert times[-1] <= count / ceiling


def many(seconds: Callable[[int], float], *, answers: int, status: int = 200) -> tuple[Flow, Scripted]:
    async def main(clock: VirtualClock) -> tuple[Flow, Scripted]:
        server = Scripted(clock, Response(status=status), seconds=seconds(0))
        flow = Flow(server, clock, limits=Limits(in_flight=32, tries=1))
        await asyncio.gather(*(flow.send(READ) for _ in range(answers)))
        return flow, server

    return run(main)


def test_concurrency_grows_while_the_server_keeps_up_and_never_past_its_bound() -> None:
    flow, server = many(lambda _: 0.01, answers=3000)
    assert server.most == 32
    assert flow._width.statistics() == {"width": 32, "in_flight": 0, "waiting": 0}


def test_concurrency_shrinks_to_one_under_steady_refusals_but_never_to_none() -> None:
    flow, _ = many(lambda _: 0.01, answers=200, status=503)
    assert flow._width.width == 1


def test_a_cancelled_wait_gives_its_turn_back() -> None:
    async def main(clock: VirtualClock) -> AdaptiveWidth:
        width = AdaptiveWidth(most=1)
        await width.enter()
        waiting = asyncio.create_task(width.enter())
        await clock.idle()
        waiting.cancel()
        await clock.idle()
        width.leave()
        async with clock.timeout(1):
            await width.enter()
        width.leave()
        return width

    assert run(main).statistics() == {"width": 1, "in_flight": 0, "waiting": 0}


def test_a_wait_that_is_cancelled_while_somebody_leaves_is_passed_over() -> None:
    async def main(clock: VirtualClock) -> AdaptiveWidth:
        width = AdaptiveWidth(most=1)
        await width.enter()
        waiting = [asyncio.create_task(width.enter()) for _ in range(3)]
        await clock.idle()
        # In one step of the loop: whoever waited first is cancelled, but has not heard of it when the turn is free.
        waiting[0].cancel()
        width.leave()
        ends = await asyncio.gather(waiting[0], waiting[1], return_exceptions=True)
        assert isinstance(ends[0], asyncio.CancelledError)
        assert ends[1] is None, "the next one has the turn"
        assert width.statistics() == {"width": 1, "in_flight": 1, "waiting": 1}
        width.leave()
        await waiting[2]
        width.leave()
        return width

    assert run(main).statistics() == {"width": 1, "in_flight": 0, "waiting": 0}


def test_a_turn_that_is_granted_and_cancelled_at_the_same_moment_is_given_on() -> None:
    async def main(clock: VirtualClock) -> AdaptiveWidth:
        width = AdaptiveWidth(most=1)
        await width.enter()
        first, second = (asyncio.create_task(width.enter()) for _ in range(2))
        await clock.idle()
        width.leave()
        first.cancel()
        async with clock.timeout(1):
            await second
        assert first.cancelled()
        assert width.statistics() == {"width": 1, "in_flight": 1, "waiting": 0}
        width.leave()
        return width

    assert run(main).statistics() == {"width": 1, "in_flight": 0, "waiting": 0}


def test_an_open_watch_takes_nobodys_turn() -> None:
    async def main(clock: VirtualClock) -> Response:
        flow = Flow(Scripted(clock, OK), clock, limits=Limits(in_flight=1))
        watch = Request(path="/api/v1/pods", verb="watch", kind="pods")
        async with flow.stream(watch), flow.stream(watch), clock.timeout(1):
            return await flow.send(READ)

    assert run(main) == OK


def test_a_request_that_is_not_wanted_any_more_when_its_turn_comes_is_not_sent() -> None:
    async def work(clock: VirtualClock) -> None:
        wire = Scripted(clock, OK, seconds=5.0)
        flow = Flow(wire, clock, limits=Limits(in_flight=1, at_first=1))
        wanted = True
        asking = Request(method="DELETE", path="/x", still_wanted=lambda: wanted, repeatable=True)
        first = asyncio.create_task(flow.send(asking))
        second = asyncio.create_task(flow.send(asking))
        await clock.sleep(1.0)
        wanted = False
        assert (await first).status == 200
        with pytest.raises(Withdrawn):
            await second
        assert len(wire.times) == 1

    run(work)


@pytest.mark.parametrize("answer", [Disconnected("cut"), TimedOut("late"), Response(status=500)])
def test_who_may_have_been_heard_does_not_claim_that_nothing_was_sent(answer: Response | SkoupaError) -> None:
    async def work(clock: VirtualClock) -> None:
        wire = Scripted(clock, answer, OK)
        flow = Flow(wire, clock)
        asking = Request(method="DELETE", path="/x", still_wanted=lambda: not wire.times, repeatable=True)
        if isinstance(answer, SkoupaError):
            with pytest.raises(type(answer)):
                await flow.send(asking)
        else:
            assert (await flow.send(asking)).status == 500
        assert len(wire.times) == 1

    run(work)


def test_who_never_got_through_says_that_nothing_was_sent() -> None:
    async def work(clock: VirtualClock) -> None:
        wire = Scripted(clock, Unreachable("no way"), OK)
        asking = Request(method="DELETE", path="/x", still_wanted=lambda: not wire.times, repeatable=True)
        with pytest.raises(Withdrawn):
            await Flow(wire, clock).send(asking)

    run(work)


def test_a_request_that_is_out_for_long_lets_others_pass_and_is_not_repeated() -> None:
    async def main(clock: VirtualClock) -> None:
        slow = Scripted(clock, Response(status=500), seconds=10)
        flow = Flow(slow, clock, limits=Limits(in_flight=2, at_first=2, turn_seconds=3))
        answers = await asyncio.gather(*(flow.send(READ) for _ in range(4)))
        assert [answer.status for answer in answers] == [500] * 4
        begun = slow.times[0]
        assert [at - begun for at in slow.times] == [0, 0, 3, 3]

    run(main)


def test_a_kind_that_hangs_takes_no_turns_from_other_kinds_however_much_of_it_is_asked_for() -> None:
    async def main(clock: VirtualClock) -> list[float]:
        class Silent(Scripted):
            async def send(self, request: Request) -> Response:
                if request.kind == "pods":
                    await clock.sleep(30)
                    raise TimedOut("no answer within 30 s")
                return await super().send(request)

        flow = Flow(
            Silent(clock, OK), clock, limits=Limits(in_flight=8, at_first=8, turn_seconds=3, by_kind=True)
        )
        hanging = [asyncio.create_task(flow.send(READ)) for _ in range(200)]
        waited = []
        for _ in range(20):
            await clock.sleep(1)
            began = clock.monotonic()
            await flow.send(OTHER)
            waited.append(clock.monotonic() - began)
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
        assert flow._width.statistics() == {"width": 8, "in_flight": 0, "waiting": 0}
        return waited

    first, *later = run(main)
    assert first <= 3
    assert max(later) < 0.1


def test_an_opening_watch_that_is_not_answered_gives_its_turn_up() -> None:
    async def main(clock: VirtualClock) -> float:
        class Silent(Scripted):
            @asynccontextmanager
            async def stream(self, request: Request) -> AsyncIterator[Open]:
                await clock.sleep(30)
                yield Open()

        flow = Flow(Silent(clock, OK), clock, limits=Limits(in_flight=1, at_first=1, turn_seconds=3))

        async def watch() -> None:
            async with flow.stream(READ):
                return

        task = asyncio.create_task(watch())
        await clock.sleep(1)
        await flow.send(OTHER)
        sent = clock.monotonic()
        await task
        return sent

    assert run(main) == pytest.approx(3, abs=0.1)


def test_what_was_out_for_long_is_sent_again_where_the_server_was_too_busy_to_read_it() -> None:
    async def main(clock: VirtualClock) -> list[float]:
        busy = Scripted(clock, BUSY, OK, seconds=10)
        assert (await Flow(busy, clock, limits=Limits(turn_seconds=3)).send(CREATE)).status == 200
        return busy.times

    times = run(main)
    assert times[1] - times[0] == pytest.approx(17, abs=0.1)


def test_failures_of_what_was_out_for_long_do_not_narrow_the_way_of_others() -> None:
    async def main(clock: VirtualClock) -> None:
        slow = Scripted(clock, Response(status=500), seconds=10)
        flow = Flow(slow, clock, limits=Limits(in_flight=8, at_first=8, turn_seconds=3))
        for _ in range(10):
            await asyncio.gather(*(flow.send(READ) for _ in range(8)))
        assert slow.most == 8

    run(main)
