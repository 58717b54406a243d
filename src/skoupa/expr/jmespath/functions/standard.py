"""The functions of standard JMESPath (all but `sum`, which Kyverno widens: see `arithmetic`).

Where the specification leaves order open, that of the document is kept, so that the same value always gives the same
answer. What no function answers is an error in words; nothing is converted silently.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, Final

from skoupa.expr.jmespath.functions.signature import (
    Anything,
    By,
    Function,
    Items,
    Measurable,
    Members,
    Number,
    Numbers,
    Ordered,
    Text,
    TextOrItems,
    Texts,
    Truth,
    declare,
)
from skoupa.expr.jmespath.jsontypes import Type, name_of, type_of
from skoupa.expr.jmespath.running import Lambda, Run
from skoupa.expr.jmespath.values import decimal, equal, json_text, number

_BETWEEN_DIGITS: Final = re.compile(r"(?<=[0-9])_(?=[0-9])")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def abs_(_: Run, value: Number) -> Number:
    return abs(value)


def avg(_: Run, elements: Numbers) -> Anything:
    return number(math.fsum(map(decimal, elements)) / len(elements)) if elements else None


def ceil(_: Run, value: Number) -> Number:
    return math.ceil(value)


def contains(run: Run, subject: TextOrItems, search: Anything) -> Truth:
    if isinstance(subject, str):
        return isinstance(search, str) and search in subject
    return any(equal(item, search, run) for item in subject)


def ends_with(_: Run, subject: Text, suffix: Text) -> Truth:
    return subject.endswith(suffix)


def floor(_: Run, value: Number) -> Number:
    return math.floor(value)


def join(run: Run, glue: Text, texts: Texts) -> Text:
    run.make(sum(map(len, texts)) + len(glue) * len(texts))
    return glue.join(texts)


def keys(run: Run, members: Members) -> Items:
    run.make_elements(len(members))
    return list(members)


def length(_: Run, subject: Measurable) -> Number:
    return len(subject)


def map_(run: Run, by: By, elements: Items) -> Items:
    run.make_elements(len(elements))
    return [run.ask(by, element) for element in elements]


def max_(_: Run, elements: Ordered) -> Anything:
    return max(elements, default=None)


def max_by(run: Run, elements: Items, by: By) -> Anything:
    return _extreme(run, elements, by, max)


def merge(run: Run, *objects: Members) -> Members:
    merged: dict[str, Any] = {}
    for members in objects:
        run.make_members(len(members))
        merged.update(members)
    return merged


def min_(_: Run, elements: Ordered) -> Anything:
    return min(elements, default=None)


def min_by(run: Run, elements: Items, by: By) -> Anything:
    return _extreme(run, elements, by, min)


def not_null(_: Run, *values: Anything) -> Anything:
    return next((value for value in values if value is not None), None)


def reverse(run: Run, subject: TextOrItems) -> TextOrItems:
    run.make_elements(len(subject))
    return subject[::-1]


def sort(run: Run, elements: Ordered) -> Items:
    run.make_elements(len(elements))
    run.spend(4 * len(elements))
    return sorted(elements)


def sort_by(run: Run, elements: Items, by: By) -> Items:
    if len(elements) < 2:
        return elements
    run.make_elements(len(elements))
    keyed = _keys(run, elements, by)
    run.spend(4 * len(elements))
    order = sorted(range(len(elements)), key=keyed.__getitem__)
    return [elements[at] for at in order]


def starts_with(_: Run, subject: Text, prefix: Text) -> Truth:
    return subject.startswith(prefix)


def to_array(_: Run, value: Anything) -> Items:
    return value if isinstance(value, list) else [value]


def to_number(_: Run, value: Anything) -> Anything:
    if isinstance(value, str):
        # Go takes 1_000 for a thousand.
        value = _BETWEEN_DIGITS.sub("", value) if "_" in value else value
        if len(value) > 400 or not _NUMBER.fullmatch(value):
            return None
        try:
            return int(value) if value.lstrip("+-").isdigit() and len(value) < 300 else number(float(value))
        except ValueError:
            return None
    return value if type_of(value) is Type.NUMBER else None


def to_string(run: Run, value: Anything) -> Text:
    return value if isinstance(value, str) else json_text(value, run)


def type_(_: Run, value: Anything) -> Text:
    return name_of(value)


def values(run: Run, members: Members) -> Items:
    run.make_elements(len(members))
    return list(members.values())


def _extreme(run: Run, elements: list[Any], by: Lambda, choose: Callable[..., int]) -> Any:
    if len(elements) < 2:
        return elements[0] if elements else None
    keyed = _keys(run, elements, by)
    return elements[choose(range(len(elements)), key=keyed.__getitem__)]


def _keys(run: Run, elements: list[Any], by: Lambda) -> list[Any]:
    found = [run.ask(by, element) for element in elements]
    kinds = {type_of(key) for key in found}
    if kinds not in ({Type.NUMBER}, {Type.STRING}):
        named = ", ".join(sorted({name_of(key) for key in found}))
        raise ValueError(
            f"elements are ordered by numbers or by strings, all of the same type, not by {named}"
        )
    return found


FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(abs_, "abs"),
    declare(avg),
    declare(ceil),
    declare(contains),
    declare(ends_with),
    declare(floor),
    declare(join),
    declare(keys),
    declare(length),
    declare(map_, "map"),
    declare(max_, "max"),
    declare(max_by),
    declare(merge),
    declare(min_, "min"),
    declare(min_by),
    declare(not_null),
    declare(reverse),
    declare(sort),
    declare(sort_by),
    declare(starts_with),
    declare(to_array),
    declare(to_number),
    declare(to_string),
    declare(type_, "type"),
    declare(values),
)
