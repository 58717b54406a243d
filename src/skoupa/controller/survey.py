"""Reads a cluster once and judges it: what `plan`, `explain` and `sweep` stand on.

The same knowledge and the same Judge as the running controller's, filled by lists instead of watches. What could not be
read is a gap that callers show; it never looks like "there is nothing".
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import aclosing

import msgspec

from skoupa.controller.feeds import watchable
from skoupa.controller.knowledge import KEPT, Knowledge
from skoupa.controller.rights import Rights
from skoupa.errors import ApiError, BadReply, SkoupaError, TimedOut
from skoupa.facts.rows import Row
from skoupa.judge.cascade import Blind
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.verdicts import Verdict
from skoupa.settings import Settings


class Finding(msgspec.Struct, frozen=True):
    row: Row
    verdict: Verdict


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A kind, or a group of kinds, that could not be read."""

    what: str
    why: str


class Survey:
    """`namespaces` narrows to those; `kinds` to those kinds (kept objects are read of every kind all the same)."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        *,
        namespaces: Sequence[str] = (),
        skew: Callable[[], float] = lambda: 0.0,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._namespaces = tuple(namespaces) or settings.namespaces
        self._progress = progress
        self.rights = Rights(Access(client, clock=client.clock), namespaces=self._namespaces)
        self.knowledge = Knowledge(settings, skew=skew, extra=(self.rights.hold,))
        self.gaps: list[Gap] = []

    async def read(self, kinds: Sequence[str] = ()) -> None:
        discovery = self.knowledge.discovery = await discover(self._client)
        self.gaps += (Gap(what=f"the kinds of {gap.where}", why=gap.why) for gap in discovery.gaps)
        also = self.knowledge.settings.watch_also
        every = list(watchable(discovery, also=also))
        wanted = [discovery.resolve(kind) for kind in kinds] or every
        labels = {interest.labels for interest in self.knowledge.interests}
        jobs = [(resource, label) for resource in wanted for label in labels]
        jobs += ((resource, KEPT.labels) for resource in every if (resource, "") not in jobs)
        # A few lists at a time: the client's own flow control widens as the server allows.
        limit = asyncio.Semaphore(16)
        await asyncio.gather(*(self._list(resource, label, limit) for resource, label in jobs))
        await self.rights.refresh_deletes(wanted)
        await self.knowledge.kept.read_chains(self._client, discovery)

    def findings(self, now: float) -> Iterable[Finding]:
        """Every object that some mechanism speaks of, with what is said."""
        for row in self.knowledge.store:
            verdict = self.knowledge.verdict(row, now)
            if verdict.claims or verdict.notes:
                yield Finding(row, verdict)

    async def _list(self, resource: Resource, labels: str, limit: asyncio.Semaphore) -> None:
        scopes = self._namespaces if resource.namespaced and self._namespaces else ("",)
        for namespace in scopes:
            async with limit:
                try:
                    await self._read(resource, Scope(namespace=namespace, labels=labels))
                except (ApiError, BadReply, TimedOut) as error:
                    self._could_not(resource, labels, error)

    async def _read(self, resource: Resource, scope: Scope) -> None:
        store, extraction = self.knowledge.store, self.knowledge.extraction
        view = store.add_feed(resource)
        listing = pages(self._client, resource, METADATA, scope=scope)
        async with aclosing(listing):
            async for page in listing:
                if page.first:
                    self.knowledge.learn(store.begin(view))
                rows = [extraction.row(resource, found) for found in page.items]
                self.knowledge.learn(store.listed(view, rows))
                self._progress(f"{len(store)} objects, reading {resource.qualified}")
                for bad in page.undecodable:
                    what = f"{resource.qualified}/{bad.name} in {bad.namespace}"
                    self.gaps.append(Gap(what=what, why=bad.why))
        store.synced(view)

    def _could_not(self, resource: Resource, labels: str, error: SkoupaError) -> None:
        why = error.status.message if isinstance(error, ApiError) else error.message
        if labels == KEPT.labels:
            self.knowledge.blind[resource.qualified] = Blind(resource=resource, why=why)
            if resource.qualified != NAMESPACES.qualified:
                return
        gap = Gap(what=resource.qualified, why=why)
        if gap not in self.gaps:
            self.gaps.append(gap)
