"""How long the trash waits for the server: a kind that does not answer must not make deletions of other kinds wait.

An answer has a few seconds, counted from when its question leaves: who waits for a turn of their own client is not
waiting for the server. A kind that took longer is silent for a while: nobody asks again meanwhile, questions that still
wait for their turn are withdrawn, and whoever wanted an answer tells that there was none. Who can come again later lets
one alone find out then whether it answers again; all others are told at once that it does not.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, contextmanager
from typing import Final, TypeVar

import msgspec

from skoupa.clock import Clock
from skoupa.errors import Disconnected, SkoupaError, TimedOut, Withdrawn
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.transport import Request, Response, Stream, Transport

T = TypeVar("T")

SILENT_SECONDS: Final = 60.0
# So few of one kind that one which begins to hang leaves turns to the others.
_LISTS_OF_A_KIND: Final = 2
_TRIES: Final = 3


class Patience:
    """`seconds` is the longest wait for one answer, `silence` how long nobody asks then; `client` is to be asked with.

    `one_finds_out`: a kind that was silent is asked by one at a time until it has answered.
    """

    def __init__(
        self, client: Client, *, seconds: float, silence: float = SILENT_SECONDS, one_finds_out: bool = False
    ) -> None:
        self._clock = client.clock
        self._seconds = seconds
        self._silence = silence
        self._one_finds_out = one_finds_out
        # Kinds that one is finding out about.
        self._found_out: set[str] = set()
        hurried = _Hurried(client.transport, client.clock, seconds=seconds, silent=self._is_silent)
        self.client = Client(hurried, client.clock, user_agent=client.user_agent)
        # Until when nobody asks again, by kind.
        self._silent: dict[str, float] = {}
        self._lists: dict[str, asyncio.Semaphore] = {}

    def check(self, kind: str) -> None:
        """Raises TimedOut for a kind that is silent."""
        if self._is_silent(kind) or kind in self._found_out:
            raise self._no_answer()

    @contextmanager
    def asking(self, kind: str) -> Iterator[None]:
        """Around the wait for an answer about this kind, right after `check`."""
        finding_out = self._one_finds_out and kind in self._silent
        if finding_out:
            self._found_out.add(kind)
        try:
            yield
        except TimedOut:
            self._silent[kind] = self._clock.monotonic() + self._silence
            raise self._no_answer() from None
        except Withdrawn:
            raise self._no_answer() from None
        except SkoupaError:
            self._answered(kind)
            raise
        else:
            self._answered(kind)
        finally:
            if finding_out:
                self._found_out.discard(kind)

    @property
    def finding_out(self) -> bool:
        """Whether somebody waits for a kind that was silent: who can does not wait for that one."""
        return bool(self._found_out)

    def _answered(self, kind: str) -> None:
        """One that was slow and in time ends no silence that another met with."""
        if not self._is_silent(kind):
            self._silent.pop(kind, None)

    async def pages(self, kind: str, listing: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """The pages of a list that is asked for with `client`; of a kind that is silent none is asked for."""
        async with aclosing(listing):
            # Also before it has a place: those who have one may be waiting for an answer that does not come.
            self.check(kind)
            async with self._place(kind):
                self.check(kind)
                while True:
                    with self.asking(kind):
                        page = await anext(listing, None)
                    if page is None:
                        return
                    yield page

    def _is_silent(self, kind: str) -> bool:
        return self._clock.monotonic() < self._silent.get(kind, -math.inf)

    @asynccontextmanager
    async def _place(self, kind: str) -> AsyncIterator[None]:
        async with self._lists.setdefault(kind, asyncio.Semaphore(_LISTS_OF_A_KIND)):
            yield

    def _no_answer(self) -> TimedOut:
        return TimedOut(f"the server did not answer within {self._seconds:.0f} seconds")


class _Hurried:
    """A transport that waits for answers no longer than so many seconds, and asks again only where that is quick."""

    def __init__(
        self, inner: Transport, clock: Clock, *, seconds: float, silent: Callable[[str], bool]
    ) -> None:
        self._inner = inner
        self._clock = clock
        self._seconds = seconds
        self._silent = silent

    async def send(self, request: Request) -> Response:
        # Not repeatable: a time-out must not be waited for once more.
        quick = msgspec.structs.replace(
            request,
            timeout=self._seconds,
            repeatable=False,
            still_wanted=lambda: not self._silent(request.kind),
        )
        backoff = Backoff(self._clock, first=0.2, cap=1.0)
        for _ in range(_TRIES - 1):
            try:
                response = await self._inner.send(quick)
            except Disconnected:
                response = None
            if response is not None and response.status < 500:
                return response
            await self._clock.sleep(backoff.next())
        return await self._inner.send(quick)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(request)

    async def close(self) -> None:
        await self._inner.close()
