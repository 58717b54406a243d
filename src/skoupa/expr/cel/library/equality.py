"""Equality and order as CEL has them, for the functions that are written in Python.

Numbers are equal across int, uint and double; a bool is never a number; NaN equals nothing. Order exists within
numbers, strings, bytes, bools, timestamps and durations, and between nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from skoupa.expr.cel.library.tagged import described

_NUMBER = "number"


def key(value: Any) -> object:
    """Something that can be hashed, and is equal exactly where the values are."""
    if value is None or isinstance(value, bool):
        return type(value), value
    if isinstance(value, int | float):
        return object() if math.isnan(value) else (_NUMBER, value)
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, list):
        return tuple(key(item) for item in value)
    if isinstance(value, Mapping):
        return frozenset((key(name), key(item)) for name, item in value.items())
    return type(value), value


def equal(left: Any, right: Any) -> bool:
    return key(left) == key(right)


def ordered(values: list[Any]) -> list[Any]:
    """Keys that Python sorts as CEL orders the values; a ValueError where they can't be compared."""
    classes = {_order_class(value) for value in values}
    if len(classes) > 1:
        raise ValueError(
            f"the list mixes {' and '.join(sorted(classes))}, which have no order among each other"
        )
    return [bytes(value) if isinstance(value, bytearray) else value for value in values]


def _order_class(value: Any) -> str:
    if isinstance(value, bool):
        return "bools"
    if isinstance(value, int | float):
        return "numbers"
    if isinstance(value, str):
        return "strings"
    if isinstance(value, bytes | bytearray):
        return "bytes"
    if isinstance(value, datetime):
        return "timestamps"
    if isinstance(value, timedelta):
        return "durations"
    raise ValueError(
        f"{described(value)} can't be compared: only numbers, strings, bytes, bools and times can"
    )
