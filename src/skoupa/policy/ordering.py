"""Equals and the comparisons by size, with Kyverno's typing rules.

Texts are tried as Go durations, then as quantities, then as numbers, then as versions; beside a duration a number
counts seconds, its fraction cut off. Equals is asked of the key: a text fits a pattern with wildcards, a number fits a
numeric text but not the other way round. What can't be compared is None. Numbers are exact where Kyverno rounds
to floats, and texts such as `Inf` or `0x10` are no numbers here.
"""

from __future__ import annotations

import functools
import math
import re
from typing import Any, Final

from skoupa.expr.golang import go_duration
from skoupa.expr.quantities import Quantity
from skoupa.expr.versions import Version
from skoupa.expr.wildcards import matches

LARGEST: Final = 300_000

_SECOND: Final = 10**9
_LONGEST: Final = 300
# Most texts are words: one look tells them from durations and quantities.
_BEGINNINGS: Final = frozenset("+-.0123456789")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_WHOLE: Final = re.compile(r"[+-]?[0-9]+")


def equal(key: Any, value: Any) -> bool | None:
    """None: the key is of a type that equals nothing and differs from nothing (null)."""
    if isinstance(key, bool):
        return isinstance(value, bool) and key == value
    if isinstance(key, int | float):
        other = number_of(value) if isinstance(value, str) else value
        return _is_number(other) and key == other
    if isinstance(key, str):
        return _text_equal(key, value)
    if isinstance(key, dict | list):
        return _same(key, value)
    return None


def order(key: Any, value: Any) -> int | None:
    """-1, 0 or 1: the key is less than, equal to, more than the value."""
    if _is_number(key):
        return _number_order(key, value)
    if not isinstance(key, str):
        return None
    lengths = _durations(key, value)
    if lengths is not None:
        return _sign(*lengths)
    if isinstance(value, str):
        amounts = quantity_of(key), quantity_of(value)
        if amounts[0] is not None and amounts[1] is not None:
            return _sign(*amounts)
    number = number_of(key)
    if number is not None:
        return _number_order(number, value)
    return _version_order(key, value)


def duration_order(key: Any, value: Any) -> int | None:
    """The same for the Duration* operators: durations and seconds only, and a bare 0 is a duration too."""
    lengths = [_seconds(side) if _is_number(side) else duration_of(side) for side in (key, value)]
    return None if None in lengths else _sign(*lengths)


def _text_equal(key: str, value: Any) -> bool:
    lengths = _durations(key, value)
    if lengths is not None:
        return lengths[0] == lengths[1]
    if not isinstance(value, str):
        return False
    amount = quantity_of(key)
    return matches(value, key) if amount is None else amount == quantity_of(value)


def _number_order(key: float, value: Any) -> int | None:
    if isinstance(value, str):
        lengths = _durations(key, value)
        if lengths is not None:
            return _sign(*lengths)
        value = number_of(value)
    return _sign(key, value) if _is_number(value) else None


def _version_order(key: str, value: Any) -> int | None:
    try:
        return _sign(Version.parse(key), Version.parse(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _durations(key: Any, value: Any) -> tuple[int, int] | None:
    """Nanoseconds of both, where at least one of them is written as a duration and the other is that or a number."""
    sides = [duration_of(side) if side != "0" else None for side in (key, value)]
    if sides == [None, None]:
        return None
    for index, side in enumerate((key, value)):
        if sides[index] is None and _is_number(side):
            sides[index] = _seconds(side)
    return None if sides[0] is None or sides[1] is None else (sides[0], sides[1])


def duration_of(text: Any) -> int | None:
    """Nanoseconds of what is written as a Go duration."""
    if not isinstance(text, str) or text[:1] not in _BEGINNINGS or len(text) > _LONGEST:
        return None
    found = go_duration(text)
    return found if isinstance(found, int) else None


def _seconds(number: float) -> int | None:
    if isinstance(number, float) and not math.isfinite(number):
        return None
    return math.trunc(number) * _SECOND


def quantity_of(text: str) -> Quantity | None:
    return _quantity(text) if text[:1] in _BEGINNINGS and len(text) <= _LONGEST else None


@functools.lru_cache(maxsize=1024)
def _quantity(text: str) -> Quantity | None:
    try:
        return Quantity.parse(text)
    except ValueError:
        return None


def number_of(text: str) -> float | None:
    if len(text) > _LONGEST or not _NUMBER.fullmatch(text):
        return None
    if _WHOLE.fullmatch(text):
        return int(text)
    number = float(text)
    return number if math.isfinite(number) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _sign(key: Any, value: Any) -> int | None:
    return -1 if key < value else 1 if key > value else 0 if key == value else None


def _same(key: Any, value: Any) -> bool:
    """Deeply equal, true and 1 apart. Without recursion, and a ValueError where that takes too long."""
    waiting = [(key, value)]
    seen = 0
    while waiting:
        mine, other = waiting.pop()
        seen += 1
        if seen > LARGEST:
            raise ValueError(f"values of more than {LARGEST:,} parts are too large to compare")
        if isinstance(mine, dict):
            if not isinstance(other, dict) or mine.keys() != other.keys():
                return False
            waiting += ((part, other[name]) for name, part in mine.items())
        elif isinstance(mine, list):
            if not isinstance(other, list) or len(mine) != len(other):
                return False
            waiting += zip(mine, other, strict=True)
        elif isinstance(mine, bool) != isinstance(other, bool) or mine != other:
            return False
    return True
