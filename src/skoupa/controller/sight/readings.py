"""Lists read into the store, each as a view of its own: reading one again swaps what it saw.

A list that breaks off half-way counts as not read at all: the first time nothing of it stays, later the old one stands.
What failed is handed to the caller, who knows what it means.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Final

from skoupa.controller.knowledge import Knowledge
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Row
from skoupa.facts.store import FeedView
from skoupa.kube.client import Client
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import Resource

# A few lists at a time: the client's own flow control widens as the server allows.
LISTS_AT_A_TIME: Final = 16

Job = tuple[Resource, Scope]


class Readings:
    """`on_undecodable` hears of objects that arrived and could not be understood, `seen` of the others."""

    def __init__(
        self,
        client: Client,
        knowledge: Knowledge,
        *,
        progress: Callable[[str], None],
        on_undecodable: Callable[[Resource, Scope, Undecodable], None],
        seen: Callable[[Row, Metadata], object] | None = None,
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._progress = progress
        self._on_undecodable = on_undecodable
        self._seen = seen
        self._views: dict[Job, FeedView] = {}

    async def read(
        self,
        jobs: Iterable[Job],
        *,
        done: Callable[[Job], None] = lambda _: None,
        failed: Callable[[Job, SkoupaError], None],
    ) -> None:
        """All of these; what `failed` raises ends the others too, and is raised here."""
        ahead = iter(tuple(jobs))

        async def work() -> None:
            for job in ahead:
                try:
                    await self._list(job)
                except SkoupaError as error:
                    failed(job, error)
                else:
                    done(job)

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(LISTS_AT_A_TIME):
                    group.create_task(work())
        except* SkoupaError as errors:
            first = errors.exceptions[0]
        else:
            return
        raise first

    async def _list(self, job: Job) -> None:
        resource, scope = job
        store, extraction, learn = self._knowledge.store, self._knowledge.extraction, self._knowledge.learn
        first = job not in self._views
        view = self._view(job)
        listing = pages(self._client, resource, METADATA, scope=scope)
        try:
            async with aclosing(listing):
                async for page in listing:
                    if page.first:
                        learn(store.begin(view))
                    rows = [extraction.row(resource, found) for found in page.items]
                    if self._seen is not None:
                        for row, found in zip(rows, page.items, strict=True):
                            self._seen(row, found.metadata)
                    learn(store.listed(view, rows))
                    self._progress(f"{len(store)} objects, reading {resource.qualified}")
                    for bad in page.undecodable:
                        self._on_undecodable(resource, scope, bad)
        except BaseException:
            if first:
                del self._views[job]
                learn(store.remove_feed(view))
            raise
        learn(store.synced(view))

    async def object(self, resource: Resource, name: str, *, namespace: str) -> Row:
        """One object, whatever is written on it; by a list on its name where get is not granted."""
        where = namespace if resource.namespaced else ""
        try:
            found = await self._client.get(resource, name, namespace=where, view=METADATA)
        except Forbidden as refused:
            try:
                found = await self._client.find(resource, name, namespace=where, view=METADATA)
            except Forbidden:
                # Who is to grant one of the two is told the narrower right.
                raise refused from None
        row = self._knowledge.extraction.row(resource, found)
        view = self._view((resource, Scope(namespace=where, fields=f"metadata.name={name}")))
        delta = self._knowledge.store.changed(view, row)
        if delta is not None:
            self._knowledge.learn([delta])
        return row

    def _view(self, job: Job) -> FeedView:
        view = self._views.get(job)
        if view is None:
            view = self._views[job] = self._knowledge.store.add_feed(job[0])
        return view
