"""JSON values as JMESPath sees them: what counts as false, what is equal, how a number and a value are written.

Booleans are never numbers, 1 is 1.0, and text is what Go's encoding writes (keys in order, no spaces, `<`, `>` and `&`
escaped), since policies compare such texts. Values are shared, not copied: a small expression can describe a value that
would take all memory when written out, so every walk through one is paid for in a Run.
"""

from __future__ import annotations

import json
import math
import re
from decimal import Decimal
from typing import Any, Final

from skoupa.expr.jmespath.running import Run

_EXACT: Final = 2**53
_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_ESCAPES: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_ESCAPED: Final = re.compile("[<>&\u2028\u2029\ud800-\udfff]")


def truthy(value: Any) -> bool:
    """Null, false and what is empty are false; zero is not."""
    if value is None or value is False:
        return False
    return bool(value) if value.__class__ in {str, list, dict} else True


def equal(left: Any, right: Any, run: Run) -> bool:
    if left is right:
        return True
    if left.__class__ is str or right.__class__ is str:
        return bool(left == right)
    pairs = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        run.spend(2)
        if one is other:
            continue
        if isinstance(one, list):
            if not isinstance(other, list) or len(one) != len(other):
                return False
            run.spend(len(one))
            pairs.extend(zip(one, other, strict=True))
        elif isinstance(one, dict):
            if not isinstance(other, dict) or one.keys() != other.keys():
                return False
            run.spend(len(one))
            pairs.extend((value, other[key]) for key, value in one.items())
        elif isinstance(one, bool) or isinstance(other, bool) or one != other:
            return False
    return True


def number(value: float) -> int | float:
    """A result of arithmetic: whole numbers are integers again; what is out of range is a ValueError."""
    if not math.isfinite(value):
        raise ValueError("the result is too large for a number")
    return int(value) if value.is_integer() and abs(value) <= _EXACT else value


def decimal(value: float) -> float:
    """An integer of any length as the nearest float, as all numbers are in Go."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError("a number is too large: numbers go up to about 1.8e308") from None


def plain_number(value: float) -> str:
    """Digits without an exponent."""
    if isinstance(value, int):
        return str(value) if abs(value) < 10**300 else str(int(decimal(value)))
    return str(int(value)) if value.is_integer() else format(Decimal(repr(value)), "f")


def json_number(value: float) -> str:
    """As Go writes numbers in JSON: an exponent for the very small and the very large."""
    if isinstance(value, int) and abs(value) < 10**21:
        return str(value)
    value = decimal(value)
    if not math.isfinite(value):
        raise ValueError("a number is too large: numbers go up to about 1.8e308")
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return plain_number(value) if value else ("-0" if math.copysign(1, value) < 0 else "0")
    mantissa, exponent = f"{Decimal(repr(value)).normalize():e}".split("e")
    return f"{mantissa}e{int(exponent):+d}"


def json_text(value: Any, run: Run) -> str:
    """The value as JSON text; paid for part by part, before each is written."""
    parts: list[str] = []
    _write(value, run, parts)
    return "".join(parts)


def text_of(value: Any, run: Run) -> str:
    """How a value is written within a text: a string as it is, anything else as JSON."""
    return value if isinstance(value, str) else json_text(value, run)


def whole_text(text: str) -> str:
    """Text that can leave: halves of characters, which only JSON escapes and decoded bytes can bring, become U+FFFD."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def settled(value: Any, run: Run) -> Any:
    """A composed value that may leave: small enough to be written out, and all its texts whole."""
    run.spend(3)
    if isinstance(value, str):
        return whole_text(value)
    if isinstance(value, list):
        settled_items = [settled(item, run) for item in value]
        return settled_items if any(map(_is_not, settled_items, value)) else value
    if isinstance(value, dict):
        pairs = {whole_text(key): settled(item, run) for key, item in value.items()}
        same = all(key in pairs and pairs[key] is item for key, item in value.items())
        return value if same else pairs
    return value


def _is_not(one: Any, other: Any) -> bool:
    return one is not other


def _write(value: Any, run: Run, parts: list[str]) -> None:
    run.spend(8)
    if isinstance(value, str):
        run.make(len(value) + 2)
        parts.append(_string(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int | float):
        parts.append(json_number(value))
    elif isinstance(value, list):
        run.make(len(value) + 2)
        for position, item in enumerate(value):
            parts.append("," if position else "[")
            _write(item, run, parts)
        parts.append("]" if value else "[]")
    else:
        run.make(2 * len(value) + 2)
        for position, key in enumerate(sorted(value)):
            parts.append("," if position else "{")
            _write(key, run, parts)
            parts.append(":")
            _write(value[key], run, parts)
        parts.append("}" if value else "{}")


def _string(text: str) -> str:
    written = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[0], "\\ufffd"), written)
