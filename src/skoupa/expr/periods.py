"""Stretches of the calendar for `--during`: a day, a week, a month, a year, in whole days.

A month without a year is that month of this calendar year, past or not. Weeks begin on Monday, as in ISO 8601.
"""

from __future__ import annotations

import difflib
import re
from datetime import date, timedelta
from typing import Final

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.moments import (
    FIRST_YEAR,
    LAST_YEAR,
    MONTHS,
    RELATIVE_DAYS,
    WEEKDAYS,
    read_date,
    read_month,
    read_weekday,
)
from skoupa.expr.readings import quoted

Days = tuple[date, date]

_STEPS: Final = {"this": 0, "next": 1, "last": -1, "coming": 1, "previous": -1}
_SPANS: Final = ("week", "month", "year", "weekend")
_WORDS: Final = (
    *MONTHS,
    *WEEKDAYS,
    *RELATIVE_DAYS,
    *(f"{step} {span}" for step in _STEPS for span in _SPANS),
)
_EXAMPLES: Final = 'write may, "may 2027", 2026-05, 2026, today, friday, "next week" or 2026-05-14'
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_YEAR: Final = re.compile(r"[0-9]{4}", re.ASCII)
_YEAR_MONTH: Final = re.compile(r"([0-9]{4})-([0-9]{1,2})", re.ASCII)
_YEAR_WEEK: Final = re.compile(r"([0-9]{4})-?w([0-9]{1,2})", re.ASCII)
_DAY: Final = timedelta(days=1)


def read_period(text: str, today: date) -> Days:
    """The first day and the day after the last; or a UsageError that says how to say it."""
    lowered = " ".join(text.lower().split())
    found = (
        _days(lowered, today) or _step(lowered, today) or _named_month(lowered, today) or _numbered(lowered)
    )
    if found is None:
        raise _unknown(text, lowered, today)
    return found


def _days(text: str, today: date) -> Days | None:
    if text in RELATIVE_DAYS:
        day = today + RELATIVE_DAYS[text] * _DAY
    elif (weekday := read_weekday(text.removeprefix("this "))) is not None:
        day = today + (weekday - today.weekday()) % 7 * _DAY
    elif _DATE.fullmatch(text):
        day = read_date(text)
    else:
        return None
    return day, day + _DAY


def _step(text: str, today: date) -> Days | None:
    step, _, span = text.rpartition(" ")
    if span not in _SPANS or (step or "this") not in _STEPS:
        return None
    steps = _STEPS[step or "this"]
    if span == "month":
        return _month(today.year, today.month + steps)
    if span == "year":
        return _year(today.year + steps)
    monday = today + (7 * steps - today.weekday()) * _DAY
    return (monday + 5 * _DAY if span == "weekend" else monday), monday + 7 * _DAY


def _named_month(text: str, today: date) -> Days | None:
    word, _, year = text.removeprefix("this ").partition(" ")
    month = read_month(word)
    if month is None or (year and not _YEAR.fullmatch(year)):
        return None
    return _month(int(year or today.year), month)


def _numbered(text: str) -> Days | None:
    if _YEAR.fullmatch(text):
        return _year(int(text))
    if match := _YEAR_MONTH.fullmatch(text):
        if not 1 <= int(match[2]) <= 12:
            raise UsageError(f"there is no month {quoted(text)}", advice="months go from 01 to 12")
        return _month(int(match[1]), int(match[2]))
    if match := _YEAR_WEEK.fullmatch(text):
        _check_year(int(match[1]))
        try:
            monday = date.fromisocalendar(int(match[1]), int(match[2]), 1)
        except ValueError:
            raise UsageError(
                f"there is no week {quoted(text)}", advice="weeks go from W01 to W52 or W53"
            ) from None
        return monday, monday + 7 * _DAY
    return None


def _month(year: int, month: int) -> Days:
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    _check_year(year)
    return date(year, month, 1), date(year + month // 12, month % 12 + 1, 1)


def _year(year: int) -> Days:
    _check_year(year)
    return date(year, 1, 1), date(year + 1, 1, 1)


def _check_year(year: int) -> None:
    if not FIRST_YEAR <= year <= LAST_YEAR:
        raise UsageError(
            f"the year {year} is too far away", advice=f"years go from {FIRST_YEAR} to {LAST_YEAR}"
        )


def _unknown(text: str, lowered: str, today: date) -> UsageError:
    what = f"{quoted(text)} is no day, week, month or year"
    step, _, word = lowered.partition(" ")
    if step in _STEPS and read_month(word) is not None:
        return UsageError(what, advice=f'did you mean "{word} {today.year + _STEPS[step]}"?')
    if step in _STEPS and read_weekday(word) is not None:
        return UsageError(what, advice="write the date")
    if isinstance(parse_duration(lowered), int):
        return UsageError(what, advice=f"did you mean --within {lowered}?")
    if re.search(r"[0-9]:[0-9]|[0-9][ap]m|noon|midnight", lowered):
        return UsageError(what, advice=f'did you mean --by "{lowered}"?')
    if ".." in lowered:
        return UsageError(what, advice=f'did you mean --between "{lowered}"?')
    near = difflib.get_close_matches(lowered, _WORDS, n=1)
    return UsageError(what, advice=f"did you mean {near[0]}?" if near else _EXAMPLES)
