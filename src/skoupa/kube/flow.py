"""How hard the server is pressed: a ceiling per second, a concurrency that adapts, and retries of what is safe.

A transport around another. Concurrency grows while the server keeps up and is cut when it says 429, fails or slows
down. A server that is busy (429) and says for how long holds back every request of that client, not just the one that
was told, for half a minute at most; where it failed, or a webhook answers, only that one waits, and where it would be
long its caller is told instead: what hangs on one request must not stop others. A request is repeated only when it is
`repeatable`, when it never left (no connection), or when the server refused it unread (429). A watch counts
until its answer begins: it may stay open for an hour and must not take anybody's turn.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import Disconnected, SkoupaError, TimedOut, Unreachable, Withdrawn
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import retry_after
from skoupa.kube.transport import Request, Response, Stream, Transport

LONGEST_PATIENCE_SECONDS: Final = 30.0
LONGEST_PATIENCE_FOR_ONE_SECONDS: Final = 5.0
_BY_WEBHOOK: Final = b"admission webhook"
# Before anything was done.
_WEBHOOK_UNASKED: Final = b"failed calling webhook"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Requests a second (None: no ceiling), requests in flight at most and at first, and tries of one request.

    One that is out for longer than `turn_seconds` gives up its turn to others, says nothing about how busy the server is,
    and is not repeated: its caller knows better when.
    """

    per_second: float | None = None
    in_flight: int = 64
    at_first: int = 8
    tries: int = 4
    turn_seconds: float | None = None


class Flow:
    def __init__(self, inner: Transport, clock: Clock, *, limits: Limits | None = None) -> None:
        self._inner = inner
        self._clock = clock
        self._limits = limits or Limits()
        self._width = AdaptiveWidth(most=self._limits.in_flight, start=self._limits.at_first)
        self._rate = RateCeiling(clock, per_second=self._limits.per_second)
        self._held_back_until = 0.0
        # (verb, kind, outcome) -> how often; outcome is the status code or the name of the error.
        self.requests: Counter[tuple[str, str, str]] = Counter()

    async def close(self) -> None:
        await self._inner.close()

    async def send(self, request: Request) -> Response:
        backoff = Backoff(self._clock, first=0.2, cap=5.0)
        # What the try before came to: only who never sent anything may say that nothing was sent.
        before: Response | SkoupaError | None = None
        # A try that was sent and had no answer; what follows can't speak for it.
        unanswered: SkoupaError | None = None
        failed = False
        for left in range(self._limits.tries - 1, -1, -1):
            turn = _Turn(self._width, self._limits.turn_seconds)
            try:
                await self._width.enter()
                try:
                    await self._pass()
                    response = await self._timed(request, turn)
                finally:
                    turn.end()
            except Withdrawn:
                break
            except SkoupaError as error:
                if isinstance(error, Disconnected | TimedOut):
                    unanswered = error
                if not left or turn.over or not _may_repeat_after(error, request):
                    raise (unanswered or error) from None
                before = error
                await self._clock.sleep(backoff.next())
                continue
            asked = _patience(response)
            too_long = asked > LONGEST_PATIENCE_FOR_ONE_SECONDS and not _concerns_all(response)
            if not left or too_long or turn.over or not _may_repeat(response, request):
                if response.status >= 400 and (unanswered is not None or failed):
                    return msgspec.structs.replace(response, after_silence=True)
                return response
            failed = failed or (response.status >= 500 and _WEBHOOK_UNASKED not in response.body)
            before = response
            # Zero seconds is no time to wait, and hammering would be no answer to it.
            if not asked:
                await self._clock.sleep(backoff.next())
            elif not _concerns_all(response):
                await self._clock.sleep(asked)
        return _given_up(request, unanswered or before)

    async def _timed(self, request: Request, turn: _Turn) -> Response:
        if request.still_wanted is not None and not request.still_wanted():
            raise _withdrawn(request)
        turn.begin()
        started = self._clock.monotonic()
        try:
            response = await self._inner.send(request)
        except Withdrawn:
            # As its bytes were about to leave: that says nothing about the server.
            raise
        except SkoupaError as error:
            self.requests[request.verb, request.kind, type(error).__name__] += 1
            if not turn.over:
                self._width.shrink(started)
            raise
        self.requests[request.verb, request.kind, str(response.status)] += 1
        if not turn.over:
            self._learn(response, started)
        return response

    def _learn(self, response: Response | Stream, started: float) -> None:
        now = self._clock.monotonic()
        if response.status == 429 or response.status >= 500:
            self._width.shrink(started)
            asked = _patience(response)
            if asked and _concerns_all(response):
                self._held_back_until = max(self._held_back_until, now + asked)
        else:
            self._width.answered(now - started)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        # Watches repeat by themselves, from the place that they know; here they only wait their turn.
        await self._width.enter()
        try:
            await self._pass()
            started = self._clock.monotonic()
            opening = self._inner.stream(request)
            stream = await opening.__aenter__()
            self._learn(stream, started)
        except SkoupaError as error:
            self.requests[request.verb, request.kind, type(error).__name__] += 1
            raise
        finally:
            self._width.leave()
        self.requests[request.verb, request.kind, str(stream.status)] += 1
        try:
            yield stream
        except BaseException as error:
            if not await opening.__aexit__(type(error), error, error.__traceback__):
                raise
        else:
            await opening.__aexit__(None, None, None)

    async def _pass(self) -> None:
        """Last, and until nothing changes any more: what waits is sent later than it was let through."""
        let_through = False
        while not let_through:
            await self._held_back()
            await self._rate.pass_one()
            let_through = self._clock.monotonic() >= self._held_back_until

    async def _held_back(self) -> None:
        while (wait := self._held_back_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(wait)


class _Turn:
    """A place in the width for as long as the request is out, or until it has been out for so long that others may go."""

    def __init__(self, width: AdaptiveWidth, seconds: float | None) -> None:
        self._width = width
        self._seconds = seconds
        self._timer: asyncio.TimerHandle | None = None
        self.over = False

    def begin(self) -> None:
        if self._seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(self._seconds, self._give_up)

    def end(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if not self.over:
            self._width.leave()

    def _give_up(self) -> None:
        self.over = True
        self._width.leave()


def _given_up(request: Request, before: Response | SkoupaError | None) -> Response:
    if isinstance(before, Response):
        return before
    if isinstance(before, Disconnected | TimedOut):
        raise before
    raise _withdrawn(request)


def _withdrawn(request: Request) -> Withdrawn:
    return Withdrawn(f"{request.verb} {request.kind}: not sent, it is not wanted any more")


def _patience(response: Response | Stream) -> float:
    """For how many seconds the server asks us to wait."""
    return min(retry_after(response.headers) or 0.0, LONGEST_PATIENCE_SECONDS)


def _concerns_all(response: Response | Stream) -> bool:
    """Whether the server itself is busy, rather than something behind this one request."""
    if response.status != 429:
        return False
    return not (isinstance(response, Response) and _BY_WEBHOOK in response.body)


def _may_repeat_after(error: SkoupaError, request: Request) -> bool:
    if isinstance(error, Disconnected | TimedOut):
        return request.repeatable
    return isinstance(error, Unreachable)


def _may_repeat(response: Response, request: Request) -> bool:
    if response.status == 429:
        return True
    return response.status >= 500 and request.repeatable


class RateCeiling:
    """Never more than so many within any second; what comes after a quiet second goes at once."""

    def __init__(self, clock: Clock, *, per_second: float | None) -> None:
        self._clock = clock
        # A ceiling below one a second is a window of one that is longer than a second.
        self._count = max(1, int(per_second)) if per_second else 0
        self._window = self._count / per_second if per_second else 0.0
        self._passed: deque[float] = deque(maxlen=self._count or None)

    async def pass_one(self) -> None:
        if not self._count:
            return
        now = self._clock.monotonic()
        mine = now
        if len(self._passed) == self._count:
            mine = max(now, self._passed[0] + self._window)
        self._passed.append(mine)
        if mine > now:
            await self._clock.sleep(mine - now)


class AdaptiveWidth:
    """How many requests may be in flight: one more for each full round that went well, two thirds after trouble.

    A round that takes several times as long as the quickest seen is trouble in the making: the width stays.
    """

    def __init__(self, *, most: int, start: int = 8, slow_factor: float = 20.0) -> None:
        self.most = most
        self.width = min(start, most)
        self.in_flight = 0
        self._slow_factor = slow_factor
        self._quickest = float("inf")
        self._went_well = 0
        self._last_cut = 0.0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        if self.in_flight < self.width and not self._waiting:
            self.in_flight += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            elif turn in self._waiting:  # else somebody who left has passed over it already
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        self.in_flight -= 1
        self._admit()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < self.width:
            turn = self._waiting.popleft()
            if not turn.done():
                self.in_flight += 1
                turn.set_result(None)

    def answered(self, seconds: float) -> None:
        self._quickest = min(self._quickest, seconds)
        busy = self.in_flight >= self.width
        if not busy or seconds > self._slow_factor * max(self._quickest, 0.001):
            return
        self._went_well += 1
        if self._went_well >= self.width and self.width < self.most:
            self._went_well = 0
            self.width += 1
            self._admit()

    def shrink(self, started: float) -> None:
        """Requests of one round fail together: only the first of those that started before the cut counts."""
        if started < self._last_cut:
            return
        self._last_cut = started + 1e-9
        self._went_well = 0
        self.width = max(1, self.width * 2 // 3)

    def statistics(self) -> dict[str, int]:
        return {"width": self.width, "in_flight": self.in_flight, "waiting": len(self._waiting)}
