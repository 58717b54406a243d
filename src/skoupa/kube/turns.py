"""Turns at one server: how many requests may be out at once, and for how long one of them keeps others from going.

The number adapts to how the server keeps up. A request that is out for long gives its turn up. Where that is asked for, its
kind is late then: something behind the server does not answer for it. Until all such ones have ended, requests of that
kind keep a turn for a moment only, and have at most half of all turns: however many of them hang, others go on.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from types import TracebackType
from typing import Final

# Long enough for a healthy server to answer.
LATE_TURN_SECONDS: Final = 0.3


class Turns:
    """`seconds`: how long a turn is kept at most; None: until there is an answer. `by_kind`: kinds can be late."""

    def __init__(self, width: AdaptiveWidth, *, seconds: float | None, by_kind: bool) -> None:
        self._width = width
        self._seconds = seconds
        self._by_kind = by_kind
        # By kind: requests that have a turn, and those that are out without one.
        self._taken: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._waiting: dict[str, asyncio.Event] = {}

    def of(self, kind: str) -> Turn:
        return Turn(self, kind if self._by_kind else "")

    def seconds(self, kind: str) -> float | None:
        return LATE_TURN_SECONDS if self._by_kind and self._late[kind] else self._seconds

    def take_at_once(self, kind: str) -> bool:
        """Whether there was one: most do not wait, and many come."""
        if not self._may(kind) or not self._width.enter_at_once():
            return False
        self._taken[kind] += 1
        return True

    async def take(self, kind: str) -> None:
        while True:
            while not self._may(kind):
                await self._waiting.setdefault(kind, asyncio.Event()).wait()
            await self._width.enter()
            # It may have become late while this one waited.
            if self._may(kind):
                self._taken[kind] += 1
                return
            self._width.leave()

    def give_back(self, kind: str, *, unanswered: bool) -> None:
        _count_down(self._taken, kind)
        if unanswered:
            self._late[kind] += 1
        self._width.leave()
        self._tell(kind)

    def ended(self, kind: str) -> None:
        """One that had given its turn up."""
        _count_down(self._late, kind)
        self._tell(kind)

    def _may(self, kind: str) -> bool:
        if not self._by_kind or not self._late[kind]:
            return True
        return self._taken[kind] < max(1, self._width.width // 2)

    def _tell(self, kind: str) -> None:
        event = self._waiting.pop(kind, None)
        if event is not None:
            event.set()


def _count_down(counts: Counter[str], kind: str) -> None:
    counts[kind] -= 1
    if not counts[kind]:
        del counts[kind]


class Turn:
    """From when it is taken until the block ends, or until its request has been out for long (`over`)."""

    __slots__ = ("_kind", "_timer", "_turns", "over")

    def __init__(self, turns: Turns, kind: str) -> None:
        self._turns = turns
        self._kind = kind
        self._timer: asyncio.TimerHandle | None = None
        self.over = False

    async def __aenter__(self) -> None:
        if not self._turns.take_at_once(self._kind):
            await self._turns.take(self._kind)

    def begin(self) -> None:
        """Its request leaves."""
        seconds = self._turns.seconds(self._kind)
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self.over = True
        self._turns.give_back(self._kind, unanswered=True)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.over:
            self._turns.ended(self._kind)
        else:
            self._turns.give_back(self._kind, unanswered=False)


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

    def enter_at_once(self) -> bool:
        if self.in_flight >= self.width or self._waiting:
            return False
        self.in_flight += 1
        return True

    async def enter(self) -> None:
        if self.enter_at_once():
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
