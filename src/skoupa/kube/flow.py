"""How hard the server is pressed: a ceiling per second, a concurrency that adapts, and retries of what is safe.

A transport around another. Concurrency grows while the server keeps up and is cut when it says 429, fails or slows
down. A server that is busy (429) and says for how long holds back every request of that client, not just the one that
was told, for half a minute at most; where it failed, or a webhook or one kind's storage answers, only that one waits, and
where it would be long its caller is told instead: what hangs on one request must not stop others. A request is repeated
only when it is `repeatable`, when it never left (no connection), or when the server refused it unread (429). A watch
counts until its answer begins: it may stay open for an hour and must not take anybody's turn.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import Disconnected, SkoupaError, Status, TimedOut, Unreachable, Withdrawn
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import retry_after
from skoupa.kube.transport import Request, Response, Stream, Transport
from skoupa.kube.turns import AdaptiveWidth, Turn, Turns

LONGEST_PATIENCE_SECONDS: Final = 30.0
LONGEST_PATIENCE_FOR_ONE_SECONDS: Final = 5.0
# What a 429 says that comes from behind one request: a webhook, or a kind whose objects can't be read (for example since
# its conversion webhook is dead). The server's own comes before it knows what is asked for.
_OF_ONE: Final = (b"admission webhook", b"storage is (re)initializing")
_REFUSAL_SECONDS: Final = 2.0
# Before anything was done.
_WEBHOOK_UNASKED: Final = b"failed calling webhook"


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Requests a second (None: no ceiling), requests in flight at most and at first, and tries of one request.

    One that is out for longer than `turn_seconds` gives up its turn to others, says nothing about how busy the server is,
    and is repeated only where the server was too busy to read it: else its caller knows better when. `by_kind`: then others
    of its kind have few turns, and short ones.
    """

    per_second: float | None = None
    in_flight: int = 64
    at_first: int = 8
    tries: int = 4
    turn_seconds: float | None = None
    by_kind: bool = False


class Flow:
    def __init__(self, inner: Transport, clock: Clock, *, limits: Limits | None = None) -> None:
        self._inner = inner
        self._clock = clock
        self._limits = limits or Limits()
        self._width = AdaptiveWidth(most=self._limits.in_flight, start=self._limits.at_first)
        self._turns = Turns(self._width, seconds=self._limits.turn_seconds, by_kind=self._limits.by_kind)
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
            turn = self._turns.of(request.kind)
            try:
                async with turn:
                    response = await self._timed(request, turn)
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
            if response.status < 400:
                return response
            asked, concerns_all = _patience(response), _concerns_all(response)
            too_long = asked > LONGEST_PATIENCE_FOR_ONE_SECONDS and not concerns_all
            too_late = turn.over and not concerns_all
            if not left or too_long or too_late or not _may_repeat(response, request):
                silence = unanswered is not None or failed
                return msgspec.structs.replace(response, after_silence=silence)
            failed = failed or (response.status >= 500 and _WEBHOOK_UNASKED not in response.body)
            before = response
            # Zero seconds is no time to wait, and hammering would be no answer to it.
            if not asked:
                await self._clock.sleep(backoff.next())
            elif not concerns_all:
                await self._clock.sleep(asked)
        return _given_up(request, unanswered or before)

    async def _timed(self, request: Request, turn: Turn) -> Response:
        if not self._passes_at_once():
            await self._pass()
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
        self._learn(response, started, turn)
        return response

    def _learn(self, response: Response | Stream, started: float, turn: Turn) -> None:
        now = self._clock.monotonic()
        if response.status < 400:
            if not turn.over:
                self._width.answered(now - started)
            return
        asked, concerns_all = _patience(response), _concerns_all(response)
        if asked and concerns_all:
            self._held_back_until = max(self._held_back_until, now + asked)
        if turn.over or (response.status == 429 and not concerns_all):
            return
        if response.status == 429 or response.status >= 500:
            self._width.shrink(started)
        else:
            self._width.answered(now - started)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        # Watches repeat by themselves, from the place that they know; here they only wait their turn.
        turn = self._turns.of(request.kind)
        async with AsyncExitStack() as opened:
            try:
                async with turn:
                    await self._pass()
                    turn.begin()
                    started = self._clock.monotonic()
                    stream = await opened.enter_async_context(self._inner.stream(request))
                    if stream.status == 429:
                        stream = await self._read(stream)
                    self._learn(stream, started, turn)
            except SkoupaError as error:
                self.requests[request.verb, request.kind, type(error).__name__] += 1
                raise
            self.requests[request.verb, request.kind, str(stream.status)] += 1
            yield stream

    async def _read(self, stream: Stream) -> _Refused:
        """Whom it concerns stands in its body; what does not arrive soon, or is cut, says nothing about that."""
        body = b""
        try:
            async with self._clock.timeout(_REFUSAL_SECONDS), aclosing(stream.chunks()) as chunks:
                async for chunk in chunks:
                    body += chunk
        except (TimeoutError, SkoupaError):
            pass
        return _Refused(stream, body)

    def _passes_at_once(self) -> bool:
        return self._limits.per_second is None and self._clock.monotonic() >= self._held_back_until

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


class _Refused:
    """A watch that the server refused, with its whole body."""

    def __init__(self, stream: Stream, body: bytes) -> None:
        self.status: int = stream.status
        self.headers: Mapping[str, str] = stream.headers
        self.body = body

    async def chunks(self) -> AsyncGenerator[bytes, None]:
        yield self.body


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
    """Whether the server itself is busy, rather than something behind this one request or its kind."""
    if response.status != 429 or not isinstance(response, Response | _Refused):
        return False
    if any(words in response.body for words in _OF_ONE):
        return False
    try:
        said = msgspec.json.decode(response.body, type=Status)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return True
    return not (said.details or {}).get("kind")


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
