"""CEL for the rest of Skoupa: expressions are compiled and judged in child processes that may die without harm.

A dead child costs the object that it was at: that one gets an error, the rest of the batch goes on in a new child.
Every object of a page gets exactly one Result, in order. Runs take turns, and those that turned out slow have a child
of their own, so that nobody waits for somebody else's work for long. What functions ask for is served here, through
the Broker that comes with the batch. Nothing here imports the engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from skoupa.clock import Clock
from skoupa.errors import BadReply, SkoupaError, TimedOut
from skoupa.expr.cel.accounts import Account, Paces
from skoupa.expr.cel.batches import Batch
from skoupa.expr.cel.broker import Broker, Nobody
from skoupa.expr.cel.lanes import Lane, Turn
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.messages import (
    Answer,
    Asked,
    Circumstances,
    Compile,
    Compiled,
    Finished,
    Judged,
    Problem,
    Question,
    Report,
    Result,
    Source,
)
from skoupa.expr.cel.process import Died, Process

_MOST_IDLE_DEATHS: Final = 3
_ROOM: Final = "try again; if that does not help give it more memory, or more processes"


class _GaveWay(Exception):
    """Somebody else needs the child, and there is none for the slow."""


class Statistics(msgspec.Struct, kw_only=True):
    """`cpu` is CPU seconds of children in finished turns, `peak` the largest memory that one of them had."""

    started: int = 0
    died: int = 0
    batches: int = 0
    turns: int = 0
    objects: int = 0
    questions: int = 0
    cpu: float = 0.0
    peak: int = 0


class Pool:
    """An asynchronous context manager: leaving it ends the children."""

    def __init__(self, *, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._paces = Paces(slow_seconds=self._limits.slow_seconds)
        self.statistics = Statistics()
        self._quick = Lane(
            clock=clock, limits=self._limits, most=self._limits.children, started=self._child_started
        )
        self._slow = Lane(
            clock=clock,
            limits=self._limits,
            most=self._limits.slow_children,
            started=self._child_started,
            spare=True,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._quick.close()
        self._slow.close()

    @property
    def pids(self) -> list[int]:
        """Of the children that live: whoever measures memory wants to see theirs."""
        return sorted((*self._quick.pids, *self._slow.pids))

    async def compile(self, source: Source) -> Report:
        """What is wrong with the expressions, in words, and what they look at. A TimedOut where no child lives long enough."""
        for left in range(_MOST_IDLE_DEATHS - 1, -1, -1):
            try:
                async with self._quick.turn() as turn:
                    await turn.process.send(Compile(source=source))
                    reply = await turn.process.receive()
                break
            except Died as death:
                self.statistics.died += 1
                if not death.passes:
                    where = "conditions" if source.conditions else "variables"
                    problem = Problem(where=where, expression="", reason=f"compiling {death.reason}")
                    return Report(problems=(problem,), fields=None)
                if not left:
                    raise TimedOut(f"compiling expressions {death.reason}", advice=_ROOM) from death
        if not isinstance(reply, Compiled):
            raise BadReply("the process that compiles expressions answered out of turn")
        return reply.report

    async def judge(
        self,
        source: Source,
        page: bytes,
        *,
        circumstances: Circumstances,
        broker: Broker | None = None,
        account: Account | None = None,
    ) -> list[Result]:
        """One Result for each item of the page. A BadReply where the page is no list of objects.

        `account` is that of the whole run; without one the page is a run of its own.
        """
        account = account or Account()
        batch = Batch(source, page, circumstances=circumstances, broker=broker or Nobody())
        try:
            async with self._clock.timeout(self._limits.batch_seconds):
                while not batch.finished and not account.closed:
                    async with account.turn:
                        await self._turn(batch, account)
        except TimeoutError:
            account.closed = (
                f"the batch took longer than {self._limits.batch_seconds:g} s and was ended, "
                "with what the run had still to do"
            )
        if batch.problem:
            raise BadReply(batch.problem)
        if not batch.finished:
            batch.give_up(account.closed)
        return batch.results

    async def _turn(self, batch: Batch, account: Account) -> None:
        if account.closed:
            return
        lane = self._slow if self._paces.slow(batch.source, account) else self._quick
        try:
            async with lane.turn() as turn:
                began, cpu = self._clock.monotonic(), None
                try:
                    cpu = await self._giving_way(turn, self._talk(turn.process, batch))
                except Died as death:
                    self._blame(batch, account, turn.process.at, death)
                finally:
                    self._charge(batch, account, held=self._clock.monotonic() - began, cpu=cpu)
        except Died as death:
            self._blame(batch, account, None, death)
        except _GaveWay:
            # From here on it is one of the slow, and judges the object that it was at once more.
            self._paces.took(batch.source, account, seconds=self._limits.slow_seconds)

    async def _giving_way(self, turn: Turn, talk: Coroutine[Any, Any, float]) -> float:
        """Who takes long moves over to the slow, so that the others need not wait for the end of an object.

        Where there is no room its child is given up: one that waits for somebody outside would keep all the others waiting.
        """
        if turn.lane is self._slow:
            return await talk
        talking = asyncio.ensure_future(talk)
        try:
            while not await self._ended(talking):
                if self._quick.wanted:
                    if not self._slow.has_room:
                        raise _GaveWay
                    await self._slow.take_over(turn)
                    break
            return await talking
        finally:
            talking.cancel()
            await asyncio.gather(talking, return_exceptions=True)

    async def _ended(self, talking: asyncio.Future[float]) -> bool:
        """Whether it came to its end in good time."""
        try:
            async with self._clock.timeout(self._limits.overstay_seconds):
                await asyncio.wait((talking,))
        except TimeoutError:
            return False
        return True

    def _charge(self, batch: Batch, account: Account, *, held: float, cpu: float | None) -> None:
        """A child that died has not said what it took."""
        spent = held if cpu is None else cpu
        self._paces.took(batch.source, account, seconds=max(held, spent))
        account.spent += spent
        if account.spent >= self._limits.run_seconds:
            account.closed = (
                f"evaluating took more than {self._limits.run_seconds:g} s for the objects of one run and was "
                "ended: make the expressions cheaper (look at fewer and smaller values), or match fewer objects"
            )

    async def _talk(self, process: Process, batch: Batch) -> float:
        """The CPU seconds that it took."""
        await process.send(batch.message(seconds=self._limits.turn_seconds), batch.page)
        while True:
            reply = await process.receive()
            if isinstance(reply, Judged):
                batch.take(reply)
            elif isinstance(reply, Asked):
                self.statistics.questions += 1
                await self._serve(process, reply.question, batch.broker)
            elif isinstance(reply, Finished):
                process.peak = reply.peak
                self._finish(batch, reply)
                return reply.cpu
            else:
                raise BadReply("the process that judges expressions answered out of turn")

    async def _serve(self, process: Process, question: Question, broker: Broker) -> None:
        """An answer that does not come is an error of the expression, not of the batch."""
        error, value = "", b"null"
        try:
            async with self._clock.timeout(self._limits.question_seconds):
                value = await broker.answer(question)
        except SkoupaError as refusal:
            error = str(refusal)
        except TimeoutError:
            error = f"{_shown(question)} got no answer within {self._limits.question_seconds:g} s"
        if len(value) > self._limits.answer_bytes:
            error = (
                f"{_shown(question)} was answered with {len(value):,} bytes, more than {self._limits.answer_bytes:,}: "
                "ask for less, for instance with labels or in one namespace"
            )
        if error:
            await process.send(Answer(error=error))
        else:
            await process.send(Answer(), value)

    def _finish(self, batch: Batch, reply: Finished) -> None:
        batch.problem = reply.error
        batch.finished = not reply.left
        numbers = self.statistics
        numbers.turns += 1
        numbers.batches += batch.finished
        numbers.objects += reply.objects
        numbers.cpu += reply.cpu
        numbers.peak = max(numbers.peak, reply.peak)

    def _blame(self, batch: Batch, account: Account, at: tuple[int, int] | None, death: Died) -> None:
        """On the object that the child was at; one that dies at none is tried again, but not for ever."""
        self.statistics.died += 1
        if at is not None:
            batch.lose(at[0], f"condition {batch.name_of(at[1])} {death.reason}")
        else:
            batch.idle_deaths += 1
            if batch.idle_deaths < _MOST_IDLE_DEATHS:
                return
            batch.give_up(f"evaluating {death.reason}")
        account.interrupted = account.interrupted or death.passes

    def _child_started(self) -> None:
        self.statistics.started += 1


def _shown(question: Question) -> str:
    parts = [str(getattr(question, name)) for name in question.__struct_fields__ if name in _SHOWN]
    return f"{type(question).__name__}({', '.join(part for part in parts if part)})"


_SHOWN: Final = frozenset(
    {"api_version", "resource", "namespace", "name", "kind", "method", "url", "image", "function"}
)
