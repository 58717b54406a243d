"""Which retention policies are about which objects, and what they wish for each together.

Kept true while objects, policies and labels of namespaces change. What a policy asks of annotations is looked up in those of the
object, which are remembered only while some policy asks for any. Where the labels of a namespace are not known a policy that asks
for them is not about what is in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.controller.retaining.policy_book import Entry
from skoupa.expr.ttl_after import TtlAfter
from skoupa.facts.rows import Row, Uid
from skoupa.judge.cascade import is_namespace
from skoupa.judge.protection import own
from skoupa.judge.retention_rules import FRESH_SECONDS, Wish
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.model.reasons import Reason, reason
from skoupa.policy.filters import Filters
from skoupa.policy.reach import out_of_reach
from skoupa.policy.retention.policies import NEVER_UNNAMED, Retention
from skoupa.policy.retention.precedence import Terms, terms
from skoupa.usage.finishing import Ends
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.questions import QUESTIONS

Version = int | str
_ON_FINISH: Final = ("finished", "succeeded", "failed")
# That an object is gone a watch may tell before the delete of it is answered.
_GONE_KEPT: Final = 1000


class Matched:
    """`ends` says how a kind ends, `used` which kinds others use: both change with what is taught."""

    def __init__(self, *, ends: Callable[[str], Ends], used: Callable[[], Collection[str]]) -> None:
        self._ends = ends
        self._used = used
        self._entries: tuple[Entry, ...] = ()
        self._labels: dict[str, Mapping[str, str]] = {}
        self._annotations: dict[Uid, tuple[Version, Mapping[str, str]]] = {}
        self._terms: dict[Uid, Terms] = {}
        # By the policies that are about an object: many are about the same.
        self._shared: dict[tuple[str, ...], Terms | None] = {}
        # By the terms themselves, for policies change and keep their names.
        self._wishes: dict[int, tuple[Terms, dict[Ends, Wish | None]]] = {}
        # As each was last understood: one that is not any more rests, and hands its objects to nobody.
        self._understood: dict[str, Retention] = {}
        self._resting: tuple[Retention, ...] = ()
        # Namespaces (an empty name is the cluster) of policies that were never understood, with their names.
        self._unknown: dict[str, str] = {}
        self._by_rule: dict[str, set[Uid]] = {}
        # Rows that are matched, by policy that counts.
        self._by_policy: dict[str, dict[Uid, Row]] = {}
        # The times of the last ones that are gone.
        self._given: dict[Uid, float] = {}
        self.asks_annotations = False

    def put_policies(self, entries: Iterable[Entry]) -> None:
        """Every object has to be matched anew after it."""
        every = tuple(entries)
        self._entries = tuple(one for one in every if one.policy is not None)
        known = {one.uid: one.policy for one in self._entries if one.policy is not None}
        broken = [one for one in every if one.policy is None]
        self._understood = {
            one.uid: known.get(one.uid) or self._understood[one.uid]
            for one in every
            if one.uid in known or one.uid in self._understood
        }
        self._resting = tuple(
            msgspec.structs.replace(self._understood[one.uid], suspended=True)
            for one in broken
            if one.uid in self._understood
        )
        self._unknown = {one.namespace: one.called for one in broken if one.uid not in self._understood}
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
        self._annotations[row.uid] = (row.version, metadata.annotations or {})
        return before != self._annotations[row.uid]

    def match(self, row: Row) -> bool:
        """Matches it anew; whether a policy counts for it."""
        found = None if own(row) else self._agreed(tuple(self._about(row)), row.namespace)
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
        if found is None:
            return None
        ends = self._ends(kind_name(row.resource))
        terms_of_it, made = self._wishes.get(id(found), (None, {}))
        if terms_of_it is not found:
            made = {}
            self._wishes[id(found)] = (found, made)
        if ends not in made:
            made[ends] = self._made(found, ends)
        return made[ends]

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
        if at_once and ends is not Ends.BY_RULE:
            said["created"] = FRESH_SECONDS
        limited = any(one.limit is not None for one in found.by)
        if not (said or at_once or limited):
            return None
        first = found.by[0]
        author = next((one.author for one in self._entries if one.uid == first.uid), "")
        uids = {one.uid for one in found.by}
        created = max((one.created for one in self._entries if one.uid in uids), default=0.0)
        return Wish(
            rule=found.rule,
            by=tuple(one.called for one in found.by),
            uid=first.uid,
            generation=first.generation,
            after=TtlAfter(**said) if said or at_once else None,
            owners_hold=found.owners_hold,
            propagation=found.propagation,
            rests=tuple(self._rests(found)),
            author=author,
            floor=created,
        )

    def _agreed(self, policies: tuple[Retention, ...], namespace: str) -> Terms | None:
        """A policy that nobody understands may mean any of what lies where it counts: nothing goes there by others."""
        key = (*(f"{one.uid} {one.suspended}" for one in policies), "", namespace if self._unknown else "")
        if key not in self._shared:
            found = terms(policies)
            # A policy of the cluster never counts where one of the namespace does.
            places = {namespace, ""} if found is not None and found.by[0].of_the_cluster else {namespace}
            unknown = [self._unknown[place] for place in sorted(places) if place in self._unknown]
            if found is not None and unknown:
                found = msgspec.structs.replace(found, suspended=(*found.suspended, *unknown))
            self._shared[key] = found
        return self._shared[key]

    def _rests(self, found: Terms) -> Iterator[Reason]:
        """Why nothing goes by these, in words that say what to do."""
        suspended = [one.called for one in self.policies() if one.suspended and one.called in found.suspended]
        broken = {*self._unknown.values(), *(one.called for one in self._resting)}
        for code, names in (
            ("retention-broken", [one for one in found.suspended if one in broken]),
            ("retention-suspended", suspended),
            (
                "retention-reading",
                [one for one in found.suspended if one not in broken and one not in suspended],
            ),
        ):
            if names:
                yield reason(code, rule=", ".join(dict.fromkeys(names)))

    def _about(self, row: Row) -> Iterator[Retention]:
        metadata: Metadata | None = None
        version, annotations = self._annotations.get(row.uid, ("", {}))
        for policy in (*self.policies(), *self._resting):
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
