"""Which retention policies are about which objects; what they wish for each together says `agreeing`.

Kept true while objects, policies and labels of namespaces change. What a policy asks of annotations is looked up in those of the
object, which are remembered only while some policy asks for any. Where the labels of a namespace are not known a policy that asks
for them is not about what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from skoupa.controller.retaining.agreeing import Agreeing
from skoupa.controller.retaining.policy_book import Entry
from skoupa.facts.rows import Row, Uid
from skoupa.judge.cascade import is_namespace
from skoupa.judge.protection import own
from skoupa.judge.retention_rules import Wish
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.filters import Filters
from skoupa.policy.reach import out_of_reach
from skoupa.policy.retention.policies import NEVER_UNNAMED, Retention
from skoupa.policy.retention.precedence import Terms
from skoupa.usage.finishing import Ends
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.questions import QUESTIONS
from skoupa.usage.never import needs_to_be_named
from skoupa.usage.passive import PASSIVE

Version = int | str
# That an object is gone a watch may tell before the delete of it is answered.
_GONE_KEPT: Final = 1000


class Matched:
    """`ends` says how a kind ends, which changes with what is taught."""

    def __init__(self, *, ends: Callable[[str], Ends]) -> None:
        self._ends = ends
        self._agreeing = Agreeing()
        self._labels: dict[str, Mapping[str, str]] = {}
        self._annotations: dict[Uid, tuple[Version, Mapping[str, str]]] = {}
        self._terms: dict[Uid, Terms] = {}
        self._by_rule: dict[str, set[Uid]] = {}
        # Rows that are matched, by policy that counts.
        self._by_policy: dict[str, dict[Uid, Row]] = {}
        # The times of the last ones that are gone.
        self._given: dict[Uid, float] = {}
        self.asks_annotations = False

    def put_policies(self, entries: Iterable[Entry]) -> None:
        """Every object has to be matched anew after it."""
        self._agreeing.put(entries)
        self.asks_annotations = any(_asks_annotations(policy) for policy in self.policies())
        if not self.asks_annotations:
            self._annotations.clear()

    def policies(self) -> Iterator[Retention]:
        return iter(self._agreeing.policies)

    def places(self, resource: Resource) -> set[str]:
        """The namespaces whose objects of this kind some policy may be about; an empty name is all of them."""
        return {policy.namespace for policy in self.policies() if self.may_be_about(policy, resource)}

    def may_be_about(self, policy: Retention, resource: Resource) -> bool:
        if policy.namespace and not resource.namespaced:
            return False
        match = policy.subject.match if policy.subject is not None else None
        if isinstance(match, Filters) and match.filters:
            fitting = (one.fits_kind(resource) for one in match.filters)
            if not (all(fitting) if match.mode == "all" else any(fitting)):
                return False
        if policy.names_kind(resource):
            return True
        return (
            resource.qualified not in NEVER_UNNAMED
            and self.has_rules(resource)
            and not out_of_reach(resource)
        )

    def has_rules(self, resource: Resource) -> bool:
        """Of finish or usage, so that a policy which names no kinds takes it; what is for a whole cluster, or holds data, is named."""
        kind = kind_name(resource)
        if self._ends(kind) is Ends.BY_RULE or kind in QUESTIONS:
            return True
        return kind in PASSIVE and resource.namespaced and not needs_to_be_named(kind)

    def learn_namespace(self, row: Row, *, gone: bool) -> bool:
        """Whether what is in it has to be matched anew."""
        if not is_namespace(row):
            return False
        before = self._labels.get(row.name)
        if gone:
            self._labels.pop(row.name, None)
        else:
            self._labels[row.name] = dict(row.labels)
        return before != self._labels.get(row.name)

    def labels_of(self, namespace: str) -> Mapping[str, str] | None:
        return self._labels.get(namespace)

    def seen(self, row: Row, metadata: Metadata) -> bool:
        """An object is read; its row comes next. Whether it has to be matched anew although that may be as it was."""
        if not self.asks_annotations:
            return False
        before = self._annotations.get(row.uid)
        self._annotations[row.uid] = (row.version, metadata.annotations or {})
        return before != self._annotations[row.uid]

    def match(self, row: Row) -> bool:
        """Matches it anew; whether a policy counts for it."""
        found = None if own(row) else self._agreeing.terms(tuple(self._about(row)), row.namespace)
        before = self._terms.get(row.uid)
        if before != found:
            self._drop(row.uid)
        if found is None:
            return False
        self._terms[row.uid] = found
        for policy in found.by:
            self._by_policy.setdefault(policy.uid, {})[row.uid] = row
        self._by_rule.setdefault(found.rule, set()).add(row.uid)
        return True

    def forget(self, uid: Uid) -> None:
        self._annotations.pop(uid, None)
        if (found := self._terms.get(uid)) is not None:
            self._given[uid] = _longest(found)
            if len(self._given) > _GONE_KEPT:
                del self._given[next(iter(self._given))]
        self._drop(uid)

    def given(self, row: Row) -> float:
        """The longest time that policies give it, also when it has just gone."""
        found = self._terms.get(row.uid)
        return self._given.get(row.uid, 0.0) if found is None else _longest(found)

    def terms(self, uid: Uid) -> Terms | None:
        return self._terms.get(uid)

    def of_policy(self, uid: str) -> Mapping[Uid, Row]:
        """The objects that this policy counts for."""
        return self._by_policy.get(uid, {})

    def overridden(self, uid: str) -> int:
        """How many a policy matches that go by a more specific one."""
        return sum(any(one.uid == uid for one in found.beaten) for found in self._terms.values())

    def wish(self, row: Row) -> Wish | None:
        found = self._terms.get(row.uid)
        return None if found is None else self._agreeing.wish(found, self._ends(kind_name(row.resource)))

    def chosen(self, rule: str) -> Collection[Uid]:
        return tuple(self._by_rule.get(rule, ()))

    def wishes(self) -> Iterator[Wish]:
        for uids in tuple(self._by_rule.values()):
            wish = self._agreeing.made(self._terms[next(iter(uids))], Ends.BY_RULE)
            if wish is not None:
                yield wish

    def _about(self, row: Row) -> Iterator[Retention]:
        metadata: Metadata | None = None
        version, annotations = self._annotations.get(row.uid, ("", {}))
        for policy in (*self._agreeing.policies, *self._agreeing.resting):
            if not self.may_be_about(policy, row.resource):
                continue
            if _asks_annotations(policy) and version != row.version:
                # They are being read: nobody knows yet whether it is meant, or excluded.
                if not policy.namespace or policy.namespace == row.namespace:
                    yield msgspec.structs.replace(policy, suspended=True)
                continue
            if metadata is None:
                metadata = Metadata(
                    name=row.name,
                    namespace=row.namespace,
                    labels=dict(row.labels),
                    annotations=dict(annotations),
                )
            labels = self._labels.get(row.namespace) if row.namespace else None
            if policy.is_about(
                row.resource, metadata, has_rules=self.has_rules(row.resource), namespace_labels=labels
            ).matches:
                yield policy

    def _drop(self, uid: Uid) -> None:
        found = self._terms.pop(uid, None)
        if found is None:
            return
        for policy in found.by:
            known = self._by_policy.get(policy.uid, {})
            known.pop(uid, None)
            if not known:
                self._by_policy.pop(policy.uid, None)
        chosen = self._by_rule[found.rule]
        chosen.discard(uid)
        if not chosen:
            del self._by_rule[found.rule]


def _longest(found: Terms) -> float:
    return float(max((seconds or 0 for seconds in found.after.values()), default=0))


def _asks_annotations(policy: Retention) -> bool:
    if policy.subject is None:
        return False
    asked = (policy.subject.match, policy.subject.exclude)
    return any(one.annotations for part in asked if isinstance(part, Filters) for one in part.filters)
