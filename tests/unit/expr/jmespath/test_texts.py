"""Texts between JSON, YAML, bytes and Go: what is published elsewhere, and what must survive a round trip."""

from __future__ import annotations

import base64
import hashlib
import json
import random
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import ExpressionError
from skoupa.expr.jmespath import Context, compile  # noqa: A004 - as in re

pytestmark = pytest.mark.unit


def answer(text: str, value: Any = None) -> Any:
    return compile(text).search(value, Context(now=0, chance=random.Random(3)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # what sigs.k8s.io/yaml 1.4.0 answers
        ("yes", True),
        ("off", False),
        ("y", True),
        ("017", 15),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("1:30", "1:30"),
        ("2020-01-01", "2020-01-01"),
        ("'1'", "1"),
        ("!!str 1", "1"),
        ("!!int 1", 1),
        ("1e3", 1000.0),
        (".5", 0.5),
        (
            "{1: a, true: b, 1.5: c, 1e3: d, 1e10: e}",
            {"1": "a", "true": "b", "1.5": "c", "1000": "d", "1e+10": "e"},
        ),
        ("! 1", "1"),
        ("!!binary aGk=", "hi"),
        ("1e400", "1e400"),
        ("0888", 888.0),
        ("190:20:30", "190:20:30"),
        ("x: &m {a: 1, b: 2}\nz:\n  <<: *m\n  b: 3", {"x": {"a": 1, "b": 2}, "z": {"a": 1, "b": 3}}),
        ("x: &m {a: 1, b: 2}\nz:\n  b: 3\n  <<: *m", {"x": {"a": 1, "b": 2}, "z": {"a": 1, "b": 2}}),
        ("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2", {"a": {"b": 1}, "c": {"b": 1, "d": 2}}),
        ("<<: [{a: 1, b: 1}, {b: 2, c: 2}]\nc: 3", {"a": 1, "b": 1, "c": 3}),
        ("- &x a\n- *x", ["a", "a"]),
        ("a\n---\nb", "a"),
        ("", None),
        ('"\\u00e9"', "é"),
    ],
)
def test_yaml_is_read_as_kubernetes_reads_it(text: str, expected: Any) -> None:
    found = answer("parse_yaml(@)", text)
    assert (found, type(found)) == (expected, type(expected))


@pytest.mark.parametrize(
    "text",
    [
        ".inf",
        ".nan",
        "!!binary ?",
        "!!set {a}",
        "!thing x",
        "&a [*a]",
        "*b",
        "? [a]\n: b",
        "a: b: c",
        "<<: 1",
    ],
)
def test_yaml_that_json_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(ExpressionError, match="parse_yaml"):
        answer("parse_yaml(@)", text)


documents = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-(2**60), 2**60), st.text(alphabet="ab:-{}[]#&*!|>'\"% \n01é")
    ),
    lambda children: st.one_of(
        st.lists(children), st.dictionaries(st.text(alphabet="ab c1", min_size=1), children)
    ),
    max_leaves=10,
)


@given(document=documents)
@settings(max_examples=100, deadline=None)
def test_what_yaml_and_json_write_is_read_back(document: Any) -> None:
    assert answer("parse_yaml(@)", json.dumps(document)) == document
    assert answer("parse_json(@)", json.dumps(document)) == document
    assert answer("parse_json(to_string(@))", [document]) == [document]


@given(texts=st.lists(st.text(), max_size=4))
@settings(max_examples=50, deadline=None)
def test_a_list_of_plain_texts_survives_yaml(texts: list[str]) -> None:
    kept = [text for text in texts if text.isprintable()]
    assert answer("parse_yaml(@)", yaml.safe_dump(kept, default_style="'", allow_unicode=True)) == kept


@given(data=st.binary(max_size=40))
@settings(max_examples=100, deadline=None)
def test_bytes_survive_decoding(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert answer("base64_encode(base64_decode(@))", text) == text
    assert answer("sha256(base64_decode(@))", text) == hashlib.sha256(data).hexdigest()


def test_bytes_that_are_no_text_leave_as_replacement_characters() -> None:
    assert answer("base64_decode('/2E=')") == "\ufffda"
    assert answer("[base64_decode('/2E=')]", {}) == ["\ufffda"]
    assert answer("[*].base64_decode(@)", ["/2E="]) == ["\ufffda"]
    assert answer("to_string([base64_decode('/2E=')])", {}) == '["\\ufffda"]'


@pytest.mark.parametrize(
    "pattern",
    [
        "[a-z0-9]{8}",
        "(cat|dog)s?",
        "x*y+z?",
        "a{2,5}b{3,}",
        "[^a-z]",
        "[[:alpha:]_]{3}-\\d+",
        "^\\w[.-]\\s$",
        "(?:a|(?P<n>b)){4}",
        "[]a-]+",
        ".{3}\\.",
        "[0-9]{5}-[A-Z][a-f]*?",
    ],
)
def test_random_makes_what_its_pattern_matches(pattern: str) -> None:
    anchored = f"^(?s:{pattern})$".replace("'", "\\'")
    made = {answer(f"random('{pattern}')") for _ in range(3)} | {
        compile(f"random('{pattern}')").search(None, Context(now=0, chance=random.Random(seed)))
        for seed in range(30)
    }
    for text in made:
        assert compile(f"regex_match('{anchored}', @)").search(text, Context(now=0)), text
    assert len(made) > 1


def test_random_is_the_contexts() -> None:
    expression = compile("random('[a-z]{20}')")
    one, other = (expression.search(None, Context(now=0, chance=random.Random(5))) for _ in range(2))
    assert one == other
    with pytest.raises(ExpressionError, match="nothing may be random here"):
        expression.search(None, Context(now=0))


def test_letters_change_one_by_one_as_in_go() -> None:
    assert answer("to_upper('straße é')") == "STRAßE É"
    assert answer("to_lower('\u03a3A\u03a3')") == "\u03c3a\u03c3"
    assert answer("equal_fold('STRASSE', 'straße')") is False
    assert answer("equal_fold('É', 'é')") is True
    assert answer("equal_fold('\u212a', 'k')") is True


def test_a_version_that_is_none_is_an_error_and_not_the_oldest_of_all() -> None:
    with pytest.raises(ExpressionError, match='semver_compare: "latest" is no version'):
        answer("semver_compare(@, '<1.0.0')", "latest")


def test_what_leaves_range_is_an_error() -> None:
    for text in (
        "multiply(`1e308`, `10`)",
        "multiply('2000000h', `10000`)",
        "add('2562047h', '2562047h')",
        "divide(`1`, `1e-320`)",
    ):
        with pytest.raises(ExpressionError):
            answer(text)
