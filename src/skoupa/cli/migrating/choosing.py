"""What a policy matches now, and what would become of it under Skoupa: held, waiting for its own time, or stopped by a Brake.

Read as a run reads it and weighed as the controller weighs it, but nothing is remembered or written, and nobody outside of the cluster is
asked. The largest run of a rule is not known before its first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from skoupa import names
from skoupa.cli.looking.dry_runs import DryRuns
from skoupa.cli.looking.foreseen import run_ahead
from skoupa.cli.looking.policies_weighed import ScalesAhead
from skoupa.cli.worlds import World
from skoupa.controller.survey import Survey
from skoupa.errors import SkoupaError
from skoupa.expr.cel.pool import Pool
from skoupa.expr.durations import render_duration
from skoupa.facts.rows import Row
from skoupa.judge.kyverno_labels import PASSING
from skoupa.judge.policies import NAME
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.objects import Partial
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.differences import Difference, difference
from skoupa.model.reasons import Reason, reason, render
from skoupa.model.verdicts import Claim
from skoupa.policy.exemptions import Exemption
from skoupa.policy.kyverno_filters import KyvernoFilters
from skoupa.policy.policies import Policy
from skoupa.runs.evaluation import Found
from skoupa.runs.run import Findings
from skoupa.runs.secret_values import SECRETS
from skoupa.settings import Settings, seconds

_REASONS_SHOWN: Final = 3
_ACCOUNT: Final = "account-may-not"
_NO_RIGHT: Final = "no-permission"


class Matches(msgspec.Struct, frozen=True, kw_only=True):
    """How many objects match now, and how many of them would go; `unknown` says why that could not be worked out.

    `unread`: it is not known because something could not be read. `kinds` are those that would go if they may be deleted.
    """

    matched: int = 0
    goes: int = 0
    kinds: frozenset[str] = frozenset()
    differences: tuple[Difference, ...] = ()
    unknown: str = ""
    unread: bool = False


class Choosing:
    """For all policies of one look. `only` are the namespaces that are looked into; empty: all."""

    def __init__(
        self,
        world: World,
        *,
        settings: Settings,
        survey: Survey,
        pool: Pool,
        exemptions: Iterable[Exemption],
        filters: KyvernoFilters,
        now: float,
        only: tuple[str, ...] = (),
    ) -> None:
        # What may not be deleted is told where it is the controller that asks.
        self._our_rights = bool(world.as_user)
        self._settings = settings
        self._survey = survey
        self._filters = filters
        self._now = now
        self._dry = DryRuns(world, survey, settings, pool=pool, exemptions=exemptions, only=only)
        self._ttl = TtlMechanism(settings)
        self._scales = ScalesAhead(world.client, survey, settings)

    @property
    def doubts(self) -> list[str]:
        return self._dry.doubts

    async def close(self) -> None:
        await self._dry.close()

    async def learn(self) -> None:
        """The labels of namespaces; where they can't be read, what hangs on them is unclear."""
        await self._dry.learn_namespaces()

    async def matches(self, policy: Policy, *, calls_outside: bool, values_hidden: bool) -> Matches:
        """`calls_outside`: it calls services, so that here some of it stays unclear; `values_hidden`: so do Secrets, for which it is told apart."""
        try:
            findings = await self._dry.findings(policy, at=self._now, filters=self._filters)
            findings = await self._dry.permitted(policy, findings)
            if values_hidden:
                unclear = tuple(one for one in findings.unclear if one.resource.qualified != SECRETS)
                findings = msgspec.structs.replace(findings, unclear=unclear)
            return await self._judged(policy, findings, calls_outside=calls_outside)
        except* SkoupaError as errors:
            unknown = _first(errors)
        return Matches(unknown=unknown, unread=True)

    async def _judged(self, policy: Policy, findings: Findings, *, calls_outside: bool) -> Matches:
        rows = self._rows(findings.claimed)
        if self._our_rights:
            await self._survey.learn_rights(rows)
        ahead: list[Row] = []
        # What an exception spares stays with Kyverno too; the account of a policy is known here alone.
        spared = [one for one in findings.spared if one.why is not None and one.why.code == _ACCOUNT]
        held = Counter(render(one.why) for one in spared if one.why is not None)
        going: list[Row] = []
        kinds: set[str] = set()
        idle = self._idle(policy)
        for row in rows:
            hold = self._hold(policy, row)
            if hold is None or hold.code == _NO_RIGHT:
                kinds.add(row.resource.qualified)
            if hold is not None:
                held[render(hold)] += 1
            elif self._is_ahead(row):
                ahead.append(row)
            elif idle:
                held[idle] += 1
            else:
                going.append(row)
        tripped = await self._weighed(policy, going)
        told = [
            *([difference("ttl-ahead", number=len(ahead))] if ahead else ()),
            *([difference("held-matches", number=held.total(), why=_most(held))] if held else ()),
            *([difference("brake", by=tripped)] if tripped else ()),
            *(() if calls_outside else _unclear(findings.unclear)),
        ]
        return Matches(
            matched=len(rows) + len(spared),
            goes=0 if tripped else len(going),
            kinds=frozenset(kinds),
            differences=tuple(told),
            unknown=_unknown(findings, calls_outside=calls_outside),
            unread=bool(findings.gaps),
        )

    def _rows(self, many: Iterable[Found]) -> list[Row]:
        """What somebody deletes already is nobody's to choose."""
        extraction = self._survey.knowledge.extraction
        return [
            extraction.row(found.resource, Partial(metadata=found.metadata))
            for found in many
            if found.metadata.deletion_timestamp is None
        ]

    def _idle(self, policy: Policy) -> str:
        """Why it deletes nothing to begin with, whatever it matches; empty: it does."""
        if policy.options.suspended:
            return f"it is suspended ({names.SUSPEND_ANNOTATION})"
        new = self._settings.policies.observe_new
        span = max(policy.options.observe_seconds, int(seconds(new)) if new is not None else 0)
        return f"it only reports for the first {render_duration(span)}" if span else ""

    def _hold(self, policy: Policy, row: Row) -> Reason | None:
        tick = reason("policy-matched", rule=policy.called, tick=whole_seconds(self._now))
        claim = Claim(mechanism=NAME, rule=policy.called, due=self._now, reason=tick)
        holds = self._survey.knowledge.judge.holds(row, claim, self._now)
        silent = PASSING if self._our_rights else PASSING | {_NO_RIGHT}
        return next((hold.reason for hold in holds if hold.reason.code not in silent), None)

    def _is_ahead(self, row: Row) -> bool:
        if not self._settings.policies.respect_ttl:
            return False
        due = self._ttl.due(row, self._now)
        return due is not None and due > self._now

    async def _weighed(self, policy: Policy, rows: list[Row]) -> str:
        """Why the run as a whole would be stopped; empty: it would not."""
        return "; ".join(await self._scales.objections(run_ahead(policy, self._now), rows, self._now))


def _most(held: Counter[str]) -> str:
    shown = [f"{why} ({number})" for why, number in held.most_common(_REASONS_SHOWN)]
    rest = len(held) - len(shown)
    return "; ".join([*shown, *([f"{rest} more reasons"] if rest > 0 else [])])


def _unclear(found: tuple[Found, ...]) -> Iterator[Difference]:
    if found:
        why = next(
            (render(one.why) for one in found if one.why is not None), "its conditions can't be answered"
        )
        yield difference("unclear-matches", number=len(found), why=why)


def _unknown(findings: Findings, *, calls_outside: bool) -> str:
    told = [f"{gap}" for gap in findings.gaps]
    if calls_outside and findings.unclear:
        told.append("it calls services, and none are called here")
    return "; ".join(told)


def _first(errors: BaseExceptionGroup[SkoupaError]) -> str:
    found: BaseException = errors
    while isinstance(found, BaseExceptionGroup):
        found = found.exceptions[0]
    return str(found)
