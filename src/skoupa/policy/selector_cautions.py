"""What a namespaceSelector means for what lies in no namespace, where its writer may think otherwise.

Of a Namespace that is known by its name; which other kinds lie in no namespace is known from discovery alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.policy.constraints import Constraints
from skoupa.policy.expansion import Expansion
from skoupa.policy.filters import Filter, Filters
from skoupa.policy.labels import Labels
from skoupa.policy.match import Subject, names_kind
from skoupa.policy.narrowing import listed
from skoupa.policy.problems import Problem

_APART: Final = "give those kinds a filter of their own, with names or selector"
_IN_MATCH: Final = "Kyverno does not ask a Namespace for it, so that there every Namespace fits; here its own labels have to fit"
_IN_EXCLUDE: Final = (
    "as in Kyverno it is not asked of a Namespace, so that none goes which fits the rest of the filter"
)


def selector_cautions(subject: Subject, expansion: Expansion) -> Iterator[Problem]:
    """`expansion` is of what is matched; empty where nobody knows kinds."""
    match, alone = subject.match, _in_no_namespace(expansion)
    if isinstance(match, Constraints):
        if alone and not match.namespace_labels.empty:
            what = (
                f"it is not asked of what lies in no namespace ({_kinds(alone)}), so that all of that matches"
            )
            instead = (
                "write scope: Namespaced in the rules, or narrow those kinds by objectSelector or conditions"
            )
            yield Problem(path="spec.matchConstraints.namespaceSelector", what=what, instead=instead)
        return
    yield from _of_filters(subject, match, match, alone)
    if subject.exclude is not None:
        yield from _of_filters(subject, match, subject.exclude, alone)


def asks_namespaces(match: Filters) -> bool:
    """Whether a Namespace is asked for its own labels by a selector that Kyverno would pass over."""
    return match.names_kind(NAMESPACES) and any(
        one.namespace_labels is not None
        and not one.namespace_labels.empty
        and _about(one, match, NAMESPACES, excluding=False)
        for one in match.filters
    )


def _of_filters(
    subject: Subject, match: Filters, block: Filters, rows: Sequence[Resource]
) -> Iterator[Problem]:
    excluding = block is not match
    for index, one in enumerate(block.filters):
        labels = one.namespace_labels
        if labels is None or labels.empty or subject.namespace:
            continue
        path = f"spec.{'exclude' if excluding else 'match'}.{block.mode}[{index}].resources.namespaceSelector"
        if match.names_kind(NAMESPACES) and _about(one, block, NAMESPACES, excluding=excluding):
            what = _IN_EXCLUDE if excluding else _IN_MATCH
            yield Problem(path=path, what=what, instead="give Namespace a filter of its own, with selector")
        alone = [
            row
            for row in rows
            if _about(one, block, row, excluding=excluding) and _is_news(row, labels, match)
        ]
        if alone:
            some = "all" if labels.fit({}) else "nothing"
            fate = "is excluded" if excluding else "matches"
            what = (
                f"what lies in no namespace ({_kinds(alone)}) has no such labels, so that {some} of it {fate}"
            )
            yield Problem(path=path, what=what, instead=_APART)


def _about(one: Filter, block: Filters, resource: Resource, *, excluding: bool) -> bool:
    """Whether the filter decides about the kind: a wildcard in match does not reach what has to be named."""
    if excluding or not one.kinds or block.mode == "all" or resource != NAMESPACES:
        return one.fits_kind(resource)
    return one.names_kind(resource)


def _is_news(resource: Resource, labels: Labels, match: Filters) -> bool:
    """That nothing goes of what only a wildcard reaches need not be told."""
    return labels.fit({}) or names_kind(match, resource)


def _in_no_namespace(expansion: Expansion) -> list[Resource]:
    """But for Namespaces."""
    rows = expansion.resources
    return [row for row in rows if not row.namespaced and row.qualified != NAMESPACES.qualified]


def _kinds(rows: list[Resource]) -> str:
    return listed(row.kind for row in rows)
