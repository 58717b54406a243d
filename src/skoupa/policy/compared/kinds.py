"""The kinds that a policy means to Kyverno, beside those that it means to Skoupa.

Kyverno looks kinds up by their very names: a wildcard finds none, and a name that several groups have finds the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skoupa.expr.readings import quoted
from skoupa.kube.kinds import Discovery
from skoupa.model.differences import Difference, difference
from skoupa.policy.constraints import ALL, Constraints
from skoupa.policy.expansion import also_called, expand, meant
from skoupa.policy.filters import Filters
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.match import Subject, names_kind
from skoupa.policy.selector_cautions import asks_namespaces

# `Job` and `ReplicationController` as the server spells them in paths.
_ORPHANING = {("", "replicationcontrollers"): "ReplicationController", ("batch", "jobs"): "Job"}


def kind_differences(
    subject: Subject, discovery: Discovery, *, spec: Mapping[str, Any]
) -> Iterator[Difference]:
    """`spec` as it was written: what is not said there has a default that differs."""
    if isinstance(subject.match, Filters):
        for pattern in subject.match.patterns:
            yield from _of_pattern(pattern, discovery)
        if not subject.namespace and asks_namespaces(subject.match):
            yield difference("namespace-labels")
    else:
        yield from _of_rules(subject, subject.match, discovery)
        yield from _of_exclusions(spec)
    if not spec.get("deletionPropagationPolicy"):
        for resource in expand(subject, discovery).resources:
            kind = _ORPHANING.get((resource.group, resource.plural))
            # A wildcard means nothing to Kyverno, so nothing of that differs.
            if kind is not None and names_kind(subject.match, resource):
                yield difference("policy-propagation", kind=kind)


def _of_pattern(pattern: KindPattern, discovery: Discovery) -> Iterator[Difference]:
    if pattern.wild:
        number = len(meant(pattern, discovery))
        yield difference("wild-kinds", kinds=quoted(pattern.text), number=number)
    elif pattern.text.startswith("*/"):
        yield difference("any-group", kind=quoted(pattern.text))
    others = also_called(pattern, discovery)
    if others:
        taken = ", ".join(f"{row.api_version}/{row.kind}" for row in meant(pattern, discovery))
        also = ", ".join(f"{row.api_version}/{row.kind}" for row in others)
        yield difference("same-names", kind=quoted(pattern.text), taken=taken or "none", others=also)


def _of_rules(subject: Subject, match: Constraints, discovery: Discovery) -> Iterator[Difference]:
    """Kyverno lists the very product of groups, versions and plurals."""
    for rule in match.rules:
        if ALL in rule.groups or ALL in rule.versions or ALL in rule.plurals:
            text = "/".join(
                ",".join(sorted(part)) or "core" for part in (rule.groups, rule.versions, rule.plurals)
            )
            alone = Subject(match=Constraints(rules=(rule,)), namespace=subject.namespace)
            number = len(expand(alone, discovery).resources)
            yield difference("wild-kinds", kinds=quoted(text), number=number)


def _of_exclusions(spec: Mapping[str, Any]) -> Iterator[Difference]:
    constraints = spec.get("matchConstraints")
    rules = constraints.get("excludeResourceRules") if isinstance(constraints, Mapping) else None
    for rule in rules or ():
        operations = rule.get("operations") if isinstance(rule, Mapping) else None
        if operations and ALL not in operations:
            yield difference("exclusion-operations")
            return
