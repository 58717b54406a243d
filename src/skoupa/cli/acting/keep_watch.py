"""What is kept while a sweep goes on: a keep label that somebody writes holds from the moment at which the server tells of it.

Kept objects, and the Namespaces that were asked for, are watched as the controller watches them. Where that is not granted
there is no watch; they are read again and again all the same (`freshness`), since a watch that is frozen tells nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from skoupa.controller.sight.readings import Job
from skoupa.controller.survey import Survey
from skoupa.errors import Forbidden
from skoupa.facts.feeds import Feed
from skoupa.facts.store import Delta
from skoupa.kube.client import Client

# Who keeps more and more objects is not waited for: as long as an owner is not known, that holds.
_MOST_LOOKS: Final = 5


class KeepWatch:
    def __init__(self, client: Client, survey: Survey) -> None:
        self._client = client
        self._survey = survey
        self._watched: set[Job] = set()
        self._wanted = asyncio.Event()
        self._chains = asyncio.Lock()
        # The state of what is kept whose owners are read.
        self._climbed = -1

    def begin(self) -> None:
        """From now on, and again for kinds that came meanwhile."""
        self._wanted.set()

    async def caught_up(self) -> None:
        """Afterwards it is known whom all that is kept hangs on, or why it can't be."""
        knowledge = self._survey.knowledge
        async with self._chains:
            for _ in range(_MOST_LOOKS):
                changes = knowledge.keep_changes
                if changes == self._climbed:
                    return
                if knowledge.kept.unread:
                    await knowledge.kept.read_chains(self._client, knowledge.discovery)
                self._climbed = changes

    async def follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            while True:
                await self._wanted.wait()
                self._wanted.clear()
                for job in self._survey.kept_jobs():
                    if job not in self._watched:
                        self._watched.add(job)
                        self._watch(job, group)

    def _watch(self, job: Job, group: asyncio.TaskGroup) -> None:
        def look() -> None:
            if isinstance(feed.health.error, Forbidden):
                task.cancel()

        resource, scope = job
        feed = Feed(
            self._client,
            resource,
            store=self._survey.knowledge.store,
            extraction=self._survey.knowledge.extraction,
            scope=scope,
            on_change=self._learn,
            on_health=look,
        )
        task = group.create_task(feed.run())

    def _learn(self, deltas: Sequence[Delta]) -> None:
        self._survey.knowledge.learn(deltas)
