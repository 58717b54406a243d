"""Runs of policies that are still to come, read and judged as the controller will at their ticks; nothing is deleted.

What a run chooses is put into the mechanism of the survey, so that verdicts come from the same judge, with everything that holds.
What is unclear, or spared for a reason of the policy's own, is chosen too and held by that reason. Conditions are asked at the moment
of the run; objects are as they are now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from skoupa.cli.looking.dry_runs import DryRuns, new_pool
from skoupa.cli.looking.policies_chosen import ChosenAhead
from skoupa.cli.looking.policies_known import Planned
from skoupa.cli.worlds import World
from skoupa.controller.survey import Gap, Survey
from skoupa.errors import BadExpression, SkoupaError
from skoupa.facts.rows import Row
from skoupa.policy.exemptions import Exemption
from skoupa.policy.policies import Policy
from skoupa.runs.evaluation import Found
from skoupa.runs.kyverno_config import KyvernoConfig
from skoupa.runs.run import Findings
from skoupa.runs.showing import Showing
from skoupa.settings import Settings


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """One run. `findings` None: it was not looked at, or could not be, for `error`. `rows` are what it would delete.

    `others` match and stay for a reason of the policy's own; of so many of them it is `unclear` whether they meet it.
    """

    planned: Planned
    findings: Findings | None = None
    error: str = ""
    rows: tuple[Row, ...] = ()
    others: tuple[Row, ...] = ()
    unclear: int = 0
    would_brake: tuple[str, ...] = ()


class RunsAhead:
    """`only` are the namespaces that are looked into; empty: all. `allow_calls`: services outside may be asked too.

    `shared` are GlobalContextEntries that would be applied with the policies.
    """

    def __init__(
        self,
        world: World,
        survey: Survey,
        settings: Settings,
        *,
        chosen: ChosenAhead,
        exemptions: Sequence[Exemption],
        only: Sequence[str],
        allow_calls: bool,
        progress: Callable[[str], None],
        shared: Sequence[Mapping[str, Any]] = (),
        profiles: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self._world = world
        self._survey = survey
        self._chosen = chosen
        self._only = tuple(only)
        self._progress = progress
        self._pool = new_pool()
        self._dry = DryRuns(
            world,
            survey,
            settings,
            pool=self._pool,
            exemptions=exemptions,
            only=only,
            allow_calls=allow_calls,
            shared=shared,
            profiles=profiles,
        )
        self._kyverno = KyvernoConfig(world.client)
        self._showing = Showing(survey.knowledge.store, survey.knowledge.extraction)
        self.gaps: list[Gap] = []
        self._first_error: SkoupaError | None = None

    @property
    def doubts(self) -> tuple[str, ...]:
        return (*self._dry.doubts, *self._chosen.doubts)

    @property
    def refusal(self) -> SkoupaError | None:
        """Why nothing at all could be read; None: something was, or nothing was to be."""
        return self._first_error if self._dry.read_nothing else None

    async def look(self, planned: Sequence[Planned], now: float) -> list[Looked]:
        """At all of them side by side, for they mostly read the same."""
        wanted = [one for one in planned if one.moment is not None]
        if not wanted:
            return [Looked(planned=one) for one in planned]
        self._progress(f"asking {len(wanted)} policies what they match")
        await self._dry.learn_namespaces()
        try:
            async with self._pool, asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._found(one, now)) for one in planned]
        finally:
            await self._dry.close()
        return [await self._put(task.result(), now) for task in tasks]

    async def _found(self, one: Planned, now: float) -> Looked:
        if one.policy is None or one.moment is None:
            return Looked(planned=one)
        try:
            findings = await self._findings(one.policy, max(one.moment, now))
        except BadExpression as error:
            # Only who compiles it knows: the controller has done so, and does not run it.
            problems = (*one.problems, str(error))
            return Looked(
                planned=msgspec.structs.replace(
                    one, policy=None, moment=None, next_run=None, problems=problems
                )
            )
        except SkoupaError as error:
            return Looked(planned=one, error=str(error))
        for gap in findings.gaps:
            self._first_error = self._first_error or gap.error
            place = f" in {gap.query.scope.namespace}" if gap.query.scope.namespace and not self._only else ""
            self._gap(f"{gap.query.resource.qualified}{place}", gap.error.brief)
        return Looked(planned=one, findings=findings)

    async def _findings(self, policy: Policy, moment: float) -> Findings:
        filters = await self._kyverno.filters(self._survey.knowledge.discovery)
        findings = await self._dry.findings(policy, at=moment, filters=filters)
        return await self._dry.permitted(policy, findings)

    async def _put(self, looked: Looked, now: float) -> Looked:
        """Its objects in the store, so that they are judged like all others."""
        policy, moment, findings = looked.planned.policy, looked.planned.moment, looked.findings
        if policy is None or moment is None or findings is None:
            return looked
        rows = [row for found in findings.claimed if (row := self._row(found)) is not None]
        others = []
        unclear = 0
        for found in (*findings.unclear, *findings.spared):
            row = self._row(found)
            if row is not None and found.why is not None:
                others.append(row)
                unclear += found.outcome == "unclear"
                self._chosen.stays(policy, row, found.why)
        self._survey.knowledge.learn(self._showing.show((*rows, *others)))
        known = [self._survey.knowledge.store.get(row.uid) or row for row in (*rows, *others)]
        going, staying = tuple(known[: len(rows)]), tuple(known[len(rows) :])
        would_brake = await self._chosen.put(
            policy,
            moment,
            observed_until=looked.planned.observed_until,
            going=going,
            others=staying,
            now=now,
        )
        return Looked(
            planned=looked.planned,
            findings=findings,
            rows=going,
            others=staying,
            unclear=unclear,
            would_brake=would_brake,
        )

    def _row(self, found: Found) -> Row | None:
        """What somebody deletes already is nobody's to choose, and what has no identity can't be shown as an object."""
        if not found.metadata.uid:
            place = f" in {found.metadata.namespace}" if found.metadata.namespace else ""
            self._gap(f"{found.resource.qualified}/{found.metadata.name}{place}", "it could not be read")
            return None
        if found.metadata.deletion_timestamp is not None:
            return None
        return self._showing.row(found.resource, found.metadata)

    def _gap(self, what: str, why: str) -> None:
        gap = Gap(what=what, why=why)
        if gap not in self.gaps:
            self.gaps.append(gap)
