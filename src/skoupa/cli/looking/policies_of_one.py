"""What the policies of a cluster say of single objects: which take them at their next run, and why others do not.

Asked as a run asks, of these objects and their owners alone: no list of objects is read, and no service outside is called. Whether
a Brake would stop the whole run is not known so; that one of these objects alone would pull it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from skoupa.cli.looking.dry_runs import DryRuns, new_pool
from skoupa.cli.looking.policies_chosen import ChosenAhead
from skoupa.cli.looking.policies_known import Applied, Planned
from skoupa.cli.terminal.items import ItemPolicy, moment
from skoupa.cli.worlds import World
from skoupa.controller.survey import Survey
from skoupa.errors import BadExpression, Forbidden, NotFound, SkoupaError
from skoupa.expr.schedule_words import in_words
from skoupa.facts.rows import Row, Uid
from skoupa.kube.objects import Metadata, View
from skoupa.kube.resources import Resource
from skoupa.model.reasons import Reason, reason, render
from skoupa.policy.expansion import expand
from skoupa.policy.kyverno_filters import KyvernoFilters
from skoupa.policy.policies import Policy
from skoupa.runs.evaluation import Evaluation, Found, without_dependents
from skoupa.runs.kyverno_config import KyvernoConfig
from skoupa.runs.run import Findings
from skoupa.settings import Settings

_RAW: Final[View[msgspec.Raw]] = View(type=msgspec.Raw)
_NAMED_BROKEN: Final = 3
_ALONE: Final = "Brakes are weighed for the object alone here; `skoupa plan` weighs whole runs of policies"


class PoliciesOfOne:
    """For objects of one namespace, and of none. `doubts` say what is not known."""

    def __init__(self, world: World, survey: Survey, settings: Settings, *, chosen: ChosenAhead) -> None:
        self._world = world
        self._survey = survey
        self._chosen = chosen
        self._applied = Applied(world.client, survey, settings)
        self._settings = settings
        self._kyverno = KyvernoConfig(world.client)
        self._read: dict[tuple[Resource, str, str], msgspec.Raw | SkoupaError] = {}
        self.doubts: list[str] = []

    async def look(
        self, rows: Sequence[Row], *, namespace: str, now: float
    ) -> dict[Uid, tuple[ItemPolicy, ...]]:
        """By object. What takes one is known to the mechanism afterwards, and with it to the judge."""
        await self._applied.read(namespace=namespace)
        planned = self._applied.planned(now, until=None)
        self.doubts += self._applied.doubts
        broken = [one for one in planned if one.policy is None]
        asked = [
            (one, one.policy, meant)
            for one in planned
            if one.policy is not None and (meant := self._meant(one.policy, rows))
        ]
        told: dict[Uid, list[ItemPolicy]] = {row.uid: [] for row in rows}
        if not asked:
            self.doubts += _told_of(broken)
            return dict.fromkeys(told, ())
        places = tuple({row.namespace: None for row in rows if row.namespace})
        async with new_pool() as pool:
            dry = DryRuns(
                self._world,
                self._survey,
                self._settings,
                pool=pool,
                exemptions=self._applied.exemptions,
                only=places,
            )
            dry.labels = dry.read_already(places) if places else {}
            try:
                for one, policy, meant in asked:
                    if not await self._compiles(dry, policy, now):
                        broken.append(one)
                        continue
                    for row, answer in await self._answers(dry, one, policy, meant=meant, now=now):
                        told[row.uid].append(answer)
            finally:
                await dry.close()
        self.doubts += (*_told_of(broken), *dry.doubts, *self._chosen.doubts)
        if any(answer.answer == "matches" for answers in told.values() for answer in answers):
            self.doubts.append(_ALONE)
        return {uid: tuple(answers) for uid, answers in told.items()}

    async def _compiles(self, dry: DryRuns, policy: Policy, now: float) -> bool:
        """Whether the controller can run it: of CEL that is known only to who compiles it."""
        try:
            await dry.evaluation(policy, at=now, filters=KyvernoFilters()).begin()
        except BadExpression:
            return False
        except SkoupaError:
            # What keeps it from being asked is told of each object.
            return True
        return True

    def _meant(self, policy: Policy, rows: Sequence[Row]) -> list[tuple[Row, Resource]]:
        """The objects of kinds that it may mean, each with the version of its kind that it looks at."""
        kinds = {one.qualified: one for one in self._resources(policy)}
        return [
            (row, kinds[row.resource.qualified])
            for row in rows
            if row.resource.qualified in kinds and policy.namespace in {"", row.namespace}
        ]

    def _resources(self, policy: Policy) -> tuple[Resource, ...]:
        return expand(policy.subject, self._survey.knowledge.discovery).resources

    async def _answers(
        self,
        dry: DryRuns,
        one: Planned,
        policy: Policy,
        *,
        meant: Sequence[tuple[Row, Resource]],
        now: float,
    ) -> list[tuple[Row, ItemPolicy]]:
        at = max(one.next_run, now) if one.next_run is not None else now
        answers: list[tuple[Row, ItemPolicy]] = []
        going: list[Row] = []
        others: list[Row] = []
        for row, resource in meant:
            found = await self._found(dry, policy, row, resource=resource, at=at)
            answers.append((row, _told(one, policy, found)))
            if isinstance(found, str) or row.deleted_at:
                continue
            if found.outcome == "claimed":
                going.append(row)
            elif found.why is not None:
                self._chosen.stays(policy, row, found.why)
                others.append(row)
        if one.next_run is not None and (going or others):
            await self._chosen.put(
                policy, one.next_run, observed_until=one.observed_until, going=going, others=others, now=now
            )
        return answers

    async def _found(
        self, dry: DryRuns, policy: Policy, row: Row, *, resource: Resource, at: float
    ) -> Found | str:
        """A text: the policy is not about it, for that reason."""
        try:
            raw = await self._raw(resource, row.name, row.namespace)
            filters = await self._kyverno.filters(self._survey.knowledge.discovery)
            evaluation = dry.evaluation(policy, at=at, filters=filters)
            found = await evaluation.one(resource, raw)
            if found.outcome != "unclear":
                self.doubts += (f"{policy.called}: {trouble}" for trouble in evaluation.troubles)
            if found.outcome == "left" and found.why is None:
                return await evaluation.why_left(resource, raw)
            found = await self._or_with_owner(policy, evaluation, found)
            if found.outcome != "claimed":
                return found
            permitted = await dry.permitted(policy, Findings(claimed=(found,)))
            return (*permitted.claimed, *permitted.spared)[0]
        except SkoupaError as error:
            why = reason("policy-unclear", policy=policy.called, why=str(error))
            return Found(
                metadata=Metadata(name=row.name, namespace=row.namespace),
                resource=resource,
                outcome="unclear",
                why=why,
            )

    async def _or_with_owner(self, policy: Policy, evaluation: Evaluation, found: Found) -> Found:
        """Under a wildcard what goes along with its owner is left to the collector, so owners are asked too."""
        if found.outcome != "claimed" or not found.wildcard:
            return found
        discovery = self._survey.knowledge.discovery
        kinds = {one.qualified: one for one in self._resources(policy)}
        owners: list[Found] = []
        for owner in found.metadata.owner_references or ():
            group, _, version = owner.api_version.rpartition("/")
            known = discovery.find(group, owner.kind, version) or discovery.find(group, owner.kind)
            resource = kinds.get(known.qualified) if known is not None else None
            if resource is None:
                continue
            place = found.metadata.namespace if resource.namespaced else ""
            try:
                raw = await self._raw(resource, owner.name, place)
            except NotFound:
                continue
            owners.append(await evaluation.one(resource, raw))
        return without_dependents(policy, [found, *owners])[0]

    async def _raw(self, resource: Resource, name: str, namespace: str) -> msgspec.Raw:
        """Once for all policies; by a list on its name where get is not granted."""
        key = (resource, name, namespace)
        if key not in self._read:
            try:
                self._read[key] = await self._asked(resource, name, namespace)
            except SkoupaError as error:
                self._read[key] = error
        found = self._read[key]
        if isinstance(found, SkoupaError):
            raise found
        return found

    async def _asked(self, resource: Resource, name: str, namespace: str) -> msgspec.Raw:
        client = self._world.client
        try:
            return await client.get(resource, name, namespace=namespace, view=_RAW)
        except Forbidden as refused:
            try:
                return await client.find(resource, name, namespace=namespace, view=_RAW)
            except Forbidden:
                raise refused from None


def _told(one: Planned, policy: Policy, found: Found | str) -> ItemPolicy:
    schedule = policy.schedule
    told = ItemPolicy(
        kind=one.kind,
        namespace=one.namespace,
        name=one.name,
        schedule=schedule.text,
        words=in_words(schedule),
        zone=schedule.zone_name or "UTC",
        next_run=moment(one.next_run),
        suspended=policy.options.suspended,
        observed_until=moment(one.observed_until),
        answer="leaves",
        why=found if isinstance(found, str) else "",
    )
    if isinstance(found, str):
        return told
    if found.outcome == "claimed":
        return msgspec.structs.replace(told, answer="matches")
    answer = "unclear" if found.outcome == "unclear" else "spares"
    return msgspec.structs.replace(told, answer=answer, why=_words(found.why))


def _words(why: Reason | None) -> str:
    return render(why) if why is not None else ""


def _told_of(broken: Sequence[Planned]) -> Iterator[str]:
    if broken:
        names = ["/".join(filter(None, (one.kind, one.namespace, one.name))) for one in broken]
        more = f" and {len(names) - _NAMED_BROKEN} more" if len(names) > _NAMED_BROKEN else ""
        shown = ", ".join(names[:_NAMED_BROKEN])
        yield f"policies that would not run, so that nothing is told of them: {shown}{more}"
