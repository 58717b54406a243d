"""The policies that a plan is about, each with the run of it that is looked at: from files, or those of the cluster.

Ticks are counted as the controller does, from what it wrote down. Nothing is asked about objects here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final

import msgspec

from skoupa.cli.checking.company import Companion, read_company
from skoupa.cli.checking.findings import Finding
from skoupa.cli.checking.reading import Read, judged, read_all
from skoupa.cli.checking.sources import read_sources
from skoupa.cli.looking.policies_told import InvalidPolicies
from skoupa.cli.looking.retention_known import WrittenRetention, short
from skoupa.cli.terminal.items import LastRun
from skoupa.controller.policies.following import places_of
from skoupa.controller.state import POLICIES, POLICIES_SEEN, State
from skoupa.controller.survey import Survey
from skoupa.errors import ApiError, BadReply, TimedOut, UsageError
from skoupa.expr.instants import parse_rfc3339
from skoupa.kinds.policies.exception import POLICY_EXCEPTION
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.policy.exemptions import Exemption
from skoupa.policy.headings import POLICY_KINDS
from skoupa.policy.policies import Policy
from skoupa.runs.book import WATCHED, Book, Entry, served
from skoupa.runs.calls.written import confinement_problems
from skoupa.runs.known import Known
from skoupa.runs.ticks import Ticks
from skoupa.settings import Settings, seconds

_ELSEWHERE: Final = "the settings look after the namespaces {} alone, so it would not run"


class Planned(msgspec.Struct, frozen=True, kw_only=True):
    """A policy, and the run of it that is looked at: `moment` None is none. Without a `policy` it does not run at all."""

    kind: str
    namespace: str
    name: str
    policy: Policy | None
    file: str = ""
    document: int = 0
    moment: float | None = None
    last_run: LastRun | None = None
    next_run: float | None = None
    # Until then it only reports.
    observed_until: float | None = None
    problems: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """Policies in files, and what stands beside them. `namespace` is where those that name none would go."""

    reads: tuple[Read, ...]
    remark: str
    # Those that this installation looks after; none: all.
    namespaces: tuple[str, ...]
    company: tuple[Companion, ...] = ()
    retention: WrittenRetention = WrittenRetention()
    namespace: str = "default"

    def applied_to(self, namespace: str) -> Written:
        retention = msgspec.structs.replace(self.retention, namespace=namespace)
        return msgspec.structs.replace(self, namespace=namespace, retention=retention)

    def places(self) -> frozenset[str]:
        """The namespaces that they are about; empty: one of them is about the whole cluster."""
        found = {policy.namespace for _, policy in self._judged(None) if policy is not None}
        found |= self.retention.places()
        return frozenset() if "" in found else frozenset(found)

    def check(self, discovery: Discovery | None = None) -> None:
        """An InvalidPolicies where one would not run; without the kinds of a cluster as far as can be told."""
        wrong = [finding for finding, _ in self._judged(discovery) if finding.problems]
        wrong += self.retention.wrong(discovery)
        besides = [one for one in self.company if one.problems]
        if wrong or besides:
            raise InvalidPolicies(wrong, besides)
        self.retention.check_names()
        twice = [called for called, number in self._named() if number > 1]
        if twice:
            raise UsageError(
                f"{twice[0]} stands more than once in these files",
                advice="an object is what was applied last: leave out the others",
            )

    def planned(self, discovery: Discovery, now: float) -> list[Planned]:
        """As if each ran now; one that this installation would not run is not looked at."""
        self.check(discovery)
        return [
            self._planned(finding, policy, now)
            for finding, policy in self._judged(discovery)
            if policy is not None
        ]

    def unserved(self, discovery: Discovery) -> list[str]:
        """Kinds of these policies that the server does not know, or not in a version that is known here."""
        kinds = {policy.kind for _, policy in self._judged(discovery) if policy is not None}
        return sorted(kind for kind in kinds if served(POLICY_KINDS[kind], discovery) is None)

    def exempting(self, applied: Iterable[Exemption]) -> tuple[Exemption, ...]:
        """What would be spared with these files applied; an installation reads exceptions in its own namespaces alone."""
        known = {(one.namespace, one.name): one for one in applied}
        for one in self.company:
            if one.exemption is not None:
                place = one.namespace or self.namespace
                if not self.namespaces or place in self.namespaces:
                    known[place, one.name] = msgspec.structs.replace(one.exemption, namespace=place)
        return tuple(known.values())

    @property
    def shared(self) -> tuple[dict[str, Any], ...]:
        """The GlobalContextEntries of the files."""
        return tuple(one.manifest.body for one in self.company if one.exemption is None)

    def _planned(self, finding: Finding, policy: Policy, now: float) -> Planned:
        elsewhere = self.namespaces and policy.namespace not in self.namespaces
        return Planned(
            kind=policy.kind,
            namespace=policy.namespace,
            name=policy.name,
            policy=policy,
            file=finding.manifest.file,
            document=finding.manifest.document,
            moment=None if elsewhere else now,
            next_run=None if policy.options.suspended or elsewhere else policy.schedule.following(now),
            problems=(_ELSEWHERE.format(", ".join(self.namespaces)),) if elsewhere else (),
            cautions=tuple(map(str, finding.cautions)),
        )

    def _judged(self, discovery: Discovery | None) -> Iterator[tuple[Finding, Policy | None]]:
        for each in self.reads:
            yield judged(each, namespace=self.namespace, discovery=discovery)

    def _named(self) -> Iterator[tuple[str, int]]:
        called = [policy.called for _, policy in self._judged(None) if policy is not None]
        return ((one, called.count(one)) for one in dict.fromkeys(called))


def written(files: tuple[str, ...], settings: Settings) -> Written:
    """Compiles, so outside of an event loop."""
    found = read_sources(files)
    policies = tuple(one for one in found.retention if one not in found.profiles)
    if not found.manifests and not policies:
        raise UsageError(f"there are no policies in {', '.join(files)}", advice="check -f")
    return Written(
        reads=tuple(read_all(found, settings.policies)),
        remark=found.remark,
        namespaces=settings.namespaces,
        company=tuple(read_company(found.company)),
        retention=WrittenRetention(manifests=policies, teaching=found.profiles),
    )


class Applied:
    """The policies of a cluster, read once. `doubts` say what could not be read."""

    def __init__(self, client: Client, survey: Survey, settings: Settings) -> None:
        self._survey = survey
        self._settings = settings
        self._book = Book(
            client,
            discovery=lambda: survey.knowledge.discovery,
            on_change=lambda _: None,
            on_exemptions=lambda _: None,
            require_account=settings.policies.require_service_account,
        )
        self.doubts: list[str] = []

    @property
    def exemptions(self) -> tuple[Exemption, ...]:
        return self._book.exemptions

    async def read(self, *, namespace: str = "", only_exemptions: bool = False) -> None:
        """Those that may act in a namespace; empty: all."""
        unread: dict[str, list[str]] = {}
        for definition in (POLICY_EXCEPTION,) if only_exemptions else WATCHED:
            kind = served(definition, self._survey.knowledge.discovery)
            if kind is None:
                continue
            for place in self._places(kind, namespace):
                try:
                    await self._book.read(kind, place)
                except (ApiError, BadReply, TimedOut) as error:
                    unread.setdefault(short(error), []).append(kind.kind)
        for why, kinds in unread.items():
            policies = sorted({kind for kind in kinds if kind != POLICY_EXCEPTION.kind})
            if policies:
                self.doubts.append(
                    f"policies that are not read, and so not shown: {', '.join(policies)} ({why})"
                )
            # Where no policy is known, none shows anything as going.
            if POLICY_EXCEPTION.kind in kinds and (only_exemptions or len(self._book) > 0):
                self.doubts.append(
                    f"what a {POLICY_EXCEPTION.kind} spares is not known, and shown as going ({why})"
                )

    def _places(self, kind: Resource, namespace: str) -> Collection[str]:
        """As the controller reads them; of a namespace only its own matter, besides those of the whole cluster."""
        places = places_of(kind, self._settings.namespaces, self._survey.knowledge.discovery)
        if kind.kind == POLICY_EXCEPTION.kind and tuple(places) == ("",):
            return places
        return (namespace,) if namespace and kind.namespaced else places

    def planned(self, now: float, *, until: float | None) -> list[Planned]:
        """Each with its next run, which is looked at where it is not later than `until`."""
        state = self._survey.looked.state
        ticks = self._ticks(state, now)
        overdue = {tick.uid: tick.moment for tick in ticks.due(now)}
        return [
            self._planned(
                entry,
                ticks,
                _upcoming(entry, overdue.get(entry.uid), now) or ticks.next(entry.uid),
                until=until,
                told=state is not None,
            )
            for entry in sorted(self._book, key=lambda entry: entry.called)
        ]

    def _ticks(self, state: State | None, now: float) -> Ticks:
        ticks = Ticks(minimum=int(seconds(self._settings.policies.minimum_interval)))
        if state is not None:
            known, seen = state.get(POLICIES, dict[str, Known]) or {}, state.get(POLICIES_SEEN, int)
            ticks.remember(known, now, all_seen=seen)
        else:
            ticks.remember({}, now)
        for entry in self._book:
            if entry.policy is not None:
                ticks.learn(entry.policy, now, written=entry.written)
        return ticks

    def _planned(
        self, entry: Entry, ticks: Ticks, next_run: float | None, *, until: float | None, told: bool
    ) -> Planned:
        policy = entry.policy
        looked_at = policy is not None and next_run is not None and (until is None or next_run <= until)
        # Whoever wrote it before the API server refused that gets no answer.
        refused = confinement_problems(policy.clauses, self._settings.policies) if policy is not None else ()
        return Planned(
            kind=entry.kind.kind,
            namespace=entry.namespace,
            name=entry.name,
            policy=policy,
            moment=next_run if looked_at else None,
            last_run=_last_run(entry),
            next_run=next_run if policy is not None else None,
            observed_until=self._observed_until(policy, ticks, told=told) if policy is not None else None,
            problems=tuple(map(str, entry.reading.problems)),
            cautions=tuple(map(str, (*entry.reading.warnings, *refused))),
        )

    def _observed_until(self, policy: Policy, ticks: Ticks, *, told: bool) -> float | None:
        """As the controller counts it; where what it wrote down can't be read, from when the policy was made."""
        new = self._settings.policies.observe_new
        span = max(policy.options.observe_seconds, seconds(new) if new is not None else 0)
        known = ticks.known(policy.uid)
        if not span or known is None:
            return None
        return float((known.since if told or policy.created is None else policy.created) + span)


def _upcoming(entry: Entry, overdue: float | None, now: float) -> float | None:
    """The tick that is due: one that began already and waits for a Brake is remembered, but is not what comes next."""
    last = parse_rfc3339(str(entry.status.get("lastExecutionTime") or ""))
    if overdue is None or entry.policy is None or not isinstance(last, int) or last < int(overdue):
        return overdue
    return entry.policy.schedule.following(now)


def _last_run(entry: Entry) -> LastRun | None:
    """As its status tells; Kyverno's own definitions have room for the time alone."""
    at = entry.status.get("lastExecutionTime")
    if not isinstance(parse_rfc3339(str(at or "")), int):
        return None
    found = entry.status.get("lastRun")
    counts = found if isinstance(found, dict) else {}
    number = {
        name: value
        for name in ("matched", "deleted", "held", "failed")
        if isinstance(value := counts.get(name), int)
    }
    return LastRun(at=str(at), **number)
