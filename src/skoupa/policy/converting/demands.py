"""What a filter of `match` or `exclude` demands, as CEL about the object and its namespace.

Labels and annotations are asked for as optionals: an object without them is no error. What is not known of a namespace is an error of
CEL, so that the object stays, as in the original.
"""

from __future__ import annotations

from collections.abc import Iterator

from skoupa.expr.wildcards import has_wildcard
from skoupa.kube.selectors import Requirement
from skoupa.policy.converting.kind_rules import kinds_question, may_be_a_namespace
from skoupa.policy.converting.wording import (
    FALSE,
    TRUE,
    every,
    fits,
    fits_empty,
    fits_some,
    literal,
    maybe,
    negated,
    some,
    within,
)
from skoupa.policy.filters import Filter
from skoupa.policy.kind_patterns import KindPattern
from skoupa.policy.labels import Labels
from skoupa.policy.texts import Texts

_NAME = "object.metadata.name"
_NAMESPACE = 'object.metadata.?namespace.orValue("")'
_IS_NAMESPACE = 'object.kind == "Namespace"'


def filter_question(
    one: Filter, kinds: tuple[KindPattern, ...], *, ask_kind: bool = True, excluding: bool = False
) -> str:
    """Whether a filter fits; `kinds` are all that can come, for a filter that names none."""
    if one.empty:
        return FALSE
    return every(filter_demands(one, kinds, ask_kind=ask_kind, excluding=excluding))


def filter_demands(
    one: Filter, kinds: tuple[KindPattern, ...], *, ask_kind: bool, excluding: bool
) -> Iterator[str]:
    """Each by itself; what all objects meet is true."""
    if one.kinds and ask_kind:
        yield kinds_question(one.kinds)
    if one.names is not None:
        yield names_question(one.names)
    if one.namespaces is not None:
        yield place_question(one.namespaces, one.kinds or kinds)
    if one.annotations:
        yield annotations_question(one.annotations)
    if one.labels is not None:
        yield labels_question(one.labels)
    if one.namespace_labels is not None:
        spares_namespaces = excluding and may_be_a_namespace(one.kinds or kinds)
        asked = around_question(one.namespace_labels)
        yield some([_IS_NAMESPACE, asked]) if spares_namespaces else asked


def names_question(names: Texts) -> str:
    return fits_some(_NAME, _patterns(names))


def place_question(places: Texts, kinds: tuple[KindPattern, ...]) -> str:
    if not may_be_a_namespace(kinds):
        return fits_some(_NAMESPACE, _patterns(places))
    own, other = (fits_some(place, _patterns(places)) for place in (_NAME, _NAMESPACE))
    return f"{_IS_NAMESPACE} ? {within(own)} : {within(other)}"


def annotations_question(wanted: tuple[tuple[str, str], ...]) -> str:
    return every(_entry(key, value, "object.metadata", "annotations") for key, value in wanted)


def labels_question(labels: Labels, root: str = "object.metadata") -> str:
    requirements = (_requirement(each, root) for each in sorted(labels.requirements, key=_order))
    entries = (_entry(key, value, root, "labels") for key, value in labels.wild)
    return every([*requirements, *entries])


def around_question(labels: Labels) -> str:
    """Of the namespace that an object is in, which for a Namespace is itself; one that is in none has no such labels."""
    alone = TRUE if labels.fit({}) else FALSE
    there = within(labels_question(labels, "namespaceObject.metadata"))
    return f"namespaceObject == null ? {alone} : {there}"


def _requirement(wanted: Requirement, root: str) -> str:
    found = maybe_label(root, "labels", wanted.key)
    values = sorted(wanted.values)
    match wanted.operator:
        case "exists":
            return f"{found}.hasValue()"
        case "absent":
            return negated(f"{found}.hasValue()")
        case "in":
            return _among(found, values)
        case "notin":
            return negated(_among(found, values))
        case _:
            raise AssertionError("selectors of policies compare no sizes")


def _among(found: str, values: list[str]) -> str:
    text = f'{found}.orValue("")'
    held = f"{text} == {literal(values[0])}" if len(values) == 1 else f"{text} in {literal(values)}"
    return every([f"{found}.hasValue()", held]) if "" in values else held


def _entry(key: str, value: str, root: str, field: str) -> str:
    """Whether some entry fits the patterns of key and value."""
    if has_wildcard(key):
        entries = f"{root}.?{field}.orValue({{}})"
        return f"{entries}.exists(k, {every([fits('k', key), fits(f'{root}.{field}[k]', value)])})"
    found = maybe_label(root, field, key)
    if value and not value.strip("*"):
        return f"{found}.hasValue()"
    held = fits(f'{found}.orValue("")', value)
    return every([f"{found}.hasValue()", held]) if fits_empty(value) else held


def maybe_label(root: str, field: str, key: str) -> str:
    """Always in brackets: keys of labels are no names of fields."""
    return f"{maybe(root, field)}[?{literal(key)}]"


def _patterns(texts: Texts) -> list[str]:
    return [*sorted(texts.plain), *texts.wild]


def _order(requirement: Requirement) -> tuple[str, str]:
    return requirement.key, requirement.operator
