"""How programs written in Go read lifetimes: durations with decimals, Kyverno's scan for `<digits><unit>`, its layouts.

For the compat switches, for telling users how Kyverno would read a value, and for conditions of policies. Read from the behaviour of Go's time
package, of kube-openapi's strfmt and of Kyverno 1.19. Differences, on purpose: less than a second is rounded up
to one, all times before 1970 are one time, and a sum that would wrap around in Go is TOO_LONG.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from typing import Final

from skoupa.expr.instants import LAST_SECOND
from skoupa.expr.readings import After, At

_SECOND: Final = 10**9
_LARGEST: Final = 2**63 - 1

GO_UNITS: Final[Mapping[str, int]] = {
    "ns": 1,
    "us": 1_000,
    "\u00b5s": 1_000,
    "\u03bcs": 1_000,
    "ms": 1_000_000,
    "s": _SECOND,
    "m": 60 * _SECOND,
    "h": 3_600 * _SECOND,
}
GO_UNITS_AND_DAYS: Final[Mapping[str, int]] = {**GO_UNITS, "d": 86_400 * _SECOND, "w": 604_800 * _SECOND}

_GO_PART: Final = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^0-9.]+)", re.DOTALL)
# \v is no space to Go.
_SCANNED: Final = re.compile(r"([0-9]+)[\t\n\f\r ]*([A-Za-z\u00b5]+)")
_SCAN_UNITS: Final = (
    (("ns",), "nano", 1),
    (("us", "\u00b5s"), "micro", 1_000),
    (("ms",), "milli", 1_000_000),
    (("s",), "sec", _SECOND),
    (("m",), "min", 60 * _SECOND),
    (("h", "hr"), "hour", 3_600 * _SECOND),
    (("d",), "day", 86_400 * _SECOND),
    (("w", "wk"), "week", 604_800 * _SECOND),
)
# Go takes a fraction after the seconds even where the layout has none.
_LAYOUT: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2})([0-9]{2})([0-9]{2})(?:[.,]([0-9]+))?Z)?"
)


class Overflow(Enum):
    """The numbers are too large for Go: it would wrap around or refuse."""

    TOO_LONG = "TooLong"


TOO_LONG: Final = Overflow.TOO_LONG


def whole_seconds(nanoseconds: int) -> int:
    """Rounded up, so that nothing goes early; a negative duration is over at once, as zero is."""
    return max(0, -(-nanoseconds // _SECOND))


def go_duration(text: str, units: Mapping[str, int] = GO_UNITS) -> int | Overflow | None:
    """Nanoseconds, as Go's time.ParseDuration reads them (str2duration: the same with days and weeks)."""
    sign = -1 if text[:1] == "-" else 1
    rest = text[1:] if text[:1] in {"-", "+"} else text
    if rest == "0":
        return 0
    total, position = 0, 0
    while position < len(rest):
        match = _GO_PART.match(rest, position)
        if match is None or not (match[1] or match[2]):
            return None
        unit = units.get(match[3])
        if unit is None:
            return None
        whole = _integer(match[1])
        if whole is None:
            return TOO_LONG
        fraction, scale = _fraction(match[2] or "")
        total += whole * unit + int(float(fraction) * (float(unit) / scale))
        position = match.end()
    if total > _LARGEST:
        return TOO_LONG
    return sign * total if rest else None


def duration_text(nanoseconds: int) -> str:
    """As Go prints a Duration: `1h30m0s`, `1.5s`, `20ms`, `0s`; what can be read back exactly."""
    sign, rest = "-" if nanoseconds < 0 else "", abs(nanoseconds)
    if rest < _SECOND:
        for unit, size in (("ms", 1_000_000), ("\u00b5s", 1_000), ("ns", 1)):
            if rest >= size:
                return f"{sign}{_decimal(rest, size)}{unit}"
        return "0s"
    minutes, seconds = divmod(rest, 60 * _SECOND)
    text = f"{_decimal(seconds, _SECOND)}s"
    if minutes:
        text = f"{minutes % 60}m{text}"
    if minutes >= 60:
        text = f"{minutes // 60}h{text}"
    return sign + text


def kyverno_reading(text: str) -> After | At | Overflow | None:
    """What Kyverno 1.19 makes of `cleanup.kyverno.io/ttl`; None: an error there."""
    found = go_duration(text)
    if not isinstance(found, int):
        found = _scan(text)
    if isinstance(found, int):
        return After(whole_seconds(found))
    return _layout(text) or found


def _scan(text: str) -> int | Overflow | None:
    """The sum of all `<digits><unit>` anywhere in the text; pairs with an unknown unit do not count."""
    total = known = 0
    for digits, word in _SCANNED.findall(text):
        number = _integer(digits)
        if number is None:
            return None
        unit = word.lower()
        for names, prefix, size in _SCAN_UNITS:
            if unit in names or unit.startswith(prefix):
                total += number * size
                known += 1
    if not known:
        return None
    return total if total <= _LARGEST else TOO_LONG


def _layout(text: str) -> At | None:
    match = _LAYOUT.fullmatch(text)
    if match is None:
        return None
    *numbers, fraction = match.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    try:
        # Year 0, which Go has and Python has not, has the leap day of year 400.
        when = datetime(year or 400, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    # What is past is past: kept within the years that all of Skoupa can write.
    round_up = bool(fraction and fraction[:9].strip("0"))
    return At(min(LAST_SECOND, calendar.timegm(when.timetuple()) + round_up) if year >= 1970 else 0)


def _decimal(number: int, size: int) -> str:
    whole, part = divmod(number, size)
    digits = f"{part:0{len(str(size)) - 1}}".rstrip("0") if part else ""
    return f"{whole}.{digits}" if digits else str(whole)


def _integer(digits: str) -> int | None:
    """None: more than Go's int64 holds."""
    stripped = digits.lstrip("0") or "0"
    number = int(stripped) if len(stripped) <= 19 else _LARGEST + 1
    return number if number <= _LARGEST else None


def _fraction(digits: str) -> tuple[int, float]:
    """Go stops adding digits where the next could overflow."""
    number, scale = 0, 1.0
    for digit in digits:
        if number > _LARGEST // 10 or number * 10 + int(digit) > _LARGEST + 1:
            break
        number, scale = number * 10 + int(digit), scale * 10
    return number, scale
