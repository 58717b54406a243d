"""Everything that stops deletions, put together: Brakes that are followed, ceilings that trip, and letting go again.

The engine asks for the `gate` before each delete and lets `work` run beside; what was done before a restart is told with
`remember`. A ceiling that trips holds at once, here; its Brake in the cluster follows.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable
from contextlib import suppress
from typing import Any, Final

import msgspec

from skoupa.controller.backlogs.backlog import Backlog
from skoupa.controller.backlogs.brakes import BacklogBrakes
from skoupa.controller.braking.brakes import Brakes
from skoupa.controller.braking.held_counting import HeldCounting
from skoupa.controller.braking.held_events import HeldEvents
from skoupa.controller.braking.held_now import HeldNow
from skoupa.controller.braking.limits import ceilings_of, counted
from skoupa.controller.braking.memory import BrakeMemory
from skoupa.controller.braking.release import Releases
from skoupa.controller.braking.swept import Swept, WayOut
from skoupa.controller.braking.upkeep import BrakeUpkeep
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.kyverno.beside import BesideKyverno
from skoupa.controller.sight.rights import Rights, place_of
from skoupa.controller.state import FIRST_SWEEP, MASSES_ACCEPTED, State
from skoupa.controller.weighing.counting import Counting
from skoupa.controller.weighing.weight import count_inside, weigh_whole
from skoupa.errors import LedgerUnavailable, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_effect import active, missing_kind
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.ledger.nowhere import NoStore
from skoupa.ledger.rows import Tally
from skoupa.ledger.store import Store as Ledger
from skoupa.model.reasons import REASONS
from skoupa.settings import Settings
from skoupa.sweep.ceilings import HOUR, Ceilings, Trip
from skoupa.sweep.gate import Gate
from skoupa.sweep.memory import Memory
from skoupa.sweep.reporting import Report
from skoupa.sweep.tripping import Tripped, of_ceiling

# A run that can't be done again within this time keeps no Brake from being released.
CHOSEN_AGAIN_SECONDS: Final = 30.0
# Judging very many at once would stop everything else for a while.
ROWS_AT_ONCE: Final = 500
NOT_COUNTED: Final = "the ledger can't be read: what went within the last hour is not counted, so the ceilings let more go than they say"


class Braking:
    """`look_again` hears that what is held has to be judged anew; `told` what is done in a poorer way."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        rights: Rights,
        backlog: Backlog,
        state: State,
        report: Report,
        acting: Callable[[], bool],
        epoch: Callable[[], int],
        look_again: Callable[[], None],
        told: Callable[[str], None],
    ) -> None:
        self._client = client
        self._settings = settings
        self._knowledge = knowledge
        self._rights = rights
        self._backlog = backlog
        self._state = state
        self._report = report
        self._acting = acting
        self._counting = Counting(client)
        self.ceilings = Ceilings(client.clock, ceilings_of(settings.brakes))
        self.gate = Gate(self.ceilings, weigh=self._weigh, tripped=self._tripped, make_room=self.note_ends)
        self.brakes = Brakes(client, knowledge=knowledge, rights=rights, on_change=look_again, told=told)
        self.ceilings.on_used_up = self.brakes.changed.set
        self._swept = Swept(state, clock=client.clock, epoch=epoch)
        self._events = HeldEvents()
        self.way_out = WayOut(self.gate, self._swept, self._events)
        self._known = BrakeMemory(self.brakes, state, clock=client.clock)
        self._told = told
        handles = BacklogBrakes(backlog, client.clock, put=state.put)
        self.releases = Releases(
            client.clock,
            state=state,
            ceilings=self.ceilings,
            held=HeldCounting(
                client.clock,
                store=knowledge.store,
                judge=knowledge.judge,
                ceilings=self.ceilings,
                events=self._events,
                weigh=self._weigh_as_known,
                editions=self._editions,
                standing=self._standing,
            ),
            accept=handles.accept,
            per_second=settings.rate.deletions_per_second,
            editions=self._editions,
            coming=self._coming,
            standing=self._standing,
        )
        self.beside_kyverno = BesideKyverno(
            client,
            settings=settings,
            state=state,
            brakes=self.brakes,
            releases=self.releases,
            rights=rights,
            acting=acting,
            trip=self.trip,
            note_ends=self.note_ends,
            told=told,
        )
        self._handles = handles
        # Who does not know what was granted before must not grant anything.
        self._remembered = False
        self._remembered_at = -math.inf
        # Whether nothing was counted here yet.
        self._first = True
        # Whether runs that were interrupted are not done again yet.
        self.runs_coming: Callable[[], bool] = lambda: False
        self._ledger_error: SkoupaError | None = None
        self.upkeep: BrakeUpkeep | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        self.brakes.open(group)

    def work(self, memory: Memory) -> list[Coroutine[Any, Any, None]]:
        self.upkeep = BrakeUpkeep(
            self._client,
            self.brakes,
            known=self._known,
            held=HeldNow(memory, handles=self._handles, events=self._events, place=self._place),
            releases=self.releases,
            handles=self._handles,
            report=self._report,
            acting=lambda: self._remembered and self._acting(),
            missing=self._missing,
            too_soon=self._too_soon,
        )
        return [self.brakes.feed.check(), self.upkeep.run(), self.beside_kyverno.follow()]

    def learn(self, deltas: Iterable[Delta]) -> None:
        for delta in deltas:
            if delta.after is None and delta.before is not None:
                self.gate.forget(delta.before.uid)

    async def arrange(self) -> None:
        await self.brakes.arrange()

    def remember(self) -> None:
        """What the state says; it has to be read."""
        self._remembered = True
        self._remembered_at = self._client.clock.monotonic()
        self._known.remember()
        self._swept.remember()
        self._events.begin()
        self.releases.remember()
        self.beside_kyverno.remember()
        accepted = self._state.get(MASSES_ACCEPTED, list[tuple[int, int]]) or []
        swept = self._state.get(FIRST_SWEEP, int) is not None
        self._backlog.remember_accepted(accepted, first_start=swept)

    async def write_down(self) -> None:
        """Once more at an orderly end; what was not read must not be written over."""
        if self._remembered:
            await self.releases.write_down()
            await self._known.write_down()

    async def rebuild(self, ledger: Ledger) -> list[Tally] | None:
        """What went before this process led, as far as that was written down; the ceilings count it.

        After `remember`: what went by an allowance is told by what was granted. Without knowing nothing goes, so this
        returns when it is known, or where `ledger.onFailure` says to go on; None, when this replica does not lead any more.
        """
        backoff = Backoff(self._client.clock, cap=5.0)
        while True:
            hour = self._client.clock.now() - HOUR
            try:
                tallies = await ledger.tally(min(hour, self.releases.since()))
            except LedgerUnavailable as error:
                self._ledger_error = error
                if self._settings.ledger.on_failure == "continue":
                    self._told(NOT_COUNTED)
                    tallies = []
                elif self._acting():
                    await self._client.clock.sleep(backoff.next())
                    continue
                else:
                    return None
            else:
                self._ledger_error = None
            went = [(tally.at, counted(tally)) for tally in tallies]
            swept = self._swept.goings()
            if went or (swept and (self._first or not isinstance(ledger, NoStore))):
                # Without a ledger, what was counted here is all that is known of the rest.
                self.releases.replay([*went, *swept])
            self._first = False
            self._swept.counted()
            return [tally for tally in tallies if tally.at >= hour]

    async def overdue(self) -> int:
        """How many are, and are kept by nothing that lasts; what passes within moments holds none of them for long."""
        clock, number = self._client.clock, 0
        due = [row for row in self._knowledge.store if self._is_due(row, clock.now())]
        # Where it can't be asked, the server's own answer to the delete tells.
        with suppress(SkoupaError):
            await self._rights.learn((row.resource, place_of(row)) for row in due)
        for position, row in enumerate(due, start=1):
            number += self._is_free(row, clock.now())
            if position % ROWS_AT_ONCE == 0:
                await clock.sleep(0)
        return number

    def _is_due(self, row: Row, now: float) -> bool:
        due = self._knowledge.judge.due(row, now)
        return due is not None and due <= now and not row.deleted_at

    def _is_free(self, row: Row, now: float) -> bool:
        by_claim = (holds for _, holds in self._knowledge.judge.each(row, now))
        return any(all(REASONS[hold.reason.code].passing for hold in holds) for holds in by_claim)

    def trip(self, tripped: Tripped) -> str:
        """For whoever finds that something must not go on: holds at once, and makes the Brake. Returns its name."""
        supposed = self._settings.mode != "enforce"
        pulled, news = self.brakes.trip(msgspec.structs.replace(tripped, supposed=supposed))
        if news:
            self._report.tripped(pulled, at=self._client.clock.now())
        return pulled.name

    @property
    def error(self) -> SkoupaError | None:
        upkeep = self.upkeep.error if self.upkeep is not None else None
        return self._ledger_error or upkeep or self.beside_kyverno.error

    def _tripped(self, trip: Trip) -> None:
        self.trip(of_ceiling(trip))

    async def note_ends(self, rule: str = "") -> None:
        """Allows what Brakes held whose time is over, before more is stopped; all that stopped a run of `rule` is known."""
        if self.upkeep is not None:
            await self.upkeep.ends.note(rule)

    def _standing(self) -> list[str] | None:
        pulled, now = self._knowledge.brakes, self._client.clock.now()
        return None if pulled.unknown else [brake.name for brake in pulled.brakes if active(brake, now)]

    async def _weigh(self, row: Row) -> int:
        return await weigh_whole(
            row,
            counting=self._counting,
            discovery=self._knowledge.discovery,
            ignore=self._settings.cascade.ignore_kinds,
        )

    async def _weigh_as_known(self, row: Row) -> int:
        """For an allowance, where less is on the side of holding."""
        try:
            weights = await count_inside([row], counting=self._counting, discovery=self._knowledge.discovery)
        except* SkoupaError as errors:
            first = errors.exceptions[0]
        else:
            return weights[row.uid].total
        raise first

    def _editions(self) -> dict[str, str]:
        now = self._client.clock.now()
        return {run.rule: run.edition for ruling in self._knowledge.rulings for run in ruling.runs(now)}

    def _coming(self) -> bool:
        return self.runs_coming()

    def _too_soon(self) -> bool:
        """Whether nobody can tell yet what Brakes hold: what was chosen before a restart has to be chosen again, Events looked at."""
        recent = self._client.clock.monotonic() < self._remembered_at + CHOSEN_AGAIN_SECONDS
        return recent and (self.runs_coming() or self._events.unknown)

    def _missing(self, scope: Scope) -> str:
        known = self._knowledge
        return missing_kind(scope, known.discovery, defined=known.definitions)

    def _place(self, uid: Uid) -> str:
        row = self._knowledge.store.get(uid)
        if row is None:
            return "gone"
        return "/".join(part for part in (row.resource.kind, row.namespace, row.name) if part)
