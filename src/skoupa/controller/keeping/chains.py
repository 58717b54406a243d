"""Reads whom kept objects hang on, and writes down mass labellings, so that a restart does not forget them.

Both follow from what was learnt, take requests, and are tried until they are done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from skoupa.controller.backlogs.backlog import Backlog
from skoupa.controller.backlogs.first_look import FirstLook
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.state import MASS_LABELLINGS
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client


class Chains:
    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        backlog: Backlog,
        first_look: FirstLook,
        acting: Callable[[], bool],
        look_again: Callable[[], None],
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._backlog = backlog
        self._first_look = first_look
        self._acting = acting
        self._look_again = look_again
        self.wanted = asyncio.Event()

    async def follow(self) -> None:
        clock, kept = self._client.clock, self._knowledge.kept
        backoff = Backoff(clock)
        written = b"[]"
        while True:
            await self.wanted.wait()
            self.wanted.clear()
            if await kept.read_chains(self._client, self._knowledge.discovery):
                self._look_again()
            masses = msgspec.json.encode(self._backlog.masses)
            if masses != written and self._acting():
                knows = self._first_look.knows_masses
                if knows and await self._first_look.put(MASS_LABELLINGS, self._backlog.masses):
                    written = masses
                else:
                    self.wanted.set()
            if kept.unread or self.wanted.is_set():
                self.wanted.set()
                await clock.sleep(backoff.next())
            else:
                backoff.reset()
