"""Mistakes that no value can heal are found when an expression is compiled, and the error says what to write."""

from __future__ import annotations

import pytest

from skoupa.errors import BadExpression
from skoupa.expr.jmespath import compile  # noqa: A004 - as in re

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "reason", "advice"),
    [
        ("", "there is no expression", "target.metadata.name"),
        ("  ", "there is no expression", "target.metadata.name"),
        ("a.", "it ends too early", ""),
        ("length(a", "it ends too early", ""),
        ("a b", "'b' is not expected (at character 3 of 3)", ""),
        ("a['b']", "'b' is not expected", ""),
        ("a ? b", "Unknown token ?", ""),
        ("'open", "Unclosed ' delimiter", ""),
        ("`text`", "`text` is no JSON (at character 1 of 6)", "write a text as 'text' and a number as `1`"),
        ("`NaN`", "`NaN` is no JSON", ""),
        # policies#1490: accepted by Kyverno, after which the policy never ran
        (
            "time_since(target.metadata.creationTimestamp)",
            "time_since takes three arguments, not 1",
            "write time_since(layout, start, end)",
        ),
        ("time_now('UTC')", "time_now takes no arguments, not 1", "write time_now()"),
        ("not_null()", "not_null takes at least one argument, not none", "write not_null(values, …)"),
        (
            "time_sinse('', a, '')",
            "there is no function time_sinse",
            "did you mean time_since(layout, start, end)",
        ),
        ("zzyzx(a)", "there is no function zzyzx", "no function has a name like it"),
        (
            "truncate(a, '5')",
            "argument 2 of truncate(text, length) is a number, not a string",
            "write a number in backticks: `5`",
        ),
        (
            "to_upper(`5`)",
            "argument 1 of to_upper(text) is a string, not a number",
            "write a text in quotes: '5'",
        ),
        (
            "length(a == b)",
            "argument 1 of length(subject) is a string or an array or an object, not a boolean",
            "",
        ),
        ("to_upper(split(a, ','))", "is a string, not an array", "write to_upper(text)"),
        ('sort(`[1, "a"]`)', "is an array of numbers or an array of strings, not an array", ""),
        ("sort_by(a, b.c[])", "argument 2 of sort_by(elements, by) is an expression like &name", ""),
        ("&a", "has no value of its own", "leave out the &"),
        ("[&a]", "has no value of its own", ""),
        ("a[::0]", "steps of 0", "write [start:stop:1]"),
        ("regex_match('(', a)", 'regex_match: "(" is no regular expression', ""),
        ("semver_compare(a, 'new')", 'semver_compare: "new"', ">=1.0.0 <2.0.0"),
        ("time_add(a, '1d')", 'time_add: "1d" is no duration', "no d"),
        ("time_before(a, 'tomorrow')", 'the time "tomorrow" is not written like', ""),
        ("random('(?i)a')", "no text can be made from '(?'", ""),
    ],
)
def test_a_mistake_is_told_with_what_to_write(text: str, reason: str, advice: str) -> None:
    with pytest.raises(BadExpression) as refused:
        compile(text)
    assert reason in refused.value.reason
    assert advice in str(refused.value)
    assert refused.value.expression == text


@pytest.mark.parametrize(
    "text",
    [
        "length(a)",
        "length(a || '')",
        "to_upper(a && b)",
        "to_upper(@)",
        "sum(a[].b)",
        "sum([a, b])",
        "join(',', a[*].b)",
        "join(',', split(a, '/'))",
        "sort_by(a, &b)",
        "max_by(a, &to_number(b))",
        "truncate(a, length(b))",
        "lookup(a, to_string(b))",
        "add(a, '5Gi')",
        "parse_json(a).b[0]",
        "not_null(a, b, c, `1`)",
        "regex_match(a, b)",
    ],
)
def test_what_can_work_for_some_value_compiles(text: str) -> None:
    assert compile(text).text == text


def test_the_same_text_is_compiled_once() -> None:
    assert compile("a.b.c") is compile("a.b.c")


def test_an_expression_knows_which_functions_it_calls_and_whether_they_change() -> None:
    known = compile("map(&to_upper(name), a) | [0]")
    assert known.functions == {"map", "to_upper"}
    assert not known.changing
    assert compile("time_since('', a, '')").changing
    assert compile("a || random('x')").changing
