"""Conditions of a CleanupPolicy as CEL, where the fourteen operators and their typing rules can be said in it.

Each is exact, or errs on the side of staying: where Kyverno reads a text as a number, a quantity or a duration and CEL would not, the
CEL does not hold. What could make CEL hold where the original does not is Unsaid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.expr.wildcards import has_wildcard
from skoupa.policy.converting.keys import Key, read_key
from skoupa.policy.converting.wording import (
    FALSE,
    TRUE,
    Unsaid,
    every,
    fits,
    in_order,
    literal,
    negated,
    some,
    within,
)
from skoupa.policy.operators import canonical, holds
from skoupa.policy.ordering import duration_of, number_of, quantity_of

_SIGNS: Final = {
    "GreaterThanOrEquals": ">=",
    "GreaterThan": ">",
    "LessThanOrEquals": "<=",
    "LessThan": "<",
}
_SIZES: Final = {
    "GreaterThanOrEquals": "!quantity({0}).isLessThan(quantity({1}))",
    "GreaterThan": "quantity({0}).isGreaterThan(quantity({1}))",
    "LessThanOrEquals": "!quantity({0}).isGreaterThan(quantity({1}))",
    "LessThan": "quantity({0}).isLessThan(quantity({1}))",
}
_SAME_SIZE: Final = "quantity({0}).compareTo(quantity({1})) == 0"
_DURATION: Final = "Duration"
_MEMBERSHIP: Final = frozenset({"AnyIn", "AllIn", "AnyNotIn", "AllNotIn"})
# What `||` in JMESPath takes for nothing.
_EMPTY: Final[tuple[Any, ...]] = (None, "", False, [], {})
_NOTHING: Final = '[null, "", false, [], {}]'
_DIGITS: Final = frozenset("+-.0123456789")
_BEGINS_AS_A_NUMBER: Final = "^[-+]?[.0-9]"


def conditions(comparisons: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Expressions by name. An Unsaid names the condition that it is about."""
    for index, one in enumerate(comparisons.get("all") or ()):
        yield f"all-{index}", _said(one, f"conditions.all[{index}]")
    found = [_said(one, f"conditions.any[{index}]") for index, one in enumerate(comparisons.get("any") or ())]
    if found:
        yield "any", in_order(found)


def _said(one: Mapping[str, Any], place: str) -> str:
    try:
        return comparison(one)
    except Unsaid as unsaid:
        raise Unsaid(f"{place}: {unsaid}") from unsaid


def comparison(one: Mapping[str, Any]) -> str:
    key, operator, value = read_key(one.get("key")), canonical(str(one.get("operator", ""))), one.get("value")
    if _has_variables(value):
        raise Unsaid("its value has variables")

    def test(cel: str) -> str:
        return _test(msgspec.structs.replace(key, cel=cel), operator, value)

    if key.default is msgspec.UNSET:
        return test(key.cel)
    return _or_default(key, operator, value, test)


def _or_default(key: Key, operator: str, value: Any, test: Callable[[str], str]) -> str:
    """The default stands for what is absent, and for what is empty."""
    empty = {"text": ("",), "list": ([],)}.get(key.sort, _EMPTY)
    otherwise = holds(operator, key.default, value)
    alike = all(holds(operator, each, value) == otherwise for each in empty)
    sized = operator.removeprefix(_DURATION) in _SIGNS
    # A default of another sort than the value would be compared as what it is not.
    fitting = not sized if key.sort == "any" else isinstance(key.default, str if key.sort == "text" else list)
    if alike and fitting:
        return test(_dynamic(key, f"{key.optional}.orValue({literal(key.default)})"))
    there = f"{key.optional}.orValue(null)"
    asked = within(test(_dynamic(key, f"{key.optional}.value()")))
    return f"{there} in {_NOTHING} ? {TRUE if otherwise else FALSE} : {asked}"


def _dynamic(key: Key, cel: str) -> str:
    """What is asked for in brackets is of the default's type to CEL, which then takes no other, and it may be anything."""
    plain = key.sort == "text" and isinstance(key.default, str)
    return f"dyn({cel})" if key.optional.endswith("]") and not plain else cel


def _test(key: Key, operator: str, value: Any) -> str:
    if key.sort == "duration":
        return _compared_durations(key, operator, value)
    if operator in {"Equals", "NotEquals"}:
        same = _equal(key, value, negative=operator == "NotEquals")
        return same if operator == "Equals" else _differs(key, same)
    if operator in _MEMBERSHIP:
        return _among(key, operator, value)
    return _ordered(key, operator, value)


def _equal(key: Key, value: Any, *, negative: bool) -> str:
    if value is None:
        raise Unsaid("it compares with null, which never holds")
    if key.sort == "list" and not isinstance(value, list):
        raise Unsaid("it compares a list with something else, which never holds")
    if isinstance(value, str) and key.sort != "truth":
        return _text_equal(key, value)
    if key.sort == "truth" and not isinstance(value, bool):
        raise Unsaid("it compares what is true or false with something else, which never holds")
    if isinstance(value, bool) or not isinstance(value, int | float):
        if key.sort == "number":
            raise Unsaid("it compares a number with something else, which never holds")
        # What has a text for its default is one to CEL, which compares that with texts alone.
        cel = f"dyn({key.cel})" if isinstance(key.default, str) and key.sort == "text" else key.cel
        return f"{cel} == {literal(value)}"
    if key.sort == "text":
        raise Unsaid("it compares a text with a number: write the number in quotes")
    if key.sort == "number" and isinstance(value, float):
        raise Unsaid("it compares a count with a fraction")
    if key.sort == "any" and negative:
        # Texts such as 5s are compared with numbers; those stay.
        return some([f"type({key.cel}) == string", f"{key.cel} == {literal(value)}"])
    return f"{key.cel} == {literal(value)}"


def _differs(key: Key, same: str) -> str:
    """Null differs from nothing; what should be a list and is none is flattened to null."""
    if key.sort == "list":
        return every([f"type({key.cel}) == list", negated(same)])
    return negated(same) if key.sort != "any" else every([f"{key.cel} != null", negated(same)])


def _text_equal(key: Key, value: str) -> str:
    if key.sort == "number":
        return f"{key.cel} == {literal(_count(value))}"
    if value != "0" and duration_of(value) == 0:
        # A plain 0 is a quantity to the original, and a duration to CEL.
        raise Unsaid(f"{literal(value)} is no time at all, and a plain 0 may not be meant")
    if value != "0" and duration_of(value) is not None:
        same = every([_like_a_duration(key.cel), f"duration({key.cel}) == duration({literal(value)})"])
        return same if key.sort == "text" else every([f"type({key.cel}) == string", same])
    if quantity_of(value) is not None:
        return _as_amounts(key, value, size=_SAME_SIZE, sign="==")
    if not has_wildcard(value):
        return f"{key.cel} == {literal(value)}"
    tests = [fits(key.cel, value)]
    if value[0] in "*?" or value[0] in _DIGITS:
        # A text that is a quantity is compared as one, and fits no pattern.
        tests.append(f"!isQuantity({key.cel})")
    return every(tests if key.sort == "text" else [f"type({key.cel}) == string", *tests])


def _as_amounts(key: Key, value: str, *, size: str, sign: str) -> str:
    """Texts that are quantities are compared as those; a number with a text only where that is one."""
    amounts = every([f"isQuantity({key.cel})", size.format(key.cel, literal(value))])
    if key.sort == "text":
        return amounts
    number = number_of(value)
    if number is None:
        return every([f"type({key.cel}) == string", amounts])
    return f"type({key.cel}) == string ? {within(amounts)} : {key.cel} {sign} {literal(number)}"


def _count(value: str) -> int:
    if not value.isdecimal() or not value.isascii():
        raise Unsaid(
            f"{literal(value)} is no whole number, so that no count is equal to it or can be compared with it"
        )
    return int(value)


def _among(key: Key, operator: str, value: Any) -> str:
    texts = _texts(value)

    def member(cel: str) -> str:
        return _member(cel, texts, key=key, without=operator.endswith("NotIn"))

    if key.sort == "text":
        return member(key.cel)
    macro = "exists" if operator.startswith("Any") else "all"
    each = f"{key.cel}.{macro}(e, {member('e')})"
    if key.sort == "list":
        return every([f"type({key.cel}) == list", each])
    alone = within(member(key.cel))
    return alone if key.sort in {"number", "truth"} else f"type({key.cel}) == list ? {each} : {alone}"


def _member(cel: str, texts: list[str], *, key: Key, without: bool) -> str:
    """A number with a fraction is written differently in CEL: such an object stays."""
    text = cel if key.sort == "text" else f"string({cel})"
    plain = [each for each in texts if not has_wildcard(each)]
    found = some(
        [
            *([f"{text} in {literal(plain)}"] if plain else ()),
            *(fits(text, each) for each in texts if has_wildcard(each)),
        ]
    )
    tests = [negated(found) if without else within(found)]
    if without and not key.tame:
        # A key with wildcards in it is a pattern for the others.
        tests += (f'!{text}.contains("{wildcard}")' for wildcard in "*?")
    said = every(tests)
    if said == FALSE and cel == key.cel:
        # What is not there has no answer, whatever the answer would be.
        return f"[{cel}] == []"
    if key.sort != "text":
        return every([f"type({cel}) in [string, int, bool]", said])
    # The same of what holds for every text.
    return f"size({text}) >= 0" if said == TRUE else said


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | int) for each in values) or isinstance(value, bool | int):
        raise Unsaid("its value is no list of texts")
    texts = [each if isinstance(each, str) else literal(each) for each in values]
    if isinstance(value, str) and (value[:1] in _DIGITS | {"!", "[", "{", '"', " "} or _is_json_word(value)):
        raise Unsaid("its value may be a range or a list: write a list")
    return texts


def _is_json_word(text: str) -> bool:
    return text.strip() in {"null", "true", "false", ""}


def _ordered(key: Key, operator: str, value: Any) -> str:
    if operator.startswith(_DURATION):
        return _of_texts(key, operator.removeprefix(_DURATION), value)
    sizeless = isinstance(value, bool) or value is None or isinstance(value, list | dict)
    if sizeless or key.sort in {"truth", "list"}:
        raise Unsaid("it compares by size what has none, so that it never holds")
    if isinstance(value, int | float):
        if key.sort == "text":
            raise Unsaid("it compares a text with a number")
        # A text has no size in CEL: that object stays.
        return f"{key.cel} {_SIGNS[operator]} {literal(value)}"
    if duration_of(value) is not None and value != "0":
        return _of_texts(key, operator, value)
    if key.sort == "number":
        return f"{key.cel} {_SIGNS[operator]} {literal(_count(value))}"
    if quantity_of(value) is not None:
        return _as_amounts(key, value, size=_SIZES[operator], sign=_SIGNS[operator])
    raise Unsaid(f"{literal(value)} is compared as a version")


def _of_texts(key: Key, operator: str, value: Any) -> str:
    if key.sort not in {"any", "text"} or not isinstance(value, str):
        raise Unsaid("it compares durations with numbers")
    if duration_of(value) is None or quantity_of(value) is not None:
        raise Unsaid(f"{literal(value)} may be a duration or a quantity")
    text = key.cel if key.sort == "text" else f"string({key.cel})"
    return every([_like_a_duration(text), f"duration({text}) {_SIGNS[operator]} duration({literal(value)})"])


def _like_a_duration(text: str) -> str:
    """What does not begin as a number is no duration for Kyverno, and an error for CEL. Of what does and is none CEL says so: it stays."""
    return f"{text}.matches({literal(_BEGINS_AS_A_NUMBER)})"


def _compared_durations(key: Key, operator: str, value: Any) -> str:
    sign = _SIGNS.get(operator.removeprefix(_DURATION))
    if sign is None:
        raise Unsaid("an age is compared with more and less only")
    if isinstance(value, int) and not isinstance(value, bool):
        return f'{key.cel} {sign} duration("{value}s")'
    if not isinstance(value, str) or duration_of(value) is None or value == "0":
        raise Unsaid(f"{literal(value)} is no duration: the units are h, m and s")
    return f"{key.cel} {sign} duration({literal(value)})"


def _has_variables(value: Any) -> bool:
    if isinstance(value, str):
        return "{{" in value
    if isinstance(value, list):
        return any(map(_has_variables, value))
    return isinstance(value, dict) and any(
        _has_variables(name) or _has_variables(item) for name, item in value.items()
    )
