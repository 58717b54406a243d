"""CleanupPolicy and ClusterCleanupPolicy (kyverno.io): on schedule, what matches and meets the conditions is deleted.

One is about its own namespace, the other about the cluster; nothing else tells them apart. All versions have the same schema:
`v1alpha1` is that of the proposal (seed 004), the later ones were Kyverno's, one after the other.
"""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec

from skoupa import names
from skoupa.kinds.definition import Definition, Version, resource
from skoupa.kinds.policies.context import MOST_ENTRIES, ContextEntry
from skoupa.kinds.policies.filters import NO_NAMESPACES, SOME_KIND, Filters
from skoupa.kinds.policies.scheduling import PropagationPolicy, ScheduleText
from skoupa.kinds.policies.status import CLEANUP_COLUMNS, PolicyStatus
from skoupa.kinds.schema import about

OPERATORS: Final = (
    "Equals",
    "NotEquals",
    "AnyIn",
    "AllIn",
    "AnyNotIn",
    "AllNotIn",
    "GreaterThanOrEquals",
    "GreaterThan",
    "LessThanOrEquals",
    "LessThan",
    "DurationGreaterThanOrEquals",
    "DurationGreaterThan",
    "DurationLessThanOrEquals",
    "DurationLessThan",
)
# Whoever evaluates them takes them in any case, so an enum would refuse what works.
_Operator = Annotated[str, msgspec.Meta(pattern=f"(?i)^({'|'.join(OPERATORS)})$")]

_Entries = Annotated[tuple[ContextEntry, ...], msgspec.Meta(max_length=MOST_ENTRIES)]
_OPERATOR: Final = (
    f"How key and value have to stand to each other: {', '.join(OPERATORS)}. In upper or lower case."
)
_MATCH: Final = "Which objects are meant: any or all of some filters."
_EXCLUDE: Final = (
    "Which of those are not meant. Leave it out where there are none: an empty one excludes everything."
)


class Comparison(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """A key, an operator and a value."""

    key: Annotated[Any, about('What is looked at, mostly a variable: "{{ target.status.phase }}".')] = None
    operator: Annotated[_Operator | None, about(_OPERATOR)] = None
    value: Annotated[Any, about("What it is compared with; {{ }} and wildcards may stand in it.")] = None
    message: Annotated[str | None, about("What it is for; for people.")] = None


class Comparisons(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """All of `all` must hold and, where there is an `any`, one of it."""

    any: Annotated[tuple[Comparison, ...], about("One of these must hold.")] = ()
    all: Annotated[tuple[Comparison, ...], about("All of these must hold.")] = ()


class CleanupSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What goes, and when."""

    match: Annotated[Filters, about(_MATCH, SOME_KIND)]
    schedule: ScheduleText
    exclude: Annotated[Filters | None, about(_EXCLUDE)] = None
    conditions: Annotated[
        Comparisons | None, about("What must hold besides for an object to go. Without them: nothing more.")
    ] = None
    context: Annotated[_Entries, about("Values by name that the conditions use.")] = ()
    deletion_propagation_policy: PropagationPolicy = None


class NamespacedCleanupSpec(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True, forbid_unknown_fields=True
):
    """What goes from the policy's own namespace, and when."""

    match: Annotated[Filters, about(_MATCH, SOME_KIND, NO_NAMESPACES)]
    schedule: ScheduleText
    exclude: Annotated[Filters | None, about(_EXCLUDE, NO_NAMESPACES)] = None
    conditions: Annotated[
        Comparisons | None, about("What must hold besides for an object to go. Without them: nothing more.")
    ] = None
    context: Annotated[_Entries, about("Values by name that the conditions use.")] = ()
    deletion_propagation_policy: PropagationPolicy = None


class CleanupShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """On schedule, what matches in its namespace, is not excluded and meets the conditions is deleted."""

    spec: NamespacedCleanupSpec
    status: PolicyStatus | None = None


class ClusterCleanupShape(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """On schedule, what matches in the cluster, is not excluded and meets the conditions is deleted."""

    spec: CleanupSpec
    status: PolicyStatus | None = None


def _versions(kind: str, shape: type[msgspec.Struct]) -> tuple[Version, ...]:
    older = tuple(
        Version(
            name=name,
            shape=shape,
            columns=CLEANUP_COLUMNS,
            storage=False,
            deprecation=f"{names.KYVERNO_GROUP}/{name} {kind} is old: write {names.KYVERNO_GROUP}/v2",
        )
        for name in ("v2beta1", "v2alpha1", "v1alpha1")
    )
    return (Version(name="v2", shape=shape, columns=CLEANUP_COLUMNS), *older)


CLEANUP_POLICY: Final = Definition(
    group=names.KYVERNO_GROUP,
    kind=names.CLEANUP_POLICY_KIND,
    plural="cleanuppolicies",
    namespaced=True,
    short_names=("cleanpol",),
    categories=("kyverno",),
    versions=_versions(names.CLEANUP_POLICY_KIND, CleanupShape),
)
CLUSTER_CLEANUP_POLICY: Final = Definition(
    group=names.KYVERNO_GROUP,
    kind=names.CLUSTER_CLEANUP_POLICY_KIND,
    plural="clustercleanuppolicies",
    namespaced=False,
    short_names=("ccleanpol",),
    categories=("kyverno",),
    versions=_versions(names.CLUSTER_CLEANUP_POLICY_KIND, ClusterCleanupShape),
)
CLEANUP_POLICIES: Final = resource(CLEANUP_POLICY)
CLUSTER_CLEANUP_POLICIES: Final = resource(CLUSTER_CLEANUP_POLICY)
