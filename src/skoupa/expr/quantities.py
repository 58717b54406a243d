"""Kubernetes quantities: `500m`, `2`, `1.5Gi`, `1e3`. Exact numbers that remember which family of suffixes they use.

Equal means the same number, whatever the suffix. The grammar is the documented one; as in Kubernetes a number finer
than a nano is rounded away from zero and a binary one above 2^63-1 is cut to it. `str` gives the canonical form.
Differences from Kubernetes' code, on purpose: a suffix without a digit (`M`) is no quantity (there it is zero), sums
above the last suffix are written out (`12000E`; there the suffix is lost), and numbers of 300 digits are refused.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Final

import msgspec

from skoupa.expr.readings import quoted

EXAMPLES: Final = "500m, 2, 1.5Gi or 1e3"

_LONGEST: Final = 300
_NANO: Final = 10**9
_LARGEST_BINARY: Final = 2**63 - 1
_TEXT: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?"
    r"(?:(?P<suffix>[numkMGTPE]|[KMGTPE]i)|[eE](?P<exponent>[+-]?[0-9]+))?"
)
_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_NAMES: Final = {power: name for name, power in _DECIMAL.items()}
_BINARY_NAMES: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class Family(StrEnum):
    """Which suffixes a quantity is written with."""

    DECIMAL = "DecimalSI"
    BINARY = "BinarySI"
    EXPONENT = "DecimalExponent"


class Quantity(msgspec.Struct, frozen=True, eq=False):
    """`places` is how many decimals it was written with, counted in ones: what a division keeps."""

    amount: Fraction
    family: Family = Family.DECIMAL
    places: int = 0

    @classmethod
    def parse(cls, text: str) -> Quantity:
        """A ValueError says what to write."""
        match = _TEXT.fullmatch(text) if len(text) <= _LONGEST else None
        if match is None or not (match["whole"] or match["part"]):
            raise ValueError(
                f"{quoted(text)} is no quantity: write a number with or without suffix, like {EXAMPLES}"
            )
        digits, part = match["whole"] + (match["part"] or ""), match["part"] or ""
        number = int(digits)
        suffix = match["suffix"] or ""
        if suffix.endswith("i"):
            return _binary(
                number << (10 * _BINARY_NAMES.index(suffix)), places=len(part), negative=match["sign"] == "-"
            )
        family = Family.DECIMAL if match["exponent"] is None else Family.EXPONENT
        power = _DECIMAL[suffix] if match["exponent"] is None else int(match["exponent"])
        if number and power + len(digits.lstrip("0")) - len(part) > _LONGEST:
            raise ValueError(f"{quoted(text)} is too large: a quantity has at most {_LONGEST} digits")
        amount = _rounded(number, power - len(part))
        return cls(-amount if match["sign"] == "-" else amount, family, min(9, max(0, len(part) - power)))

    @property
    def is_integer(self) -> bool:
        return self.amount.denominator == 1

    @property
    def as_int(self) -> int:
        """A ValueError where there is a fraction."""
        if not self.is_integer:
            raise ValueError(f"{self} is not a whole number: round it first")
        return self.amount.numerator

    @property
    def as_float(self) -> float:
        """The nearest; infinite beyond what a float holds."""
        try:
            return float(self.amount)
        except OverflowError:
            return math.inf if self.amount > 0 else -math.inf

    def times(self, number: Decimal | Fraction | int) -> Quantity:
        """Exact, in the family of this quantity."""
        factor = _factor(number)
        return Quantity(self.amount * factor, self.family, self.places)

    def shared(self, number: Decimal | Fraction | int) -> Quantity:
        """Divided, and cut (not rounded) to the finer of the two numbers of decimals, as Kyverno's `divide` does."""
        divisor = _factor(number)
        if not divisor:
            raise ValueError(f"{self} can't be divided by zero")
        places = max(self.places, _places(number))
        scaled = self.amount / divisor * 10**places
        return Quantity(Fraction(math.trunc(scaled), 10**places), self.family, places)

    def over(self, other: Quantity) -> Fraction:
        """How many times the other goes into this one."""
        if not other.amount:
            raise ValueError(f"{self} can't be divided by zero")
        return self.amount / other.amount

    def __add__(self, other: Quantity) -> Quantity:
        family = self.family if self.amount else other.family
        return Quantity(self.amount + other.amount, family, max(self.places, other.places))

    def __sub__(self, other: Quantity) -> Quantity:
        return self + -other

    def __neg__(self) -> Quantity:
        return Quantity(-self.amount, self.family, self.places)

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __eq__(self, other: object) -> bool:
        return self.amount == other.amount if isinstance(other, Quantity) else NotImplemented

    def __ne__(self, other: object) -> bool:
        # A Struct has one of its own, which would not ask __eq__.
        return not self == other

    def __lt__(self, other: Quantity) -> bool:
        return self.amount < other.amount

    def __le__(self, other: Quantity) -> bool:
        return self.amount <= other.amount

    def __gt__(self, other: Quantity) -> bool:
        return self.amount > other.amount

    def __ge__(self, other: Quantity) -> bool:
        return self.amount >= other.amount

    def __hash__(self) -> int:
        return hash(self.amount)

    def __str__(self) -> str:
        if self.family is Family.BINARY and self.is_integer and abs(self.amount) >= 1024:
            return _binary_text(self.amount.numerator)
        return _decimal_text(self.amount, exponents=self.family is Family.EXPONENT)


def is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueError:
        return False
    return True


def _binary(scaled: int, *, places: int, negative: bool) -> Quantity:
    amount = min(_rounded(scaled, -places), Fraction(_LARGEST_BINARY))
    family = Family.DECIMAL if 0 < amount < 1 else Family.BINARY
    return Quantity(-amount if negative else amount, family, min(9, places))


def _rounded(number: int, power: int) -> Fraction:
    """`number` (not negative) times ten to `power`, up to the next nano."""
    if power >= -9 or not number:
        return Fraction(number) * Fraction(10) ** (power if number else 0)
    # Far below a nano the power itself would be a number of millions of digits.
    nanos = -(-number // 10 ** min(-9 - power, 2 * _LONGEST))
    return Fraction(nanos, _NANO)


def _factor(number: Decimal | Fraction | int) -> Fraction:
    if isinstance(number, Decimal) and (not number.is_finite() or abs(number.adjusted()) > _LONGEST):
        raise ValueError(f"a quantity can't be multiplied or divided by {number:.3e}")
    return Fraction(number)


def _places(number: Decimal | Fraction | int) -> int:
    if not isinstance(number, Decimal):
        return 0
    exponent = number.as_tuple().exponent
    return min(9, max(0, -exponent)) if isinstance(exponent, int) else 0


def _decimal_text(amount: Fraction, *, exponents: bool) -> str:
    """The largest power of a thousand that leaves no fraction."""
    sign = "-" if amount < 0 else ""
    number, power = math.ceil(abs(amount) * _NANO), -9
    while number and number % 1000 == 0 and (exponents or power < 18):
        number, power = number // 1000, power + 3
    if not number:
        return "0"
    suffix = (f"e{power}" if power else "") if exponents else _DECIMAL_NAMES[power]
    return f"{sign}{number}{suffix}"


def _binary_text(number: int) -> str:
    name = 0
    while number % 1024 == 0 and name < len(_BINARY_NAMES) - 1:
        number, name = number // 1024, name + 1
    return f"{number}{_BINARY_NAMES[name]}"
