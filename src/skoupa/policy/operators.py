"""The 14 operators of conditions. Their names may be written in any case; each compares any two JSON values.

An operator never fails because of what it compares: a map beside a number is not equal, not greater and not contained,
and NotEquals is true. Only null is neither equal nor unequal to anything, as in Kyverno, so that a condition
about it does not hold. An unknown name is a BadExpression; a comparison that would take too long is TooCostly, so that
the object in question stays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from skoupa.errors import BadExpression, TooCostly
from skoupa.policy.membership import all_in, all_not_in, any_in, any_not_in
from skoupa.policy.ordering import duration_order, equal, order

_Test = Callable[[Any, Any], bool]


def _by(ordered: Callable[[Any, Any], int | None], *signs: int) -> _Test:
    return lambda key, value: ordered(key, value) in signs


_TESTS: Final[Mapping[str, _Test]] = {
    "Equals": lambda key, value: equal(key, value) is True,
    "NotEquals": lambda key, value: equal(key, value) is False,
    "AnyIn": any_in,
    "AllIn": all_in,
    "AnyNotIn": any_not_in,
    "AllNotIn": all_not_in,
    "GreaterThanOrEquals": _by(order, 0, 1),
    "GreaterThan": _by(order, 1),
    "LessThanOrEquals": _by(order, 0, -1),
    "LessThan": _by(order, -1),
    "DurationGreaterThanOrEquals": _by(duration_order, 0, 1),
    "DurationGreaterThan": _by(duration_order, 1),
    "DurationLessThanOrEquals": _by(duration_order, 0, -1),
    "DurationLessThan": _by(duration_order, -1),
}
OPERATORS: Final = tuple(_TESTS)
# Kyverno's older names, which the schema of cleanup policies does not have; the new ones do what was meant.
RENAMED: Final[Mapping[str, str]] = {
    "equal": "Equals",
    "notequal": "NotEquals",
    "in": "AnyIn or AllIn",
    "notin": "AnyNotIn or AllNotIn",
}
_NAMES: Final = {name.lower(): name for name in OPERATORS}


def canonical(operator: str) -> str:
    """The name as it is documented; BadExpression for any other word."""
    name = _NAMES.get(operator.lower())
    if name is None:
        renamed = RENAMED.get(operator.lower())
        advice = f"write {renamed}" if renamed else f"write one of {', '.join(OPERATORS)}"
        if renamed:
            advice += f"; there are {', '.join(OPERATORS)}"
        raise BadExpression("there is no such operator", expression=operator, advice=advice)
    return name


def has_size(operator: str, value: Any) -> bool:
    """Whether anything can be more, less or as much as this by that operator; true of operators that do not ask for size."""
    name = canonical(operator)
    if not name.endswith(("Than", "ThanOrEquals")):
        return True
    ordered = duration_order if name.startswith("Duration") else order
    return ordered(value, value) is not None


def holds(operator: str, key: Any, value: Any) -> bool:
    """Whether the condition is true of these values."""
    name = canonical(operator)
    try:
        return _TESTS[name](key, value)
    except ValueError as error:
        raise TooCostly(str(error), expression=name, advice="compare with something smaller") from error
