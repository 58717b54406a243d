"""Whether a policy is about an object, and if not, why: a pure function of kind, metadata and the labels of its namespace.

What matches and is excluded does not match; a namespaced policy matches nothing outside its namespace. Conditions are asked
afterwards, by others.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy import constraints, filters
from skoupa.policy.constraints import Constraints
from skoupa.policy.filters import Candidate, Filters


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a policy is about; `namespace` is that of a namespaced policy, else empty."""

    match: Filters | Constraints
    exclude: Filters | None = None
    namespace: str = ""


class Answer(msgspec.Struct, frozen=True):
    """`why` says why not; `wildcard` tells that only a wildcard makes the object match (see `reach.owner_that_goes`)."""

    matches: bool
    why: str = ""
    wildcard: bool = False


_NAMED = Answer(True)
_BY_WILDCARD = Answer(True, wildcard=True)


def answer(
    subject: Subject,
    resource: Resource,
    metadata: Metadata,
    *,
    namespace_labels: Mapping[str, str] | None = None,
) -> Answer:
    """`namespace_labels` are None where they could not be read; then nothing goes that depends on them."""
    if subject.namespace and metadata.namespace != subject.namespace:
        return Answer(False, f"it is not in {subject.namespace}, the namespace of the policy")
    candidate = Candidate(resource, metadata, namespace_labels)
    why = _why_not(subject, candidate)
    if why:
        return Answer(False, why)
    return _NAMED if _by_name(subject.match, candidate) else _BY_WILDCARD


def names_kind(match: Filters | Constraints, resource: Resource) -> bool:
    """Whether somebody named this kind; if not, only a wildcard may reach it."""
    if isinstance(match, Filters):
        return match.names_kind(resource)
    return any(rule.names_kind(resource) and rule.fits_kind(resource) for rule in match.rules)


def _why_not(subject: Subject, candidate: Candidate) -> str:
    if isinstance(subject.match, Constraints):
        return constraints.mismatch(subject.match, candidate) or constraints.exclusion(
            subject.match, candidate
        )
    why = filters.mismatch(subject.match, candidate)
    if why or subject.exclude is None:
        return why
    return filters.exclusion(subject.exclude, candidate)


def _by_name(match: Filters | Constraints, candidate: Candidate) -> bool:
    if isinstance(match, Filters):
        return filters.by_name(match, candidate)
    return constraints.by_name(match, candidate)
