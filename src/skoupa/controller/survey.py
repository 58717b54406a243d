"""Reads a cluster once and judges it: what `plan`, `explain` and `sweep` stand on.

The same knowledge and the same Judge as the running controller's, filled by lists instead of watches. What could not be
read is a gap that callers show; it never looks like "there is nothing". Who acts for a while on what was read looks
again at what others hang on (`read_again`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from skoupa.controller.braking.look import Look, ToldBacklogs, look
from skoupa.controller.knowledge import KEPT, Knowledge
from skoupa.controller.setting_doubts import doubts_of_kinds
from skoupa.controller.sight.readings import Job, Readings
from skoupa.controller.sight.rights import Rights, place_of
from skoupa.controller.sight.seen_namespaces import SeenNamespaces, in_words
from skoupa.controller.sight.watchable import Unwatched, told_by, untold, watchable
from skoupa.errors import ApiError, BadReply, Forbidden, NotFound, SkoupaError, TimedOut, UsageError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import Blind
from skoupa.judge.mechanism import Ruling
from skoupa.judge.protected_kinds import doubts
from skoupa.kube.access import Access
from skoupa.kube.client import Client
from skoupa.kube.decoding import Undecodable
from skoupa.kube.discovery import discover
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope
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
    """`namespaces` narrows to those; with `inside_only` to what lives in them, and those Namespaces themselves.

    `unlabelled` reads also what no mechanism can act on, for remarks: labels that were written as annotations. Who acts
    is held by Brakes that can't be read; who only looks is told. `rulings` are as in Knowledge.
    """

    def __init__(
        self,
        client: Client,
        settings: Settings,
        *,
        namespaces: Sequence[str] = (),
        inside_only: bool = False,
        unlabelled: bool = False,
        acting: bool = False,
        rulings: Sequence[Ruling] = (),
        skew: Callable[[], float] = lambda: 0.0,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._client = client
        self._namespaces = tuple(namespaces) or settings.namespaces
        self._inside_only = inside_only
        self._unlabelled = unlabelled
        self._acting = acting
        self.rights = Rights(
            Access(client, clock=client.clock), namespaces=self._namespaces, clock=client.clock
        )
        # What the controller holds, as far as the cluster tells.
        self.looked = Look()
        self._backlogs = ToldBacklogs(self._due)
        self.knowledge = Knowledge(
            settings, rulings=rulings, skew=skew, extra=(self.rights.hold, self._backlogs.hold)
        )
        self.knowledge.judge.join(Unwatched(settings.watch_also, acting=acting))
        self.gaps: list[Gap] = []
        # What is not known and yet hides nothing that was asked for, in words.
        self.doubts: list[str] = []
        # Whether anything that was asked for could be read, and the first refusal.
        self.saw_something = False
        self.first_error: SkoupaError | None = None
        self._asked: frozenset[Resource] = frozenset()
        self._kept_everywhere = False
        # Kinds whose kept objects could not be read: they are blind for good.
        self._unread: set[str] = set()
        # Groups that are so until the server tells their kinds, and the versions of groups whose kinds it told.
        self._untold: dict[str, Blind] = {}
        self._told: set[tuple[str, str]] = set()
        self._readings = Readings(
            client, self.knowledge, progress=progress, on_undecodable=self._could_not_decode
        )
        self._seen = SeenNamespaces(self.knowledge, self._readings, expected=inside_only)

    async def discover(self) -> Discovery:
        discovery = self.knowledge.discovery = await discover(self._client)
        self.gaps += (Gap(what=f"the kinds of {gap.where}", why=gap.why) for gap in discovery.gaps)
        self._note_untold(untold(discovery, but=()))
        self.doubts += map(str, doubts(self.knowledge.settings.protect, discovery))
        self.doubts += doubts_of_kinds(self.knowledge.settings, discovery)
        return discovery

    async def read(self, kinds: Sequence[str] = ()) -> None:
        """Everything of these kinds (none: of all) that some mechanism may speak of, and what could hold it."""
        discovery = await self.discover()
        wanted = [_deletable(kind_of(discovery, kind)) for kind in kinds] or [
            resource for resource in self._every() if resource.namespaced or not self._inside_only
        ]
        self._asked = frozenset(wanted if kinds or not self._inside_only else (*wanted, self._seen.kind))
        jobs = {
            (resource, "" if self._unlabelled else interest.labels): None
            for resource in wanted
            for interest in self.knowledge.interests
            if interest.has(resource)
        }
        # A definition or a node holds on to things in all namespaces.
        everywhere = any(not resource.namespaced for resource in wanted)
        await self._read_lists(jobs, kept_everywhere=everywhere)

    async def read_around(self, *, everywhere: bool) -> None:
        """Only what could hold others; `everywhere`: also what is in no namespace."""
        await self.discover()
        await self._read_lists({}, kept_everywhere=everywhere)

    async def read_surroundings(self, row: Row) -> None:
        """What could hold this one object: kept objects that it might take along, and its Namespace."""
        await self._read_lists({}, kept_everywhere=not row.resource.namespaced)

    async def read_object(self, resource: Resource, name: str, *, namespace: str) -> Row:
        """One object, whatever is written on it."""
        return await self._readings.object(resource, name, namespace=namespace)

    async def learn_rights(self, rows: Iterable[Row]) -> None:
        """What may be deleted, asked for just the kinds and namespaces of these rows."""
        try:
            await self.rights.learn((row.resource, place_of(row)) for row in rows)
        except (ApiError, BadReply, TimedOut) as error:
            self.doubts.append(f"what you may delete is not known: {in_words(error)}")

    def refresh(self, row: Row) -> None:
        """A newer state of an object that was read beside the lists."""
        delta = self.knowledge.store.refresh(row)
        if delta is not None:
            self.knowledge.learn([delta])

    def rows(self) -> Iterator[Row]:
        """What was asked for and found, judged or not."""
        return (row for row in self.knowledge.store if row.resource in self._asked)

    def finding(self, row: Row, now: float) -> Finding:
        return Finding(row, self.knowledge.judge.foresee(row, now))

    def findings(self, now: float) -> Iterator[Finding]:
        """Every object that was asked for and that some mechanism speaks of, with what is said."""
        for row in self.rows():
            found = self.finding(row, now)
            if found.verdict.claims or found.verdict.notes:
                yield found

    def _every(self) -> list[Resource]:
        return list(watchable(self.knowledge.discovery, also=self.knowledge.settings.watch_also))

    async def _read_lists(self, jobs: dict[tuple[Resource, str], None], *, kept_everywhere: bool) -> None:
        """The lists asked for, the kept objects of every kind, and on whom those hang."""
        self._kept_everywhere = kept_everywhere
        lists: list[Job] = []
        for resource, labels in jobs:
            places = self._namespaces if resource.namespaced else ()
            lists += ((resource, Scope(namespace=place, labels=labels)) for place in places or ("",))
        lists += (job for job in self._kept_lists() if (job[0], "") not in jobs)
        await self._readings.read(lists, done=self._saw, failed=self._could_not)
        # Who has rights in single namespaces may often get these, but not list them.
        if NAMESPACES.qualified in self._unread or (self._inside_only and not kept_everywhere):
            for namespace in self._namespaces:
                self.doubts += await self._seen.read(namespace)
        await self.knowledge.kept.read_chains(self._client, self.knowledge.discovery)
        await self.read_brakes()

    async def read_brakes(self) -> None:
        home = self.knowledge.settings.lease.namespace
        self.looked = await look(self._client, self.knowledge.discovery, home=home)
        self.knowledge.brakes, told = self.looked.believed(acting=self._acting)
        self.doubts += told
        self._backlogs.learn(self.looked, self._client.clock.now())

    def _due(self, row: Row, now: float) -> float | None:
        return self.knowledge.labelled_due(row, now)

    async def read_again(self) -> None:
        """Kinds, kept objects and Namespaces as they are now, for who acts over a while; raises what failed.

        The objects themselves need no second reading: a delete names the state that was judged.
        """
        before = [resource for resource, _ in self._kept_lists()]
        discovery = self.knowledge.discovery = await discover(self._client)
        unknown = untold(discovery, but=self._told)
        self.knowledge.blind |= unknown
        for resource in before:
            gap = discovery.unreadable(resource.group)
            if gap is not None and not resource.group:
                raise SkoupaError(f"the kinds of {gap.where} can't be read: {gap.why}")
            if gap is not None:
                self._blind(resource, gap.why, granted=True)
        lists = [job for job in self._kept_lists() if job[0].qualified not in self._unread]
        await self._readings.read(lists, failed=self._could_not_again)
        self._note_untold(unknown)
        for namespace in self._seen.names:
            await self._seen.again(namespace)
        await self.knowledge.kept.read_chains(self._client, discovery)
        await self.read_brakes()

    async def read_namespace_again(self, name: str) -> bool:
        """Whether there is one that may be read; that one may not be was told. Raises what failed."""
        listed = NAMESPACES.qualified not in self._unread and (self._kept_everywhere or not self._inside_only)
        return (listed or name in self._seen) and await self._seen.again(name)

    def kept_jobs(self) -> Iterator[Job]:
        """What to follow for who wants to hear of keep labels at once, as far as it could be read."""
        yield from (job for job in self._kept_lists() if job[0].qualified not in self._unread)
        for name in self._seen.names:
            yield self._seen.kind, Scope(fields=f"metadata.name={name}")

    def _kept_lists(self) -> Iterator[Job]:
        """The lists of kept objects that could hold what was asked for."""
        for resource in self._every():
            if self._inside_only and not (resource.namespaced or self._kept_everywhere):
                continue
            everywhere = not resource.namespaced or (self._kept_everywhere and self._inside_only)
            for place in ("",) if everywhere else self._namespaces or ("",):
                yield resource, Scope(namespace=place, labels=KEPT.labels)

    def _saw(self, job: Job) -> None:
        self.saw_something = self.saw_something or job[0] in self._asked

    def _could_not(self, job: Job, error: SkoupaError) -> None:
        if not isinstance(error, ApiError | BadReply | TimedOut):
            raise error
        resource, labels = job[0], job[1].labels
        why = in_words(error)
        self.first_error = self.first_error or error
        if labels in {"", KEPT.labels}:
            self._blind(resource, why, granted=not isinstance(error, Forbidden))
            self._unread.add(resource.qualified)
            if resource.qualified == NAMESPACES.qualified:
                self._seen.could_not(error)
        if labels == KEPT.labels and resource.qualified != NAMESPACES.qualified:
            return
        self._gap(resource.qualified, why)

    def _could_not_again(self, job: Job, error: SkoupaError) -> None:
        if not isinstance(error, NotFound) or job[0].qualified == NAMESPACES.qualified:
            raise SkoupaError(f"kept {job[0].qualified}: {in_words(error)}") from error
        # Its definition went a moment ago, or does right now.
        self._blind(job[0], in_words(error))

    def _could_not_decode(self, resource: Resource, scope: Scope, bad: Undecodable) -> None:
        where = f" in {bad.namespace}" if bad.namespace else ""
        self._gap(f"{resource.qualified}/{bad.name}{where}", bad.why)
        if scope.labels in {"", KEPT.labels}:
            self._blind(resource, bad.why, granted=True)
            if resource.qualified == NAMESPACES.qualified:
                self.knowledge.namespaces_unseen = bad.why

    def _note_untold(self, unknown: dict[str, Blind]) -> None:
        """These hold; those that were and are told by now have been read like others."""
        blind = self.knowledge.blind
        for kinds in self._untold.keys() - unknown:
            del blind[kinds]
        blind |= unknown
        self._untold, self._told = unknown, self._told | told_by(self.knowledge.discovery)

    def _blind(self, resource: Resource, why: str, *, granted: bool = False) -> None:
        self.knowledge.blind[resource.qualified] = Blind(resource=resource, why=why, granted=granted)

    def _gap(self, what: str, why: str) -> None:
        gap = Gap(what=what, why=why)
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
