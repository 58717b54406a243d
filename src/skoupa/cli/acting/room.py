"""Room under the ceilings for one sweep: the controller's ceilings, and what the ledger says has gone, with the Events that no ledger tells.

Whoever sweeps has seen a list, and may not have seen how long it is: where the ceilings have no room for all of it,
nothing goes. No Brake is pulled by that, and what a released Brake allows is for the controller alone.
"""

from __future__ import annotations

from collections.abc import Callable

from skoupa.cli.looking.planning import Plan
from skoupa.controller.braking.limits import ceilings_of, counted
from skoupa.controller.braking.swept import goings_before
from skoupa.controller.survey import Finding
from skoupa.controller.weighing.counting import Counting
from skoupa.controller.weighing.weight import count_inside, weigh_whole
from skoupa.errors import LedgerUnavailable, SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.kube.client import Client
from skoupa.ledger.store import Store
from skoupa.model.verdicts import Claim
from skoupa.settings import Settings
from skoupa.sweep.ceilings import HOUR, Ceilings, Going, Trip
from skoupa.sweep.gate import Gate, going
from skoupa.sweep.tripping import of_ceiling

ADVICE = "sweep less at once (name kinds, or one namespace with -n), wait, or raise that ceiling in the settings (--config)"


class Room:
    """`why` says which ceiling is in the way; empty: none was so far."""

    def __init__(self, client: Client, settings: Settings, plan: Plan) -> None:
        self._client = client
        self._settings = settings
        self._plan = plan
        self._counting = Counting(client)
        self._ceilings = Ceilings(client.clock, ceilings_of(settings.brakes))
        self.gate = Gate(self._ceilings, weigh=self._weigh, tripped=self._tripped)
        self.why = ""

    async def learn(self, ledger: Store) -> None:
        """What went within the last hour, by whomever writes to the same ledger, and the controller's Events."""
        now = self._client.clock.now()
        try:
            tallies = await ledger.tally(now - HOUR)
        except LedgerUnavailable:
            if self._settings.ledger.on_failure != "continue":
                raise
            tallies = []
        events = goings_before(self._plan.survey.looked.state, now)
        self._ceilings.rebuild([*((tally.at, counted(tally)) for tally in tallies), *events])

    async def takes(self, findings: list[Finding]) -> bool:
        """Whether there is room for all of these together."""
        now = self._client.clock.now()
        goings: list[Going] = []
        for found in findings:
            claim = found.verdict.claim(now)
            if claim is not None:
                goings.append(going(found.row, claim, weight=1 + await self._inside(found.row)))
        trip = self._ceilings.too_many(goings)
        if trip is not None:
            self._tripped(trip)
        return trip is None

    async def admits(self, row: Row, claim: Claim, *, still_wanted: Callable[[], bool]) -> bool:
        """Takes its place under every ceiling, or says in `why` what is in the way."""
        return await self.gate.enter(row, claim, still_wanted=still_wanted)

    async def _inside(self, row: Row) -> int:
        """As far as it can be counted; what can't be is held when its turn comes."""
        if not (is_namespace(row) or is_definition(row)):
            return 0
        known = self._plan.weights.get(row.uid)
        if known is not None:
            return known.total
        discovery = self._plan.survey.knowledge.discovery
        try:
            return (await count_inside([row], counting=self._counting, discovery=discovery))[row.uid].total
        except* SkoupaError:
            pass
        return 0

    async def _weigh(self, row: Row) -> int:
        return await weigh_whole(
            row,
            counting=self._counting,
            discovery=self._plan.survey.knowledge.discovery,
            ignore=self._settings.cascade.ignore_kinds,
        )

    def _tripped(self, trip: Trip) -> None:
        self.why = f"{of_ceiling(trip).by}; {ADVICE}"
