"""Writes the status of policies, where it changed: whether each is understood, when it runs, and how its last run went.

What is to be said is worked out anew each time and written only where it differs from what was written last; so a server that drops
what its schema does not know is not written to again and again. Kyverno's own definitions have no room for the next run: there it
stands in an annotation, where policies may be patched. While observing, and while another leads, nothing is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.policy_runs import PolicyRuns
from skoupa.errors import Conflict, Forbidden, NotFound, SkoupaError
from skoupa.expr.durations import render_duration
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.runs.book import Book, Entry
from skoupa.runs.status import Outlook, status_of
from skoupa.runs.ticks import Ticks

# What changes within a moment is written once.
GATHER_SECONDS: Final = 1.0
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
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._book = book
        self._ticks = ticks
        self._runs = runs
        self._minimum = minimum
        self._acting = acting
        self._told = told
        self._wanted: dict[str, None] = {}
        self._written: dict[str, Any] = {}
        self._denied: set[str] = set()
        # Kinds that may not be annotated.
        self._unmarked: set[str] = set()
        self._news = asyncio.Event()
        self.error: SkoupaError | None = None

    def want(self, uid: str) -> None:
        self._wanted[uid] = None
        self._news.set()

    def doubt(self) -> None:
        """Another may have written meanwhile."""
        self._written.clear()
        self._denied.clear()
        self._unmarked.clear()
        for entry in self._book:
            self.want(entry.uid)

    async def follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            await self._clock.sleep(GATHER_SECONDS)
            self._news.clear()
            wanted, self._wanted = self._wanted, {}
            error: SkoupaError | None = None
            for uid in wanted:
                entry = self._book.get(uid)
                if entry is None:
                    self._written.pop(uid, None)
                elif self._acting():
                    error = await self._write(entry) or error
            self.error = error
            if error is None:
                backoff.reset()
            else:
                await self._clock.sleep(backoff.next())

    async def _write(self, entry: Entry) -> SkoupaError | None:
        status = self._status(entry)
        if self._written.get(entry.uid) == _gist(status) or entry.kind.kind in self._denied:
            return None
        try:
            found = await self._client.merge_patch(
                entry.kind,
                entry.name,
                {"metadata": {"uid": entry.uid}, "status": status},
                namespace=entry.namespace,
                subresource="status",
            )
            await self._annotate(entry, status, found)
        except (NotFound, Conflict):
            # It is gone, or another of its name came.
            return None
        except Forbidden:
            self._denied.add(entry.kind.kind)
            self._told(
                f"no permission to patch {entry.kind.qualified}/status: how policies run stands in the log alone"
            )
            return None
        except SkoupaError as error:
            self.want(entry.uid)
            return error
        self._written[entry.uid] = _gist(status)
        return None

    async def _annotate(self, entry: Entry, status: dict[str, Any], found: dict[str, Any]) -> None:
        """Metadata is not taken along with a status, so this is a patch of the policy itself."""
        wanted = status.get(_NEXT) if not (found.get("status") or {}).get(_NEXT) else None
        there = (found["metadata"].get("annotations") or {}).get(names.NEXT_EXECUTION_ANNOTATION)
        if wanted == there or entry.kind.kind in self._unmarked:
            return
        annotations = {names.NEXT_EXECUTION_ANNOTATION: wanted}
        try:
            await self._client.merge_patch(
                entry.kind,
                entry.name,
                {"metadata": {"uid": entry.uid, "annotations": annotations}},
                namespace=entry.namespace,
            )
        except Forbidden:
            self._unmarked.add(entry.kind.kind)
            self._told(
                f"no permission to patch {entry.kind.qualified}, whose definition has no {_NEXT}: when policies run next "
                "stands in the words of their condition Ready alone"
            )

    def _status(self, entry: Entry) -> dict[str, Any]:
        ran, now = self._runs.settling.last.get(entry.uid), self._clock.now()
        policy = entry.policy
        until = self._runs.observed_until(policy) if policy is not None else 0.0
        spaced = ""
        if policy is not None and self._ticks.spaced(entry.uid):
            spaced = (
                f"its schedule comes sooner than every {render_duration(self._minimum)}: runs in between are left out "
                "(policies.minimumInterval)"
            )
        outlook = Outlook(
            doubt=self._book.doubt(entry.kind.kind),
            next_run=self._ticks.next(entry.uid),
            spaced=spaced,
            observed_until=until if until > now else None,
        )
        return status_of(entry, outlook=outlook, went=ran.went if ran is not None else None, now=now)


def _gist(said: Any) -> Any:
    """What was said, but for since when: that is worked out from what was read."""
    if isinstance(said, dict):
        return {key: _gist(value) for key, value in said.items() if key not in _FRESH_FIELDS}
    return [_gist(one) for one in said] if isinstance(said, list) else said
