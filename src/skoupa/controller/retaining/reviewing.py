"""Looks again at all that is followed where what can be seen is another now, and at what nobody tells of after a while.

What could not be written is tried again, and what objects are good for is asked about the whole cluster, so that no single change says
it. While something is read for the first time there is little to say of any object.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.usage_feeds import UsageFeeds
from skoupa.facts.rows import Uid
from skoupa.usage.leftovers.worth import is_asked

# How often what could not be written is tried again.
REVIEW_SECONDS: Final = 60.0
# How often it is asked what objects are good for that nothing points at: no single change says that.
WORTH_SECONDS: Final = 10.0
# However often what can be seen changes, all are looked at no more often: many watches break at once.
_ALL_SECONDS: Final = 1.0
_AT_A_TIME: Final = 500


class Reviewing:
    """`look` is told of objects to be looked at, `unsettled` are those that something could not be written onto, `again` is now."""

    def __init__(
        self,
        clock: Clock,
        labelled: Labelled,
        feeds: UsageFeeds,
        *,
        look: Callable[[Iterable[Uid]], None],
        unsettled: Callable[[], Iterable[Uid]],
        again: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._labelled = labelled
        self._feeds = feeds
        self._look = look
        self._unsettled = unsettled
        self._again = again
        self._doubtful = self._misplaced = False
        self._woken = asyncio.Event()
        # When what nobody tells of is looked at again, however often somebody wakes this, by the clock that never jumps.
        self._due = math.inf

    def rearrange(self) -> None:
        """Other kinds have to be read, or read otherwise."""
        self._misplaced = True
        self._woken.set()

    def doubt(self) -> None:
        """What can be seen is another now: that may concern all."""
        self._doubtful = True
        self._woken.set()

    async def follow(self, group: asyncio.TaskGroup) -> None:
        """For ever. Feeds run in the group."""
        while True:
            await self._nap()
            self._woken.clear()
            if self._misplaced:
                self._misplaced = False
                await self._feeds.arrange(group)
            if self._doubtful and not self._feeds.awaited:
                self._doubtful = False
                await self._look_at_all()
                await self._clock.sleep(_ALL_SECONDS)

    async def _look_at_all(self) -> None:
        uids = [row.uid for row in self._labelled]
        for start in range(0, len(uids), _AT_A_TIME):
            self._look(uids[start : start + _AT_A_TIME])
            await self._clock.sleep(0.0)

    async def _nap(self) -> None:
        asked = [kind for kind in self._labelled.kinds if is_asked(kind)]
        waiting = self._feeds.unsettled or any(True for _ in self._unsettled())
        wait = (
            WORTH_SECONDS if asked or self._feeds.expects_kinds else REVIEW_SECONDS if waiting else math.inf
        )
        now = self._clock.monotonic()
        self._due = min(self._due, now + wait) if wait < math.inf else wait
        with suppress(TimeoutError):
            async with self._clock.timeout(None if wait == math.inf else max(0.0, self._due - now)):
                await self._woken.wait()
        if self._clock.monotonic() >= self._due:
            self._due = math.inf
            self._review(asked)

    def _review(self, asked: Iterable[str]) -> None:
        if self._feeds.unsettled:
            self.rearrange()
            self.doubt()
        self._again()
        self._look(tuple(self._unsettled()))
        for kind in asked:
            self._look([row.uid for row in self._labelled.of_kind(kind)])
