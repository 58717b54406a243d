"""The engine: keeps knowledge true by watching, and lets the sweeper act on it.

One task each for the sweep, for what can be seen (kinds, rights, health of feeds), for the chains of kept objects, for
the clock and for notices; one per feed; none per object. It stops by `stop`: what is under way is finished.
A replica that does not lead watches and waits; its agenda is full when it takes over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from skoupa.clock import Clock
from skoupa.controller.announcing import Announcing
from skoupa.controller.backlogs.started import Started, started_now
from skoupa.controller.beginning import Beginning
from skoupa.controller.holding import Holding
from skoupa.controller.keeping.chains import Chains
from skoupa.controller.keeping.surroundings import Surroundings
from skoupa.controller.parts import Parts
from skoupa.controller.records.history import History
from skoupa.controller.records.last_writes import end_and_write, last_writes
from skoupa.controller.records.trash import use_trash
from skoupa.controller.sight.ever_read import EverRead
from skoupa.controller.sight.feeds import Feeds
from skoupa.controller.sight.outlook import Outlook
from skoupa.controller.sight.rights import place_of
from skoupa.controller.sweeping import sweeper_of
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid, pack_uid
from skoupa.facts.store import Delta
from skoupa.judge.mechanism import Ruling
from skoupa.judge.policies import PolicyMechanism
from skoupa.kube.client import Client
from skoupa.ledger.nowhere import NoStore
from skoupa.model.verdicts import Hold
from skoupa.runs.overhearing import Overhearing
from skoupa.settings import Settings
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report


class Engine:
    """`standing_by` says that another replica leads: this one watches and waits. Observing is a setting.

    `rulings` are mechanisms with rules that choose by themselves, beside policies. `started` is when the settings were read.
    """

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        report: Report,
        record: Record | None = None,
        rulings: Sequence[Ruling] = (),
        standing_by: Callable[[], bool] = lambda: False,
        skew: Callable[[], float] = lambda: 0.0,
        started: Started | None = None,
    ) -> None:
        self._clock: Clock = client.clock
        self._settings = settings
        # What kept something from being written down when it ended.
        self.unwritten: SkoupaError | None = None
        mechanism = PolicyMechanism() if settings.features.policies else None
        report = overhearing = Overhearing(report)
        self.record = record or Record(NoStore(cluster=""), client.clock)
        self._holding = holding = Holding(
            client,
            settings=settings,
            report=report,
            record=self.record,
            rulings=rulings,
            policies=mechanism,
            standing_by=standing_by,
            skew=skew,
            starting=lambda: not self.ready.is_set(),
            uncounted=self._uncounted,
            behind=self._behind,
            look_again=self._look_again,
            look_at=self._look_in_turn,
            told=self._tell_poorer,
        )
        self.knowledge, self.rights, self.backlog = holding.knowledge, holding.rights, holding.backlog
        self.braking = holding.braking
        self._announcing = Announcing(
            client.clock, settings=settings, knowledge=self.knowledge, replan=self._replan
        )
        surroundings = Surroundings(client, self.knowledge, on_kinds=self._doubt_kinds)
        self.sweeper = sweeper_of(
            client,
            settings=settings,
            knowledge=self.knowledge,
            braking=self.braking,
            surroundings=surroundings,
            record=self.record,
            report=report,
            on_fresh=self._learn_fresh,
            on_deleted=holding.recreations.deleted,
            on_lead=self._take_over,
            refused=self._refused,
            standing_by=standing_by,
            notice_before=self._announcing.before,
        )
        ever = EverRead()
        self.outlook = Outlook(
            client,
            knowledge=self.knowledge,
            rights=self.rights,
            on_change=self._learn,
            look_again=self.sweeper.look_again,
            on_look=self._arrange,
            waiting=self._waiting_for_rights,
            ever=ever,
            first_readings=lambda: self.first_readings,
        )
        self._parts = Parts(
            client,
            mechanism,
            settings=settings,
            knowledge=self.knowledge,
            state=holding.state,
            way_out=holding.braking.way_out,
            overhearing=overhearing,
            memory=lambda: self.sweeper.memory,
            ledger=lambda: self.record.store,
            standing_by=standing_by,
            learn=self._learn,
            look_in_turn=self._look_in_turn,
            look_at=self.sweeper.look_at,
            look_again=self._look_again,
            begun=holding.weighing.wake,
            namespaces_known=self._namespaces_known,
            told=self._tell_poorer,
            untold=self._tell_well_again,
            record=lambda: self.record,
            server_now=lambda: client.clock.now() + skew(),
        )
        self.policies, self.retention = self._parts.policies, self._parts.retention
        self.living = self._parts.living
        self.tenancy = self._parts.tenancy
        if self.policies is not None:
            self.braking.runs_coming = self.policies.coming
        use_trash(self.record, client, knowledge=self.knowledge)
        self.history = History(
            client,
            self.record,
            settings=settings,
            discovery=lambda: self.knowledge.discovery,
            standing_by=standing_by,
            retell=report.retell,
            adopt=lambda entry: self.sweeper.adopt(pack_uid(entry.uid)),
            on_return=self.sweeper.look_again,
            told=self._tell_poorer,
            untold=self._tell_well_again,
        )
        self._beginning = Beginning(
            client,
            holding,
            settings=settings,
            outlook=self.outlook,
            sweeper=self.sweeper,
            history=self.history,
            ever=ever,
            standing_by=standing_by,
            started=started or started_now(client.clock),
            skew=skew,
            told=self._tell_poorer,
        )
        self.first_look, self.first_readings = self._beginning.first_look, self._beginning.first_readings
        self.ready = self.outlook.ready
        self._chains = Chains(
            client,
            knowledge=self.knowledge,
            backlog=self.backlog,
            first_look=self.first_look,
            acting=holding.acting,
            look_again=self.sweeper.look_again,
        )

    @property
    def feeds(self) -> Feeds | None:
        return self.outlook.feeds

    @property
    def last_error(self) -> SkoupaError | None:
        return (
            self.first_look.error
            or self.first_readings.error
            or self.outlook.last_error
            or self.history.error
            or self.braking.error
            or self._holding.weighing.error
            or self._beginning.same_ledger.error
            or self._parts.error
        )

    async def run(self) -> None:
        """Until `stop`. Raises only when the server can't be reached for the very first look."""
        async with asyncio.TaskGroup() as group:
            self.braking.open(group)
            self._parts.open(group)
            await self.outlook.open(group)
            work = (
                *self.outlook.follow(),
                self._chains.follow(),
                self._announcing.follow(),
                self.first_readings.follow(),
                self.history.follow(),
                self._beginning.same_ledger.follow(),
                self.sweeper.unanswered.follow(),
                *self._holding.work(),
                *self.braking.work(self.sweeper.memory),
                *self._parts.work(),
            )
            tasks = [group.create_task(task) for task in work]
            await self._beginning.first_lead()
            await self.sweeper.run()
            writes = last_writes(self._holding, self.first_look, self.policies)
            self.unwritten = await end_and_write(tasks, writes, clock=self._clock)
            self.outlook.close()
            self.braking.brakes.close()
            self._parts.close()

    async def _take_over(self) -> bool:
        if taken := await self._beginning.take_over():
            self._parts.take_over()
        return taken

    async def _arrange(self) -> None:
        await self.braking.arrange()
        self._parts.arrange()

    def _namespaces_known(self) -> bool:
        return self.feeds is not None and self.feeds.knows_namespaces()

    def stop(self) -> None:
        self.sweeper.stop()

    def _look_again(self) -> None:
        self.sweeper.look_again()

    def _replan(self, rows: Sequence[Row]) -> None:
        self.sweeper.replan(rows)

    def _look_in_turn(self, uids: Iterable[Uid]) -> None:
        """What rules choose may be much, and goes no faster: what goes by a label finds its place in between."""
        self.sweeper.look_at(uids, spacing=1.0 / self._settings.rate.deletions_per_second)

    def _waiting_for_rights(self) -> set[str]:
        """Namespaces in which something is overdue and may not be deleted."""
        held = (uid for uid, (_, code) in self.sweeper.memory.overdue.items() if code == "no-permission")
        return {place_of(row) for uid in held if (row := self.knowledge.store.get(uid)) is not None}

    def _behind(self, ruling: Ruling) -> str:
        feeds = self.outlook.feeds
        return feeds.behind(ruling.interests()) if feeds is not None else "nothing was read yet"

    def _doubt_kinds(self) -> None:
        self.outlook.doubt_kinds()

    def _tell_poorer(self, said: str) -> None:
        self.outlook.degraded.add(said)

    def _tell_well_again(self, said: str) -> None:
        self.outlook.degraded.discard(said)

    def _uncounted(self, row: Row, now: float) -> Hold | None:
        return self.first_readings.hold(row, now)

    def _learn(self, deltas: Sequence[Delta]) -> None:
        # In this order: what the sweeper plans is judged with the newest holds.
        others = self.knowledge.learn(deltas)
        self._holding.learn(deltas)
        mass = self.backlog.learn(deltas, self._clock.now())
        self.sweeper.learn(deltas)
        self._parts.learn(deltas)
        if mass:
            self.braking.brakes.changed.set()
        if others or mass:
            self._chains.wanted.set()
            self.sweeper.look_again()

    def _learn_fresh(self, row: Row) -> None:
        """What a fresh look brought will not be told again by the feed, which then knows nothing new."""
        delta = self.knowledge.store.refresh(row)
        if delta is not None:
            self._learn([delta])

    @property
    def acting(self) -> bool:
        return self._holding.acting()

    async def _refused(self, row: Row) -> bool:
        try:
            return await self.rights.refused(row)
        except SkoupaError:
            return False
