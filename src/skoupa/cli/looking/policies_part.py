"""The part of policies in a plan and in an explanation: which of them run, what they would choose, and how that is told.

What it takes to ask policies is imported only where there are some: a plan of labels needs none of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from skoupa import names
from skoupa.cli.terminal.items import ItemPolicy, PolicyRun, moment
from skoupa.cli.worlds import STANDARD_INPUT, World
from skoupa.controller.survey import Finding, Gap, Survey
from skoupa.errors import UsageError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.policies import PolicyMechanism
from skoupa.settings import Settings

if TYPE_CHECKING:
    from skoupa.cli.looking.policies_ahead import Looked
    from skoupa.cli.looking.policies_known import Applied, Written
    from skoupa.cli.looking.retention_known import WrittenRetention
    from skoupa.policy.exemptions import Exemption
    from skoupa.runs.run import Findings


_GROUPS: Final = frozenset({names.KYVERNO_GROUP, names.KYVERNO_POLICIES_GROUP})
_MOST_NAMED: Final = 5


def read_files(
    files: tuple[str, ...], settings: Settings, *, sources: tuple[str, ...], window: Sequence[str]
) -> Written:
    """Policies that are right as far as can be told without a cluster; `window` are options that ask for another time."""
    if window:
        raise UsageError(
            f"-f and {window[0]} can't stand together",
            advice="-f asks what policies would delete if they ran now",
        )
    if STANDARD_INPUT in files and STANDARD_INPUT in sources:
        raise UsageError("-f and --from can't both read standard input", advice="name a file for one of them")
    from skoupa.cli.looking.policies_known import written  # noqa: PLC0415 - see above

    found = written(files, settings)
    found.check()
    return found


class PolicyPart:
    """`written` are policies of files, each as if it ran now; without them those of the cluster are meant, at their ticks."""

    def __init__(
        self, settings: Settings, *, written: Written | None = None, allow_calls: bool = False
    ) -> None:
        self._settings = settings
        self._allow_calls = allow_calls
        self.written = written
        self.mechanism = PolicyMechanism()
        self._looked: list[Looked] = []
        self.gaps: list[Gap] = []
        self.doubts: list[str] = []

    @property
    def places(self) -> tuple[str, ...]:
        """The namespaces that policies of files are about; none: all, or nobody knows yet."""
        return tuple(sorted(self.written.places())) if self.written is not None else ()

    @property
    def retention(self) -> WrittenRetention | None:
        """The retention policies of files."""
        return self.written.retention if self.written is not None else None

    def apply_to(self, namespace: str) -> None:
        """Where policies of files that name no namespace would go."""
        if self.written is not None:
            self.written = self.written.applied_to(namespace)

    async def look(
        self,
        world: World,
        survey: Survey,
        *,
        namespace: str,
        now: float,
        until: float | None,
        progress: Callable[[str], None],
    ) -> None:
        """`until` is the end of the window: what runs later is not looked at. Raises where nothing of files can be answered."""
        groups = {resource.group for resource in survey.knowledge.discovery.resources}
        if self.written is None and not groups & _GROUPS:
            return
        from skoupa.cli.looking import policies_known  # noqa: PLC0415 - see above

        applied = policies_known.Applied(world.client, survey, self._settings)
        await applied.read(namespace=namespace, only_exemptions=self.written is not None)
        if self.written is not None:
            discovery = survey.knowledge.discovery
            planned = self.written.planned(discovery, now)
            if planned and not self._settings.features.policies:
                self.doubts.append(
                    "the feature policies is switched off in the settings, so none of them runs"
                )
            if world.given is None and (unknown := self.written.unserved(discovery)):
                self.doubts.append(
                    f"this cluster does not know {', '.join(unknown)} yet: "
                    "`skoupa install --policy-kinds | kubectl apply -f -` brings the kinds of policies"
                )
        else:
            planned = applied.planned(now, until=until)
        self.doubts += applied.doubts
        if not planned:
            return
        from skoupa.cli.looking.policies_ahead import RunsAhead  # noqa: PLC0415 - see above
        from skoupa.cli.looking.policies_chosen import ChosenAhead  # noqa: PLC0415 - see above

        only = self.places or ((namespace,) if namespace else self._settings.namespaces)
        ahead = RunsAhead(
            world,
            survey,
            self._settings,
            chosen=ChosenAhead(world, survey, self._settings, mechanism=self.mechanism),
            exemptions=self._exemptions(applied),
            shared=self.written.shared if self.written is not None else (),
            profiles=self.written.retention.profiles if self.written is not None else (),
            only=only,
            allow_calls=self._allow_calls,
            progress=progress,
        )
        self._looked = await ahead.look(planned, now)
        self.gaps += ahead.gaps
        self.doubts += ahead.doubts
        if self.written is not None and ahead.refusal is not None:
            raise ahead.refusal

    def _exemptions(self, applied: Applied) -> tuple[Exemption, ...]:
        return applied.exemptions if self.written is None else self.written.exempting(applied.exemptions)

    def rows(self, kinds: Collection[str]) -> Iterator[Row]:
        """What they match, of these kinds (none: of all)."""
        for one in self._looked:
            yield from (
                row for row in (*one.rows, *one.others) if not kinds or row.resource.qualified in kinds
            )

    def runs(self, survey: Survey, findings: Iterable[Finding], now: float) -> tuple[PolicyRun, ...]:
        """As they are told; `findings` are what was looked at more closely."""
        verdicts = {found.row.uid: found.verdict for found in findings}

        def goes(row: Row, run: float) -> bool:
            at = (verdicts.get(row.uid) or survey.finding(row, now).verdict).goes
            return at is not None and at <= max(run, now)

        return tuple(
            _run(one, would_go=sum(goes(row, one.planned.moment or now) for row in one.rows))
            for one in self._looked
        )


class ObjectPolicies:
    """The part of policies in an explanation: what those of the cluster say of the objects that are explained."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.mechanism = PolicyMechanism()

    async def look(
        self, world: World, survey: Survey, rows: Sequence[Row], *, namespace: str
    ) -> dict[Uid, tuple[ItemPolicy, ...]]:
        """By object; the mechanism and the judge of the survey know it too. Empty where the feature is off."""
        if not self._settings.features.policies:
            return {}
        groups = {resource.group for resource in survey.knowledge.discovery.resources}
        if not groups & _GROUPS:
            return {row.uid: () for row in rows}
        from skoupa.cli.looking.policies_chosen import ChosenAhead  # noqa: PLC0415 - see above
        from skoupa.cli.looking.policies_of_one import PoliciesOfOne  # noqa: PLC0415 - see above

        chosen = ChosenAhead(world, survey, self._settings, mechanism=self.mechanism)
        asked = PoliciesOfOne(world, survey, self._settings, chosen=chosen)
        told = await asked.look(rows, namespace=namespace, now=world.now())
        survey.doubts += asked.doubts
        return told


def _unread(findings: Findings) -> Iterator[str]:
    """Nothing that was found is not the same as nothing that is there."""
    from skoupa.cli.looking.retention_known import short  # noqa: PLC0415 - see below

    found: dict[str, dict[str, None]] = {}
    for gap in findings.gaps:
        where = f" in {gap.query.scope.namespace}" if gap.query.scope.namespace else ""
        found.setdefault(short(gap.error), {})[f"{gap.query.resource.qualified}{where}"] = None
    for why, lists in found.items():
        more = f" and {len(lists) - _MOST_NAMED} more lists" if len(lists) > _MOST_NAMED else ""
        named = ", ".join(list(lists)[:_MOST_NAMED])
        yield f"it may match more: {named}{more} could not be read ({why})"


def _run(looked: Looked, *, would_go: int) -> PolicyRun:
    # Words are for policies alone, and so is what they are made from.
    from skoupa.expr.schedule_words import in_words  # noqa: PLC0415

    planned, findings, policy = looked.planned, looked.findings, looked.planned.policy
    schedule = policy.schedule if policy is not None else None
    matched = len(looked.rows) + len(looked.others)
    troubles = (*_unread(findings), *findings.troubles) if findings is not None else ()
    return PolicyRun(
        kind=planned.kind,
        namespace=planned.namespace,
        name=planned.name,
        file=planned.file,
        document=planned.document,
        schedule=schedule.text if schedule is not None else "",
        words=in_words(schedule) if schedule is not None else "",
        zone=(schedule.zone_name or "UTC") if schedule is not None else "",
        last_run=planned.last_run,
        next_run=moment(planned.next_run),
        suspended=policy is not None and policy.options.suspended,
        observed_until=moment(planned.observed_until),
        looked_at=findings is not None,
        matched=matched,
        would_go=would_go,
        held=matched - would_go - looked.unclear,
        unclear=looked.unclear,
        would_brake=looked.would_brake,
        problems=(*planned.problems, *((looked.error,) if looked.error else ()), *troubles),
        cautions=planned.cautions,
    )
