"""Everything that is wrong with a part of an object at once, and what is left of it to look at."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.errors import UsageError
from skoupa.kinds.policies.cleanup import CleanupSpec
from skoupa.kinds.policies.deleting import NamedExpression
from skoupa.kinds.policies.filters import Filters
from skoupa.kinds.reading import read, read_field_partly, read_partly

pytestmark = pytest.mark.unit


def told(value: Any, shape: Any = Filters) -> list[str]:
    return [error.message for error in read_partly(value, shape, where="spec").errors]


def test_every_error_is_told_and_the_rest_can_be_looked_at_in_its_place() -> None:
    written = {
        "any": [
            {"resources": {"kind": ["Pod"], "nmes": ["a"], "namespaces": ["shop"]}},
            "x",
            {"resources": {"kinds": "Pod", "names": ["a", 5]}, "roles": ["r"]},
        ],
        "al": [],
    }
    partly = read_partly(written, Filters, where="spec.match")
    assert [error.message for error in partly.errors] == [
        'spec.match.any[0].resources: there is no field "kind"',
        'spec.match.any[0].resources: there is no field "nmes"',
        'spec.match.any[1]: "x" is not an object with fields',
        'spec.match.any[2].resources.kinds: "Pod" is not a list',
        "spec.match.any[2].resources.names[1]: 5 is not a text",
        'spec.match: there is no field "al"',
    ]
    assert partly.value.any[0].resources.namespaces == ("shop",)
    assert partly.value.any[2].roles == ("r",)
    assert partly.wrong["spec.match.any[0].resources"] == {"kind", "nmes", "namespaces"}
    assert written["al"] == [], "what was written is left as it is"


def test_a_field_that_is_only_misspelt_is_not_missing_too() -> None:
    assert told({"name": "a", "expresion": "true"}, NamedExpression) == [
        'spec: there is no field "expresion"'
    ]
    assert told({"name": "a", "x": 1}, NamedExpression) == [
        'spec: there is no field "x"',
        "spec.expression is missing",
    ]


def test_every_value_that_is_no_text_is_told_with_its_key_or_number() -> None:
    resources = {
        "names": [1, "a", True, None, [2]],
        "annotations": {"fine": "x", "seen": False},
        "selector": {"matchLabels": {"canremove": True, "team": "blue", "example.org/tier": 2}},
        "kinds": ["Pod", 3],
    }
    partly = read_partly({"any": [{"resources": resources}]}, Filters, where="spec.match")
    place = "spec.match.any[0].resources"
    assert sorted(error.message for error in partly.errors) == [
        f"{place}.annotations.seen: false is not a text",
        f"{place}.kinds[1]: 3 is not a text",
        f"{place}.names[0]: 1 is not a text",
        f"{place}.names[2]: true is not a text",
        f"{place}.names[3]: null is not a text",
        f"{place}.names[4]: [2] is not a text",
        f"{place}.selector.matchLabels.canremove: true is not a text",
        f"{place}.selector.matchLabels[example.org/tier]: 2 is not a text",
    ]
    assert {error.advice for error in partly.errors} == {
        'put it into quotes: "1"',
        'put it into quotes: "2"',
        'put it into quotes: "3"',
        "put it into quotes: without them YAML reads y, n, yes, no, on and off as true or false",
        "write a text",
    }
    left = partly.value.any[0].resources
    assert (left.names[1], left.annotations) == ("a", {"fine": "x"})
    assert left.selector.match_labels == {"team": "blue"}


def test_what_is_nothing_of_the_kind_leaves_nothing() -> None:
    partly = read_partly("x", Filters, where="spec")
    assert partly.value is None
    assert len(partly.errors) == 1


def test_what_is_nested_too_deeply_to_be_copied_is_still_told() -> None:
    deep: Any = "x"
    for _ in range(700):
        deep = [deep]
    partly = read_field_partly(
        [{"name": "a", "variable": {"value": deep}, "x": 1}], CleanupSpec, "context", where="spec.context"
    )
    assert partly.value is None
    assert [error.message for error in partly.errors] == ['spec.context[0]: there is no field "x"']


def test_errors_beyond_what_anybody_mends_at_a_time_are_not_looked_for() -> None:
    assert len(told({f"k{number}": 1 for number in range(5000)})) == 20


KEYS = st.sampled_from(
    ["any", "all", "resources", "kinds", "names", "subjects", "selector", "matchLabels", "kind", "name", "x"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from(["match", "context", "schedule", "conditions"]))
def test_it_errs_exactly_where_reading_does_and_ends(value: Any, field: str) -> None:
    partly = read_field_partly(value, CleanupSpec, field, where="spec")
    hint = msgspec.structs.fields(CleanupSpec)
    shape = next(one.type for one in hint if one.encode_name == field)
    if not partly.errors:
        assert partly.value == read(value, shape, where="spec")
        return
    with pytest.raises(UsageError) as raised:
        read(value, shape, where="spec")
    assert str(raised.value) == str(partly.errors[0])
