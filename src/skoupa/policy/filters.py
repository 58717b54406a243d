"""`match` and `exclude` of a CleanupPolicy, made ready: which objects they are about.

A filter is all of its demands together; one without any demand is about nothing, as in Kyverno. Filters stand under `any` or
`all`; none at all is everything (so an empty `exclude` excludes everything, as in Kyverno). What is not known of a namespace
counts against deletion: it does not match, and it is excluded. So does a namespaceSelector for a Namespace, which Kyverno passes
over: in `match` it is asked of the Namespace's own labels, in `exclude` every Namespace meets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from skoupa.kinds.policies import filters as written
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy.kind_patterns import KindPattern, kind_pattern
from skoupa.policy.labels import Labels, compiled, fits_one
from skoupa.policy.reach import out_of_reach, spared
from skoupa.policy.texts import Texts, texts

_NO_LABELS: Final[Mapping[str, str]] = {}
_NAMESPACE_KIND: Final = "Namespace"
_NOT_ITS_OWN: Final = (
    "its own labels do not fit namespaceSelector (Kyverno would not ask a Namespace for them)"
)


class Candidate(msgspec.Struct, frozen=True):
    """An object as far as matching looks at it; labels of its namespace are None where they are not known."""

    resource: Resource
    metadata: Metadata
    namespace_labels: Mapping[str, str] | None = None


class Filter(msgspec.Struct, frozen=True, kw_only=True):
    """Demands, all of which have to be met; None is no demand."""

    kinds: tuple[KindPattern, ...] = ()
    names: Texts | None = None
    namespaces: Texts | None = None
    annotations: tuple[tuple[str, str], ...] = ()
    labels: Labels | None = None
    namespace_labels: Labels | None = None
    # Taken by Kyverno as a demand that every object meets.
    operations: bool = False

    @property
    def empty(self) -> bool:
        return not (
            self.kinds
            or self.names
            or self.namespaces
            or self.annotations
            or self.labels is not None
            or self.namespace_labels is not None
            or self.operations
        )

    def names_kind(self, resource: Resource) -> bool:
        """Whether it means this kind by its name and not by a wildcard."""
        return any(not pattern.wild and pattern.fits(resource) for pattern in self.kinds)

    def fits_kind(self, resource: Resource) -> bool:
        return not self.kinds or any(pattern.fits(resource) for pattern in self.kinds)


class Filters(msgspec.Struct, frozen=True):
    mode: Literal["any", "all"]
    filters: tuple[Filter, ...] = ()

    @property
    def patterns(self) -> tuple[KindPattern, ...]:
        """Every kind that is written somewhere, once."""
        return tuple(dict.fromkeys(pattern for one in self.filters for pattern in one.kinds))

    def names_kind(self, resource: Resource) -> bool:
        return any(one.names_kind(resource) for one in self.filters)


def prepared(filters: written.Filters) -> Filters:
    mode: Literal["any", "all"] = "any" if filters.any else "all"
    return Filters(mode, tuple(_prepared(one) for one in (filters.any or filters.all)))


def mismatch(filters: Filters, candidate: Candidate) -> str:
    """Why an object is not what `match` is about; empty when it is."""
    if not filters.filters:
        return "match is empty"
    if filters.mode == "all":
        named = filters.names_kind(candidate.resource)
        for index, one in enumerate(filters.filters):
            if why := _unmet(one, candidate, known=False) or _unreached(candidate, named=named):
                return f"match.all[{index}]: {why}"
        return ""
    first = ""
    for index, one in enumerate(filters.filters):
        why = _unmet(one, candidate, known=False)
        if not why:
            # A filter without kinds is about those that the others name.
            named = (
                one.names_kind(candidate.resource) if one.kinds else filters.names_kind(candidate.resource)
            )
            why = _unreached(candidate, named=named)
        if not why:
            return ""
        first = first or f"match.any[{index}]: {why}"
    return first if len(filters.filters) == 1 else f"{first}; nor does another filter of match.any fit"


def by_name(filters: Filters, candidate: Candidate) -> bool:
    """Whether an object that matches does so by the name of its kind, and not only by a wildcard."""
    resource = candidate.resource
    if filters.mode == "all" or not filters.names_kind(resource):
        return filters.names_kind(resource)
    return any(
        (not one.kinds or one.names_kind(resource)) and not _unmet(one, candidate, known=False)
        for one in filters.filters
    )


def exclusion(filters: Filters, candidate: Candidate) -> str:
    """Why an object is excluded; empty when it is not."""
    if not filters.filters:
        return "exclude is empty, which excludes everything"
    if filters.mode == "any":
        for index, one in enumerate(filters.filters):
            if not _unmet(one, candidate, known=True):
                return f"exclude.any[{index}] fits"
        return ""
    fits = all(not _unmet(one, candidate, known=True) for one in filters.filters)
    return "all of exclude.all fit" if fits else ""


def _prepared(one: written.Filter) -> Filter:
    found = one.resources or written.Resources()
    names = (found.name,) if found.name else found.names
    return Filter(
        kinds=tuple(kind_pattern(kind) for kind in found.kinds),
        names=texts(names) if names else None,
        namespaces=texts(found.namespaces) if found.namespaces else None,
        annotations=tuple(found.annotations.items()),
        labels=None if found.selector is None else compiled(found.selector),
        namespace_labels=None if found.namespace_selector is None else compiled(found.namespace_selector),
        operations=bool(found.operations),
    )


def _unmet(one: Filter, candidate: Candidate, *, known: bool) -> str:
    """The first demand that is not met; `known` is what to take for a demand on labels that are not known."""
    resource, metadata = candidate.resource, candidate.metadata
    if one.kinds and not one.fits_kind(resource):
        return "it is of another kind"
    if one.names is not None and not one.names.fit(metadata.name):
        return "it has another name"
    if one.namespaces is not None:
        place = metadata.name if resource.kind == _NAMESPACE_KIND else metadata.namespace
        if not one.namespaces.fit(place):
            return "it is in another namespace"
    if one.annotations:
        found = metadata.annotations or _NO_LABELS
        if not all(fits_one(key, value, found) for key, value in one.annotations):
            return "its annotations do not fit"
    if one.labels is not None and not one.labels.fit(metadata.labels or _NO_LABELS):
        return "its labels do not fit selector"
    if one.namespace_labels is not None:
        return _in_other_namespaces(one.namespace_labels, candidate, known=known)
    return "the filter is empty" if one.empty else ""


def _in_other_namespaces(wanted: Labels, candidate: Candidate, *, known: bool) -> str:
    resource, metadata = candidate.resource, candidate.metadata
    if resource.kind == _NAMESPACE_KIND:
        if known:
            # Kyverno takes it for met, so that exclude spares every Namespace: nothing goes here that stays there.
            return ""
        if not resource.group:
            # In match that would mean every Namespace, whatever its labels.
            return "" if wanted.fit(metadata.labels or _NO_LABELS) else _NOT_ITS_OWN
    labels = candidate.namespace_labels if metadata.namespace else _NO_LABELS
    if labels is None:
        return "" if known else "the labels of its namespace are not known"
    return "" if wanted.fit(labels) else "the labels of its namespace do not fit namespaceSelector"


def _unreached(candidate: Candidate, *, named: bool) -> str:
    if named:
        return ""
    why = out_of_reach(candidate.resource) or spared(candidate.resource, candidate.metadata)
    return why and f"a wildcard does not reach it: {why}"
