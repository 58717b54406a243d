"""Runs of policies that are still to come, read and judged as the controller will at their ticks; nothing is deleted.

What a run chooses is put into the mechanism of the survey, so that verdicts come from the same judge, with everything that holds.
What is unclear, or spared for a reason of the policy's own, is chosen too and held by that reason. Conditions are asked at the moment
of the run; objects are as they are now.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec

from skoupa.cli.looking.files_alone import FilesAlone
from skoupa.cli.looking.foreseen import Foreseen
from skoupa.cli.looking.policies_known import Planned
from skoupa.cli.looking.policies_weighed import ScalesAhead
from skoupa.cli.worlds import World
from skoupa.clock import SystemClock
from skoupa.controller.survey import Gap, Survey
from skoupa.errors import ApiError, BadReply, Forbidden, SkoupaError, TimedOut
from skoupa.expr.cel.pool import Pool
from skoupa.facts.rows import Row
from skoupa.judge.mechanism import Run
from skoupa.judge.policies import NAME, Chosen, PolicyMechanism
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.exemptions import Exemption
from skoupa.policy.policies import Policy
from skoupa.runs.accounts import Accounts
from skoupa.runs.calls.outside import Outside
from skoupa.runs.evaluation import Evaluation, Found
from skoupa.runs.expressions import namespaces_of
from skoupa.runs.kyverno_config import KyvernoConfig
from skoupa.runs.lists import Lists
from skoupa.runs.run import Findings, find
from skoupa.runs.showing import Showing
from skoupa.settings import Settings

Labels = Mapping[str, Mapping[str, str]]


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
    """`only` are the namespaces that are looked into; empty: all. `allow_calls`: services outside may be asked too."""

    def __init__(
        self,
        world: World,
        survey: Survey,
        settings: Settings,
        *,
        mechanism: PolicyMechanism,
        foreseen: Foreseen,
        exemptions: Sequence[Exemption],
        only: Sequence[str],
        allow_calls: bool,
        progress: Callable[[str], None],
    ) -> None:
        self._world = world
        self._survey = survey
        self._mechanism = mechanism
        self._foreseen = foreseen
        self._exemptions = tuple(exemptions)
        self._only = tuple(only)
        self._progress = progress
        client = world.client
        asked = client if world.given is None else Client(FilesAlone(client.transport), client.clock)
        self._outside = Outside(asked, settings=settings.policies, services=allow_calls)
        self._pool = Pool(clock=SystemClock())
        self._kyverno = KyvernoConfig(client)
        self._lists = Lists(client)
        self._accounts = Accounts(client)
        self._scales = ScalesAhead(client, survey, settings)
        self._showing = Showing(survey.knowledge.store, survey.knowledge.extraction)
        self._labels: Labels | None = None
        self.gaps: list[Gap] = []
        self.doubts: list[str] = []
        self._unread: dict[object, SkoupaError] = {}

    @property
    def refusal(self) -> SkoupaError | None:
        """Why nothing at all could be read; None: something was, or nothing was to be."""
        if not self._lists.lists or self._lists.lists > len(self._unread):
            return None
        return next(iter(self._unread.values()))

    async def look(self, planned: Sequence[Planned], now: float) -> list[Looked]:
        """At all of them side by side, for they mostly read the same."""
        wanted = [one for one in planned if one.moment is not None]
        if not wanted:
            return [Looked(planned=one) for one in planned]
        self._progress(f"asking {len(wanted)} policies what they match")
        self._labels = await self._namespace_labels()
        try:
            async with self._pool, asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._found(one, now)) for one in planned]
        finally:
            await self._outside.close()
        return [await self._chosen(task.result(), now) for task in tasks]

    async def _found(self, one: Planned, now: float) -> Looked:
        if one.policy is None or one.moment is None:
            return Looked(planned=one)
        try:
            findings = await self._findings(one.policy, max(one.moment, now))
        except SkoupaError as error:
            return Looked(planned=one, error=str(error))
        for gap in findings.gaps:
            self._unread.setdefault(gap.query, gap.error)
            place = f" in {gap.query.scope.namespace}" if gap.query.scope.namespace and not self._only else ""
            self._gap(f"{gap.query.resource.qualified}{place}", _short(gap.error))
        return Looked(planned=one, findings=findings)

    async def _findings(self, policy: Policy, moment: float) -> Findings:
        client, discovery = self._world.client, self._survey.knowledge.discovery
        evaluation = Evaluation(
            policy,
            pool=self._pool,
            calls=self._outside.calls(namespace=policy.namespace, discovery=discovery),
            clock=client.clock,
            at=moment,
            exemptions=self._exemptions,
            filters=await self._kyverno.filters(),
            namespaces=self._labels,
            namespace_object=namespaces_of(client, one_by_one=bool(self._only)),
        )
        findings = await find(
            policy,
            evaluation,
            lists=self._lists,
            discovery=discovery,
            namespaces=self._labels,
            only=self._only,
            themselves=True,
        )
        return await self._permitted(policy, findings)

    async def _permitted(self, policy: Policy, findings: Findings) -> Findings:
        account = policy.options.service_account
        if not account or not findings.claimed:
            return findings
        unknown = f"what the ServiceAccount {account} of {policy.called} may delete is not known"
        if self._world.given is not None:
            self.doubts.append(f"{unknown}: files do not tell rights")
            return findings
        try:
            return await self._accounts.permitted(policy, findings)
        except Forbidden:
            self.doubts.append(f"{unknown}: no permission to create subjectaccessreviews")
            return findings

    async def _chosen(self, looked: Looked, now: float) -> Looked:
        """Its objects in the store, so that they are judged like all others."""
        policy, moment, findings = looked.planned.policy, looked.planned.moment, looked.findings
        if policy is None or moment is None or findings is None:
            return looked
        until = looked.planned.observed_until
        observed = until is not None and until > moment
        if until is not None and observed:
            # The first tick that is not before the end.
            self._foreseen.observing[policy.called] = (until, policy.schedule.following(until - 1))
        rows = [row for found in findings.claimed if (row := self._row(found)) is not None]
        others = []
        unclear = 0
        for found in (*findings.unclear, *findings.spared):
            row = self._row(found)
            if row is not None and found.why is not None:
                others.append(row)
                unclear += found.outcome == "unclear"
                self._foreseen.reasons[policy.called, row.uid] = found.why
        run = Run(
            mechanism=NAME,
            rule=policy.called,
            name=f"{policy.called}@{whole_seconds(moment)}",
            generation=policy.generation,
            most=policy.options.max_deletions or None,
        )
        self._survey.knowledge.learn(self._showing.show((*rows, *others)))
        known = [self._survey.knowledge.store.get(row.uid) or row for row in (*rows, *others)]
        self._mechanism.put(
            Chosen(
                run=run,
                due=moment,
                propagation=policy.propagation,
                observed=observed,
                foreseen=True,
                versions={row.uid: row.version for row in known},
            )
        )
        would_brake: tuple[str, ...] = ()
        if not observed:
            would_brake = await self._weighed(run, known[: len(rows)], now)
        return Looked(
            planned=looked.planned,
            findings=findings,
            rows=tuple(known[: len(rows)]),
            others=tuple(known[len(rows) :]),
            unclear=unclear,
            would_brake=would_brake,
        )

    async def _weighed(self, run: Run, rows: Sequence[Row], now: float) -> tuple[str, ...]:
        try:
            objections = await self._scales.objections(run, rows, now)
        except SkoupaError as error:
            self.doubts.append(f"whether a Brake would stop {run.rule} is not known: {_short(error)}")
            return ()
        if objections:
            self._foreseen.brakes[run.rule] = objections[0]
        return objections

    def _row(self, found: Found) -> Row | None:
        """What somebody deletes already is nobody's to choose, and what has no identity can't be shown as an object.

        Nor is what a cluster in memory has of its own.
        """
        key = (found.resource.kind, found.metadata.namespace, found.metadata.name)
        if self._world.given is not None and key not in self._world.brought:
            return None
        if not found.metadata.uid:
            place = f" in {found.metadata.namespace}" if found.metadata.namespace else ""
            self._gap(f"{found.resource.qualified}/{found.metadata.name}{place}", "it could not be read")
            return None
        if found.metadata.deletion_timestamp is not None:
            return None
        return self._showing.row(found.resource, found.metadata)

    async def _namespace_labels(self) -> Labels | None:
        """Of all namespaces that are looked into; None: they are not known."""
        knowledge = self._survey.knowledge
        try:
            found = (await everything(self._world.client, NAMESPACES, METADATA)).items
        except (ApiError, BadReply, TimedOut):
            rows = knowledge.store.of_kind(knowledge.discovery.find("", NAMESPACES.kind) or NAMESPACES)
            known = {row.name: dict(row.labels) for row in rows}
            return (
                {name: known[name] for name in self._only}
                if self._only and set(self._only) <= known.keys()
                else None
            )
        labels = {one.metadata.name: one.metadata.labels or {} for one in found}
        return {name: own for name, own in labels.items() if not self._only or name in self._only}

    def _gap(self, what: str, why: str) -> None:
        gap = Gap(what=what, why=why)
        if gap not in self.gaps:
            self.gaps.append(gap)


def _short(error: SkoupaError) -> str:
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
