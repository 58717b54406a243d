"""Writes the status of policies, where it changed: whether each is understood, when it runs, and how its last run went.

What is to be said is worked out anew each time. Where the server dropped when a policy runs next, that is left to `marks`. While
observing, and while another leads, nothing is written. Where a status may not be written one is tried again a minute later: rights
come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.policies.marks import NextRunMarks
from skoupa.controller.policies.runs import PolicyRuns
from skoupa.controller.writing.denials import place_of
from skoupa.controller.writing.statuses import StatusWriter
from skoupa.errors import SkoupaError
from skoupa.expr.durations import render_duration
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.runs.book import Book, Entry
from skoupa.runs.status import Outlook, status_of
from skoupa.runs.ticks import Ticks

# What changes within a moment is written once.
GATHER_SECONDS: Final = 1.0
LONG_RUN_SECONDS: Final = 20.0
_NEXT: Final = "nextExecutionTime"


class PolicyStatuses:
    def __init__(
        self,
        client: Client,
        *,
        book: Book,
        ticks: Ticks,
        runs: PolicyRuns,
        minimum: int,
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._book = book
        self._ticks = ticks
        self._runs = runs
        self._minimum = minimum
        self._acting = acting
        self._wanted: dict[str, None] = {}
        self._writer = StatusWriter(client, words=_poorer, told=told, untold=untold)
        # Until when policies only report, as was written of them.
        self._observed: dict[str, float] = {}
        self._news = asyncio.Event()
        self._marks = NextRunMarks(client, book=book, acting=acting, told=told, untold=untold)
        self._error: SkoupaError | None = None

    @property
    def error(self) -> SkoupaError | None:
        return self._error or self._marks.error

    def want(self, uid: str) -> None:
        self._wanted[uid] = None
        self._news.set()

    def doubt(self) -> None:
        """Another may have written meanwhile."""
        self._writer.doubt()
        self._marks.doubt()
        for entry in self._book:
            self.want(entry.uid)

    def heed_time(self) -> None:
        """What is to be said changes by time alone, and what was refused is tried again.

        Of runs that take long it is told that they run, and what comes after; of others only how they ended.
        """
        now = self._clock.now()
        for uid in self._ticks.longer_than(LONG_RUN_SECONDS, now):
            self.want(uid)
        for uid in [uid for uid, until in self._observed.items() if until <= now]:
            del self._observed[uid]
            self.want(uid)
        places = self._writer.denials.due()
        again = [entry for entry in self._book if place_of(entry) in places] if places else []
        for entry in sorted(again, key=lambda one: self._writer.denials.was_refused(one.uid)):
            self.want(entry.uid)

    def give_way(self, runs: int) -> None:
        """So many begin."""
        self._marks.give_way(runs)

    async def follow(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._marks.follow())
            await self._follow()

    async def _follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            wanted, self._wanted = self._wanted, {}
            error: SkoupaError | None = None
            for uid in sorted(wanted, key=self._writer.denials.was_refused):
                entry = self._book.get(uid)
                if entry is None:
                    self._writer.forget(uid)
                    self._observed.pop(uid, None)
                    self._marks.forget(uid)
                elif self._acting():
                    error = await self._write(entry) or error
            self._error = error
            if error is None:
                backoff.reset()
            else:
                await self._clock.sleep(backoff.next())

    async def _write(self, entry: Entry) -> SkoupaError | None:
        status = self._status(entry)
        try:
            found = await self._writer.write(
                entry.kind, entry.uid, status, name=entry.name, namespace=entry.namespace
            )
        except SkoupaError as error:
            self.want(entry.uid)
            return error
        if found is not None:
            self._mark(entry, status, found)
        return None

    def _mark(self, entry: Entry, status: dict[str, Any], found: dict[str, Any]) -> None:
        """Metadata is not taken along with a status, so that is a patch of the policy itself."""
        dropped = not (found.get("status") or {}).get(_NEXT)
        there = (found["metadata"].get("annotations") or {}).get(names.NEXT_EXECUTION_ANNOTATION)
        self._marks.want(entry, status.get(_NEXT) if dropped else None, there=there)

    def _status(self, entry: Entry) -> dict[str, Any]:
        ran, now = self._runs.settling.latest(entry.uid), self._clock.now()
        policy = entry.policy
        until = self._runs.observed_until(policy) if policy is not None else 0.0
        self._observed.pop(entry.uid, None)
        if until > now:
            self._observed[entry.uid] = until
        spaced = ""
        if policy is not None and self._ticks.spaced(entry.uid):
            spaced = (
                f"its schedule comes sooner than every {render_duration(self._minimum)}: runs in between are left out "
                "(policies.minimumInterval)"
            )
        outlook = Outlook(
            doubt=self._book.doubt(entry.kind.kind),
            runs_since=self._ticks.under_way(entry.uid),
            next_run=self._ticks.after_this(entry.uid, now),
            spaced=spaced,
            observed_until=until if until > now else None,
        )
        return status_of(entry, outlook=outlook, went=ran.went if ran is not None else None, now=now)


def _poorer(kind: str, where: str) -> str:
    return f"no permission to patch {kind}/status{where}: how policies run stands in the log alone"
