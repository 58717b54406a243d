"""Every policy of the cluster with both readings: when each would run it, what it would mean to each, and what becomes of what matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec

from skoupa.cli.migrating.calls import call_differences
from skoupa.cli.migrating.choosing import Choosing, Matches
from skoupa.cli.migrating.kyverno import Kyverno
from skoupa.clock import Clock
from skoupa.controller.survey import Gap
from skoupa.errors import ApiError, BadReply, Forbidden, TimedOut
from skoupa.expr.cel.messages import Report
from skoupa.expr.cel.pool import Pool
from skoupa.expr.instants import parse_rfc3339
from skoupa.kinds.policies.context import NO_CONFIG_MAP, NO_IMAGE_REGISTRY
from skoupa.kinds.policies.exception import POLICY_EXCEPTION
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.model.differences import Difference, difference
from skoupa.policy.cel_checks import cel_problems, source_of
from skoupa.policy.compared.clauses import clause_differences
from skoupa.policy.compared.kinds import kind_differences
from skoupa.policy.compared.schedules import Past, Timetable, kyverno_timetable, schedule_differences
from skoupa.policy.exemptions import Exemption, read_exemption
from skoupa.policy.expansion import expand
from skoupa.policy.filters import Filters
from skoupa.policy.headings import POLICY_KINDS
from skoupa.policy.options import KNOWN
from skoupa.policy.policies import Clauses, Policy
from skoupa.policy.problems import Problem
from skoupa.policy.reading import Reading, read_policy
from skoupa.runs.book import account_problem, served
from skoupa.runs.calls.protocol import NoCalls
from skoupa.runs.calls.written import clause_problems
from skoupa.runs.comparing import Comparing as Conditions
from skoupa.runs.secret_values import SECRET_FIELDS, SECRETS
from skoupa.settings import Settings, seconds

_SCHEDULE: Final = "spec.schedule"
_CALL_PATH: Final = "apiCall.urlPath"
# What the webhooks of both refuse.
_NEITHER: Final = frozenset(text.partition(": ")[0] for text in (NO_CONFIG_MAP, NO_IMAGE_REGISTRY))

Object = Mapping[str, Any]


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One policy. `policy` None: Skoupa would not run it; the runs are the next of each, None for never or not known."""

    kind: str
    namespace: str
    name: str
    schedule: str
    kyverno_runs: bool
    kyverno_next: float | None
    policy: Policy | None
    skoupa_next: float | None
    matches: Matches | None = None
    differences: tuple[Difference, ...] = ()


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What was read: policies and exceptions, and what could not be."""

    policies: tuple[Object, ...] = ()
    exemptions: tuple[Exemption, ...] = ()
    gaps: tuple[Gap, ...] = ()


async def read_written(client: Client, discovery: Discovery, *, namespace: str) -> Written:
    """Of one namespace, and of the whole cluster in any case; empty: of all."""
    policies: list[Object] = []
    exemptions: list[Exemption] = []
    gaps: list[Gap] = []
    for definition in (*POLICY_KINDS.values(), POLICY_EXCEPTION):
        kind = served(definition, discovery)
        if kind is None:
            continue
        place = namespace if kind.namespaced else ""
        try:
            found = await _read(client, kind, place, everywhere=definition is POLICY_EXCEPTION)
        except (ApiError, BadReply, TimedOut) as error:
            gaps.append(Gap(what=kind.qualified, why=error.message))
            continue
        if definition is POLICY_EXCEPTION:
            exemptions += map(read_exemption, found)
        else:
            policies += ({**one, "apiVersion": kind.api_version, "kind": kind.kind} for one in found)
    return Written(policies=tuple(policies), exemptions=tuple(exemptions), gaps=tuple(gaps))


async def _read(client: Client, kind: Resource, namespace: str, *, everywhere: bool) -> Sequence[Object]:
    """The namespace of an exception does not matter; who may not see those of others sees their own."""
    if namespace and everywhere:
        with suppress(Forbidden):
            return (await everything(client, kind, WHOLE)).items
    return (await everything(client, kind, WHOLE, scope=Scope(namespace=namespace))).items


class Comparing:
    """`choosing` None: what matches is not looked at."""

    def __init__(
        self,
        settings: Settings,
        *,
        discovery: Discovery,
        kyverno: Kyverno,
        pool: Pool,
        choosing: Choosing | None,
        clock: Clock,
        now: float,
    ) -> None:
        self._clock = clock
        self._settings = settings
        self._discovery = discovery
        self._kyverno = kyverno
        self._pool = pool
        self._choosing = choosing
        self._now = now

    async def compare(self, obj: Object) -> Compared:
        clauses = _clauses(obj)
        report = await self._compiled(clauses)
        reading = read_policy(
            obj,
            discovery=self._discovery,
            check=self._check(tuple(cel_problems(report))),
            minimum_seconds=int(seconds(self._settings.policies.minimum_interval)),
        )
        if self._settings.policies.require_service_account:
            lacking = account_problem(reading.policy)
            reading = reading if lacking is None else Reading(policy=None, problems=(lacking,))
        policy = reading.policy
        text = str((_spec(obj)).get("schedule") or "")
        zone, zone_name = self._kyverno.zone()
        timetable = kyverno_timetable(text, zone=zone, zone_name=zone_name)
        hidden = policy is not None and self._hides_values(policy, report)
        matches = None
        if policy is not None and self._choosing is not None:
            outside = any(one.api_call and one.api_call.service for one in clauses.context)
            outside = outside or any(ask.startswith("http") for ask in report.asks)
            matches = await self._choosing.matches(policy, calls_outside=outside, values_hidden=hidden)
        told = [
            *self._of_schedule(obj, timetable, policy, reading.problems),
            *_of_problems(reading.problems),
            *_of_annotations(obj),
            *(kind_differences(policy.subject, self._discovery, spec=_spec(obj)) if policy else ()),
            *clause_differences(clauses),
            *call_differences(clauses, self._settings.policies, asks=report.asks),
            *([difference("secret-values")] if hidden else ()),
            *(matches.differences if matches is not None else ()),
        ]
        metadata = obj["metadata"]
        return Compared(
            kind=str(obj["kind"]),
            namespace=str(metadata.get("namespace") or ""),
            name=str(metadata.get("name") or ""),
            schedule=text,
            kyverno_runs=timetable.runs,
            kyverno_next=timetable.following(self._now),
            policy=policy,
            skoupa_next=policy.schedule.following(self._now)
            if policy is not None and not policy.options.suspended
            else None,
            matches=matches,
            differences=tuple(dict.fromkeys(told)),
        )

    def _hides_values(self, policy: Policy, report: Report) -> bool:
        """Whether its conditions look at values of Secrets that it matches, and that Kyverno shows it."""
        if not policy.namespace or self._settings.policies.allow_secrets_in_namespaced_policies:
            return False
        if all(one.qualified != SECRETS for one in expand(policy.subject, self._discovery).resources):
            return False
        if not isinstance(policy.subject.match, Filters):
            return report.fields is None or not SECRET_FIELDS.isdisjoint(report.fields)
        conditions = Conditions(policy, calls=NoCalls(), clock=self._clock, now=self._now)
        return conditions.looks_into(SECRET_FIELDS)

    async def _compiled(self, clauses: Clauses) -> Report:
        if not clauses.expressions and not clauses.variables:
            return Report()
        return await self._pool.compile(source_of(clauses))

    @staticmethod
    def _check(compiled: tuple[Problem, ...]) -> Any:
        def check(clauses: Clauses) -> Iterator[Problem]:
            yield from clause_problems(clauses)
            yield from compiled

        return check

    def _of_schedule(
        self, obj: Object, timetable: Timetable, policy: Policy | None, problems: tuple[Problem, ...]
    ) -> Iterator[Difference]:
        refused = next((one for one in problems if one.path == _SCHEDULE), None)
        if policy is None and refused is None:
            # It does not run for another reason; that is told.
            return
        status = obj.get("status") or {}
        past = Past(
            last=_moment(status.get("lastExecutionTime")),
            created=_moment(obj["metadata"].get("creationTimestamp")),
            lives=self._kyverno.lives,
        )
        ours = policy.schedule if policy is not None else None
        instead = refused.instead if refused is not None else ""
        yield from schedule_differences(timetable, ours, instead=instead, past=past, now=self._now)


def _clauses(obj: Object) -> Clauses:
    """Also of a policy with other problems."""
    seen: list[Clauses] = []

    def note(found: Clauses) -> tuple[Problem, ...]:
        seen.append(found)
        return ()

    read_policy(obj, check=note)
    return seen[0] if seen else Clauses()


def _of_problems(problems: tuple[Problem, ...]) -> Iterator[Difference]:
    for problem in problems:
        told = f"{problem.what}; {problem.instead}"
        if problem.path.endswith(_CALL_PATH):
            yield difference("confined-call", problem=told)
        elif problem.what in _NEITHER:
            yield difference("context-refused", path=problem.path, problem=told)
        elif problem.path != _SCHEDULE:
            yield difference("refused", path=problem.path, problem=told)


def _of_annotations(obj: Object) -> Iterator[Difference]:
    annotations = obj["metadata"].get("annotations") or {}
    ours = [key for key in KNOWN if key in annotations]
    if ours:
        yield difference("own-annotations", annotations=", ".join(ours))


def _spec(obj: Object) -> Mapping[str, Any]:
    spec = obj.get("spec")
    return spec if isinstance(spec, Mapping) else {}


def _moment(text: Any) -> float | None:
    moment = parse_rfc3339(text) if isinstance(text, str) else None
    return float(moment) if isinstance(moment, int) else None
