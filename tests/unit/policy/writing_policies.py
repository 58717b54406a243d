"""Hypothesis strategies: filters and constraints over few words, and all objects that these words can make."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import msgspec
from hypothesis import strategies as st

from skoupa.kinds.policies import constraints as written_constraints
from skoupa.kinds.policies import filters as written_filters
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import Resource
from skoupa.policy import constraints, filters
from tests.unit.policy.world import KNATIVE, WIDGET_V1, kind

PLACES = ("a", "ab")
NAMES = ("a", "b", "default")
KINDS: tuple[Resource, ...] = (
    *(kind(name) for name in ("Pod", "Namespace", "Node", "ServiceAccount")),
    *(KNATIVE, WIDGET_V1),
)

_words = st.sampled_from(["a", "b", "ab", "default"])
_patterns = st.sampled_from(["a", "b", "ab", "default", "a*", "?", "*b"])
_keys = st.sampled_from(["x", "y"])
_key_patterns = st.sampled_from(["x", "y", "x*", "*", "?"])
_values = st.sampled_from(["", "1"])
_value_patterns = st.sampled_from(["", "1", "*", "?*"])
_labels = st.dictionaries(_keys, _values, max_size=2)
_expressions = st.one_of(
    st.builds(
        lambda key, operator, values: {"key": key, "operator": operator, "values": values},
        _keys,
        st.sampled_from(["In", "NotIn"]),
        st.lists(_values, min_size=1, max_size=2),
    ),
    st.builds(
        lambda key, operator: {"key": key, "operator": operator},
        _keys,
        st.sampled_from(["Exists", "DoesNotExist"]),
    ),
)


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=fields)


_wild_selectors = _some(
    matchLabels=st.dictionaries(_key_patterns, _value_patterns, max_size=2),
    matchExpressions=st.lists(_expressions, max_size=2),
)
_selectors = _some(matchLabels=_labels, matchExpressions=st.lists(_expressions, max_size=2))
_kind_patterns = st.sampled_from(
    [
        "Pod",
        "v1/Pod",
        "*",
        "Namespace",
        "Node",
        "Service",
        "serving.knative.dev/*/Service",
        "Widget",
        "W*",
        "*/v1/*",
    ]
)
_demands: dict[str, st.SearchStrategy[Any]] = {
    "names": st.lists(_patterns, min_size=1, max_size=2),
    "namespaces": st.lists(_patterns, min_size=1, max_size=2),
    "annotations": st.dictionaries(_key_patterns, _value_patterns, max_size=1),
    "selector": _wild_selectors,
    "namespaceSelector": _wild_selectors,
}


@st.composite
def _resources(draw: st.DrawFn) -> dict[str, Any]:
    """Few demands: with many, hardly anything would ever match."""
    chosen = draw(st.lists(st.sampled_from(sorted(_demands)), max_size=2, unique=True))
    kinds = draw(st.just([]) | st.just(["Pod"]) | st.lists(_kind_patterns, max_size=2))
    return {"kinds": kinds} | {name: draw(_demands[name]) for name in chosen}


def _prepared(mode: str, many: list[dict[str, Any]]) -> filters.Filters:
    raw = {mode: [{"resources": one} for one in many]}
    return filters.prepared(msgspec.convert(raw, written_filters.Filters))


resources = _resources()
matches = st.builds(
    _prepared, st.sampled_from(["any", "all"]), st.lists(_resources(), min_size=1, max_size=3)
)
excludes = st.builds(_prepared, st.sampled_from(["any", "all"]), st.lists(_resources(), max_size=2))

_rules = st.fixed_dictionaries(
    {
        "apiGroups": st.lists(st.sampled_from(["", "*", "shop.example"]), min_size=1, max_size=2),
        "apiVersions": st.lists(st.sampled_from(["v1", "v2", "*"]), min_size=1, max_size=2),
        "resources": st.lists(
            st.sampled_from(["pods", "namespaces", "nodes", "widgets", "serviceaccounts", "*"]),
            min_size=1,
            max_size=2,
        ),
    },
    optional={
        "resourceNames": st.lists(_words, max_size=2),
        "scope": st.sampled_from(["Cluster", "Namespaced", "*"]),
        "operations": st.just(["DELETE"]),
    },
)
constrained = _some(
    resourceRules=st.lists(_rules, min_size=1, max_size=2),
    excludeResourceRules=st.lists(_rules, max_size=1),
    objectSelector=_selectors,
    namespaceSelector=_selectors,
    matchPolicy=st.sampled_from(["Exact", "Equivalent"]),
).map(lambda raw: constraints.prepared(msgspec.convert(raw, written_constraints.Constraints)))


def _metadata(resource: Resource) -> Iterator[Metadata]:
    values = (None, "", "1")
    for name, place, x, y in product(NAMES, PLACES if resource.namespaced else ("",), values, values):
        found = {key: value for key, value in (("x", x), ("y", y)) if value is not None}
        # Annotations differ from labels, so that neither is taken for the other.
        yield Metadata(name=name, namespace=place, labels=found or None, annotations={"x": y} if y else None)


# Small enough to be asked as a whole for every policy.
EVERYTHING = tuple((resource, metadata) for resource in KINDS for metadata in _metadata(resource))
namespaces = st.fixed_dictionaries(dict.fromkeys(PLACES, _labels))
