"""A schedule in words, for its writer to compare with what was meant: `0 * 1 * *` is every hour of the first, not once.

Made from the times at which it really comes, as far as these are times of the day; days and months are read from their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Final

from skoupa.expr.cron import minutes_of_day
from skoupa.expr.schedules import Schedule

_DAY: Final = 1440
_MOST_TIMES: Final = 6
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June", "July", "August"),
    *("September", "October", "November", "December"),
)
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth")
_ALL: Final = "*"


def in_words(schedule: Schedule) -> str:
    """`at 07:00 on Sundays (UTC)`."""
    _, _, days, months, weekdays = schedule.cron.fields.split()
    times = _times(minutes_of_day(schedule.cron))
    on = _on(days, weekdays) or ("every day" if times.startswith("at ") else "")
    parts = [times, on, _months(months), f"({schedule.zone_name or 'UTC'})"]
    return " ".join(part for part in parts if part)


def _times(minutes: Sequence[int]) -> str:
    if len(minutes) == _DAY:
        return "every minute"
    gaps = {after - before for before, after in pairwise([*minutes, minutes[0] + _DAY])}
    if len(gaps) == 1 and len(minutes) > 1:
        return _regular(gaps.pop(), minutes[0])
    if len(minutes) <= _MOST_TIMES:
        return f"at {_joined([f'{minute // 60:02}:{minute % 60:02}' for minute in minutes])}"
    hours = sorted({minute // 60 for minute in minutes})
    within = sorted({minute % 60 for minute in minutes})
    every = "every hour" if len(hours) == 24 else f"the hour{'s' * (len(hours) > 1)} {_ranges(hours, str)}"
    if len(within) == 60:
        return f"every minute of {every}"
    return f"at the minute{'s' * (len(within) > 1)} {_ranges(within, str)} of {every}"


def _regular(gap: int, first: int) -> str:
    if gap < 60:
        start = f", from minute {first} on" if first else ""
        return f"every {gap} minutes{start}"
    if gap == 60:
        return f"every hour at minute {first}"
    if gap == _DAY:
        return f"at {first // 60:02}:{first % 60:02}"
    if gap % 60:
        return f"every {gap} minutes from {first // 60:02}:{first % 60:02} on"
    return f"every {gap // 60} hours from {first // 60:02}:{first % 60:02} on"


def _on(days: str, weekdays: str) -> str:
    """Where both are narrowed a day fits that is one or the other."""
    found = []
    if days != _ALL:
        found.append(_joined(_days(days)))
    if weekdays != _ALL:
        found.append(_joined(_weekdays(weekdays)))
    return f"on {' or on '.join(found)}" if found else ""


def _days(field: str) -> list[str]:
    last = ["the last day of the month"] if "L" in field.upper().split(",") else []
    numbers = _numbers([term for term in field.split(",") if term.upper() != "L"], int, most=31)
    return [*([f"the {_ranges(numbers, _nth)}"] if numbers else []), *last]


def _weekdays(field: str) -> list[str]:
    found: list[str] = []
    plain: list[str] = []
    for term in field.upper().split(","):
        day, mark, number = term.partition("#")
        if mark:
            found.append(f"the {_ORDINALS[int(number) - 1]} {_WEEKDAYS[_weekday(day) % 7]} of the month")
        elif term.endswith("L"):
            found.append(f"the last {_WEEKDAYS[_weekday(term[:-1]) % 7]} of the month")
        else:
            plain.append(term)
    # A week begins on Monday.
    numbers = sorted({number or 7 for number in _numbers(plain, _weekday, most=7)})
    return [*([_ranges(numbers, lambda number: f"{_WEEKDAYS[number % 7]}s")] if numbers else []), *found]


def _weekday(text: str) -> int:
    return int(text) if text.isdecimal() else _short(_WEEKDAYS).index(text.upper())


def _months(field: str) -> str:
    if field == _ALL:
        return ""
    short = _short(_MONTHS)
    terms = ["1-12" + term[1:] if term.startswith(_ALL) else term for term in field.split(",")]
    numbers = _numbers(
        terms, lambda text: int(text) if text.isdecimal() else short.index(text.upper()) + 1, most=12
    )
    return "" if len(numbers) == 12 else f"in {_ranges(numbers, lambda number: _MONTHS[number - 1])}"


def _short(names: Iterable[str]) -> list[str]:
    return [name[:3].upper() for name in names]


def _numbers(terms: Iterable[str], read: Callable[[str], int], *, most: int) -> list[int]:
    """A step without an end goes on to the last."""
    found: set[int] = set()
    for term in terms:
        span, slash, step = term.partition("/")
        low, dash, high = span.partition("-")
        start = read(low)
        end = read(high) if dash else most if slash else start
        found.update(range(start, end + 1, int(step or 1)))
    return sorted(found)


def _ranges(numbers: Sequence[int], name: Callable[[int], str]) -> str:
    """`1, 3 and 5 to 8`: three or more in a row are a range."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    texts: list[str] = []
    for run in runs:
        texts += [f"{name(run[0])} to {name(run[-1])}"] if len(run) > 2 else [name(each) for each in run]
    return _joined(texts)


def _nth(number: int) -> str:
    if number % 100 // 10 == 1:
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
