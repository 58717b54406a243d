"""CEL for the rest of Skoupa: expressions are compiled and judged in child processes that may die without harm.

A dead child costs the object that it was at: that one gets an error, the rest of the batch goes on in a new child.
Every object of a page gets exactly one Result, in order. What functions ask for is served here, through the Broker that
comes with the batch. Nothing here imports the engine. Children are started when needed and reused.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Final, Self

import msgspec

from skoupa.clock import Clock
from skoupa.errors import BadReply, NotFound, SkoupaError
from skoupa.expr.cel.broker import Broker, Nobody
from skoupa.expr.cel.limits import Limits
from skoupa.expr.cel.messages import (
    Answer,
    Asked,
    Circumstances,
    Compile,
    Compiled,
    Finished,
    GetResource,
    Judge,
    Judged,
    Problem,
    Question,
    Report,
    Result,
    Source,
)
from skoupa.expr.cel.process import Died, Process

_MOST_IDLE_DEATHS: Final = 3


class Statistics(msgspec.Struct, kw_only=True):
    """`cpu` is CPU seconds of children in finished batches, `peak` the largest memory that one of them had."""

    started: int = 0
    died: int = 0
    batches: int = 0
    objects: int = 0
    questions: int = 0
    cpu: float = 0.0
    peak: int = 0


class Pool:
    """An asynchronous context manager: leaving it ends the children."""

    def __init__(self, *, clock: Clock, limits: Limits | None = None) -> None:
        self._clock = clock
        self._limits = limits or Limits()
        self._turns = asyncio.Semaphore(self._limits.children)
        self._idle: list[Process] = []
        self._busy: set[Process] = set()
        self._closed = False
        self.statistics = Statistics()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for process in self._idle:
            process.close()
        self._idle.clear()

    @property
    def pids(self) -> list[int]:
        """Of the children that live: whoever measures memory wants to see theirs."""
        return sorted(process.pid for process in (*self._idle, *self._busy))

    async def compile(self, source: Source) -> Report:
        """What is wrong with the expressions, in words, and what they look at."""
        try:
            async with self._process() as process:
                await process.send(Compile(source=source))
                reply = await process.receive()
        except Died as death:
            where = "conditions" if source.conditions else "variables"
            problem = Problem(where=where, expression="", reason=f"compiling {death.reason}")
            return Report(problems=(problem,), fields=None)
        if not isinstance(reply, Compiled):
            raise BadReply("the process that compiles expressions answered out of turn")
        return reply.report

    async def judge(
        self, source: Source, page: bytes, *, circumstances: Circumstances, broker: Broker | None = None
    ) -> list[Result]:
        """One Result for each item of the page. A BadReply where the page is no list of objects."""
        batch = _Batch(source, page, circumstances=circumstances, broker=broker or Nobody())
        try:
            async with self._clock.timeout(self._limits.batch_seconds):
                while not batch.finished:
                    await self._go_on(batch)
        except TimeoutError:
            late = f"the batch took longer than {self._limits.batch_seconds:g} s and was ended"
            return batch.all_results(_count(page), late)
        if batch.problem:
            raise BadReply(batch.problem)
        return batch.results

    async def _go_on(self, batch: _Batch) -> None:
        try:
            async with self._process() as process:
                try:
                    await self._talk(process, batch)
                except Died as death:
                    self._blame(batch, process.at, death.reason)
        except Died as death:
            self._blame(batch, None, death.reason)

    async def _talk(self, process: Process, batch: _Batch) -> None:
        await process.send(batch.message(), batch.page)
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
                return
            else:
                raise BadReply("the process that judges expressions answered out of turn")

    async def _serve(self, process: Process, question: Question, broker: Broker) -> None:
        """An answer that does not come is an error of the expression, not of the batch."""
        error, value = "", b"null"
        try:
            async with self._clock.timeout(self._limits.question_seconds):
                value = await broker.answer(question)
        except NotFound as missing:
            error = "" if isinstance(question, GetResource) else str(missing)
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

    def _finish(self, batch: _Batch, reply: Finished) -> None:
        batch.problem = reply.error
        batch.finished = not reply.worn
        numbers = self.statistics
        numbers.batches += 1
        numbers.objects += reply.objects
        numbers.cpu += reply.cpu
        numbers.peak = max(numbers.peak, reply.peak)

    def _blame(self, batch: _Batch, at: tuple[int, int] | None, reason: str) -> None:
        """On the object that the child was at; one that dies at none is tried again, but not for ever."""
        self.statistics.died += 1
        if at is not None:
            batch.lose(at[0], f"condition {batch.name_of(at[1])} {reason}")
            return
        batch.idle_deaths += 1
        if batch.idle_deaths >= _MOST_IDLE_DEATHS:
            batch.give_up(_count(batch.page), f"evaluating {reason}")

    @asynccontextmanager
    async def _process(self) -> AsyncIterator[Process]:
        """A child for one exchange; what is left half-way (an error, a cancellation) is ended, not reused."""
        async with self._turns:
            process = self._idle.pop() if self._idle else None
            if process is None:
                self.statistics.started += 1
                process = await Process.start(clock=self._clock, limits=self._limits)
            whole = False
            self._busy.add(process)
            try:
                yield process
                grown = process.peak >= self._limits.retire_bytes
                whole = process.alive and not grown and not self._closed
            finally:
                self._busy.remove(process)
                if whole:
                    self._idle.append(process)
                else:
                    process.close()


class _Batch:
    """How far a page has come."""

    def __init__(self, source: Source, page: bytes, *, circumstances: Circumstances, broker: Broker) -> None:
        self.source = source
        self.page = page
        self.circumstances = circumstances
        self.broker = broker
        self.finished = False
        self.problem = ""
        self.idle_deaths = 0
        self.results: list[Result] = []
        self._lost: dict[int, Result] = {}

    def message(self) -> Judge:
        return Judge(
            source=self.source,
            circumstances=self.circumstances,
            start=len(self.results),
            skip=tuple(index for index in self._lost if index >= len(self.results)),
        )

    def take(self, judged: Judged) -> None:
        for index, result in enumerate(judged.results, judged.start):
            self.results.append(self._lost.get(index, result))

    def lose(self, index: int, error: str) -> None:
        self._lost[index] = Result(False, error)

    def give_up(self, count: int, error: str) -> None:
        self.results = self.all_results(count, error)
        self.finished = True

    def all_results(self, count: int, error: str) -> list[Result]:
        return self.results + [
            self._lost.get(index, Result(False, error)) for index in range(len(self.results), count)
        ]

    def name_of(self, condition: int) -> str:
        known = self.source.conditions
        return known[condition].name if condition < len(known) else str(condition)


class _Items(msgspec.Struct):
    items: list[msgspec.Raw]


def _count(page: bytes) -> int:
    """Only when a batch is given up: otherwise the child counts."""
    try:
        return len(msgspec.json.decode(page, type=_Items).items)
    except msgspec.DecodeError as error:
        raise BadReply(f"the page can't be read: {error}") from error


def _shown(question: Question) -> str:
    parts = [str(getattr(question, name)) for name in question.__struct_fields__ if name in _SHOWN]
    return f"{type(question).__name__}({', '.join(part for part in parts if part)})"


_SHOWN: Final = frozenset({"api_version", "resource", "namespace", "name", "kind", "method", "url", "image"})
