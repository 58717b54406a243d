"""`match` and `exclude` of a CleanupPolicy as `matchConstraints` and conditions of a DeletingPolicy.

What rules and selectors can say is said there, for the server can be asked for it; all else is CEL. Where several filters reach kinds in
different ways (one by a wildcard, one by name) rules could not tell the ways apart, and would reach more: that is Unsaid.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import NAMESPACES
from skoupa.kube.selectors import Requirement
from skoupa.policy.converting.demands import (
    annotations_question,
    around_question,
    filter_question,
    labels_question,
    names_question,
    place_question,
)
from skoupa.policy.converting.kind_rules import (
    KindRule,
    kind_rules,
    listed_question,
    may_be_a_namespace,
    written_rules,
)
from skoupa.policy.converting.wording import TRUE, Unsaid, every, negated, some
from skoupa.policy.filters import Filter, Filters
from skoupa.policy.labels import Labels
from skoupa.policy.match import Subject

_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_NAMESPACES: Final = (NAMESPACES.group, NAMESPACES.plural)
_WRITTEN: Final = {"in": "In", "notin": "NotIn", "exists": "Exists", "absent": "DoesNotExist"}
_MIXED: Final = (
    "one filter of match.any names kinds and another reaches them by a wildcard: write them as two policies"
)


class Matching(msgspec.Struct, frozen=True, kw_only=True):
    """`constraints` as they stand in a manifest, expressions by name, and what to tell."""

    constraints: dict[str, Any]
    expressions: tuple[tuple[str, str], ...] = ()
    remarks: tuple[str, ...] = ()


def matching(subject: Subject, discovery: Discovery) -> Matching:
    match = subject.match
    if not isinstance(match, Filters):
        raise Unsaid("it is a DeletingPolicy already")
    if match.mode == "any" and _mixes(match):
        raise Unsaid(_MIXED)
    rules = [rule for pattern in match.patterns for rule in kind_rules(pattern, discovery)]
    made = _Single(match.filters[0], rules) if len(match.filters) == 1 else None
    question = made.question if made is not None else _several(match, rules)
    expressions = [("matches", question)] if question != TRUE else []
    if subject.exclude is not None:
        excluded = _excluded(subject.exclude, match)
        if excluded != TRUE:
            expressions.append(("not-excluded", excluded))
    constraints = (
        made.constraints
        if made is not None
        else {"resourceRules": written_rules(rules, names=None, scope="")}
    )
    return Matching(
        constraints=constraints,
        expressions=tuple(expressions),
        remarks=tuple(dict.fromkeys(rule.remark for rule in rules if rule.remark)),
    )


def _mixes(match: Filters) -> bool:
    """Within one filter, names and wildcards go together as they do in the rules of one policy."""
    wild = [index for index, one in enumerate(match.filters) if any(kind.wild for kind in one.kinds)]
    named = [index for index, one in enumerate(match.filters) if any(not kind.wild for kind in one.kinds)]
    return any(first != second for first in wild for second in named)


def _several(match: Filters, rules: list[KindRule]) -> str:
    alike = len({one.kinds for one in match.filters}) == 1
    tests = [filter_question(one, match.patterns, ask_kind=not alike) for one in match.filters]
    return every([listed_question(rules), some(tests) if match.mode == "any" else every(tests)])


def _excluded(exclude: Filters, match: Filters) -> str:
    if not exclude.filters:
        return negated(TRUE)
    tests = [filter_question(one, match.patterns, excluding=True) for one in exclude.filters]
    return negated(some(tests) if exclude.mode == "any" else every(tests))


class _Single:
    """One filter: as much of it as possible stands in the constraints."""

    def __init__(self, one: Filter, rules: list[KindRule]) -> None:
        self._one = one
        self._tests: list[str] = [listed_question(rules)]
        self._scope = ""
        self._rules = rules
        self._selectors: dict[str, Any] = {}
        names = self._names()
        self._place()
        if one.annotations:
            self._tests.append(annotations_question(one.annotations))
        self._labels()
        self._around()
        self.question = every(self._tests)
        self.constraints: dict[str, Any] = {
            "resourceRules": written_rules(rules, names=names, scope=self._scope),
            **self._selectors,
        }

    def _names(self) -> list[str] | None:
        names = self._one.names
        if names is None:
            return None
        if names.wild:
            self._tests.append(names_question(names))
            return None
        return sorted(names.plain)

    def _place(self) -> None:
        places = self._one.namespaces
        if places is None:
            return
        asks_names = may_be_a_namespace(self._one.kinds)
        named = any(not kind.wild and kind.kind == "Namespace" for kind in self._one.kinds)
        if places.wild or places.fit("") or named:
            self._tests.append(place_question(places, self._one.kinds))
            return
        if self._one.namespace_labels is None:
            wanted = Labels((Requirement(_NAME_LABEL, "in", places.plain),))
            self._selectors["namespaceSelector"] = _selector(wanted)
        self._only_in_namespaces()
        if asks_names or self._one.namespace_labels is not None:
            self._tests.append(place_question(places, self._one.kinds))

    def _labels(self) -> None:
        labels = self._one.labels
        if labels is None:
            return
        if labels.requirements:
            self._selectors["objectSelector"] = _selector(Labels(labels.requirements))
        if labels.wild:
            self._tests.append(labels_question(Labels((), labels.wild)))

    def _around(self) -> None:
        labels = self._one.namespace_labels
        if labels is None:
            return
        alone = labels.fit({})
        namespaces = [rule for rule in self._rules if (rule.group, rule.plural) == _NAMESPACES]
        others = [rule for rule in self._rules if rule not in namespaces and rule.namespaced is not True]
        if labels.wild or (namespaces and others and not alone):
            self._tests.append(around_question(labels))
            return
        if others and not alone:
            self._only_in_namespaces()
        if labels.requirements:
            self._selectors["namespaceSelector"] = _selector(labels)

    def _only_in_namespaces(self) -> None:
        """Selectors are not asked of what is in no namespace, but for a Namespace."""
        if any(rule.namespaced is not True for rule in self._rules):
            self._scope = "Namespaced"


def _selector(labels: Labels) -> dict[str, Any]:
    plain = {
        each.key: next(iter(each.values))
        for each in labels.requirements
        if each.operator == "in" and len(each.values) == 1
    }
    counted = [each.key for each in labels.requirements if each.operator == "in" and len(each.values) == 1]
    if len(counted) != len(plain):
        # The same key twice, with values that differ: both have to hold.
        plain = {}
    others = [
        {
            "key": each.key,
            "operator": _WRITTEN[each.operator],
            **({"values": sorted(each.values)} if each.values else {}),
        }
        for each in labels.requirements
        if each.key not in plain or each.values != {plain[each.key]} or each.operator != "in"
    ]
    return {
        **({"matchLabels": plain} if plain else {}),
        **({"matchExpressions": others} if others else {}),
    }
