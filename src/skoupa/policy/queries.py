"""What to ask the server for, so that a run reads little: never narrower than what a policy matches.

Names, namespaces and labels are handed to the server as far as it understands them; what it does not (wildcards, annotations,
several filters that differ) is left for matching. Namespaces that are known, with their labels, turn wildcards and
namespaceSelectors into lists of namespaces; one that appears meanwhile waits for the next run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Final

import msgspec

from skoupa.kube.lists import Scope
from skoupa.kube.resources import NAMESPACES, Resource
from skoupa.kube.selectors import Requirement
from skoupa.policy.constraints import Constraints
from skoupa.policy.filters import Filter, Filters
from skoupa.policy.labels import negation, requests, written
from skoupa.policy.match import Subject

# Above so many lists of one kind, one list of everything is cheaper.
MOST_LISTS: Final = 10
# What is excluded is asked for with `!=`, one by one.
_MOST_EXCLUDED: Final = 20

Namespaces = Mapping[str, Mapping[str, str]]


class Query(msgspec.Struct, frozen=True):
    """One list to ask for."""

    resource: Resource
    scope: Scope


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Some of the objects of a kind: those with one of the names, in one of the namespaces, with all of the labels.

    None is no limit. The others are names and namespaces that are not wanted.
    """

    names: frozenset[str] | None = None
    namespaces: frozenset[str] | None = None
    labels: frozenset[Requirement] = frozenset()
    other_names: frozenset[str] = frozenset()
    other_namespaces: frozenset[str] = frozenset()


def queries(
    subject: Subject, resources: Iterable[Resource], *, namespaces: Namespaces | None = None
) -> tuple[Query, ...]:
    """Lists that together hold whatever the policy matches of these kinds."""
    return tuple(
        Query(resource, scope)
        for resource in resources
        if (part := part_of(subject, resource, namespaces=namespaces)) is not None
        for scope in _scopes(part, resource)
    )


def part_of(subject: Subject, resource: Resource, *, namespaces: Namespaces | None = None) -> Part | None:
    """The objects of a kind that a policy can match; None: none at all."""
    match = subject.match
    if isinstance(match, Constraints):
        part = _of_constraints(match, resource, namespaces)
    else:
        parts = [_of_filter(one, resource, namespaces) for one in match.filters]
        part = reduce(_both, parts) if match.mode == "all" and parts else _union(parts)
        if subject.exclude is not None:
            part = _without(part, subject.exclude, resource)
    if subject.namespace:
        part = _both(part, Part(namespaces=frozenset((subject.namespace,))))
    return part


def _of_filter(one: Filter, resource: Resource, namespaces: Namespaces | None) -> Part | None:
    if one.empty or not one.fits_kind(resource):
        return None
    part: Part | None = Part(
        names=one.names.plain if one.names is not None and not one.names.wild else None,
        labels=requests(one.labels) if one.labels is not None else frozenset(),
    )
    places = one.namespaces
    if resource.kind == NAMESPACES.kind:
        if one.namespace_labels is not None and resource.group == NAMESPACES.group:
            part = _both(part, Part(labels=requests(one.namespace_labels)))
        # Kyverno asks anything of this name for its own name, and not for its namespace.
        return part if places is None or places.wild else _both(part, Part(names=places.plain))
    if not resource.namespaced:
        return None if places is not None and not places.fit("") else part
    if places is not None:
        plain = None if places.wild else places.plain
        part = _both(part, Part(namespaces=plain if namespaces is None else _known(places.fit, namespaces)))
    if one.namespace_labels is None or namespaces is None:
        return part
    wanted = one.namespace_labels
    return _both(part, Part(namespaces=_known(lambda name: wanted.fit(namespaces[name]), namespaces)))


def _of_constraints(match: Constraints, resource: Resource, namespaces: Namespaces | None) -> Part | None:
    rules = [rule for rule in match.rules if rule.fits_kind(resource)]
    part = _union([Part(names=rule.names or None) for rule in rules])
    if part is None:
        return None
    wanted = match.namespace_labels
    part = _both(part, Part(labels=requests(match.labels)))
    if namespaces is None or not resource.namespaced or wanted.empty:
        return part
    return _both(part, Part(namespaces=_known(lambda name: wanted.fit(namespaces[name]), namespaces)))


def _known(fits: Callable[[str], bool], namespaces: Namespaces) -> frozenset[str]:
    return frozenset(filter(fits, namespaces))


def _both(one: Part | None, other: Part | None) -> Part | None:
    if one is None or other is None:
        return None
    names, namespaces = _meet(one.names, other.names), _meet(one.namespaces, other.namespaces)
    if names == frozenset() or namespaces == frozenset():
        return None
    return Part(
        names=names,
        namespaces=namespaces,
        labels=one.labels | other.labels,
        other_names=one.other_names | other.other_names,
        other_namespaces=one.other_namespaces | other.other_namespaces,
    )


def _union(parts: Iterable[Part | None]) -> Part | None:
    """The smallest part that holds all of them."""
    found = [part for part in parts if part is not None]
    if not found:
        return None
    return Part(
        names=_join([part.names for part in found]),
        namespaces=_join([part.namespaces for part in found]),
        labels=frozenset.intersection(*(part.labels for part in found)),
    )


def _meet(one: frozenset[str] | None, other: frozenset[str] | None) -> frozenset[str] | None:
    if one is None or other is None:
        return one if other is None else other
    return one & other


def _join(sets: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [each for each in sets if each is not None]
    return frozenset().union(*known) if len(known) == len(sets) else None


def _without(part: Part | None, exclude: Filters, resource: Resource) -> Part | None:
    """Without what a filter excludes for a single reason that the server understands."""
    if exclude.mode == "all" and len(exclude.filters) != 1:
        return part
    for one in exclude.filters:
        if one.empty or not one.fits_kind(resource):
            continue
        excluded = _only_reason(one, resource)
        if excluded is not None:
            part = _both(part, excluded)
    return part


def _only_reason(one: Filter, resource: Resource) -> Part | None:
    reasons = [
        reason
        for reason in (one.names, one.namespaces, one.labels, one.namespace_labels, one.annotations or None)
        if reason is not None
    ]
    if len(reasons) != 1:
        return None
    if one.names is not None:
        return Part(other_names=one.names.plain)
    if one.namespaces is not None and resource.namespaced and resource.kind != NAMESPACES.kind:
        return Part(other_namespaces=one.namespaces.plain)
    if one.labels is not None and (opposite := negation(one.labels)) is not None:
        return Part(labels=frozenset((opposite,)))
    return None


def _scopes(part: Part, resource: Resource) -> Iterable[Scope]:
    names = sorted((part.names or frozenset()) - part.other_names) if part.names is not None else [""]
    places = [""]
    if resource.namespaced and part.namespaces is not None:
        places = sorted(part.namespaces - part.other_namespaces)
    if len(names) * len(places) > MOST_LISTS and names != [""]:
        names = [""]
    if len(places) > MOST_LISTS:
        places = [""]
    labels = ",".join(sorted(written(requirement) for requirement in part.labels))
    for place in places:
        for name in names:
            fields = (
                [f"metadata.name={_escaped(name)}"] if name else _unwanted("metadata.name", part.other_names)
            )
            if not place and resource.namespaced:
                fields += _unwanted("metadata.namespace", part.other_namespaces)
            yield Scope(namespace=place, labels=labels, fields=",".join(fields))


def _unwanted(field: str, values: frozenset[str]) -> list[str]:
    return (
        [f"{field}!={_escaped(value)}" for value in sorted(values)] if len(values) <= _MOST_EXCLUDED else []
    )


def _escaped(value: str) -> str:
    """For a field selector, in which commas and equal signs mean something."""
    return value.replace("\\", "\\\\").replace(",", "\\,").replace("=", "\\=")
