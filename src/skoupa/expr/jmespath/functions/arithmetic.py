"""Kyverno's arithmetic over numbers, quantities (`512Mi`, `500m`, also `'13'`) and Go durations (`1h30m`).

A text is a quantity if it can be one, else a duration: `'5m'` is five thousandths, `'5m0s'` five minutes. What can be
combined with what is a table; the rest is an error that names both. Numbers are 64-bit floats as in Kyverno; a result
out of range is an error, never a wrapped or infinite number. Quantities are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, Final

import msgspec

from skoupa.expr.golang import duration_text, go_duration
from skoupa.expr.jmespath.functions.signature import Anything, Function, Items, Number, declare
from skoupa.expr.jmespath.jsontypes import Type, type_of
from skoupa.expr.jmespath.running import Run
from skoupa.expr.jmespath.values import decimal, number
from skoupa.expr.quantities import Family, Quantity
from skoupa.expr.readings import quoted

_SECOND: Final = 10**9
_LONGEST: Final = 2**63
_MOST_PLACES: Final = 300
# Quantities are exact, and not fast.
_COST: Final = 150


class Duration(msgspec.Struct, frozen=True):
    nanoseconds: int

    @property
    def seconds(self) -> float:
        whole, rest = divmod(abs(self.nanoseconds), _SECOND)
        return math.copysign(whole + rest / _SECOND, self.nanoseconds)


Operand = float | Quantity | Duration
_NAMES: Final = {float: "a number", Quantity: "a quantity", Duration: "a duration"}


def add(_: Run, one: Anything, other: Anything) -> Anything:
    return _combined(_SUMS, one, other)


def sum_(run: Run, elements: Items) -> Anything:
    run.spend(4 * len(elements))
    if not elements:
        raise ValueError("there is nothing to add: the array is empty; filter for that, or add a zero to it")
    if all(type_of(element) is Type.NUMBER for element in elements):
        return number(sum(map(decimal, elements)))
    run.spend(_COST * len(elements))
    _operand(elements[0])
    return reduce(lambda total, element: _combined(_SUMS, total, element), elements)


def subtract(_: Run, one: Anything, other: Anything) -> Anything:
    return _combined(_DIFFERENCES, one, other)


def multiply(_: Run, one: Anything, other: Anything) -> Anything:
    return _combined(_PRODUCTS, one, other)


def divide(_: Run, one: Anything, other: Anything) -> Anything:
    return _combined(_QUOTIENTS, one, other)


def modulo(_: Run, one: Anything, other: Anything) -> Anything:
    return _combined(_REMAINDERS, one, other)


def round_(_: Run, value: Number, places: Number) -> Number:
    if places != int(places) or not 0 <= places <= _MOST_PLACES:
        raise ValueError(f"places is a whole number from 0 to {_MOST_PLACES}, not {places}")
    shift = 10.0 ** int(places)
    shifted = decimal(value) * shift
    if not math.isfinite(shifted):
        return number(decimal(value))
    whole = math.trunc(shifted)
    if abs(shifted - whole) >= 0.5:
        whole += 1 if shifted > 0 else -1
    return number(whole / shift)


def _combined(table: _Table, one: Any, other: Any) -> Any:
    left, right = _operand(one), _operand(other)
    combine = table.get((type(left), type(right)))
    if combine is None:
        raise ValueError(
            f"{_shown(one, left)} and {_shown(other, right)} do not go together; "
            "write a number in backticks, a quantity or a duration in quotes"
        )
    return _plain(combine(left, right))


def _operand(value: Any) -> Operand:
    if type_of(value) is Type.NUMBER:
        return decimal(value)
    if isinstance(value, str):
        try:
            return Quantity.parse(value)
        except ValueError:
            found = go_duration(value)
            if isinstance(found, int):
                return Duration(found)
    shown = quoted(value) if isinstance(value, str) else type_of(value).words
    raise ValueError(f"{shown} is no number, no quantity like '512Mi' and no duration like '1h30m'")


def _plain(result: Operand) -> Any:
    if isinstance(result, Quantity):
        return str(result)
    if isinstance(result, Duration):
        if not -_LONGEST <= result.nanoseconds < _LONGEST:
            raise ValueError("the result is longer than a duration can be, some 292 years")
        return duration_text(result.nanoseconds)
    return number(result)


def _shown(value: Any, operand: Operand) -> str:
    text = quoted(value) if isinstance(value, str) else str(value)
    return f"{text} ({_NAMES[type(operand)]})"


def _from_seconds(seconds: float) -> Duration:
    if not math.isfinite(seconds):
        raise ValueError("the result is longer than a duration can be, some 292 years")
    return Duration(int(seconds * _SECOND))


def _factor(value: float) -> Decimal:
    """A number as Kyverno takes it beside a quantity: rounded up to a nano, with the decimals that it is written with."""
    quantity = Quantity.parse(str(int(value)) if value.is_integer() else repr(value))
    return Decimal(int(quantity.amount * 10**quantity.places)).scaleb(-quantity.places)


def _shared(one: Quantity, other: float) -> Quantity:
    """A quotient keeps as many decimals as the longer of the two; binary quantities with decimals have nine."""
    if one.family is Family.BINARY and one.places:
        one = Quantity(one.amount, one.family, 9)
    return one.shared(_factor(_nonzero(other)))


def _nonzero(divisor: float) -> float:
    if not divisor:
        raise ValueError("nothing can be divided by zero")
    return divisor


def _remainder(one: int, other: int) -> int:
    """Of the sign of the first, as in Go."""
    rest = abs(one) % abs(int(_nonzero(other)))
    return -rest if one < 0 else rest


def _whole(value: float) -> int:
    if not value.is_integer():
        raise ValueError(f"a remainder is taken of whole numbers, not of {value}")
    return int(value)


def _quantity_remainder(one: Quantity, other: Quantity) -> Quantity:
    return Quantity(Fraction(_remainder(one.as_int, other.as_int)), one.family)


_Table = dict[tuple[type[Any], type[Any]], Callable[[Any, Any], Operand]]
_SUMS: Final[_Table] = {
    (float, float): lambda one, other: one + other,
    (Quantity, Quantity): lambda one, other: one + other,
    (Duration, Duration): lambda one, other: Duration(one.nanoseconds + other.nanoseconds),
}
_DIFFERENCES: Final[_Table] = {
    (float, float): lambda one, other: one - other,
    (Quantity, Quantity): lambda one, other: one - other,
    (Duration, Duration): lambda one, other: Duration(one.nanoseconds - other.nanoseconds),
}
_PRODUCTS: Final[_Table] = {
    (float, float): lambda one, other: one * other,
    (Quantity, float): lambda one, other: one.times(_factor(other)),
    (float, Quantity): lambda one, other: other.times(_factor(one)),
    (Duration, float): lambda one, other: _from_seconds(one.seconds * other),
    (float, Duration): lambda one, other: _from_seconds(other.seconds * one),
}
_QUOTIENTS: Final[_Table] = {
    (float, float): lambda one, other: one / _nonzero(other),
    (Quantity, Quantity): lambda one, other: float(one.over(other)),
    (Quantity, float): _shared,
    (Duration, Duration): lambda one, other: one.seconds / _nonzero(other.seconds),
    (Duration, float): lambda one, other: _from_seconds(one.seconds / _nonzero(other)),
}
_REMAINDERS: Final[_Table] = {
    (float, float): lambda one, other: float(_remainder(_whole(one), _whole(other))),
    (Quantity, Quantity): _quantity_remainder,
    (Duration, Duration): lambda one, other: Duration(_remainder(one.nanoseconds, other.nanoseconds)),
}

FUNCTIONS: Final[tuple[Function, ...]] = (
    declare(add, cost=_COST),
    declare(sum_, "sum"),
    declare(subtract, cost=_COST),
    declare(multiply, cost=_COST),
    declare(divide, cost=_COST),
    declare(modulo, cost=_COST),
    declare(round_, "round"),
)
