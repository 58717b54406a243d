"""Reads a cluster once and judges it: what `plan`, `explain` and `sweep` stand on.

The same knowledge and the same Judge as the running controller's, filled by lists instead of watches. What could not be
read is a gap that callers show; it never looks like "there is nothing". A list that breaks off half-way counts as not
read at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.controller.feeds import watchable
from skoupa.controller.knowledge import KEPT, Knowledge
from skoupa.controller.rights import Rights, place_of
from skoupa.errors import ApiError, BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import Blind
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.verdicts import Verdict
from skoupa.settings import Settings

# A few lists at a time: the client's own flow control widens as the server allows.
LISTS_AT_A_TIME: Final = 16


class Finding(msgspec.Struct, frozen=True):
    row: Row
    verdict: Verdict


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """A kind, or a group of kinds, that could not be read."""

    what: str
    why: str


class Survey:
    """`namespaces` narrows to those; with `inside_only` to what lives in them, and those Namespaces themselves."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        *,
        namespaces: Sequence[str] = (),
        inside_only: bool = False,
        skew: Callable[[], float] = lambda: 0.0,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._namespaces = tuple(namespaces) or settings.namespaces
        self._inside_only = inside_only
        self._progress = progress
        self.rights = Rights(
            Access(client, clock=client.clock), namespaces=self._namespaces, clock=client.clock
        )
        self.knowledge = Knowledge(settings, skew=skew, extra=(self.rights.hold,))
        self.gaps: list[Gap] = []
        # What is not known and yet hides nothing that was asked for, in words.
        self.doubts: list[str] = []
        # Whether anything that was asked for could be read, and the first refusal.
        self.saw_something = False
        self.first_error: SkoupaError | None = None
        self._asked: frozenset[Resource] = frozenset()

    async def discover(self) -> Discovery:
        discovery = self.knowledge.discovery = await discover(self._client)
        self.gaps += (Gap(what=f"the kinds of {gap.where}", why=gap.why) for gap in discovery.gaps)
        return discovery

    async def read(self, kinds: Sequence[str] = ()) -> None:
        """Everything of these kinds (none: of all) that some mechanism may speak of, and what could hold it."""
        discovery = await self.discover()
        wanted = [_deletable(kind_of(discovery, kind)) for kind in kinds] or [
            resource for resource in self._every() if resource.namespaced or not self._inside_only
        ]
        self._asked = frozenset(wanted if kinds or not self._inside_only else (*wanted, self._namespace_kind))
        labels = {interest.labels for interest in self.knowledge.interests}
        jobs = {(resource, label): None for resource in wanted for label in labels}
        # A definition or a node holds on to things in all namespaces.
        everywhere = any(not resource.namespaced for resource in wanted)
        await self._read_lists(jobs, kept_everywhere=everywhere)

    async def read_surroundings(self, row: Row) -> None:
        """What could hold this one object: kept objects that it might take along, and its Namespace."""
        await self._read_lists({}, kept_everywhere=not row.resource.namespaced)

    async def read_object(self, resource: Resource, name: str, *, namespace: str) -> Row:
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
        row = self.knowledge.extraction.row(resource, found)
        store = self.knowledge.store
        delta = store.changed(store.add_feed(resource), row)
        if delta is not None:
            self.knowledge.learn([delta])
        return row

    async def learn_rights(self, rows: Iterable[Row]) -> None:
        """What may be deleted, asked for just the kinds and namespaces of these rows."""
        try:
            await self.rights.learn((row.resource, place_of(row)) for row in rows)
        except (ApiError, BadReply, TimedOut) as error:
            self.doubts.append(f"what you may delete is not known: {_short(error)}")

    def rows(self) -> Iterator[Row]:
        """What was asked for and found, judged or not."""
        return (row for row in self.knowledge.store if row.resource in self._asked)

    def finding(self, row: Row, now: float) -> Finding:
        return Finding(row, self.knowledge.verdict(row, now))

    def findings(self, now: float) -> Iterator[Finding]:
        """Every object that was asked for and that some mechanism speaks of, with what is said."""
        for row in self.rows():
            found = self.finding(row, now)
            if found.verdict.claims or found.verdict.notes:
                yield found

    @property
    def _namespace_kind(self) -> Resource:
        return self.knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES

    def _every(self) -> list[Resource]:
        return list(watchable(self.knowledge.discovery, also=self.knowledge.settings.watch_also))

    async def _read_lists(self, jobs: dict[tuple[Resource, str], None], *, kept_everywhere: bool) -> None:
        """The lists asked for, the kept objects of every kind, and on whom those hang."""
        for resource in self._every():
            inside = resource.namespaced or kept_everywhere or not self._inside_only
            if inside and (resource, "") not in jobs:
                jobs[resource, KEPT.labels] = None
        ahead = iter(tuple(jobs))
        async with asyncio.TaskGroup() as group:
            for _ in range(LISTS_AT_A_TIME):
                group.create_task(self._read_each(ahead, kept_everywhere=kept_everywhere))
        if self._inside_only and not kept_everywhere:
            for namespace in self._namespaces:
                await self._read_namespace(namespace)
        await self.knowledge.kept.read_chains(self._client, self.knowledge.discovery)

    async def _read_each(self, ahead: Iterator[tuple[Resource, str]], *, kept_everywhere: bool) -> None:
        for resource, labels in ahead:
            narrow = resource.namespaced and self._namespaces
            if labels == KEPT.labels and kept_everywhere and self._inside_only:
                narrow = ()
            for namespace in self._namespaces if narrow else ("",):
                try:
                    await self._read(resource, Scope(namespace=namespace, labels=labels))
                except (ApiError, BadReply, TimedOut) as error:
                    self._could_not(resource, labels, error)
                else:
                    self.saw_something = self.saw_something or resource in self._asked

    async def _read(self, resource: Resource, scope: Scope) -> None:
        store, extraction = self.knowledge.store, self.knowledge.extraction
        view = store.add_feed(resource)
        listing = pages(self._client, resource, METADATA, scope=scope)
        try:
            async with aclosing(listing):
                async for page in listing:
                    if page.first:
                        self.knowledge.learn(store.begin(view))
                    rows = [extraction.row(resource, found) for found in page.items]
                    self.knowledge.learn(store.listed(view, rows))
                    self._progress(f"{len(store)} objects, reading {resource.qualified}")
                    for bad in page.undecodable:
                        where = f" in {bad.namespace}" if bad.namespace else ""
                        self.gaps.append(Gap(what=f"{resource.qualified}/{bad.name}{where}", why=bad.why))
                        if scope.labels in {"", KEPT.labels}:
                            self.knowledge.blind[resource.qualified] = Blind(resource=resource, why=bad.why)
        except BaseException:
            self.knowledge.learn(store.remove_feed(view))
            raise
        store.synced(view)

    async def _read_namespace(self, name: str) -> None:
        """Its keep label covers all that lives in it; who has rights in it alone may often get it, but not list."""
        try:
            await self.read_object(self._namespace_kind, name, namespace="")
        except NotFound:
            raise UsageError(
                f"there is no namespace {name}", advice="check -n and the context, or take -A for all"
            ) from None
        except (ApiError, BadReply, TimedOut) as error:
            self._could_not_see_namespaces(error)
            self.doubts.append(
                f"whether the Namespace {name} is kept or goes itself is not known: {_short(error)}"
            )

    def _could_not_see_namespaces(self, error: SkoupaError) -> None:
        """A server that failed leaves a doubt that holds; a right that is not granted is told, as a decision."""
        if not isinstance(error, Forbidden):
            self.knowledge.namespaces_unseen = _short(error)

    def _could_not(self, resource: Resource, labels: str, error: SkoupaError) -> None:
        why = _short(error)
        self.first_error = self.first_error or error
        if labels in {"", KEPT.labels}:
            self.knowledge.blind[resource.qualified] = Blind(resource=resource, why=why)
            if resource.qualified == NAMESPACES.qualified:
                self._could_not_see_namespaces(error)
        if labels == KEPT.labels and resource.qualified != NAMESPACES.qualified:
            return
        gap = Gap(what=resource.qualified, why=why)
        if gap not in self.gaps:
            self.gaps.append(gap)


def kind_of(discovery: Discovery, text: str) -> Resource:
    """The kind that is meant, in the version that the server prefers, which is the one that everything else reads."""
    found = discovery.resolve(text)
    same = (resource for resource in discovery.preferred() if resource.qualified == found.qualified)
    return next(same, found)


def _deletable(resource: Resource) -> Resource:
    if not resource.may("list", "delete"):
        what = f"{resource.qualified} can't be listed and deleted, so nothing lets them go"
        raise UsageError(what, advice="name other kinds")
    return resource


def _short(error: SkoupaError) -> str:
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
