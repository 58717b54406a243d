"""Lists that runs read, each once for all who want the same or alike at the same time, and few at once.

Policies that are due together mostly ask alike. Whoever asks first waits a moment for company; then every page goes to all of
them before the next is read, so memory stays at one page. Who is slow is left behind and reads alone afterwards: nobody's long
run delays another's. A reader that fails has failed for itself.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import SkoupaError, Unreachable
from skoupa.kube.client import Client
from skoupa.kube.lists import pages
from skoupa.kube.objects import View
from skoupa.policy.queries import Query
from skoupa.runs.companies import Companies, Company, Items, alone

# Is told whether the list begins (anew): what came before is void then.
Take = Callable[[Items, bool], Awaitable[None]]

# Few, so that watches and what goes by a label always find a way to the server.
AT_ONCE: Final = 8
COMPANY_SECONDS: Final = 0.05
LONGEST_COMPANY_SECONDS: Final = 0.5
PATIENCE_SECONDS: Final = 1.0
READERS_AT_ONCE: Final = 8

_METADATA: Final[View[msgspec.Raw]] = View(type=msgspec.Raw, metadata_only=True)
_WHOLE: Final[View[msgspec.Raw]] = View(type=msgspec.Raw)


class _Reader:
    """One who wants a list. `left_behind`: the others went on without it."""

    def __init__(self, take: Take) -> None:
        self._take = take
        self.left_behind = False
        self.error: SkoupaError | None = None

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


class Lists:
    def __init__(self, client: Client, *, at_once: int = AT_ONCE) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._turns = asyncio.Semaphore(at_once)
        self._companies: Companies[_Reader] = Companies()
        # Of those companies whose list nobody has read to its end.
        self._readings: dict[Company[_Reader], _Reading] = {}
        # How many were read, for whom.
        self.lists = 0
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
            async with self._turns:
                await self._hand_round(reading)
        if (error := reader.error or reading.error) is not None:
            raise error

    async def _lead(self, reading: _Reading) -> None:
        try:
            await self._company()
            async with self._turns:
                self._companies.close(reading.company)
                await self._hand_round(reading)
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

    async def _hand_round(self, reading: _Reading) -> None:
        self.lists += 1
        query, view = reading.company.query, _WHOLE if reading.company.bodies else _METADATA
        # Nothing is kept of what it brings, so it is the way here that costs.
        listing = pages(self._client, query.resource, view, scope=query.scope, compressed=True)
        try:
            async with aclosing(listing), asyncio.TaskGroup() as group:
                async for page in listing:
                    await self._give(reading.company.shares(page.items), first=page.first, group=group)
                reading.error = None
        except* SkoupaError as errors:
            reading.error = _first(errors)

    async def _give(
        self, shares: Iterable[tuple[_Reader, Items]], *, first: bool, group: asyncio.TaskGroup
    ) -> None:
        """To all, a few at a time: judging takes the processor, and others need a turn in between."""
        there = [share for share in shares if not share[0].left_behind and share[0].error is None]
        left = deque((reader, items) for reader, items in there if items or first)
        if len(there) == 1 and left:
            # Nobody waits for it, be it as slow as it may; one whose page has nothing for the others is waited for.
            await left[0][0].take(left[0][1], first=first)
            return
        busy: dict[asyncio.Task[None], _Reader] = {}
        while left or busy:
            while left and len(busy) < READERS_AT_ONCE:
                reader, items = left.popleft()
                busy[group.create_task(reader.take(items, first=first))] = reader
            if not await self._one_done(busy):
                for task, reader in busy.items():
                    reader.left_behind = True
                    task.cancel()
                busy.clear()

    async def _one_done(self, busy: dict[asyncio.Task[None], _Reader]) -> bool:
        """Whether one of them came to its end in good time; those who did not wait for something outside."""
        try:
            async with self._clock.timeout(PATIENCE_SECONDS):
                done, _ = await asyncio.wait(busy, return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            return False
        for task in done:
            del busy[task]
        return True


def _first(errors: BaseExceptionGroup[SkoupaError]) -> SkoupaError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, SkoupaError)
    return found
