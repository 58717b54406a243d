"""Children that stand in one line for work: who comes first is served first, each with a child of its own for a turn.

Children are started when needed and reused. One that is left half-way (an error, a cancellation) is ended, not reused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from skoupa.clock import Clock
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.process import Process


class Turn:
    """`whole`: the exchange came to its end, so that the child can be used again."""

    def __init__(self, lane: Lane, process: Process) -> None:
        self.lane = lane
        self.process = process
        self.whole = False


class Lane:
    """`spare`: it is not always needed, so its children are ended when nobody has used them for a while."""

    def __init__(
        self, *, clock: Clock, limits: Limits, most: int, started: Callable[[], None], spare: bool = False
    ) -> None:
        self._clock = clock
        self._limits = limits
        self._turns = asyncio.Semaphore(most)
        self._started = started
        self._spare = spare
        self._waiting = 0
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        self._tidying: asyncio.TimerHandle | None = None
        self._closed = False

    @property
    def pids(self) -> list[int]:
        return [process.pid for process in (*self._idle, *self._busy)]

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for a turn."""
        return self._waiting > 0

    @property
    def has_room(self) -> bool:
        return not self._turns.locked()

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[Turn]:
        """A child for one exchange, when it is one's turn."""
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
        try:
            process = await self._process()
        except BaseException:
            self._turns.release()
            raise
        turn = Turn(self, process)
        self._busy.add(process)
        try:
            yield turn
            turn.whole = process.alive and process.peak < self._limits.retire_bytes
        finally:
            turn.lane.give_back(turn)

    async def take_over(self, turn: Turn) -> None:
        """Goes on with a turn that was begun in another lane, once there is room for it here."""
        await self._turns.acquire()
        # Its own would be one too many.
        self._leave_be()
        self._end_idle()
        turn.lane.let_go(turn)
        turn.lane = self
        self._busy.add(turn.process)
        if self._spare:
            turn.process.stand_back()

    def let_go(self, turn: Turn) -> None:
        self._busy.remove(turn.process)
        self._turns.release()

    def give_back(self, turn: Turn) -> None:
        self.let_go(turn)
        if turn.whole and not self._closed:
            self._idle.append(turn.process)
            self._tidy_later()
        else:
            turn.process.close()

    def close(self) -> None:
        """Those that are busy end when they are given back."""
        self._closed = True
        self._leave_be()
        self._end_idle()

    async def _process(self) -> Process:
        self._leave_be()
        while self._idle:
            process = self._idle.pop()
            if process.alive:
                return process
            # Somebody killed it while it had nothing to do.
            process.close()
        self._started()
        process = await Process.start(clock=self._clock, limits=self._limits)
        if self._spare:
            process.stand_back()
        return process

    def _tidy_later(self) -> None:
        if self._spare:
            self._leave_be()
            loop = asyncio.get_running_loop()
            self._tidying = loop.call_later(self._limits.idle_seconds, self._end_idle)

    def _leave_be(self) -> None:
        if self._tidying is not None:
            self._tidying.cancel()
            self._tidying = None

    def _end_idle(self) -> None:
        for process in self._idle:
            process.close()
        self._idle.clear()
