"""`matchConstraints` of a DeletingPolicy, made ready: which objects they are about.

Read as the API server reads them for admission: `*` alone is a wildcard, names are exact, a cluster-wide object needs no fitting
namespace, a Namespace is asked for its own labels. Operations are not looked at, in rules and in exclusions alike, for
nobody asks for anything when a policy runs. What is not known of a namespace counts against deletion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from skoupa.kinds.policies import constraints as written
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.policy.filters import Candidate
from skoupa.policy.labels import Labels, compiled
from skoupa.policy.reach import out_of_reach, spared

ALL: Final = "*"
_NO_LABELS: Final[Mapping[str, str]] = {}


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Kinds by group, version and plural, and perhaps names; an empty set of names is every name."""

    groups: frozenset[str]
    versions: tuple[str, ...]
    plurals: frozenset[str]
    names: frozenset[str] = frozenset()
    scope: str = ALL

    def fits_kind(self, resource: Resource, *, version: bool = True) -> bool:
        return (
            (ALL in self.groups or resource.group in self.groups)
            and (ALL in self.plurals or resource.plural in self.plurals)
            and (not version or ALL in self.versions or resource.version in self.versions)
            and self.scope in {ALL, "Namespaced" if resource.namespaced else "Cluster"}
        )

    def names_kind(self, resource: Resource) -> bool:
        return resource.plural in self.plurals


def pair(group: str, plural: str) -> str:
    """One group and one plural of a rule, as one text; `*.` is every kind of the core group."""
    return f"{plural}.{group}"


class Constraints(msgspec.Struct, frozen=True, kw_only=True):
    rules: tuple[Rule, ...] = ()
    excluded: tuple[Rule, ...] = ()
    labels: Labels = Labels()
    namespace_labels: Labels = Labels()
    exact: bool = False


def prepared(constraints: written.Constraints) -> Constraints:
    return Constraints(
        rules=tuple(_prepared(rule) for rule in constraints.resource_rules),
        excluded=tuple(_prepared(rule) for rule in constraints.exclude_resource_rules),
        labels=compiled(constraints.object_selector) if constraints.object_selector else Labels(),
        namespace_labels=compiled(constraints.namespace_selector)
        if constraints.namespace_selector
        else Labels(),
        exact=constraints.match_policy == "Exact",
    )


def mismatch(constraints: Constraints, candidate: Candidate) -> str:
    """Why an object is not what the rules are about; empty when it is. Exclusions are not asked."""
    metadata = candidate.metadata
    first = ""
    for index, rule in enumerate(constraints.rules):
        why = _unmet(rule, candidate)
        if not why:
            break
        first = first or f"resourceRules[{index}]: {why}"
    else:
        return first or "resourceRules is empty"
    if not constraints.labels.fit(metadata.labels or _NO_LABELS):
        return "its labels do not fit objectSelector"
    return _in_other_namespaces(constraints, candidate)


def by_name(constraints: Constraints, candidate: Candidate) -> bool:
    """Whether an object that matches does so by the name of its kind, and not only by a wildcard."""
    return any(
        rule.names_kind(candidate.resource) and not _unmet(rule, candidate) for rule in constraints.rules
    )


def exclusion(constraints: Constraints, candidate: Candidate) -> str:
    """Why an object is excluded; empty when it is not."""
    for index, rule in enumerate(constraints.excluded):
        fits = rule.fits_kind(candidate.resource, version=constraints.exact)
        if fits and (not rule.names or candidate.metadata.name in rule.names):
            return f"excludeResourceRules[{index}] fits"
    return ""


def _prepared(rule: written.ResourceRule) -> Rule:
    return Rule(
        groups=frozenset(rule.api_groups),
        versions=rule.api_versions,
        plurals=frozenset(rule.resources),
        names=frozenset(rule.resource_names),
        scope=rule.scope or ALL,
    )


def _unmet(rule: Rule, candidate: Candidate) -> str:
    resource, metadata = candidate.resource, candidate.metadata
    if not rule.fits_kind(resource):
        return "it is of another kind"
    if rule.names and metadata.name not in rule.names:
        return "it has another name"
    if rule.names_kind(resource):
        return ""
    why = out_of_reach(resource) or spared(resource, metadata)
    return why and f"a wildcard does not reach it: {why}"


def _in_other_namespaces(constraints: Constraints, candidate: Candidate) -> str:
    resource, metadata = candidate.resource, candidate.metadata
    if constraints.namespace_labels.empty:
        return ""
    is_namespace = resource.plural == NAMESPACES.plural and not metadata.namespace
    if not metadata.namespace and not is_namespace:
        return ""
    labels = (metadata.labels or _NO_LABELS) if is_namespace else candidate.namespace_labels
    if labels is None:
        return "the labels of its namespace are not known"
    if not constraints.namespace_labels.fit(labels):
        return "the labels of its namespace do not fit namespaceSelector"
    return ""
