"""What retention policies say of objects where a cluster is read once: matched and decided upon as the controller does it.

The same matching and the same decisions of many objects together, over lists instead of watches. What could not be read is told, and
nothing is decided on it. Policies of files are supposed to be applied now: an object that nobody has marked would be marked now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from skoupa.controller.retaining.groups import Groups
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.members import member_of
from skoupa.controller.retaining.policy_book import Entry
from skoupa.controller.retaining.policy_feeds import wanted
from skoupa.controller.retaining.quotas import Quotas
from skoupa.controller.retaining.wishes import owners_hold
from skoupa.controller.survey import Survey
from skoupa.facts.rows import Row, Uid
from skoupa.judge.grouping import Member
from skoupa.judge.retention_rules import RetentionRules, RulesGuard, Surplus, Wish
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.policy.filters import Filters
from skoupa.policy.retention.policies import Retention
from skoupa.policy.retention.teaching import Taught

Place = tuple[Resource, str]


class RulesOnce:
    """`asked` are the policies that somebody asks about, `others` may count more or as much; `supposed`: the former are of files.

    `namespace` is the one that is looked into; empty: all.
    """

    def __init__(
        self,
        client: Client,
        survey: Survey,
        *,
        asked: Sequence[Entry],
        others: Sequence[Entry] = (),
        supposed: bool,
        taught: Taught,
        namespace: str,
    ) -> None:
        self._survey = survey
        self._asked = [one.policy for one in asked if one.policy is not None]
        self._supposed = frozenset(one.uid for one in self._asked) if supposed else frozenset()
        self._namespace = namespace
        self.matched = Matched(ends=taught.ends)
        self.matched.put_policies((*asked, *others))
        # By kind and place: why not all objects are known.
        self.unread: dict[tuple[str, str], str] = {}
        self._quotas = Quotas(
            client, places=(namespace,) if namespace else tuple(survey.knowledge.settings.namespaces)
        )
        self._groups = Groups(
            client.clock,
            self.matched,
            standing=self,
            complete=lambda row: self._why_unread(row.resource.qualified, row.namespace),
            quotas=self._quotas,
            others=self._others,
            on_news=lambda _: None,
        )

    def places(self, kinds: Collection[str] = ()) -> Iterator[Place]:
        """What has to be read for the policies that are asked about, of these kinds (none: of all)."""
        for key in wanted(self.matched, self._survey.knowledge):
            resource = key.resource
            about = [one for one in self._asked if self.matched.may_be_about(one, resource)]
            if not about or (kinds and resource.qualified not in kinds):
                continue
            if any(_counts_everywhere(one) for one in about):
                yield resource, key.namespace
            elif self._namespace:
                if resource.namespaced and key.namespace in ("", self._namespace):
                    yield resource, self._namespace
            elif any(not one.namespace for one in about):
                yield resource, key.namespace
            else:
                meant = {one.namespace for one in about if key.namespace in ("", one.namespace)}
                yield from ((resource, place) for place in sorted(meant))

    @property
    def asks_namespaces(self) -> bool:
        """Whether labels of namespaces decide what some policy is about."""
        return any(
            one.namespace_labels is not None
            for policy in self.matched.policies()
            if policy.subject is not None
            for part in (policy.subject.match, policy.subject.exclude)
            if isinstance(part, Filters)
            for one in part.filters
        )

    def match(self, rows: Iterable[Row]) -> None:
        for row in self._survey.knowledge.store:
            self.matched.learn_namespace(row, gone=False)
        for row in rows:
            self.matched.match(row)

    def rows(self, uids: Collection[str] = ()) -> list[Row]:
        """What policies are about; with `uids`, what these count for."""
        counting = uids or {policy.uid for policy in self.matched.policies()}
        found = {uid: row for policy in counting for uid, row in self.matched.of_policy(policy).items()}
        return [row for row in found.values() if not row.deleted_at]

    async def decide(self, mechanism: RetentionRules, *, doubt: str) -> None:
        """Once evidence is there; the judge of the survey knows it from now on."""
        if any(one.limit is not None and one.limit.quota for one in self.matched.policies()):
            await self._quotas.read()
            if self._quotas.error is not None:
                self._survey.doubts.append(f"ResourceQuotas could not be read: {self._quotas.error.brief}")
        mechanism.rules = self
        self._survey.knowledge.judge.join(RulesGuard(mechanism, doubt=lambda: doubt))
        self._groups.decide()

    def without_quota(self, policy: Retention) -> str:
        return self._quotas.lacking(policy)

    def owners_hold(self, row: Row) -> bool:
        return owners_hold(row, self.wish(row))

    def supposes(self, row: Row) -> bool:
        """Whether it would be marked now, if it is not yet."""
        found = self.matched.terms(row.uid) if self._supposed else None
        return found is not None and any(one.uid in self._supposed for one in found.by)

    def member(self, row: Row, now: float) -> Member | None:
        knowledge = self._survey.knowledge
        assert knowledge.retention is not None, "policies are read where the feature is on"
        return member_of(row, knowledge.retention.evidence, knowledge=knowledge, wish=self.wish(row), now=now)

    # What the judge asks.

    def wish(self, row: Row) -> Wish | None:
        return self.matched.wish(row)

    def surplus(self, row: Row) -> Surplus | None:
        return self._groups.surplus(row)

    def newest_by(self, row: Row) -> str:
        return self._groups.newest_by(row)

    def undecided(self, row: Row) -> str:
        return self._groups.undecided(row)

    def chosen(self, rule: str) -> Collection[Uid]:
        return self.matched.chosen(rule)

    def wishes(self) -> Iterable[Wish]:
        return self.matched.wishes()

    def given(self, row: Row) -> float:
        return self.matched.given(row)

    def _others(self, row: Row, place: str) -> Iterator[Row]:
        store = self._survey.knowledge.store
        return (one for one in store.of_kind(row.resource) if one.namespace == place)

    def _why_unread(self, kind: str, namespace: str) -> str:
        why = self.unread.get((kind, "")) or self.unread.get((kind, namespace))
        return f"{kind}: {why}" if why else ""


def _counts_everywhere(policy: Retention) -> bool:
    """Whether what goes in one namespace hangs on what is in the others."""
    return policy.of_the_cluster and policy.limit is not None and not policy.limit.quota
