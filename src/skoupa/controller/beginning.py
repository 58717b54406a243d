"""Before anything is swept, each time that this replica begins to lead.

What others wrote down is read first, since they may have led meanwhile; what a first start would take is counted and held;
the ledger has to be the one that was left behind. Whoever waits here sees all the while, and sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.controller.backlogs.accept_once import AcceptOnce
from skoupa.controller.backlogs.first_look import FirstLook
from skoupa.controller.backlogs.first_readings import FirstReadings
from skoupa.controller.backlogs.started import Started
from skoupa.controller.holding import Holding
from skoupa.controller.records.history import History
from skoupa.controller.records.same_ledger import SameLedger
from skoupa.controller.sight.ever_read import EverRead
from skoupa.controller.sight.outlook import Outlook
from skoupa.kube.client import Client
from skoupa.ledger.rows import Tally
from skoupa.settings import Settings
from skoupa.sweep.sweeper import STANDBY_SECONDS, Sweeper

SHORT_SECONDS: Final = 0.02


class Beginning:
    """`ever` is what was ever read; `told` hears what is not as it should be; `skew` says how far the server's clock is ahead."""

    def __init__(
        self,
        client: Client,
        holding: Holding,
        *,
        settings: Settings,
        outlook: Outlook,
        sweeper: Sweeper,
        history: History,
        ever: EverRead,
        standing_by: Callable[[], bool],
        started: Started,
        skew: Callable[[], float],
        told: Callable[[str], None],
    ) -> None:
        self._clock = client.clock
        self._holding = holding
        self._braking = holding.braking
        self._enforcing = settings.mode == "enforce"
        self._outlook = outlook
        self._sweeper = sweeper
        self._history = history
        self._standing_by = standing_by
        self.same_ledger = SameLedger(
            holding.record,
            holding.state,
            clock=client.clock,
            acting=holding.acting,
            trip=holding.braking.trip,
            pulling=holding.braking.brakes.is_pulling,
            told=told,
            go_on=settings.ledger.on_failure == "continue",
        )
        self.first_readings = FirstReadings(
            holding.state,
            holding.backlog,
            clock=client.clock,
            knowledge=holding.knowledge,
            ever=ever,
            feeds=lambda: outlook.feeds,
            acting=holding.acting,
            standing_by=standing_by,
            on_held=holding.braking.brakes.changed.set,
            look_again=sweeper.look_again,
        )
        self.first_look = FirstLook(
            holding.backlog,
            holding.state,
            clock=client.clock,
            settings=settings,
            store=holding.knowledge.store,
            acting=holding.acting,
            stopping=lambda: sweeper.stopping,
            failing=lambda: outlook.feeds.failing() if outlook.feeds is not None else (),
            accept_once=AcceptOnce(holding.state, clock=client.clock, started=started, skew=skew),
            overdue=holding.braking.overdue,
            allow=holding.braking.releases.accepted,
            first_readings=lambda: self.first_readings,
        )

    async def first_lead(self) -> None:
        """Returns when this replica leads for the first time and knows what is held, or is to stop."""
        while (
            not (self._outlook.ready.is_set() and self._braking.brakes.settled) and not self._sweeper.stopping
        ):
            await self._clock.sleep(SHORT_SECONDS)
        while self._standing_by() and not self._sweeper.stopping:
            await self._clock.sleep(STANDBY_SECONDS)
        if await self._read_state():
            await self.first_look.assess()
        self._braking.brakes.changed.set()

    async def take_over(self) -> bool:
        """Right before the first sweep of each lead; False: it was lost meanwhile, and has to be done anew with the next."""
        tallies: list[Tally] = []
        if self._enforcing:
            epoch = self._holding.record.epoch
            if not await self._history.take_over():
                return False
            # Another replica may have led meanwhile.
            await self._read_state()
            known = await self._braking.rebuild(self._holding.record.store)
            if known is None or not await self.same_ledger.check():
                return False
            tallies = known
            await self._braking.beside_kyverno.before_acting()
            if self._holding.record.epoch != epoch:
                return False
        self._holding.weighing.take_over(tallies)
        return True

    async def _read_state(self) -> bool:
        async with self.first_readings.writing:
            if not await self.first_look.read_state():
                return False
            self._braking.remember()
            self.first_readings.remember()
            self._holding.recreation_memory.recall()
        return True
