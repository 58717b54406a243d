"""Faults on order: answers that a healthy server would not give, connections that break, watches that go wrong.

A fault applies to the requests that its predicate accepts, a number of times or until a moment of the clock, whichever
comes first; without either it stays until removed. Faults strike clients only, never the cluster's own controllers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Literal

from skoupa.clock import Clock
from skoupa.errors import Disconnected, TimedOut, Unreachable
from skoupa.kube.transport import Request, Response
from skoupa.sim.state.refusals import Refusal

Effect = Literal["answer", "unreachable", "disconnect", "lose", "delay", "cut", "silence", "duplicate"]
When = Callable[[Request], bool]

_REASONS = {
    401: ("Unauthorized", "Unauthorized"),
    410: ("Expired", "too old resource version"),
    429: ("TooManyRequests", "Too many requests, please try again later."),
    500: ("InternalError", "Internal error occurred: scripted"),
    503: ("ServiceUnavailable", "the server is currently unable to handle the request"),
    504: ("Timeout", "Timeout: request did not complete within the allotted timeout"),
}


class Fault:
    """One order; `hits` counts how often it struck."""

    def __init__(
        self, effect: Effect, *, when: When, times: int | None, until: float | None, refusal: Refusal | None
    ) -> None:
        self.effect = effect
        self.hits = 0
        self.seconds = 0.0
        self.lines = 0
        self.inside_line = False
        self.refusal = refusal
        self._when = when
        self._times = times
        self._until = until

    def applies(self, request: Request, now: float) -> bool:
        return not self.over(now) and self._when(request)

    def over(self, now: float) -> bool:
        return (self._times is not None and self.hits >= self._times) or (
            self._until is not None and now >= self._until
        )


def asking(*, method: str = "", verb: str = "", kind: str = "", path: str = "") -> When:
    """A predicate on the parts of a request; `path` is the beginning of one, what is empty matches all."""

    def when(request: Request) -> bool:
        watching = any(name == "watch" for name, _ in request.query)
        seen = "watch" if watching else request.verb
        return (
            method in {"", request.method}
            and verb in {"", seen}
            and kind in {"", request.kind}
            and request.path.startswith(path)
        )

    return when


def _any(request: Request) -> bool:
    del request
    return True


class Faults:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._faults: list[Fault] = []

    def answer(
        self,
        status: int,
        *,
        when: When = _any,
        times: int | None = 1,
        seconds: float | None = None,
        retry_after: int | None = None,
        message: str = "",
    ) -> Fault:
        """The server refuses with this code; nothing is done."""
        reason, said = _REASONS.get(status, ("", "scripted"))
        refusal = Refusal(code=status, reason=reason, message=message or said, retry_after=retry_after)
        return self._add("answer", when=when, times=times, seconds=seconds, refusal=refusal)

    def unreachable(self, *, when: When = _any, times: int | None = 1, seconds: float | None = None) -> Fault:
        """No connection can be made; nothing is done."""
        return self._add("unreachable", when=when, times=times, seconds=seconds)

    def disconnect(
        self, *, when: When = _any, times: int | None = 1, seconds: float | None = None, done: bool = False
    ) -> Fault:
        """The connection breaks before the answer; `done` says whether the request took effect all the same."""
        return self._add("lose" if done else "disconnect", when=when, times=times, seconds=seconds)

    def delay(self, wait: float, *, when: When = _any, times: int | None = 1) -> Fault:
        """The answer takes this long on the clock, or the request times out."""
        fault = self._add("delay", when=when, times=times)
        fault.seconds = wait
        return fault

    def cut_watch(
        self, *, when: When = _any, times: int | None = 1, after: int = 0, inside_line: bool = True
    ) -> Fault:
        """A watch breaks after some lines, by default in the middle of the next one."""
        fault = self._add("cut", when=when, times=times)
        fault.lines, fault.inside_line = after, inside_line
        return fault

    def silence_watch(self, *, when: When = _any, times: int | None = 1, after: int = 0) -> Fault:
        """A watch stays open but nothing more arrives, not even bookmarks."""
        fault = self._add("silence", when=when, times=times)
        fault.lines = after
        return fault

    def duplicate_events(self, *, when: When = _any, times: int | None = 1) -> Fault:
        """A watch sends every line twice."""
        return self._add("duplicate", when=when, times=times)

    def remove(self, fault: Fault) -> None:
        self._faults = [kept for kept in self._faults if kept is not fault]

    def clear(self) -> None:
        self._faults.clear()

    def _add(
        self,
        effect: Effect,
        *,
        when: When,
        times: int | None,
        seconds: float | None = None,
        refusal: Refusal | None = None,
    ) -> Fault:
        until = None if seconds is None else self._clock.monotonic() + seconds
        # A fault that lasts a while is not used up by the first request.
        fault = Fault(
            effect, when=when, times=None if seconds is not None else times, until=until, refusal=refusal
        )
        self._faults.append(fault)
        return fault

    def _struck(self, request: Request, *effects: Effect) -> Fault | None:
        if not self._faults:
            return None
        now = self._clock.monotonic()
        self._faults = [fault for fault in self._faults if not fault.over(now)]
        for fault in self._faults:
            if fault.effect in effects and fault.applies(request, now):
                fault.hits += 1
                return fault
        return None

    async def before(self, request: Request) -> Response | None:
        """What happens instead of the request: an answer, an error, or nothing but time."""
        slow = self._struck(request, "delay")
        if slow is not None:
            if request.timeout is not None and slow.seconds > request.timeout:
                await self._clock.sleep(request.timeout)
                raise TimedOut(f"no answer within {request.timeout:g} s")
            await self._clock.sleep(slow.seconds)
        fault = self._struck(request, "answer", "unreachable", "disconnect")
        if fault is None:
            return None
        if fault.effect == "unreachable":
            raise Unreachable("connection refused")
        if fault.effect == "disconnect" or fault.refusal is None:
            raise Disconnected("connection reset by peer")
        raise fault.refusal

    def after(self, request: Request) -> None:
        """Loses the answer of a request that was done."""
        if self._struck(request, "lose") is not None:
            raise Disconnected("connection reset by peer")

    def spoil(self, request: Request, lines: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """A watch as the client gets to see it."""
        fault = self._struck(request, "cut", "silence", "duplicate")
        return lines if fault is None else self._spoiled(fault, lines)

    async def _spoiled(self, fault: Fault, lines: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        seen = 0
        async with aclosing(lines):
            async for batch in lines:
                for line in batch.splitlines(keepends=True):
                    if fault.effect == "duplicate":
                        yield line + line
                        continue
                    if seen == fault.lines:
                        if fault.effect == "cut":
                            if fault.inside_line:
                                yield line[: len(line) // 2]
                            raise Disconnected("connection reset by peer")
                        await self._forever()
                    seen += 1
                    yield line

    async def _forever(self) -> None:
        while True:
            await self._clock.sleep(3600)
