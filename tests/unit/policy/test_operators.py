"""The 14 operators. Rows of golden/operators.jsonl: where it comes from (a test of Kyverno), operator, key, value, result."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import BadExpression, TooCostly
from skoupa.policy.operators import OPERATORS, canonical, holds

pytestmark = pytest.mark.unit

GOLDEN = Path(__file__).parent / "golden" / "operators.jsonl"
ROWS: list[tuple[str, str, Any, Any, bool]] = [
    msgspec.json.decode(line, type=tuple[str, str, Any, Any, bool])
    for line in GOLDEN.read_bytes().splitlines()
]
IN_FAMILY = ("AnyIn", "AllIn", "AnyNotIn", "AllNotIn")
SIZES = ("GreaterThan", "GreaterThanOrEquals", "LessThan", "LessThanOrEquals")


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_operator_answers_as_kyvernos_own_tests_say(operator: str) -> None:
    rows = [row for row in ROWS if row[1] == operator]
    assert rows, "every operator has rows"
    assert [row for row in rows if holds(operator, row[2], row[3]) is not row[4]] == []


def test_every_row_of_the_table_is_about_one_of_the_fourteen() -> None:
    assert {row[1] for row in ROWS} == set(OPERATORS)
    assert len(OPERATORS) == 14


@pytest.mark.parametrize(
    ("operator", "key", "value", "result", "source"),
    [
        # Equals: durations first, then quantities, then wildcards with the value as the pattern
        ("Equals", "60m", "1h", True, "facts"),
        ("Equals", "1Gi", "1024Mi", True, "facts"),
        ("Equals", "5", "*", False, "facts"),
        ("Equals", "web-1", "web-*", True, "facts"),
        ("Equals", "web-*", "web-1", False, "facts"),
        ("Equals", 2.0, 2, True, "facts"),
        ("Equals", 5, "5", True, "facts"),
        ("Equals", 5, "5.0", True, "source"),
        ("Equals", "5", 5, False, "source"),
        ("Equals", 3600, "1h", False, "source"),
        ("Equals", "1h", 3600, True, "source"),
        ("Equals", "1h", 3600.9, True, "source"),
        ("Equals", {"a": [1, {"b": None}]}, {"a": [1.0, {"b": None}]}, True, "facts"),
        ("Equals", [1, 2], [2, 1], False, "facts"),
        ("Equals", [True], [1], False, "source"),
        ("Equals", True, "true", False, "source"),
        ("Equals", True, 1, False, "source"),
        ("Equals", None, None, False, "source"),
        ("NotEquals", None, "x", False, "source"),
        ("NotEquals", {}, 5, True, "brief"),
        ("Equals", {}, 5, False, "brief"),
        ("GreaterThan", {}, 5, False, "brief"),
        ("AnyIn", {}, 5, False, "brief"),
        ("AllNotIn", {"a": 1}, ["b"], False, "source"),
        # a suffix alone is a word
        ("Equals", "M", "k", False, "documented"),
        ("Equals", "M", "M", True, "documented"),
        # sizes: duration, quantity, number, version
        ("GreaterThan", "2h", "90m", True, "facts"),
        ("GreaterThan", "1Gi", "1000M", True, "facts"),
        ("GreaterThan", "1.10.0", "1.9.0", True, "facts"),
        ("GreaterThan", "1.0.0", "1.0.0-rc.1", True, "facts"),
        ("GreaterThan", "90", "1m", True, "source"),
        ("GreaterThan", 1.9, "1.5s", False, "source"),
        ("LessThan", "0", "1h", True, "source"),
        ("LessThan", "0", 5, True, "source"),
        ("GreaterThan", "1h", "5", False, "source"),
        ("LessThan", "1h", "5", False, "source"),
        ("GreaterThan", True, 0, False, "source"),
        ("LessThan", "abc", "abd", False, "source"),
        ("GreaterThan", 9007199254740993, 9007199254740992, True, "own"),
        ("GreaterThan", "Inf", 5, False, "own"),
        ("GreaterThan", 5, None, False, "source"),
        # Duration*: plain numbers are seconds, no days or weeks
        ("DurationGreaterThan", "2h", 3600, True, "facts"),
        ("DurationLessThan", 30, "1m", True, "facts"),
        ("DurationGreaterThan", "2d", "1h", False, "facts"),
        ("DurationLessThan", "1h", "2d", False, "facts"),
        ("DurationGreaterThanOrEquals", "0", 0, True, "source"),
        ("DurationGreaterThan", "5", "1s", False, "source"),
        # the In family: texts, wildcards on either side, JSON lists, ranges
        ("AnyIn", 5, ["5"], True, "facts"),
        ("AnyIn", 1000000, ["1000000"], True, "own"),
        ("AnyIn", True, ["true"], True, "facts"),
        ("AnyIn", "web-*", ["web-1"], True, "facts"),
        ("AnyIn", "b", '["a", "b"]', True, "facts"),
        ("AnyNotIn", "c", '["a", "b"]', True, "facts"),
        ("AnyIn", "5", "[1, 5]", False, "source"),
        ("AnyNotIn", "7", "5", False, "source"),
        ("AnyIn", 5, 5, False, "source"),
        ("AnyIn", [5, 6], 5, True, "source"),
        ("AllIn", [5], 5, False, "source"),
        ("AllIn", [], ["a"], True, "source"),
        ("AnyIn", [], ["a"], False, "source"),
        ("AnyNotIn", [], ["a"], False, "source"),
        ("AllNotIn", [], ["a"], True, "source"),
        ("AnyIn", [{"a": 1}], ["map[a:1]"], True, "source"),
        ("AnyIn", [None], ["<nil>"], True, "source"),
        ("AnyIn", [["a", "b"]], ["[a b]"], True, "source"),
        ("AllIn", ["2024-01-01"], "2024-01-01", True, "source"),
        ("AnyNotIn", ["x", "2024-01-01"], "2024-01-01", True, "source"),
    ],
)
def test_the_typing_rules(operator: str, key: Any, value: Any, result: bool, source: str) -> None:  # noqa: FBT001 - a column
    assert holds(operator, key, value) is result, source


@pytest.mark.parametrize(
    ("text", "inside", "outside", "source"),
    [
        ("1-10", [1, "5", 10, 9.99], [0, "11", 10.01], "evaluate_test"),
        ("-5-10", [-5, 0, 10], [-6, 11], "operator"),
        ("0.5-1.5", ["500m", 1, 1.5], ["499m", 2], "pattern"),
        ("1Mi-2Gi", ["1Mi", "1024Ki", "1500M", 2147483648], ["1M", "3Gi", 1], "pattern"),
        ("100m-2", ["100m", "1500m", 2], ["99m", "2001m"], "pattern"),
        ("1h-2h", ["1h", "90m", "7200s"], ["59m", "2h1s"], "pattern"),
        ("10-1", [], [5, 0, 11], "pattern"),
    ],
)
def test_a_range_includes_both_its_ends(
    text: str, inside: list[Any], outside: list[Any], source: str
) -> None:
    for key in inside:
        assert holds("AnyIn", key, text), (key, source)
        assert holds("AllIn", [key], text), (key, source)
        assert not holds("AllNotIn", key, text), (key, source)
        assert not holds("AnyNotIn", [key], text), (key, source)
    for key in outside:
        assert not holds("AnyIn", key, text), (key, source)
        assert holds("AnyNotIn", key, text), (key, source)
        assert holds("AnyNotIn", [key], text), (key, source)
        assert holds("AllNotIn", [key], text), (key, source)


@pytest.mark.parametrize("text", ["!1-10", "1!-10"])
def test_a_negated_range_has_what_lies_outside(text: str) -> None:
    assert holds("AnyIn", 11, text)
    assert holds("AllIn", [0, 11], text)
    assert not holds("AnyIn", [1, 10], text)
    assert holds("AllNotIn", [1, 10], text)
    assert holds("AnyNotIn", [5, 11], text)
    assert not holds("AnyNotIn", [0, 11], text)


def test_a_word_is_neither_in_a_range_nor_outside() -> None:
    assert not holds("AnyIn", ["word"], "1-10")
    assert not holds("AnyNotIn", ["word"], "1-10")
    assert holds("AnyNotIn", "word", "1-10")


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_name_may_be_written_in_any_case(operator: str) -> None:
    for name in (operator.lower(), operator.upper(), operator.swapcase()):
        assert canonical(name) == operator
        for _, row_operator, key, value, result in ROWS:
            if row_operator == operator:
                assert holds(name, key, value) is result


@pytest.mark.parametrize("name", ["", "Is", "Equals ", "GreaterThen", "\u0130n"])
def test_an_unknown_operator_is_refused_with_the_fourteen(name: str) -> None:
    with pytest.raises(BadExpression) as refused:
        holds(name, 1, 1)
    assert all(operator in str(refused.value) for operator in OPERATORS)


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("Equal", "Equals"),
        ("NotEqual", "NotEquals"),
        ("In", "AnyIn or AllIn"),
        ("notin", "AnyNotIn or AllNotIn"),
    ],
)
def test_an_old_name_is_refused_with_the_new_one(name: str, instead: str) -> None:
    with pytest.raises(BadExpression, match=f"write {instead}"):
        holds(name, 1, 1)


texts = st.text(max_size=20) | st.sampled_from(
    [
        "1h",
        "5m",
        "0",
        "1-10",
        "!1-10",
        "1Gi",
        "1.2.3",
        "*",
        "?",
        "a*",
        '["a"]',
        "[1]",
        "null",
        "1e3",
        "NaN",
        "\ud800",
    ]
)
scalars = st.none() | st.booleans() | st.integers() | st.floats() | texts
json = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(json, json)
@settings(max_examples=300)
def test_any_json_can_be_compared_with_any_json(key: Any, value: Any) -> None:
    answers = {operator: holds(operator, key, value) for operator in OPERATORS}
    assert set(map(type, answers.values())) == {bool}
    if key is not None:
        assert answers["Equals"] is not answers["NotEquals"]
    for family in ("", "Duration"):
        greater, less = answers[f"{family}GreaterThan"], answers[f"{family}LessThan"]
        assert not (greater and less)
        assert answers[f"{family}GreaterThanOrEquals"] or not greater
        assert answers[f"{family}LessThanOrEquals"] or not less
    assert not (answers["AllIn"] and answers["AnyNotIn"])
    assert not (answers["AnyIn"] and answers["AllNotIn"])


@given(st.lists(json, max_size=4), st.integers() | st.floats())
def test_a_map_or_list_beside_a_number_is_unequal_and_nothing_else(key: Any, value: Any) -> None:
    for container in (key, {"a": key}):
        assert not holds("Equals", container, value)
        assert holds("NotEquals", container, value)
        assert not any(holds(operator, container, value) for operator in SIZES)


@given(json)
def test_a_value_equals_itself_unless_it_is_nothing(value: Any) -> None:
    copy = msgspec.json.decode(msgspec.json.encode(_without_oddities(value)))
    clean = _without_oddities(value)
    if isinstance(clean, dict | list | bool | int | float):
        assert holds("Equals", clean, copy)


def _without_oddities(value: Any) -> Any:
    """What JSON can carry: no lone surrogates, no infinities, integers of 64 bits."""
    if isinstance(value, dict):
        return {_without_oddities(name): _without_oddities(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_without_oddities(part) for part in value]
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, float) and not abs(value) < 1e300:
        return 0.5
    return value % 2**31 if isinstance(value, int) and not isinstance(value, bool) else value


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value, {"a": value}] if levels < 100 else [value]
    return value


BAD: dict[str, Any] = {
    "a long text": "a" * 1_000_000,
    "a long duration": "1h" * 300_000,
    "a long number": "9" * 1_000_000,
    "a long fraction": "1." + "3" * 1_000_000,
    "a huge integer": 10**20_000,
    "an infinity": float("inf"),
    "no number": float("nan"),
    "stars": "*a" * 100_000,
    "question marks": "*" + "?" * 100_000 + "b*",
    "deep": _deep(20_000),
    "deep JSON": "[" * 100_000 + "]" * 100_000,
    "shared parts": _deep(60),
    "many patterns": [f"*{number}?x*" for number in range(3_000)],
    "many texts": [f"text-{number}" for number in range(3_000)],
    "a long JSON list": "[" + ",".join(['"a"'] * 200_000) + "]",
    "a range of long ends": "1" * 100_000 + "-" + "2" * 100_000,
    "dashes": "1-" * 300_000,
}


def _answered(operator: str, key: Any, value: Any) -> None:
    try:
        assert holds(operator, key, value) in {True, False}
    except TooCostly as error:
        assert error.advice  # noqa: PT017 - either outcome is right, neither may hang


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_answered_soon_or_refused_as_too_costly(name: str) -> None:
    started = time.process_time()
    for operator in OPERATORS:
        for key, value in ((BAD[name], BAD[name]), (BAD[name], "1-x?*"), (["1h", 2], BAD[name])):
            _answered(operator, key, value)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("many texts", "many patterns"),
        ("many patterns", "a long JSON list"),
        ("a long text", "question marks"),
        ("many texts", "stars"),
        ("deep", "shared parts"),
        ("a long number", "a range of long ends"),
    ],
)
def test_bad_input_beside_bad_input_is_answered_soon_or_refused(key: str, value: str) -> None:
    started = time.process_time()
    for operator in ("AnyIn", "Equals", "LessThan"):
        _answered(operator, BAD[key], BAD[value])
    assert time.process_time() - started < 20


def test_a_refusal_names_the_operator_and_what_is_too_large() -> None:
    with pytest.raises(
        TooCostly, match="AnyIn: both lists are too long to compare each text with each pattern"
    ):
        holds("anyin", BAD["many texts"], BAD["many patterns"])
    with pytest.raises(TooCostly, match="Equals: values of more than 300,000 parts are too large to compare"):
        holds("Equals", BAD["shared parts"], _deep(60))
