"""Kubernetes' quantity library, and the comparisons that quantities and versions share.

A quantity is a whole number however it is written: `1000m` is one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

from skoupa.expr.cel.library.declaring import TYPES, function, method
from skoupa.expr.cel.library.tagged import tag_of, tagged, untagged
from skoupa.expr.cel.library.versions import SEMVER, version_of
from skoupa.expr.quantities import Quantity, is_quantity
from skoupa.expr.versions import Version

QUANTITY: Final = TYPES["Quantity"]
_LARGEST: Final = 2**63 - 1


def quantity(text: str) -> dict[str, Any]:
    return _tagged(Quantity.parse(text).amount)


def _tagged(amount: Fraction) -> dict[str, Any]:
    return tagged(QUANTITY, str(amount))


def _amount(value: object) -> Fraction:
    if isinstance(value, int):
        return Fraction(value)
    return Fraction(untagged(QUANTITY, value))


def _is_integer(value: object) -> bool:
    amount = _amount(value)
    return amount.denominator == 1 and -_LARGEST - 1 <= amount <= _LARGEST


def _as_integer(value: object) -> int:
    amount = _amount(value)
    if not _is_integer(value):
        raise ValueError(
            f"the quantity {Quantity(amount)} is no whole number of 64 bits: ask isInteger() first"
        )
    return amount.numerator


def _sign(value: object) -> int:
    amount = _amount(value)
    return (amount > 0) - (amount < 0)


def _compare(left: object, right: object) -> int:
    """-1, 0 or 1, for two quantities or two versions."""
    one: Fraction | Version
    other: Fraction | Version
    if tag_of(left) == SEMVER:
        one, other = version_of(left), version_of(right)
        return (one > other) - (one < other)
    one, other = Fraction(untagged(QUANTITY, left)), Fraction(untagged(QUANTITY, right))
    return (one > other) - (one < other)


FUNCTIONS: Final = (
    function("quantity", quantity, "string -> Quantity"),
    function("isQuantity", is_quantity, "string -> bool"),
    function("sign", _sign, "Quantity -> int"),
    method("sign", _sign, "Quantity -> int"),
    method("isInteger", _is_integer, "Quantity -> bool"),
    method("asInteger", _as_integer, "Quantity -> int"),
    method("asApproximateFloat", lambda value: Quantity(_amount(value)).as_float, "Quantity -> double"),
    method(
        "add",
        lambda one, other: _tagged(_amount(one) + _amount(other)),
        "Quantity, Quantity -> Quantity",
        "Quantity, int -> Quantity",
    ),
    method(
        "sub",
        lambda one, other: _tagged(_amount(one) - _amount(other)),
        "Quantity, Quantity -> Quantity",
        "Quantity, int -> Quantity",
    ),
    method(
        "isGreaterThan",
        lambda one, other: _compare(one, other) > 0,
        "Quantity, Quantity -> bool",
        "Semver, Semver -> bool",
    ),
    method(
        "isLessThan",
        lambda one, other: _compare(one, other) < 0,
        "Quantity, Quantity -> bool",
        "Semver, Semver -> bool",
    ),
    method("compareTo", _compare, "Quantity, Quantity -> int", "Semver, Semver -> int"),
)
