"""Whatever the text and whatever the value: an answer or one of our errors, in bounded time and memory."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skoupa.errors import BadExpression, ExpressionError, TooCostly
from skoupa.expr.jmespath import Context, Limits, compile  # noqa: A004 - as in re
from skoupa.expr.jmespath.functions import FUNCTIONS

pytestmark = pytest.mark.unit

SMALL = Context(now=1_700_000_000, limits=Limits(steps=20_000, output=200_000))

values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda children: st.one_of(st.lists(children), st.dictionaries(st.text(), children)),
    max_leaves=20,
)
words = st.sampled_from(
    [
        *(
            "a",
            "b",
            "@",
            "*",
            "[*]",
            "[]",
            "[0]",
            "[::2]",
            "[?",
            "]",
            "(",
            ")",
            "{",
            "}",
            ":",
            ",",
            ".",
            "|",
            "||",
            "&&",
        ),
        *(
            "!",
            "&",
            "==",
            "<",
            "'x'",
            "'",
            "`1`",
            "`",
            "`[1,2]`",
            '"a"',
            '"',
            "\\",
            " ",
            "1",
            "-",
            "null",
            "é",
            "\x00",
        ),
        *(f"{name}(" for name in FUNCTIONS),
    ]
)
texts = st.one_of(st.text(), st.lists(words, max_size=25).map("".join))

arguments = st.one_of(
    st.sampled_from(
        [
            *(
                "@",
                "a",
                "`null`",
                "`-1`",
                "`0`",
                "`1e308`",
                "`99999999999999999999`",
                "`[1, 2.5]`",
                '`["a", "b"]`',
                "`{}`",
            ),
            *(
                "''",
                "'a'",
                "'1h'",
                "'5Gi'",
                "'1.2.3'",
                "'2006-01-02'",
                "'2023-02-02T15:04:05Z'",
                "'*?'",
                "'[a-z]+$1'",
            ),
            *(
                "&a",
                "&@",
                "'>=1.x'",
                "'http://10.0.0.1'",
                "'\\'",
                "'a: &x [*x]'",
                "base64_decode('/w==')",
                "'%s'",
            ),
        ]
    ),
    st.text(alphabet="ab01.:-TZ{}[]()*+?^$|, ", max_size=12).map(lambda text: f"'{text}'"),
)
calls = st.sampled_from(sorted(FUNCTIONS)).flatmap(
    lambda name: st.lists(
        arguments, min_size=len(FUNCTIONS[name].parameters), max_size=len(FUNCTIONS[name].parameters)
    ).map(lambda given: f"{name}({', '.join(given)})")
)


def asked(text: str, value: Any) -> None:
    try:
        found = compile(text).search(value, SMALL)
    except ExpressionError:
        return
    assert _is_json(found)


@given(text=texts, value=values)
@settings(max_examples=100, deadline=None)
@example(text="a[" * 30, value=None)
@example(text="`" + "[" * 5000 + "`", value=None)
@example(text="(" * 9000, value=None)
@example(text="`1e999`", value=None)
@example(text="@`[]`", value=None)
@example(text="@'" + "x" * 100 + "'", value=None)
@example(text='"\\ud800"', value={})
def test_any_text_about_any_value_is_answered_or_refused(text: str, value: Any) -> None:
    asked(text, value)


@given(text=calls, value=values)
@settings(max_examples=200, deadline=None)
@example(text="to_string(@)", value=10**400)
@example(text="add(@, `1`)", value=10**400)
@example(text="pattern_match('1*', @)", value=10**5000)
@example(text="floor(@)", value=1e308)
def test_any_call_with_any_arguments_is_answered_or_refused(text: str, value: Any) -> None:
    asked(text, value)


DOUBLED = " | ".join(["[@, @]"] * 40)
NUMBERS = list(range(20_000))
TEXTS = ["value-" + "x" * 50] * 10_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (DOUBLED, 1),
        (f"{DOUBLED} | to_string(@)", 1),
        (f"[{DOUBLED}, {DOUBLED}] | [0] == [1]", 1),
        (" | ".join(["[@, @][]"] * 30), [1]),
        (" | ".join(["join('', [@, @])"] * 40), "x"),
        (" | ".join(["replace_all(@, '', @)"] * 5), "xxxxxxxxxx"),
        ("replace_all(@, '', @)", "x" * 100_000),
        (" | ".join(["multiply(@, @)"] * 20), 12345),
        ("[*][*][*]", [[[1] * 300] * 300] * 300),
        (f"[*].max(`{NUMBERS[:2000]}`)", NUMBERS),
        (f"[*].contains(`{NUMBERS[:2000]}`, @)", NUMBERS),
        ("[*].regex_replace_all('(a*)*b|a', @, '$1$1')", ["a" * 3000] * 5000),
        ("[*].regex_match('(a|a)*$', @)", ["a" * 10_000 + "b"] * 5000),
        ("[*].pattern_match('*a?*a?*a?*a?*b', @)", ["a" * 5000] * 5000),
        ("[*].time_add('2023-02-02T15:04:05Z', '1h')", NUMBERS),
        ("[*].random('((a{9}){9}){9}')", NUMBERS),
        ("[*].to_string(@)", [{"a": [1, 2, {"b": 3}]}] * 50_000),
        ("[*].{a: @, b: @, c: @}", NUMBERS),
        ("[*].sort(@)", [NUMBERS] * 100),
        ("[*].split(@, '')", TEXTS),
        ("parse_yaml(@)", "a: [" + "[" * 100_000),
        (
            "parse_yaml(@)",
            "x: &x0 [1]\n"
            + "\n".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9)}]" for n in range(1, 12)),
        ),
        ("parse_json(@)", "[" * 100_000),
        ("parse_json(@)", "[" + "{}," * 300_000 + "1]"),
        ("[*].parse_yaml('a: b')", NUMBERS),
    ],
    ids=lambda value: str(value)[:40],
)
def test_nothing_can_hang_or_fill_memory(text: str, value: Any) -> None:
    context = Context(now=0, chance=random.Random(1), limits=Limits(steps=500_000, output=4 * 2**20))
    begun = time.process_time()
    with pytest.raises(ExpressionError):
        compile(text).search(value, context)
    # The machine that runs this may be slow and busy; without the limits most of these would never end.
    assert time.process_time() - begun < 5


def test_the_limit_is_in_the_error() -> None:
    with pytest.raises(TooCostly, match="more than 100 steps"):
        compile("[*].a").search([{"a": 1}] * 200, Context(now=0, limits=Limits(steps=100)))
    with pytest.raises(TooCostly, match="more than 1,000 bytes"):
        compile("join('', @)").search(["x" * 2000], Context(now=0, limits=Limits(output=1000)))


def test_a_search_that_failed_leaves_the_next_one_its_own_fuel() -> None:
    expression = compile("[*].a")
    context = Context(now=0, limits=Limits(steps=100))
    with pytest.raises(TooCostly):
        expression.search([{"a": 1}] * 200, context)
    assert expression.search([{"a": 1}], context) == [1]


def test_a_value_that_is_nested_too_deeply_is_an_error() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    for text in ("to_string(@)", "[@]", "to_array(@)"):
        with pytest.raises(ExpressionError):
            compile(text).search(deep, Context(now=0))
    assert compile("@").search(deep, Context(now=0)) is deep
    assert compile("@ == [@]").search(deep, Context(now=0)) is False


@pytest.mark.parametrize(
    "text", ["a." * 20_000 + "a", " | ".join(["a"] * 200), "[" * 100 + "a" + "]" * 100, "!" * 500 + "a"]
)
def test_a_text_that_is_too_long_or_too_deep_is_refused(text: str) -> None:
    with pytest.raises(BadExpression):
        compile(text)


def _is_json(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str)
