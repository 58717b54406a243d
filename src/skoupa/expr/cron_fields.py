"""One field of a cron expression, in the form in which the engine (cronsim) means by it what Kubernetes and Kyverno mean.

`plain` changes no time that somebody wrote; what the engine takes and nobody else knows is left to be refused (`unknown`), and of a
range over the end (`FRI-MON`) `two_ranges` says what was meant. Whether a field is one at all the engine tells.
"""

from __future__ import annotations

import re
from typing import Final

DAY: Final = 2
WEEK: Final = 4
_DAY_RANGES: Final = {DAY: "1-31", WEEK: "0-6"}
_ENDS: Final = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6))
_MONTHS: Final = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_NAMES: Final = {
    3: {name: number for number, name in enumerate(_MONTHS, 1)},
    WEEK: {name: number for number, name in enumerate(_WEEKDAYS)},
}
_END: Final = "[0-9]+|[A-Z]{3}"
_SPAN: Final = re.compile(rf"({_END})-({_END})/0*[1-9][0-9]*", re.IGNORECASE)
_TURNED: Final = re.compile(rf"({_END})-({_END})", re.IGNORECASE)
_EVERY_DAY: Final = re.compile(r"\*/0*1")
_FROM_DAY: Final = re.compile(r"([0-7]|[A-Z]{3})/([0-9]+)", re.IGNORECASE)
_LAST_OF: Final = re.compile(r"([A-Z]{3})L", re.IGNORECASE)
# The engine takes it for the last day alone.
_FROM_THE_LAST: Final = re.compile(r"(?:^|,)L/", re.IGNORECASE)


def plain(part: str, place: int) -> str:
    return ",".join(_single(term, place) for term in _plain_days(part, place).split(","))


def unknown(part: str) -> bool:
    """What the engine takes for something else."""
    return _FROM_THE_LAST.search(part) is not None


def two_ranges(part: str, place: int) -> str:
    """What a range over the end of the hour, the day, the month, the year or the week would be; empty where it is something else."""
    match = _TURNED.fullmatch(part)
    low, high = (_number(end, place) for end in match.groups()) if match else (None, None)
    least, most = _ENDS[place]
    if low is None or high is None or not least <= high < low <= most:
        return ""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in ((low, most), (least, high))
    )


def _plain_days(part: str, place: int) -> str:
    """A field of days without `?`, which is a star, and with steps as ranges: they narrow, as any list of days does.

    A step from a day on ends with Saturday: `MON/2` has no Sunday, which 7 is as well.
    """
    whole = _DAY_RANGES.get(place)
    if whole is None:
        return part
    terms = ["*" if term == "?" else term for term in part.split(",")]
    if "*" in terms or any(map(_EVERY_DAY.fullmatch, terms)):
        return "*"
    terms = [whole + term[1:] if term.startswith("*/") else term for term in terms]
    return ",".join(_of_week(term) for term in terms) if place == WEEK else ",".join(terms)


def _of_week(term: str) -> str:
    if match := _FROM_DAY.fullmatch(term):
        return f"{'0' if match[1] == '7' else match[1]}-6/{match[2]}"
    # The engine takes names of days everywhere but here.
    last = _LAST_OF.fullmatch(term)
    return f"{_number(last[1], WEEK)}L" if last and last[1].upper() in _NAMES[WEEK] else term


def _single(term: str, place: int) -> str:
    """A range of one, whatever its step, is that one: `6-6/3` is June alone, which the engine would take for a step from June on."""
    match = _SPAN.fullmatch(term)
    if match is None:
        return term
    low, high = (_number(end, place) for end in match.groups())
    return match[1] if low is not None and low == high else term


def _number(text: str, place: int) -> int | None:
    return int(text) if text.isdecimal() else _NAMES.get(place, {}).get(text.upper())
