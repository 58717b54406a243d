"""Lists that runs read, each once for all who want the same at the same time, and few at once.

Policies that are due together mostly ask alike. Whoever asks first waits a moment for company; then every page goes to all of
them before the next is read, so memory stays at one page. Who is slow is left behind and reads alone afterwards: nobody's long
run delays another's. A reader that fails has failed for itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import SkoupaError, Unreachable
from skoupa.kube.client import Client
from skoupa.kube.lists import pages
from skoupa.kube.objects import View
from skoupa.policy.queries import Query

Items = Sequence[msgspec.Raw]
# Is told whether the list begins (anew): what came before is void then.
Take = Callable[[Items, bool], Awaitable[None]]

# Few, so that watches and what goes by a label always find a way to the server.
AT_ONCE: Final = 8
COMPANY_SECONDS: Final = 0.05
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
        if self.error is not None:
            return
        try:
            await self._take(items, first)
        except SkoupaError as error:
            self.error = error


class _Shared:
    def __init__(self) -> None:
        self.readers: list[_Reader] = []
        self.bodies = False
        self.read = asyncio.Event()
        # Until it is read to its end: half a list must not pass for a whole one.
        self.error: SkoupaError | None = Unreachable("the list was not read to its end")


class Lists:
    def __init__(self, client: Client, *, at_once: int = AT_ONCE) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._turns = asyncio.Semaphore(at_once)
        # Those that nobody has begun to read.
        self._waiting: dict[Query, _Shared] = {}
        # How many were read, for whom.
        self.lists = 0
        self.readers = 0

    async def read(self, query: Query, *, bodies: bool, take: Take) -> None:
        """Hands the whole list to `take`, page by page; raises what kept it from being read to its end."""
        reader = _Reader(take)
        self.readers += 1
        shared = self._waiting.get(query)
        if shared is not None:
            shared.readers.append(reader)
            shared.bodies = shared.bodies or bodies
            await shared.read.wait()
        else:
            shared = self._waiting[query] = _Shared()
            shared.readers.append(reader)
            shared.bodies = bodies
            await self._lead(query, shared)
        if reader.left_behind:
            alone = _Shared()
            reader = _Reader(take)
            alone.readers.append(reader)
            alone.bodies = bodies
            async with self._turns:
                await self._hand_round(query, alone)
            shared = alone
        if (error := reader.error or shared.error) is not None:
            raise error

    async def _lead(self, query: Query, shared: _Shared) -> None:
        try:
            await self._clock.sleep(COMPANY_SECONDS)
            async with self._turns:
                self._begin(query, shared)
                await self._hand_round(query, shared)
        finally:
            self._begin(query, shared)
            shared.read.set()

    def _begin(self, query: Query, shared: _Shared) -> None:
        """Nobody joins any more. Others may wait for the same list by now: those are another company."""
        if self._waiting.get(query) is shared:
            del self._waiting[query]

    async def _hand_round(self, query: Query, shared: _Shared) -> None:
        self.lists += 1
        view = _WHOLE if shared.bodies else _METADATA
        # Nothing is kept of what it brings, so it is the way here that costs.
        listing = pages(self._client, query.resource, view, scope=query.scope, compressed=True)
        try:
            async with aclosing(listing), asyncio.TaskGroup() as group:
                async for page in listing:
                    await self._give(shared, page.items, first=page.first, group=group)
                shared.error = None
        except* SkoupaError as errors:
            shared.error = _first(errors)

    async def _give(self, shared: _Shared, items: Items, *, first: bool, group: asyncio.TaskGroup) -> None:
        """To all, a few at a time: judging takes the processor, and others need a turn in between."""
        left = [reader for reader in shared.readers if not reader.left_behind and reader.error is None]
        if len(left) == 1:
            await left[0].take(items, first=first)
            return
        busy: dict[asyncio.Task[None], _Reader] = {}
        while left or busy:
            while left and len(busy) < READERS_AT_ONCE:
                reader = left.pop(0)
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
