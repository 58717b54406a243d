"""The part of retention policies in a plan and in an explanation: what they are about, what of it goes when, and what stops that.

Costs a list of every kind that a policy is about, and of all that could use those; nothing is read where there is no policy.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from skoupa.cli.looking.labelled_needs import read_needs
from skoupa.cli.looking.retention_told import about_object, stays_for, times
from skoupa.cli.terminal.items import moment
from skoupa.cli.terminal.retention_shapes import ItemRetention, RetentionStanding
from skoupa.cli.worlds import World
from skoupa.controller.sight.readings import Job, Readings
from skoupa.controller.survey import Finding, Gap, Survey
from skoupa.errors import ApiError, BadReply, SkoupaError, TimedOut
from skoupa.facts.rows import Row, Uid
from skoupa.judge.retention import NAME
from skoupa.judge.retention_rules import RUN_SECONDS
from skoupa.kube.decoding import Undecodable
from skoupa.kube.lists import Scope
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.model.verdicts import Claim, Verdict
from skoupa.runs.using.profiles import profiles_of
from skoupa.settings import Settings

if TYPE_CHECKING:
    from skoupa.cli.looking.retention_known import FromFile, WrittenRetention
    from skoupa.cli.looking.retention_rules import RulesOnce
    from skoupa.controller.retaining.policy_book import Entry
    from skoupa.usage.leftovers.looked import Looked

_GROUP: Final = "skoupa.dev"
_OFF: Final = "the feature retention is switched off in the settings, so nothing goes by {}"


class RetentionPart:
    """`written` are policies of files, as if they were applied now; without them those of the cluster are meant."""

    def __init__(
        self,
        world: World,
        survey: Survey,
        settings: Settings,
        *,
        written: WrittenRetention | None = None,
        off: bool = False,
        progress: Callable[[str], None],
    ) -> None:
        self._world = world
        self._survey = survey
        self._settings = settings
        self._written = written
        # Whether it is only supposed to be switched on.
        self._off = off
        self._progress = progress
        self._files: dict[str, FromFile] = {}
        self._entries: tuple[Entry, ...] = ()
        self._brakes: dict[str, tuple[str, ...]] = {}
        self._doubt = ""
        # Whether what goes in one place hangs on what is in others.
        self._wide = False
        self.rules: RulesOnce | None = None

    @property
    def _profiles(self) -> tuple[dict[str, Any], ...]:
        return self._written.profiles if self._written is not None else ()

    @property
    def _mechanism_off(self) -> bool:
        return self._survey.knowledge.retention_rules is None

    async def read(
        self,
        *,
        namespace: str,
        kinds: Collection[str] = (),
        only: Sequence[Row] = (),
    ) -> None:
        """Policies, and what they are about, of these kinds (none: of all). `only`: what else is read is for these objects alone."""
        discovery = self._survey.knowledge.discovery
        if not self._written and all(one.group != _GROUP for one in discovery.resources):
            return
        # What it takes is imported only where there are some: a plan of labels needs none of it.
        from skoupa.cli.looking import retention_known, retention_rules  # noqa: PLC0415
        from skoupa.controller.retaining.event_sweeps import takes_events  # noqa: PLC0415

        found = await retention_known.applied(
            self._world.client, discovery, namespaces=self._settings.namespaces, namespace=namespace
        )
        if self._written:
            read = self._written.entries(
                discovery, namespaces=self._settings.namespaces, now=self._world.now()
            )
            self._files = {one.entry.uid: one for one in read}
            self._entries = tuple(one.entry for one in self._files.values())
            if self._world.given is None and (unknown := self._written.unserved(discovery)):
                self._survey.doubts.append(
                    f"this cluster does not know {', '.join(unknown)} yet: "
                    "`skoupa install | kubectl apply -f -` brings the kinds of policies"
                )
        else:
            self._entries = found.entries
        if self._off or (self._mechanism_off and self._entries):
            what = "them" if self._written else f"its {len(self._entries)} retention policies"
            self._survey.doubts.append(_OFF.format(what))
        if self._mechanism_off:
            return
        self._survey.doubts += found.doubts
        self._doubt = next(iter(found.unread.values()), "")
        others = found.without(self._entries) if self._written else ()
        if events := [one.called for one in self._entries if takes_events(one)]:
            self._survey.doubts.append(
                f"Events that go by {', '.join(events)} are not shown: they are too many"
            )
        if not any(one.policy is not None for one in self._entries):
            return
        taught, _ = await profiles_of(
            self._world.client, self._survey.knowledge.discovery, supposed=self._profiles
        )
        rules = retention_rules.RulesOnce(
            self._world.client,
            self._survey,
            asked=self._entries,
            others=others,
            supposed=bool(self._written),
            taught=taught.waived(self._settings.usage.ignore_kinds),
            namespace=namespace,
        )
        if only and not rules.matched.asks_annotations:
            rules.match(only)
            if not rules.rows():
                self.rules = rules
                return
        kinds = kinds or {row.resource.qualified for row in only}
        await self._read_objects(rules, kinds, namespace=namespace)
        self.rules = rules

    async def _read_objects(self, rules: RulesOnce, kinds: Collection[str], *, namespace: str) -> None:
        places = list(rules.places(kinds))
        jobs: list[Job] = [(resource, Scope(namespace=place)) for resource, place in places]
        if rules.asks_namespaces and not namespace:
            jobs.append((NAMESPACES, Scope()))

        def failed(job: Job, error: SkoupaError) -> None:
            if not isinstance(error, ApiError | BadReply | TimedOut):
                raise error
            self._could_not(rules, job[0], job[1].namespace, error.brief)

        def undecodable(resource: Resource, scope: Scope, bad: Undecodable) -> None:
            self._could_not(rules, resource, scope.namespace, f"{bad.name}: {bad.why}")

        knowledge = self._survey.knowledge
        readings = Readings(
            self._world.client,
            knowledge,
            progress=self._progress,
            on_undecodable=undecodable,
            seen=rules.matched.seen,
        )
        await readings.read(jobs, failed=failed)
        read = {resource for resource, _ in places}
        rules.match([row for row in knowledge.store if row.resource in read])
        self._wide = any(place != namespace for _, place in places)

    async def judge_by_needs(self, rows: Iterable[Row], *, namespace: str) -> Looked | None:
        """Who needs what policies are about, and those of `rows` that are labelled; None: there was nothing to ask."""
        looked = await read_needs(
            self._world,
            self._survey,
            rows,
            namespace="" if self._wide else namespace,
            progress=self._progress,
            rules=self.rules,
            profiles=self._profiles,
        )
        mechanism = self._survey.knowledge.retention_rules
        if self.rules is not None and mechanism is not None:
            await self.rules.decide(mechanism, doubt=self._doubt)
        return looked

    def _could_not(self, rules: RulesOnce, resource: Resource, place: str, why: str) -> None:
        rules.unread.setdefault((resource.qualified, place), why)
        gap = Gap(what=resource.qualified, why=why)
        if gap not in self._survey.gaps:
            self._survey.gaps.append(gap)

    def chosen(self, *, namespace: str, kinds: Collection[str]) -> Iterator[Row]:
        """What those count for that are asked about."""
        if self.rules is None:
            return
        for row in self.rules.rows({one.uid for one in self._entries}):
            if namespace in ("", row.namespace) and (not kinds or row.resource.qualified in kinds):
                yield row

    async def weigh(self, rows: Iterable[Row], now: float, *, until: float | None) -> None:
        """What goes within one hour is a run: a Brake that would stop it holds what is in it."""
        mechanism = self._survey.knowledge.retention_rules
        if self.rules is None or mechanism is None:
            return
        runs = {run.name: run for run in mechanism.runs(now)}
        hours: dict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in rows:
            verdict = self._survey.finding(row, now).verdict
            claim, goes = _by_policy(verdict), verdict.goes
            if claim is None or goes is None or (until is not None and goes > until):
                continue
            hours[claim.run, int(max(goes, now) // RUN_SECONDS)].append(row)
        if not hours:
            return
        from skoupa.cli.looking.retention_weighed import weighed  # noqa: PLC0415 - see above

        loads = [(runs[name], going) for (name, _), going in hours.items()]
        self._brakes = await weighed(self._world.client, self._survey, self._settings, loads, now)

    def of_object(self, row: Row) -> tuple[ItemRetention, ...]:
        """Those that are about it."""
        if self.rules is None:
            return ()
        return about_object(self.rules.matched.terms(row.uid))

    def standings(
        self, findings: Iterable[Finding], now: float, *, namespace: str
    ) -> tuple[RetentionStanding, ...]:
        """As they are told; `findings` are what was looked at more closely."""
        if self._mechanism_off:
            return ()
        verdicts = {found.row.uid: found.verdict for found in findings}
        return tuple(self._standing(one, verdicts, now, namespace) for one in self._entries)

    def _standing(
        self, entry: Entry, verdicts: dict[Uid, Verdict], now: float, namespace: str
    ) -> RetentionStanding:
        rules, policy, file = self.rules, entry.policy, self._files.get(entry.uid)
        about = rules.rows({entry.uid}) if rules is not None and policy is not None else []
        rows = [row for row in about if namespace in ("", row.namespace)]
        due = to_come = 0
        coming: list[float] = []
        stays: dict[str, int] = defaultdict(int)
        for row in rows:
            verdict = verdicts.get(row.uid) or self._survey.finding(row, now).verdict
            claim = _by_policy(verdict)
            if claim is not None and not verdict.holds:
                due += claim.due <= now
                to_come += claim.due > now
                coming += [claim.due] if claim.due > now else []
            else:
                stays[stays_for(verdict)] += 1
        unread = rules.unread if rules is not None else {}
        return RetentionStanding(
            kind=entry.kind.kind,
            namespace=entry.namespace,
            name=entry.name,
            file=file.file if file is not None else "",
            document=file.document if file is not None else 0,
            suspended=policy is not None and policy.suspended,
            after=times(policy) if policy is not None else {},
            matched=len(rows),
            due=due,
            to_come=to_come,
            stays=dict(sorted(stays.items(), key=lambda one: (-one[1], one[0]))),
            overridden=rules.matched.overridden(entry.uid) if rules is not None else 0,
            next_time=moment(min(coming, default=None)),
            would_brake=self._brakes.get(entry.called, ()),
            problems=(
                *map(str, entry.reading.problems),
                *(
                    f"{kind} could not be read: {why}"
                    for (kind, place), why in unread.items()
                    if policy is not None and policy.namespace in ("", place)
                ),
            ),
            cautions=(
                *map(str, entry.reading.warnings),
                *(
                    (lacking,)
                    if policy is not None and rules and (lacking := rules.without_quota(policy))
                    else ()
                ),
            ),
        )


def with_retention(settings: Settings) -> Settings:
    """As if the feature were switched on."""
    features = msgspec.structs.replace(settings.features, retention=True)
    return msgspec.structs.replace(settings, features=features)


def _by_policy(verdict: Verdict) -> Claim | None:
    return next((one for one in verdict.claims if one.mechanism == NAME and one.run), None)
