"""Standard semantics: the `jmespath` package is the judge, on generated expressions over values in which no key is missing."""

from __future__ import annotations

import json
from typing import Any

import jmespath as judge
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.jmespath import Context, compile  # noqa: A004 - as in re

pytestmark = pytest.mark.unit

CONTEXT = Context(now=0)
NAMES = ("a", "b", "c")


def objects(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries(dict.fromkeys(NAMES, children))


# Neither 0 nor 1: within lists the package takes them for false and true.
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(2, 4),
    st.sampled_from(["", "x", "y", "xy"]),
    st.sampled_from([0.5, 2.0]),
)
documents = objects(
    st.recursive(
        scalars, lambda children: st.one_of(st.lists(children, max_size=3), objects(children)), max_leaves=8
    )
)
literals = st.one_of(
    st.sampled_from(
        [
            "`2`",
            "`2.0`",
            "`null`",
            "`true`",
            "`false`",
            "`[]`",
            '`{"a": 2, "b": [], "c": null}`',
            "'x'",
            "''",
            "`[3, [2, null]]`",
        ]
    ),
    st.lists(st.integers(2, 4), max_size=3).map(lambda numbers: f"`{json.dumps(numbers)}`"),
)
names = st.sampled_from(NAMES)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, names).map(lambda pair: f"({pair[0]}).{pair[1]}"),
        st.tuples(inner, st.integers(-3, 3)).map(lambda pair: f"({pair[0]})[{pair[1]}]"),
        st.tuples(
            inner,
            # The pipe keeps a defect of the package out: to it, a slice right after an index is no projection.
            st.sampled_from(["[]", "[*]", " | @[1:]", " | @[::-1]", " | @[:2]", ".*"]),
            st.sampled_from(["", ".a", "[0]"]),
        ).map(lambda parts: f"(({parts[0]}){parts[1]}{parts[2]})"),
        two.map(lambda pair: f"({pair[0]})[?{pair[1]}]"),
        two.map(lambda pair: f"({pair[0]})[?{pair[1]}].b"),
        two.map(lambda pair: f"({pair[0]}) | ({pair[1]})"),
        two.map(lambda pair: f"({pair[0]}) || ({pair[1]})"),
        two.map(lambda pair: f"({pair[0]}) && ({pair[1]})"),
        two.map(lambda pair: f"[{pair[0]}, {pair[1]}]"),
        two.map(lambda pair: f"{{a: {pair[0]}, b: {pair[1]}, c: @}}"),
        st.tuples(two, st.sampled_from(["==", "!="])).map(
            lambda parts: f"({parts[0][0]}) {parts[1]} ({parts[0][1]})"
        ),
        inner.map(lambda one: f"!({one})"),
        inner.map(lambda one: f"type({one})"),
        inner.map(lambda one: f"to_array({one})"),
        two.map(lambda pair: f"not_null({pair[0]}, {pair[1]})"),
        inner.map(lambda one: f"map(&({one}), to_array(@))"),
    )


expressions = st.recursive(st.one_of(names, st.just("@"), literals), larger, max_leaves=8)


@given(text=expressions, document=documents)
@settings(max_examples=200, deadline=None)
def test_an_expression_answers_as_the_reference_does(text: str, document: Any) -> None:
    """All objects here, also those that expressions make, have all the keys that are asked for."""
    assert _shown(compile(text).search(document, CONTEXT)) == _shown(judge.search(text, document))


@pytest.mark.parametrize(
    ("text", "document", "expected"),
    [
        ("spec.[initContainers, containers][].image", None, ["redis", "busybox", "nginx"]),
        ("spec.containers[?name == 'nginx'].image | [0]", None, "nginx"),
        ("spec.containers[-1].name", None, "nginx"),
        ("length(spec.containers)", None, 2),
        ("`1` == `1.0`", None, True),
        ("`1` == `true`", None, False),
        ('`[1, {"a": true}]` == `[1.0, {"a": 1}]`', None, False),
        ("'a' < 'b'", None, None),
        ("`2` >= `1.5`", None, True),
        ("`true` > `false`", None, None),
        ("spec.containers[].name[0]", None, []),
        ("[[spec.containers]][0][0][0:].name", None, ["busybox", "nginx"]),
        ("([[spec.containers]][0][0][0:]).name", None, None),
        ("spec.* | [][].image", None, ["busybox", "nginx", "redis"]),
    ],
)
def test_documented_expressions(text: str, document: Any, expected: Any) -> None:
    pod = {
        "spec": {
            "containers": [{"name": "busybox", "image": "busybox"}, {"name": "nginx", "image": "nginx"}],
            "initContainers": [{"name": "redis", "image": "redis"}],
        }
    }
    assert compile(text).search(document or pod, CONTEXT) == expected


def _shown(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
