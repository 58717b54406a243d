"""Kyverno's math.round with a number of places, and signatures of what the engine has: its math, its comparisons.

The checker takes a name from one place only, so where something is added the rest is stated, too: to math.round the
form of Kyverno, to `<` and its like numbers of different types, which Kubernetes compares (1 < 1.5).
"""

from __future__ import annotations

import math
from typing import Final

from skoupa.expr.cel.library.declaring import function

_NUMBERS: Final = ("int", "uint", "double")
_ORDERED: Final = ("bool", "string", "bytes", "timestamp", "duration")
COMPARISONS: Final = ("_<_", "_<=_", "_>_", "_>=_")


def round_to(value: float, places: int) -> float:
    """Halves go away from zero, and the scaling is in floating point, as in Go."""
    try:
        shift = math.pow(10, places)
        scaled = value * shift
        if not math.isfinite(scaled):
            return scaled / shift
        # Not floor(x + 0.5): that rounds the float just below a half up.
        whole = math.trunc(scaled)
        away = whole + int(math.copysign(1, scaled)) if abs(scaled - whole) >= 0.5 else whole
        return away / shift
    except (OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"math.round can't round to {places} places") from error


FUNCTIONS: Final = (
    *(
        function(
            name,
            None,
            *(f"{kind}, {kind} -> bool" for kind in _ORDERED),
            *(f"{one}, {other} -> bool" for one in _NUMBERS for other in _NUMBERS),
        )
        for name in COMPARISONS
    ),
    function("math.round", round_to, "double, int -> double"),
    function("math.round", None, "double -> double"),
    function("math.ceil", None, "double -> double"),
    function("math.floor", None, "double -> double"),
    function("math.trunc", None, "double -> double"),
    function("math.isInf", None, "double -> bool"),
    function("math.isNaN", None, "double -> bool"),
    function("math.isFinite", None, "double -> bool"),
    function("math.abs", None, *(f"{name} -> {name}" for name in _NUMBERS)),
    function("math.sign", None, *(f"{name} -> {name}" for name in _NUMBERS)),
    function("math.sqrt", None, *(f"{name} -> double" for name in _NUMBERS)),
    function("math.bitAnd", None, "int, int -> int", "uint, uint -> uint"),
    function("math.bitOr", None, "int, int -> int", "uint, uint -> uint"),
    function("math.bitXor", None, "int, int -> int", "uint, uint -> uint"),
    function("math.bitNot", None, "int -> int", "uint -> uint"),
    function("math.bitShiftLeft", None, "int, int -> int", "uint, int -> uint"),
    function("math.bitShiftRight", None, "int, int -> int", "uint, int -> uint"),
)
