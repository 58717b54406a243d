"""The steps of an expression that ask nothing else: names, literals, positions, and slots.

Names that follow each other are walked in one go, since that is what nearly all expressions do for nearly all objects.
"""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa.errors import ExpressionError
from skoupa.expr.jmespath.reading import Node
from skoupa.expr.jmespath.running import Missing, Run, Step
from skoupa.expr.jmespath.slots import Part
from skoupa.expr.jmespath.values import text_of, whole_text


def identity(_: Node) -> Step:
    return lambda value, _: value


def literal(node: Node) -> Step:
    literal = node["value"]
    return lambda _value, _run: literal


def field(node: Node) -> Step:
    return path([node["value"]])


def path(keys: list[str], *, after: str = "") -> Step:
    """`after` is how the object of the first key was reached, for what is said when a key is not there."""
    before = [after] if after else []
    known = [(key, Missing(".".join(before + keys[: place + 1]), key)) for place, key in enumerate(keys)]

    def step(value: Any, _: Run) -> Any:
        for key, missing in known:
            if value.__class__ is not dict:
                return None
            value = value.get(key, missing)
            if value.__class__ is Missing:
                return value
        return value

    return step


def slot(node: Node) -> Step:
    """A literal that is filled in: text in quotes, or a whole JSON value in backticks."""
    what = node["value"]
    if isinstance(what, int):
        return lambda _, run: _json_slot(run.slots[what], run)
    return lambda _, run: _slot_text(what, run)


def slot_field(node: Node) -> Step:
    parts = node["value"]

    def step(value: Any, run: Run) -> Any:
        if value.__class__ is not dict:
            return None
        key = _slot_text(parts, run)
        return value.get(key, Missing(key, key))

    return step


def _slot_text(parts: list[Part], run: Run) -> str:
    texts = [part if isinstance(part, str) else text_of(run.slots[part], run) for part in parts]
    run.make(sum(map(len, texts)))
    return "".join(texts)


def _json_slot(value: Any, run: Run) -> Any:
    """A text between backticks is read as JSON, as any text there."""
    if not isinstance(value, str):
        return value
    run.spend(len(value) // 4)
    run.make(10 * len(value))
    try:
        return msgspec.json.decode(whole_text(value))
    except msgspec.DecodeError as error:
        raise ExpressionError(
            f"`{value[:40]}` is no JSON",
            expression=run.expression,
            advice="write the variable without backticks, or in single quotes where it is a text",
        ) from error


def index(node: Node) -> Step:
    at = node["value"]

    def step(value: Any, _: Run) -> Any:
        if value.__class__ is not list or not -len(value) <= at < len(value):
            return None
        return value[at]

    return step


def part(node: Node) -> Step:
    wanted = slice(*node["children"])

    def step(value: Any, run: Run) -> Any:
        if value.__class__ is not list:
            return None
        run.make_elements(len(value))
        return value[wanted]

    return step
