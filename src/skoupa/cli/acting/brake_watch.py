"""Brakes while a sweep goes on: one that is pulled holds from the moment at which the server tells of it.

While what is told is being read, and while the watch is cut, nobody goes on. A watch that does not come back ends the
sweep, and so does one that is not granted.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final

from skoupa.controller.braking.feed import kind_in
from skoupa.controller.survey import Survey
from skoupa.errors import Forbidden, SkoupaError
from skoupa.judge.brakes import Pulled
from skoupa.kinds.brake_effect import next_change_of
from skoupa.kube import watched
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.watch import watch

PATIENCE_SECONDS: Final = 30.0
MAY_NOT_WATCH: Final = "no permission: watch brakes.skoupa.dev"
_READ_ANEW: Final = "they changed, and are being read"


class BrakeWatch:
    """Follows them."""

    def __init__(self, client: Client, survey: Survey) -> None:
        self._client = client
        self._survey = survey
        self._known = asyncio.Event()
        self._epoch = 0
        self.error: SkoupaError | None = None
        self._plan_turn()

    @property
    def epoch(self) -> int:
        """Grows with every change, also where time alone made it, so that a delete that is on its way is judged again."""
        if self._client.clock.now() >= self._next_turn:
            self._epoch += 1
            self._plan_turn()
        return self._epoch

    def _plan_turn(self) -> None:
        brakes = self._survey.knowledge.brakes.brakes
        self._next_turn = next_change_of(brakes, self._client.clock.now())

    async def known(self) -> bool:
        """Whether the Brakes are known by now; False for ever once they can't be."""
        try:
            async with self._client.clock.timeout(PATIENCE_SECONDS):
                await self._known.wait()
        except TimeoutError:
            self.error = self.error or SkoupaError("the watch of Brakes does not come back")
        return self.error is None

    async def follow(self) -> None:
        kind = kind_in(self._survey.knowledge.discovery)
        if kind is None:
            # What that means was judged when they were read.
            self._known.set()
            return
        events = watch(self._client, kind, METADATA)
        async with aclosing(events):
            async for event in events:
                match event:
                    case watched.Synced() | watched.Changed():
                        await self._read_anew()
                    case watched.Progressed() | watched.Resumed():
                        self._known.set()
                    case watched.Interrupted(Forbidden(), _):
                        self._refuse()
                    case watched.Interrupted():
                        self._known.clear()
                    case _:
                        continue

    def _refuse(self) -> None:
        """Whoever waits, or goes on the next time, is told."""
        self.error = SkoupaError(MAY_NOT_WATCH)
        self._survey.knowledge.brakes = Pulled(unknown=MAY_NOT_WATCH)
        self._epoch += 1
        self._known.set()

    async def _read_anew(self) -> None:
        self._known.clear()
        self._epoch += 1
        self._survey.knowledge.brakes = Pulled(unknown=_READ_ANEW)
        try:
            await self._survey.read_brakes()
        except SkoupaError as error:
            self.error = error
        self._plan_turn()
        self._known.set()
