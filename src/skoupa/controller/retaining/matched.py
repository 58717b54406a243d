"""Which retention policies are about which objects, and what they wish for each together.

Kept true while objects, policies and labels of namespaces change. What a policy asks of annotations is looked up in those of the
object, which are remembered only while some policy asks for any. Where the labels of a namespace are not known a policy that asks
for them is not about what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from skoupa.controller.retaining.policy_book import Entry
from skoupa.expr.ttl_after import TtlAfter
from skoupa.facts.rows import Row, Uid
from skoupa.judge.cascade import is_namespace
from skoupa.judge.protection import own
from skoupa.judge.retention_rules import Wish
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.filters import Filters
from skoupa.policy.reach import out_of_reach
from skoupa.policy.retention.policies import NEVER_UNNAMED, Retention
from skoupa.policy.retention.precedence import Terms, terms
from skoupa.usage.finishing import Ends
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.questions import QUESTIONS

_ON_FINISH: Final = ("finished", "succeeded", "failed")


class Matched:
    """`ends` says how a kind ends, `used` which kinds others use: both change with what is taught."""

    def __init__(self, *, ends: Callable[[str], Ends], used: Callable[[], Collection[str]]) -> None:
        self._ends = ends
        self._used = used
        self._entries: tuple[Entry, ...] = ()
        self._labels: dict[str, Mapping[str, str]] = {}
        self._annotations: dict[Uid, Mapping[str, str]] = {}
        self._terms: dict[Uid, Terms] = {}
        # By the policies that are about an object: many are about the same.
        self._shared: dict[tuple[str, ...], Terms | None] = {}
        self._wishes: dict[tuple[tuple[str, ...], Ends], Wish | None] = {}
        self._by_rule: dict[str, set[Uid]] = {}
        # Rows that are matched, by policy that counts.
        self._by_policy: dict[str, dict[Uid, Row]] = {}
        self.asks_annotations = False

    def put_policies(self, entries: Iterable[Entry]) -> None:
        """All that are understood; every object has to be matched anew after it."""
        self._entries = tuple(one for one in entries if one.policy is not None)
        self.asks_annotations = any(_asks_annotations(policy) for policy in self.policies())
        if not self.asks_annotations:
            self._annotations.clear()
        self._wishes.clear()
        self._shared.clear()

    def policies(self) -> Iterator[Retention]:
        return (one.policy for one in self._entries if one.policy is not None)

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
        kind = kind_name(resource)
        return self._ends(kind) is Ends.BY_RULE or kind in QUESTIONS or kind in self._used()

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
        self._annotations[row.uid] = metadata.annotations or {}
        return before != self._annotations[row.uid]

    def match(self, row: Row) -> bool:
        """Matches it anew; whether a policy counts for it."""
        found = None if own(row) else self._agreed(tuple(self._about(row)))
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
        self._drop(uid)

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
        if found is None:
            return None
        ends = self._ends(kind_name(row.resource))
        key = (tuple(one.uid for one in found.by), ends)
        if key not in self._wishes:
            self._wishes[key] = self._made(found, ends)
        return self._wishes[key]

    def chosen(self, rule: str) -> Collection[Uid]:
        return tuple(self._by_rule.get(rule, ()))

    def wishes(self) -> Iterator[Wish]:
        for uids in tuple(self._by_rule.values()):
            found = self._terms[next(iter(uids))]
            wish = self._made(found, Ends.BY_RULE)
            if wish is not None:
                yield wish

    def _made(self, found: Terms, ends: Ends) -> Wish | None:
        """Moments that never come for a kind say nothing of it; with no time, only a limit may let it go."""
        said: dict[str, Any] = {
            moment: seconds
            for moment, seconds in found.after.items()
            if ends is not Ends.NEVER or moment not in _ON_FINISH
        }
        at_once = not found.after and any(one.newest is not None for one in found.by)
        limited = any(one.limit is not None for one in found.by)
        if not (said or at_once or limited):
            return None
        first = found.by[0]
        author = next((one.author for one in self._entries if one.uid == first.uid), "")
        return Wish(
            rule=found.rule,
            by=tuple(one.called for one in found.by),
            uid=first.uid,
            generation=first.generation,
            after=TtlAfter(**said) if said or at_once else None,
            owners_hold=found.owners_hold,
            propagation=found.propagation,
            suspended=found.suspended,
            author=author,
        )

    def _agreed(self, policies: tuple[Retention, ...]) -> Terms | None:
        key = tuple(one.uid for one in policies)
        if key not in self._shared:
            self._shared[key] = terms(policies)
        return self._shared[key]

    def _about(self, row: Row) -> Iterator[Retention]:
        metadata: Metadata | None = None
        for policy in self.policies():
            if not self.may_be_about(policy, row.resource):
                continue
            if _asks_annotations(policy) and row.uid not in self._annotations:
                # They are being read: nobody knows yet whether it is excluded.
                continue
            if metadata is None:
                metadata = Metadata(
                    name=row.name,
                    namespace=row.namespace,
                    labels=dict(row.labels),
                    annotations=dict(self._annotations.get(row.uid, {})),
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


def _asks_annotations(policy: Retention) -> bool:
    if policy.subject is None:
        return False
    asked = (policy.subject.match, policy.subject.exclude)
    return any(one.annotations for part in asked if isinstance(part, Filters) for one in part.filters)
