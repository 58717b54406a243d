"""What an expression looks at, so that a run can ask for metadata only; when in doubt, more."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import ExpressionError
from skoupa.expr.jmespath import Context, compile  # noqa: A004 - as in re

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("target.metadata.name", {"target.metadata.name"}),
        ("target.metadata.labels.app || ''", {"target.metadata.labels.app"}),
        ("target.metadata.labels || target.spec", {"target.metadata.labels", "target.spec"}),
        ("(target.metadata || target.spec).name", {"target.metadata", "target.spec.name"}),
        ("target | metadata.name", {"target.metadata.name"}),
        ("target.[metadata.name, kind]", {"target.metadata.name", "target.kind"}),
        ("target.{a: metadata.name}.a", {"target.metadata.name"}),
        ("target.metadata.ownerReferences[0].kind", {"target.metadata.ownerReferences"}),
        ("target.metadata.ownerReferences[?kind == 'Job'].name", {"target.metadata.ownerReferences"}),
        ("target.metadata.finalizers[]", {"target.metadata.finalizers"}),
        ("length(target.metadata.labels)", {"target.metadata.labels"}),
        ("time_since('', target.metadata.creationTimestamp, '')", {"target.metadata.creationTimestamp"}),
        ("sort_by(pods, &metadata.name)[0].spec", {"pods"}),
        ("target.metadata", {"target.metadata"}),
        ("target.*.name", {"target"}),
        ("target.metadata.name == request.name", {"target.metadata.name", "request.name"}),
        ("target && target.metadata.name", {"target"}),
        ("to_string(@)", {""}),
        ("*", {""}),
        ("@", {""}),
        ("`1`", set()),
        ("time_now()", set()),
        ("!(target.spec.paused)", {"target.spec.paused"}),
        ("map(&metadata.name, target.items)", {"target.items"}),
    ],
)
def test_an_expression_says_what_it_looks_at(text: str, paths: set[str]) -> None:
    assert {".".join(path) for path in compile(text).paths} == paths


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("target.metadata.name", {"metadata"}),
        ("target.metadata.name || target.spec.x", {"metadata", "spec"}),
        ("target", None),
        ("@.target.metadata", {"metadata"}),
        ("@ | to_string(@)", None),
        ("request.name", set()),
        ("skoupa_unused(target) && skoupa_used_by(target)", {"metadata"}),
        ("skoupa_finished(target)", None),
    ],
)
def test_parts_of_a_root(text: str, parts: set[str] | None) -> None:
    assert compile(text).parts("target") == parts


names = st.sampled_from(["metadata", "spec", "name", "labels"])
pieces = st.one_of(
    st.lists(names, min_size=1, max_size=3).map(lambda keys: "target." + ".".join(keys)),
    st.sampled_from(
        [
            "target",
            "@",
            "`1`",
            "request.name",
            "target.spec[*].name",
            "target.* | [0]",
            "target.metadata | labels",
        ]
    ),
)
expressions = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) || ({pair[1]})"),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}) && ({pair[1]})"),
        st.tuples(inner, names).map(lambda pair: f"({pair[0]}).{pair[1]}"),
        st.tuples(inner, names).map(lambda pair: f"({pair[0]}) | {pair[1]}"),
        st.tuples(inner, inner).map(lambda pair: f"[{pair[0]}, {pair[1]}]"),
        inner.map(lambda one: f"to_string({one})"),
        inner.map(lambda one: f"({one})[0]"),
        inner.map(lambda one: f"({one}).*"),
    ),
    max_leaves=6,
)
values = st.recursive(
    st.one_of(st.none(), st.integers(0, 2), st.just("x")),
    lambda children: st.one_of(st.lists(children, max_size=2), st.dictionaries(names, children, max_size=3)),
    max_leaves=8,
)


@given(text=expressions, metadata=values, spec=values)
@settings(max_examples=200, deadline=None)
def test_what_is_not_looked_at_makes_no_difference(text: str, metadata: Any, spec: Any) -> None:
    """Leaving out the parts that an expression does not name changes neither its answer nor its error."""
    whole = {"target": {"metadata": metadata, "spec": spec}, "request": {"name": "n"}}
    parts = compile(text).parts("target")
    if parts is None:
        return
    less = {**whole, "target": {key: value for key, value in whole["target"].items() if key in parts}}
    assert _outcome(text, less) == _outcome(text, whole)


def _outcome(text: str, value: Any) -> Any:
    try:
        return compile(text).search(value, Context(now=0))
    except ExpressionError as error:
        return str(error)
