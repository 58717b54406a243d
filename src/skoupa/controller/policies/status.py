"""Writes the status of policies, where it changed: whether each is understood, when it runs, and how its last run went.

What is to be said is worked out anew each time and written only where it differs from what was written last; so a server that drops
what its schema does not know is not written to again and again. Where it dropped when a policy runs next, that is left to
`policy_marks`. While observing, and while another leads, nothing is written. Where a status may not be written one is tried again a
minute later: rights come back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.policies.denials import Denials, place_of
from skoupa.controller.policies.marks import NextRunMarks
from skoupa.controller.policies.runs import PolicyRuns
from skoupa.errors import Conflict, Forbidden, NotFound, SkoupaError
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
_FRESH_FIELDS: Final = frozenset({"lastTransitionTime"})


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
        self._client = client
        self._clock: Clock = client.clock
        self._book = book
        self._ticks = ticks
        self._runs = runs
        self._minimum = minimum
        self._acting = acting
        self._wanted: dict[str, None] = {}
        self._written: dict[str, Any] = {}
        self._denials = Denials(client.clock, words=_poorer, told=told, untold=untold)
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
        self._written.clear()
        self._denials.clear()
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
        places = self._denials.due()
        again = [entry for entry in self._book if place_of(entry) in places] if places else []
        for entry in sorted(again, key=lambda one: self._denials.was_refused(one.uid)):
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
            for uid in sorted(wanted, key=self._denials.was_refused):
                entry = self._book.get(uid)
                if entry is None:
                    self._written.pop(uid, None)
                    self._observed.pop(uid, None)
                    self._denials.forget(uid)
                    self._marks.forget(uid)
                elif self._acting():
                    error = await self._write(entry) or error
            self._error = error
            if error is None:
                backoff.reset()
            else:
                await self._clock.sleep(backoff.next())

    async def _write(self, entry: Entry) -> SkoupaError | None:
        place = place_of(entry)
        if self._denials.stands(place):
            return None
        status = self._status(entry)
        if self._written.get(entry.uid) == _gist(status):
            return None
        try:
            found = await self._client.merge_patch(
                entry.kind,
                entry.name,
                {"metadata": {"uid": entry.uid}, "status": status},
                namespace=entry.namespace,
                subresource="status",
            )
        except (NotFound, Conflict):
            # It is gone, or another of its name came.
            return None
        except Forbidden:
            self._denials.refuse(place, entry.uid)
            # So that it is tried again, whatever is to be said then.
            self._written.pop(entry.uid, None)
            return None
        except SkoupaError as error:
            self.want(entry.uid)
            return error
        self._denials.allow(place, entry.uid)
        self._mark(entry, status, found)
        self._written[entry.uid] = _gist(status)
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


def _gist(said: Any) -> Any:
    """What was said, but for since when: that is worked out from what was read."""
    if isinstance(said, dict):
        return {key: _gist(value) for key, value in said.items() if key not in _FRESH_FIELDS}
    return [_gist(one) for one in said] if isinstance(said, list) else said
