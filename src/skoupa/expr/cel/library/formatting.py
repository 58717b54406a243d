"""`format` as Kubernetes has it: the second version of CEL's strings extension, which writes numbers the American way.

%s, %d, %f, %b, %x, %X and %o are those of cel-go, with its commas in %f (1,234.50). %e, which there makes a power of ten
in superscript, is an error here; so are more values than clauses.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from skoupa.expr.cel.library.conversions import seconds_text
from skoupa.expr.cel.library.declaring import Function, function
from skoupa.expr.cel.library.tagged import described, holds_tagged

FORMATTED: Final = "skoupa_format"

_CLAUSE: Final = re.compile(r"%(?:(%)|(?:\.([0-9]+))?([sdfebxXo])|)")
_PRECISION: Final = 6
# More than any double has digits after its point that mean something.
_MOST_PRECISE: Final = 100
_NUMBER_TEXTS: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_SHORT: Final = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}


def formatted(text: str, values: list[Any]) -> str:
    waiting = iter(values)
    nothing = object()

    def clause(match: re.Match[str]) -> str:
        percent, precision, kind = match.groups()
        if percent:
            return "%"
        if not kind:
            raise ValueError(f"format has no clause that begins like {text[match.start() :][:3]!r}")
        value = next(waiting, nothing)
        if value is nothing:
            raise ValueError("format has more clauses than values")
        if holds_tagged(value):
            raise ValueError(f"format can't write {described(value)}: give it the text that it was made from")
        return _written(kind, value, precision=_PRECISION if precision is None else int(precision))

    found = _CLAUSE.sub(clause, text)
    if next(waiting, nothing) is not nothing:
        raise ValueError("format has more values than clauses")
    return found


def _written(kind: str, value: Any, *, precision: int) -> str:
    if kind == "s":
        return _text(value)
    if kind == "f":
        return _fixed(value, precision)
    if kind == "e":
        raise ValueError("format has no %e here: write %f")
    if kind in "xX" and isinstance(value, str | bytes | bytearray):
        digits = (value.encode() if isinstance(value, str) else bytes(value)).hex()
        return digits.upper() if kind == "X" else digits
    if kind == "b" and isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, bool) or not isinstance(value, int):
        raise _impossible(value, f" as %{kind}")
    return format(value, kind)


def _impossible(value: Any, how: str = "") -> ValueError:
    return ValueError(f"format can't write {described(value)}{how}")


def _fixed(value: Any, precision: int) -> str:
    number = _NUMBER_TEXTS.get(value, value) if isinstance(value, str) else value
    if not isinstance(number, float):
        raise _impossible(value, " as %f: convert it with double()")
    if precision > _MOST_PRECISE:
        raise ValueError(f"format writes at most {_MOST_PRECISE} decimals")
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else "-∞"
    return format(number or 0.0, f",.{precision}f")


def _text(value: Any) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return general(value)
        case str():
            return value
        case list():
            return f"[{', '.join(_within(item) for item in value)}]"
        case Mapping():
            pairs = sorted((_key(name), _within(item)) for name, item in value.items())
            return f"{{{', '.join(f'{name}:{item}' for name, item in pairs)}}}"
        case _:
            return _text_of_other(value)


def _text_of_other(value: Any) -> str:
    match value:
        case bytes() | bytearray():
            try:
                return bytes(value).decode()
            except UnicodeDecodeError as error:
                raise _impossible(value, " that are no text") from error
        case datetime():
            at = value.astimezone(UTC)
            fraction = f".{at.microsecond:06}".rstrip("0") if at.microsecond else ""
            return f"{at.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}Z"
        case timedelta():
            return seconds_text(value // timedelta(microseconds=1) * 1000)
        case _:
            raise _impossible(value)


def _key(name: Any) -> str:
    if not isinstance(name, str | bool | int):
        raise _impossible(name, " as a key")
    return _quoted(name) if isinstance(name, str) else _text(name)


def _within(value: Any) -> str:
    """As an expression would write it."""
    match value:
        case float() if math.isfinite(value):
            return format(value, ".6f")
        case str() | float():
            return _quoted(_text(value))
        case bytes() | bytearray():
            return f"b{_quoted(_text(value))}"
        case datetime():
            return f"timestamp({_quoted(_text(value))})"
        case timedelta():
            return f"duration({_quoted(_text(value))})"
        case _:
            return _text(value)


def _quoted(text: str) -> str:
    return f'"{"".join(_SHORT.get(one) or (one if one.isprintable() else _escaped(one)) for one in text)}"'


def _escaped(one: str) -> str:
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x80 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def general(number: float) -> str:
    """As Go's %g: the fewest digits that read back, with an exponent from a million on."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "+Inf" if number > 0 else "-Inf"
    sign = "-" if math.copysign(1, number) < 0 else ""
    found = Decimal(repr(abs(number))).normalize()
    exponent = found.adjusted()
    if not found or -4 <= exponent < _PRECISION:
        return sign + format(found, "f")
    digits = "".join(map(str, found.as_tuple().digits))
    point = "." if digits[1:] else ""
    return f"{sign}{digits[0]}{point}{digits[1:]}e{'-' if exponent < 0 else '+'}{abs(exponent):02}"


HIDDEN: Final[tuple[Function, ...]] = (function(FORMATTED, formatted, "string, list<dyn> -> string"),)
