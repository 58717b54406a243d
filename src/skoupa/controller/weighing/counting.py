"""Counts of objects, bounded: a kind that does not answer makes nobody wait for long, and then nobody at all.

A count has a short limit of its own, and gives up its place at the client when that is over. A kind that was silent, or
slow, is asked by one at a time, after a rest; whoever comes meanwhile is told at once that it can't be counted, and tries
again later without keeping a worker. A quick answer, also a refusal, ends that. Here nothing is repeated.
"""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import SkoupaError, TimedOut
from skoupa.kube.client import Client
from skoupa.kube.lists import count
from skoupa.kube.resources import Resource

# A count reads one object: a busy server takes far less.
LIMIT_SECONDS: Final = 5.0
SLOW_SECONDS: Final = 3.0
# With the limit and the longest back-off after a failure it stays under a minute.
REST_SECONDS: Final = 5.0
AT_A_TIME: Final = 16
MOST_OF_A_KIND: Final = 4
# However many kinds are silent, they never keep more of the client's places.
MOST_SILENT: Final = 2


class Counting:
    """For all who count with one client: what one of them learns of a kind holds for the others."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._places = asyncio.Semaphore(AT_A_TIME)
        self._of_kind: defaultdict[Resource, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(MOST_OF_A_KIND)
        )
        # When it may be asked again; infinite while somebody is at it.
        self._silent: dict[Resource, float] = {}

    async def count(self, kind: Resource, *, namespace: str = "") -> int:
        """How many there are; raises TimedOut where it does not answer in time, or did not a moment ago."""
        self._refuse_silent(kind)
        async with self._of_kind[kind], self._places:
            # Who had to wait may know by now.
            self._refuse_silent(kind)
            return await self._ask(kind, namespace)

    async def _ask(self, kind: Resource, namespace: str) -> int:
        alone, began = kind in self._silent, self._clock.monotonic()
        if alone:
            self._silent[kind] = math.inf
        try:
            async with self._clock.timeout(LIMIT_SECONDS):
                number = await count(self._client, kind, namespace=namespace)
        except (TimeoutError, TimedOut) as error:
            self._silent[kind] = self._clock.monotonic() + REST_SECONDS
            raise _no_answer() from error
        except SkoupaError:
            self._answered(kind, began)
            raise
        except asyncio.CancelledError:
            # Nobody wants to know any more: nothing was learned.
            if alone:
                self._silent[kind] = began
            raise
        self._answered(kind, began)
        return number

    def _refuse_silent(self, kind: Resource) -> None:
        again = self._silent.get(kind)
        if again is None:
            return
        asking = sum(when == math.inf for when in self._silent.values())
        if again > self._clock.monotonic() or asking >= MOST_SILENT:
            raise _no_answer()

    def _answered(self, kind: Resource, began: float) -> None:
        now = self._clock.monotonic()
        if now - began >= SLOW_SECONDS:
            self._silent[kind] = now
        else:
            self._silent.pop(kind, None)


def _no_answer() -> TimedOut:
    return TimedOut("no answer in time")
