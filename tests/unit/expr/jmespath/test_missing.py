"""Where a missing key is an error and where it is null, as in Kyverno's fork of go-jmespath (95e59c1)."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.errors import Unresolved
from skoupa.expr.jmespath import Context, compile  # noqa: A004 - as in re

pytestmark = pytest.mark.unit

CONTEXT = Context(now=0)
POD: dict[str, Any] = {
    "target": {
        "metadata": {"name": "web", "labels": {"app": "shop"}, "note": None},
        "spec": {"containers": [{"name": "a", "image": "nginx"}, {"name": "b"}]},
    }
}


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("target.spec.nodeName", "target.spec.nodeName"),
        ("nothing", "nothing"),
        ("nothing.at.all", "nothing"),
        ("target.status.phase", "target.status"),
        ('target.metadata."no such"', "target.metadata.no such"),
        ("target.metadata.annotations[0]", "target.metadata.annotations"),
        ("target.spec.containers[1].image", "target.spec.containers[1].image"),
        ("target.metadata && target.spec.nodeName", "target.spec.nodeName"),
        ("(target.spec.nodeName)", "target.spec.nodeName"),
    ],
)
def test_a_missing_key_is_an_error_that_names_it(text: str, missing: str) -> None:
    with pytest.raises(Unresolved, match=r"is not there: write a default .* \|\| ''") as error:
        compile(text).search(POD, CONTEXT)
    assert error.value.reason == f"{missing} is not there"
    assert error.value.expression == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("target.spec.nodeName || ''", ""),
        ("target.spec.nodeName || target.spec.other", None),
        ("target.spec.nodeName || target.metadata.name", "web"),
        ("nothing && target.metadata.name", None),
        ("!nothing", True),
        ("!(target.spec.nodeName)", True),
        ("target.spec.nodeName == `null`", True),
        ("target.spec.nodeName == 'x'", False),
        ("target.spec.nodeName != 'x'", True),
        ("target.spec.nodeName > `1`", None),
        ("target.spec.nodeName == null", True),
        ("target.spec.nodeName | @", None),
        ("target.metadata | nothing", None),
        ("target.spec.nodeName | length(@ || '')", 0),
        ("type(target.spec.nodeName)", "null"),
        ("not_null(target.spec.nodeName, target.metadata.name)", "web"),
        ("target.spec.containers[].image", ["nginx"]),
        ("target.spec.containers[*].image", ["nginx"]),
        ("target.spec.containers[:].image", ["nginx"]),
        ("target.spec.containers[?image].name", ["a"]),
        ("target.spec.containers[?image == 'nginx' && name == 'a'].name", ["a"]),
        ("target.spec.containers[?nothing]", []),
        ("target.spec.volumes[]", None),
        ("target.spec.volumes[*].name", None),
        ("target.spec.volumes[?name]", None),
        ("target.status.*", None),
        ("target.spec.volumes[0:1]", None),
        ("target.*.name", ["web"]),
        ("target.[spec.nodeName, metadata.name]", [None, "web"]),
        ("target.{node: spec.nodeName, name: metadata.name}", {"node": None, "name": "web"}),
        ("map(&image, target.spec.containers)", ["nginx", None]),
    ],
)
def test_absence_is_null_where_absence_is_expected(text: str, expected: Any) -> None:
    assert compile(text).search(POD, CONTEXT) == expected


@pytest.mark.parametrize(
    "text",
    [
        "target.metadata.note",
        "target.metadata.note.more",
        "target.metadata.name.more",
        "target.spec.containers.name",
        "target.spec.containers[7]",
        "target.spec.containers[7].image",
        "target.metadata[0]",
    ],
)
def test_a_key_of_what_is_no_object_is_null(text: str) -> None:
    assert compile(text).search(POD, CONTEXT) is None


def test_an_error_inside_a_projection_is_an_error() -> None:
    """Kyverno swallows every error of what stands before `[]`, `[?]` and `.*`, and goes on with null."""
    with pytest.raises(Exception, match="parse_json"):
        compile("parse_json('{')[].name").search(POD, CONTEXT)
