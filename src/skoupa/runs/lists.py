"""Lists that runs read, each once for all who want the same or alike at the same time, and few at once.

Policies that are due together mostly ask alike. Whoever asks first waits a moment for company; then every page goes to all of
them before the next is read, so memory stays at one page. Who is slow is left behind and reads alone, in a turn of the slow, and a
list that does not come is waited for in such a turn too: nobody's long run delays another's. A reader that fails has failed for
itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import aclosing
from types import TracebackType
from typing import Any, Final, Self

import msgspec

from skoupa.clock import Clock
from skoupa.errors import SkoupaError, Unreachable
from skoupa.kube.client import Client
from skoupa.kube.decoding import Page
from skoupa.kube.lists import pages
from skoupa.kube.objects import View
from skoupa.policy.queries import Query
from skoupa.runs.companies import Companies, Company, Items, alone

# Is told whether the list begins (anew): what came before is void then.
Take = Callable[[Items, bool], Awaitable[None]]

# Few, so that watches and what goes by a label always find a way to the server.
AT_ONCE: Final = 8
SLOW_AT_ONCE: Final = 8
COMPANY_SECONDS: Final = 0.05
LONGEST_COMPANY_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 1.0
# For a page: as long as a busy server may take, for who is given up asks again.
PAGE_SECONDS: Final = 3.0
READERS_AT_ONCE: Final = 8
# Of whole objects. Lists are read side by side, and what a page brings is there two or three times while it is read.
PAGE_BYTES: Final = 16 * 2**20

_METADATA: Final[View[msgspec.Raw]] = View(type=msgspec.Raw, metadata_only=True)
_WHOLE: Final[View[msgspec.Raw]] = View(type=msgspec.Raw)


class _Reader:
    """One who wants a list. `left_behind`: the others went on without it."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self.left_behind = False
        self.error: SkoupaError | None = None

    @property
    def waits(self) -> bool:
        """For the rest of the list."""
        return not self.left_behind and self.error is None

    async def take(self, items: Items, *, first: bool) -> None:
        try:
            await self._take(items, first)
        except SkoupaError as error:
            self.error = error


class _Reading:
    """Of the list of a company."""

    def __init__(self, company: Company[_Reader]) -> None:
        self.company = company
        self.ended = asyncio.Event()
        # Until it is read to its end: half a list must not pass for a whole one.
        self.error: SkoupaError | None = Unreachable("the list was not read to its end")


class _Turn:
    """Of a list that is being read, among the quick until it turns out to be slow."""

    def __init__(self, quick: asyncio.Semaphore, slow: asyncio.Semaphore, *, is_slow: bool = False) -> None:
        self._quick = quick
        self._slow = slow
        self._held: asyncio.Semaphore | None = None
        self.is_slow = is_slow

    async def __aenter__(self) -> Self:
        await self._take(self._slow if self.is_slow else self._quick)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._give_back()

    async def _take(self, turns: asyncio.Semaphore) -> None:
        await turns.acquire()
        self._held = turns

    def _give_back(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.release()

    async def moved_over(self) -> bool:
        """Whether it goes on among the slow; where they are many it can't."""
        if self._slow.locked():
            return False
        self._give_back()
        await self._take(self._slow)
        self.is_slow = True
        return True

    async def stepped_aside(self, coming: asyncio.Task[Any]) -> None:
        """Keeps no turn until there is one among the slow, or what it waits for is there."""
        self._give_back()
        room = asyncio.create_task(self._slow.acquire())
        try:
            await asyncio.wait({coming, room}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            if room.done():
                self._held, self.is_slow = self._slow, True
            else:
                room.cancel()
        if self._held is None:
            await self._take(self._quick)


class Lists:
    def __init__(self, client: Client, *, at_once: int = AT_ONCE, slow_at_once: int = SLOW_AT_ONCE) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._turns = asyncio.Semaphore(at_once)
        self._slow_turns = asyncio.Semaphore(slow_at_once)
        self._companies: Companies[_Reader] = Companies()
        # Of those companies whose list nobody has read to its end.
        self._readings: dict[Company[_Reader], _Reading] = {}
        # How many were asked for, how many of them could not be read, and for whom they were.
        self.lists = 0
        self.failed = 0
        self.readers = 0

    async def read(self, query: Query, *, bodies: bool, take: Take) -> None:
        """Hands the whole list to `take`, page by page; raises what kept it from being read to its end."""
        reader = _Reader(take)
        self.readers += 1
        company, new = self._companies.join(reader, query, bodies=bodies)
        if new:
            reading = self._readings[company] = _Reading(company)
            await self._lead(reading)
        else:
            reading = self._readings[company]
            await reading.ended.wait()
        if reader.left_behind:
            reader = _Reader(take)
            reading = _Reading(alone(reader, query, bodies=bodies))
            async with _Turn(self._turns, self._slow_turns, is_slow=True) as turn:
                await self._hand_round(reading, turn)
        if (error := reader.error or reading.error) is not None:
            raise error

    async def _lead(self, reading: _Reading) -> None:
        try:
            await self._company()
            async with _Turn(self._turns, self._slow_turns) as turn:
                self._companies.close(reading.company)
                await self._hand_round(reading, turn)
        finally:
            self._companies.close(reading.company)
            del self._readings[reading.company]
            reading.ended.set()

    async def _company(self) -> None:
        """A moment, and longer while others come: a thousand policies that are due together come one after the other."""
        until = self._clock.monotonic() + LONGEST_COMPANY_SECONDS
        came = -1
        while came != self.readers and self._clock.monotonic() < until:
            came = self.readers
            await self._clock.sleep(COMPANY_SECONDS)

    async def _hand_round(self, reading: _Reading, turn: _Turn) -> None:
        self.lists += 1
        query, view = reading.company.query, _WHOLE if reading.company.bodies else _METADATA
        # Nothing is kept of what it brings, so it is the way here that costs.
        listing = pages(
            self._client,
            query.resource,
            view,
            scope=query.scope,
            page_bytes=PAGE_BYTES if reading.company.bodies else 0,
            compressed=True,
        )
        async with aclosing(listing), asyncio.TaskGroup() as group:
            while isinstance(page := await self._next(listing, turn, group), Page):
                shares = [
                    (reader, items) for reader, items in reading.company.shares(page.items) if reader.waits
                ]
                if not shares:
                    # Nobody waits for the rest.
                    return
                await self._give(shares, turn, first=page.first, group=group)
            reading.error = page
            self.failed += page is not None

    async def _next(
        self,
        listing: AsyncGenerator[Page[msgspec.Raw], None],
        turn: _Turn,
        group: asyncio.TaskGroup,
    ) -> Page[msgspec.Raw] | SkoupaError | None:
        """The page that comes next; None: that was all. One that does not come soon keeps no turn from those who are quick."""
        coming = group.create_task(_page(listing))
        if not turn.is_slow and not await self._one_done({coming}, PAGE_SECONDS):
            # Those who wait for it stay together: each for itself would ask a busy server as many times.
            await turn.stepped_aside(coming)
        return await coming

    async def _give(
        self, shares: Sequence[tuple[_Reader, Items]], turn: _Turn, *, first: bool, group: asyncio.TaskGroup
    ) -> None:
        """To all, a few at a time: judging takes the processor, and others need a turn in between."""
        left = deque((reader, items) for reader, items in shares if items or first)
        busy: dict[asyncio.Task[None], _Reader] = {}
        while left or busy:
            while left and len(busy) < READERS_AT_ONCE:
                reader, items = left.popleft()
                busy[group.create_task(reader.take(items, first=first))] = reader
            single = len(shares) == 1
            if await self._one_done(busy, None if single and turn.is_slow else PATIENCE_SECONDS):
                busy = {task: reader for task, reader in busy.items() if not task.done()}
                continue
            if single and await turn.moved_over():
                # Whoever is alone need not begin anew.
                continue
            for task, reader in busy.items():
                reader.left_behind = True
                task.cancel()
            busy.clear()

    async def _one_done(self, tasks: Collection[asyncio.Task[Any]], patience: float | None) -> bool:
        """Whether one of them came to its end in good time; those who did not wait for something outside."""
        try:
            async with self._clock.timeout(patience):
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            return False
        return True


async def _page(
    listing: AsyncGenerator[Page[msgspec.Raw], None],
) -> Page[msgspec.Raw] | SkoupaError | None:
    try:
        return await anext(listing, None)
    except SkoupaError as error:
        return error
