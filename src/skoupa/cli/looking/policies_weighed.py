"""A run that is still to come, weighed as the controller will before the first of it goes: what would pull a Brake.

What went within the last hour is not known here, so a ceiling may be nearer than it looks; and what somebody released on purpose is
not either. What can't be counted raises: then nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from skoupa.cli.looking.foreseen import Foreseen
from skoupa.controller.braking.limits import ceilings_of
from skoupa.controller.survey import Survey
from skoupa.controller.weighing.counting import Counting
from skoupa.controller.weighing.largest_runs import LargestRuns
from skoupa.controller.weighing.run_counts import parts_of, totals_of
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.mechanism import Run
from skoupa.kube.client import Client
from skoupa.settings import Settings
from skoupa.sweep.ceilings import Ceilings
from skoupa.sweep.weighing import Load, Scales


class ScalesAhead:
    """For all runs of one plan."""

    def __init__(self, client: Client, survey: Survey, settings: Settings) -> None:
        self._survey = survey
        self._settings = settings
        self._counting = Counting(client)
        self._scales = Scales(
            settings.brakes,
            Ceilings(client.clock, ceilings_of(settings.brakes)),
            discovery=lambda: survey.knowledge.discovery,
        )

    async def objections(self, run: Run, rows: Sequence[Row], now: float) -> tuple[str, ...]:
        """Why a Brake would stop it, everything at once; what somebody keeps is no part of a run."""
        protection = self._survey.knowledge.protection
        going = [row for row in rows if not protection.reasons(row, now)]
        try:
            return await self._objections(run, going)
        except* SkoupaError as errors:
            first = errors
        raise _first(first)

    async def foretold(
        self, run: Run, rows: Sequence[Row], now: float, *, foreseen: Foreseen, doubts: list[str]
    ) -> tuple[str, ...]:
        """The same, kept in mind as what holds all of the run; where nobody knows, that is told instead."""
        try:
            objections = await self.objections(run, rows, now)
        except SkoupaError as error:
            doubts.append(f"whether a Brake would stop {run.rule} is not known: {error.brief}")
            return ()
        if objections:
            foreseen.brakes[run.rule] = objections[0]
        return objections

    async def _objections(self, run: Run, rows: Sequence[Row]) -> tuple[str, ...]:
        discovery = self._survey.knowledge.discovery
        parts = await parts_of(
            rows,
            counting=self._counting,
            discovery=discovery,
            ignore=self._settings.cascade.ignore_kinds,
        )
        load = Load(run=run, claimed=parts)
        totals = await totals_of(
            self._scales.doubtful(load),
            counting=self._counting,
            discovery=discovery,
            namespaces=self._settings.namespaces,
        )
        tripped = self._scales.objections(load, totals=totals, largest=self._largest(run))
        return tuple(one.claims for one in tripped)

    def _largest(self, run: Run) -> int | None:
        """What the controller wrote down, where it may be read."""
        if self._survey.looked.state is None:
            return None
        known = LargestRuns(self._survey.looked.state, writes=False)
        known.read()
        return known.of(run)


def _first(errors: BaseExceptionGroup[SkoupaError]) -> SkoupaError:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    assert isinstance(found, SkoupaError)
    return found
