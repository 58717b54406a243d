"""The engine: keeps knowledge true by watching, and lets the sweeper act on it.

One task each for the sweep, for the kinds (definitions and API services come and go), for rights (asked once a minute)
and for the chains of kept objects; one per feed; none per object. It stops by `stop`: what is under way is finished.
A replica that does not lead watches and waits; its agenda is full when it takes over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.backlog import Backlog, Mass
from skoupa.controller.feeds import Feeds, watchable
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.recreation import Recreations
from skoupa.controller.rights import Rights
from skoupa.controller.state import ACCEPTED, FIRST_SWEEP, MASS_LABELLINGS, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.expr.durations import parse_duration
from skoupa.facts.rows import Row
from skoupa.facts.store import Delta
from skoupa.kube import watch
from skoupa.kube.access import Access
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.discovery import discover
from skoupa.kube.flow import RateCeiling
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import API_SERVICES, CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.model.verdicts import Claim, Verdict
from skoupa.settings import Settings, seconds
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.parents import kept_inside
from skoupa.sweep.reporting import Report
from skoupa.sweep.sweeper import Sweeper

RIGHTS_SECONDS: Final = 60.0
# Discovery shows a new definition a moment after it is established, and an API service once it answers.
DISCOVERY_ECHOES: Final[tuple[float, ...]] = (0.3, 1.0, 4.0)
KINDS_POLL_SECONDS: Final = 300.0
DOUBT_SECONDS: Final = 10.0
SHORT_SECONDS: Final = 0.02


class Engine:
    """`standing_by` says that another replica leads: this one watches and waits. Observing is a setting."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        report: Report,
        standing_by: Callable[[], bool] = lambda: False,
        skew: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._settings = settings
        self._report = report
        self._standing_by = standing_by
        self.rights = Rights(Access(client, clock=client.clock), namespaces=settings.namespaces)
        self.recreations = Recreations()
        self.backlog = Backlog(due=self._due, accepted=settings.accept_backlog)
        self.state = State(client, namespace=settings.lease.namespace)
        self.knowledge = Knowledge(
            settings, skew=skew, extra=(self.rights.hold, self.backlog.hold, self.recreations.hold)
        )
        self.sweeper = Sweeper(
            clock=client.clock,
            store=self.knowledge.store,
            judge=self.knowledge.judge,
            deleter=Deleter(
                client,
                judge=self.knowledge.verdict,
                extraction=self.knowledge.extraction,
                on_fresh=self.knowledge.store.refresh,
                look_around=self._look_around,
            ),
            report=report,
            rate=RateCeiling(client.clock, per_second=settings.rate.deletions_per_second),
            stuck_after=float(seconds(settings.stuck_after)),
            workers=settings.rate.in_flight,
            observing=settings.mode != "enforce",
            standing_by=standing_by,
            on_deleted=self.recreations.deleted,
            refused=self._refused,
            notice_before=self._notice_before,
        )
        self.ready = asyncio.Event()
        self.feeds: Feeds | None = None
        self.last_error: SkoupaError | None = None
        # What is done in a poorer way for lack of rights, in words.
        self.degraded: set[str] = set()
        self._kinds_changed = asyncio.Event()
        self._chains_wanted = asyncio.Event()
        self._health_changed = asyncio.Event()

    async def run(self) -> None:
        """Until `stop`. Raises only when the server can't be reached for the very first look."""
        async with asyncio.TaskGroup() as group:
            self.feeds = Feeds(
                self._client,
                knowledge=self.knowledge,
                rights=self.rights,
                group=group,
                on_change=self._learn,
                on_health=self._health_changed.set,
            )
            await self._look_at_kinds()
            tasks = [
                group.create_task(work)
                for work in (
                    self._follow_kinds(),
                    self._notice_kinds(CUSTOM_RESOURCE_DEFINITIONS),
                    self._notice_kinds(API_SERVICES),
                    self._follow_rights(),
                    self._follow_health(),
                    self._follow_chains(),
                )
            ]
            while not self.ready.is_set() and not self.sweeper.stopping:
                await self._clock.sleep(SHORT_SECONDS)
            while self._standing_by() and not self.sweeper.stopping:
                await self._clock.sleep(SHORT_SECONDS)
            await self._assess_backlog()
            await self.sweeper.run()
            for task in tasks:
                task.cancel()
            self.feeds.close()

    def stop(self) -> None:
        self.sweeper.stop()

    def _due(self, row: Row, now: float) -> float | None:
        return self.knowledge.judge.due(row, now)

    def _learn(self, deltas: Sequence[Delta]) -> None:
        # In this order: what the sweeper plans is judged with the newest holds.
        others = self.knowledge.learn(deltas)
        mass = self.backlog.learn(deltas, self._clock.now())
        self.sweeper.learn(deltas)
        if others or mass:
            self._chains_wanted.set()
            self.sweeper.look_again()

    async def _look_at_kinds(self) -> None:
        assert self.feeds is not None
        self.knowledge.discovery = await discover(self._client)
        await self._look_at_rights()

    async def _look_at_rights(self) -> None:
        assert self.feeds is not None
        self.rights.forget()
        await self.feeds.arrange()
        kinds = watchable(self.knowledge.discovery, also=self._settings.watch_also)
        if await self.rights.refresh_deletes(list(kinds)):
            self.sweeper.look_again()

    async def _follow_kinds(self) -> None:
        """Looks at the kinds anew when something hints at a change, and now and then without a hint."""
        backoff = Backoff(self._clock)
        while True:
            waits = DISCOVERY_ECHOES
            try:
                async with self._clock.timeout(KINDS_POLL_SECONDS):
                    await self._kinds_changed.wait()
            except TimeoutError:
                waits = DISCOVERY_ECHOES[:1]
            self._kinds_changed.clear()
            for wait in waits:
                await self._clock.sleep(wait)
                try:
                    await self._look_at_kinds()
                except SkoupaError as error:
                    self.last_error = error
                    self._kinds_changed.set()
                    await self._clock.sleep(backoff.next())
                    break
                backoff.reset()

    async def _notice_kinds(self, resource: Resource) -> None:
        """Definitions and API services that come and go are the hint; where they can't be watched, polling is left."""
        synced = False
        events = watch.watch(self._client, resource, METADATA)
        async with aclosing(events):
            async for event in events:
                match event:
                    case watch.Synced():
                        if synced:
                            self._kinds_changed.set()
                        synced = True
                    case watch.Changed():
                        self._kinds_changed.set()
                    case watch.Interrupted(error, _) if isinstance(error, Forbidden):
                        self.degraded.add(
                            f"new kinds are noticed every {KINDS_POLL_SECONDS / 60:.0f} min only"
                        )
                        return

    async def _follow_rights(self) -> None:
        while True:
            await self._clock.sleep(RIGHTS_SECONDS)
            try:
                await self._look_at_rights()
            except SkoupaError as error:
                self.last_error = error

    async def _follow_health(self) -> None:
        """A kind that became unreadable holds from now on; one that can be read again lets go."""
        assert self.feeds is not None
        asked_at = float("-inf")
        while True:
            await self._health_changed.wait()
            self._health_changed.clear()
            before = self.knowledge.blind
            doubtful = self.feeds.review()
            if self.feeds.read_once():
                self.ready.set()
            if before.keys() != self.knowledge.blind.keys():
                self.sweeper.look_again()
            if doubtful and self._clock.monotonic() - asked_at > DOUBT_SECONDS:
                asked_at = self._clock.monotonic()
                self._kinds_changed.set()

    async def _follow_chains(self) -> None:
        """Reads whom kept objects hang on, and writes down mass labellings, so that a restart does not forget them."""
        backoff = Backoff(self._clock)
        written = 0
        while True:
            await self._chains_wanted.wait()
            self._chains_wanted.clear()
            if await self.knowledge.kept.read_chains(self._client, self.knowledge.discovery):
                self.sweeper.look_again()
            count = sum(mass.count for mass in self.backlog.masses)
            if count != written and self._acting():
                try:
                    await self.state.put(MASS_LABELLINGS, self.backlog.masses)
                    written = count
                except SkoupaError as error:
                    self.last_error = error
                    self._chains_wanted.set()
            if self.knowledge.kept.unread or self._chains_wanted.is_set():
                self._chains_wanted.set()
                await self._clock.sleep(backoff.next())
            else:
                backoff.reset()

    async def _assess_backlog(self) -> None:
        """Whether this cluster was swept before; state that can't be read counts as never."""
        now = self._clock.now()
        try:
            await self.state.read()
            self.backlog.masses += self.state.get(MASS_LABELLINGS, list[Mass]) or []
            if self.backlog.accepted:
                self.backlog.masses.clear()
                if self._acting():
                    await self.state.put(ACCEPTED, int(now))
                    await self.state.put(MASS_LABELLINGS, [])
            if self.state.get(FIRST_SWEEP, int) is not None:
                return
        except SkoupaError as error:
            self.last_error = error
        held = self.backlog.assess_first_start(self.knowledge.store, now)
        if not held and self._acting():
            try:
                await self.state.put(FIRST_SWEEP, int(now))
            except SkoupaError as error:
                self.last_error = error

    def _acting(self) -> bool:
        return self._settings.mode == "enforce" and not self._standing_by()

    async def _look_around(self, row: Row, claim: Claim) -> Verdict | None:
        holds = await kept_inside(
            row,
            client=self._client,
            discovery=self.knowledge.discovery,
            ignore=self._settings.cascade.ignore_kinds,
            now=self._clock.now(),
        )
        return Verdict(claims=(claim,), holds=holds) if holds else None

    async def _refused(self, row: Row) -> bool:
        try:
            return await self.rights.refused(row)
        except SkoupaError:
            return False

    def _notice_before(self, row: Row) -> float:
        wished = row.annotation(names.NOTICE_BEFORE_ANNOTATION)
        if wished is not None:
            parsed = parse_duration(wished)
            if isinstance(parsed, int):
                return float(parsed)
        setting = self._settings.ttl.notice_before
        return float(seconds(setting)) if setting else 0.0
