"""Conversions, times and format come to what cel-go makes of them, or to an error; never to another value.

`cel_go.jsonl` holds expressions with the values that cel-go 0.26.0 answered with the options and extensions that
Kubernetes 1.35 turns on, each written as CEL; null where cel-go refuses the expression or has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest

from tests.unit.expr.cel.asking import compiler, source

pytestmark = pytest.mark.unit

# Where there is an error here though cel-go has a value: each stands in docs/policies.md or is beyond use.
LESS_HERE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"%(\.[0-9]+)?e'\.format",
        r"^'%s'\.format\(\[type\(",
        r"^(string|'%s'\.format).*timestamp\(.*[+-](?!00:00)[0-9]{2}:[0-9]{2}['\"]\)",
        r"854775808(s|ns)",
        r'"Local"',
        r"^\{1:2, 1:3\}|^\{'a':1, 'a':2\}",
        r"^has\(.*\.\?a\.b\)$",
        r"ndexOf\('', 4\)$|lastIndexOf\('c', 9\)$",
    )
)


class Row(msgspec.Struct, frozen=True):
    expression: str
    value: str | None


def rows() -> list[Row]:
    file = Path(__file__).with_name("cel_go.jsonl")
    return msgspec.json.decode(b"[" + b",".join(file.read_bytes().splitlines()) + b"]", type=list[Row])


def holds(expression: str) -> bool | None:
    """None: it is refused, or an error."""
    made, world = compiler()
    program, _ = made.compile(source(expression))
    if program is None:
        return None
    result = program.judge(made.evaluator.Activation({"object": {}}), world=world)
    return None if result.error else result.matched


def differing(known: list[Row]) -> Iterator[str]:
    for row in known:
        if row.value is None:
            found = holds(f"[{row.expression}].size() == 1")
            if found is not None:
                yield f"{row.expression}: there is a value, and none in cel-go"
            continue
        same = "math.isNaN({0})" if row.value == "NaN" else "({0}) == {1}"
        found = holds(same.format(row.expression, row.value))
        less = any(pattern.search(row.expression) for pattern in LESS_HERE)
        if found is False or (found is None) != less:
            yield f"{row.expression}: {found}, expected {row.value}{' to be an error' if less else ''}"


def test_every_value_is_that_of_cel_go() -> None:
    known = rows()
    assert len(known) > 2500
    assert list(differing(known)) == []


def test_conversions_cost_no_steps_of_a_loop_and_nest() -> None:
    assert holds("lists.range(9000).all(x, int(dyn(string(x))) == x && string(double(x)) != '')")
    assert holds("int(" * 12 + "string(dyn('5'))" + ")" * 12 + " == 5")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("int(object.x)", "reads a text as a whole number that is none"),
        ("uint(object.x)", "reads a text as a whole number that is none"),
        ("double(object.x)", "reads a text as a number that is none"),
        ("bool(object.x)", "reads a text as true or false that is neither"),
        ("timestamp(object.x)", "reads a text as a timestamp that is none"),
        ("duration(object.x)", "reads a text as a duration that is none"),
    ],
)
def test_a_text_that_is_no_value_is_told_without_being_quoted(value: str, words: str) -> None:
    made, world = compiler()
    program, _ = made.compile(source(f"{value} == {value}"))
    assert program is not None
    activation = made.evaluator.Activation({"object": {"x": "s3cret"}})
    result = program.judge(activation, world=world)
    assert words in result.error
    assert "s3cret" not in result.error
