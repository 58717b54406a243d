"""Moments as people say them on the command line: `17:00`, `friday 17:00`, `tomorrow`, `2026-08-01 17:00`, `now`.

A Moment is what was said; `windows` decides which Friday and which 17:00 is meant. Hours are those of the caller's
clock; a time with Z or an offset is that very moment. What can be read in two ways (`next friday`) is refused.
"""

from __future__ import annotations

import difflib
import re
from datetime import date, datetime, timedelta, tzinfo
from typing import Final

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.instants import parse_label_time, parse_rfc3339
from skoupa.expr.readings import Problem, quoted
from skoupa.expr.walltime import WallTime, shown_at

WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS: Final = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
RELATIVE_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}
_CLOCK_WORDS: Final = {"noon": 12 * 3600, "midnight": 24 * 3600}
_WORDS: Final = (*WEEKDAYS, *RELATIVE_DAYS, *_CLOCK_WORDS, "now")
_EXAMPLES: Final = 'write 17:00, "friday 17:00", tomorrow, 2026-08-01 or "2026-08-01 17:00"'

_CLOCK: Final = re.compile(
    r"([0-9]{1,2}):([0-5][0-9])(?::([0-5][0-9]))?(am|pm)?|([0-9]{1,2})(am|pm)", re.ASCII
)
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_FILLERS: Final = frozenset({"at", "on", "this"})
FIRST_YEAR: Final = 1970
LAST_YEAR: Final = 9998


class Moment(msgspec.Struct, frozen=True, kw_only=True):
    """`clock` is in seconds from midnight, 86400 being the end of the day; None stands for "not said"."""

    said: str
    instant: int | None = None
    from_now: int | None = None
    relative_day: int | None = None
    weekday: int | None = None
    calendar_day: date | None = None
    clock: int | None = None

    @property
    def names_day(self) -> bool:
        return self.relative_day is not None or self.weekday is not None or self.calendar_day is not None

    def day(self, today: date) -> date:
        """The day that is meant, weekdays being the coming one or today."""
        if self.calendar_day is not None:
            return self.calendar_day
        if self.weekday is not None:
            return today + timedelta(days=(self.weekday - today.weekday()) % 7)
        return today + timedelta(days=self.relative_day or 0)


def read_moment(text: str) -> Moment:
    """What was said, or a UsageError that says how to say it."""
    said = " ".join(text.split())
    lowered = said.lower()
    if not lowered:
        raise UsageError("the time is empty", advice=_EXAMPLES)
    if lowered == "now":
        return Moment(said=said, from_now=0)
    instant = _instant(said.upper())
    if instant is not None:
        read_date(said[:10])
        return Moment(said=said, instant=instant)
    seconds = parse_duration(lowered.removeprefix("in ").removeprefix("+").replace(" ", ""))
    if isinstance(seconds, int):
        return Moment(said=said, from_now=seconds)
    return _from_words(said, lowered)


def read_weekday(word: str) -> int | None:
    """0 is Monday; `fri`, `thurs` and the like are understood."""
    return next((n for n, name in enumerate(WEEKDAYS) if len(word) >= 3 and name.startswith(word)), None)


def read_month(word: str) -> int | None:
    return next((n for n, name in enumerate(MONTHS, 1) if len(word) >= 3 and name.startswith(word)), None)


def read_date(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError:
        read = parse_label_time(text)
        advice = read.instead if isinstance(read, Problem) else _EXAMPLES
        raise UsageError(f"there is no day {quoted(text)}", advice=advice) from None
    if not FIRST_YEAR <= found.year <= LAST_YEAR:
        raise UsageError(
            f"{quoted(text)} is too far away", advice=f"years go from {FIRST_YEAR} to {LAST_YEAR}"
        )
    return found


def at_clock(day: date, clock: int, zone: tzinfo, *, later: bool) -> WallTime:
    """When a clock in `zone` shows `clock` seconds after midnight of that day."""
    wall = datetime(day.year, day.month, day.day) + timedelta(seconds=clock)  # noqa: DTZ001 - a wall has no zone
    return shown_at(wall, zone, later=later)


def _instant(text: str) -> int | None:
    read = parse_rfc3339(text.replace(" ", "T", 1))
    if isinstance(read, Problem) and "T" in text:
        read = parse_label_time(text)
    return read if isinstance(read, int) else None


def _from_words(said: str, lowered: str) -> Moment:
    spaced = re.sub(r"(?<=[0-9])t(?=[0-9])", " ", lowered)
    words = re.sub(r"(?<=[0-9]) (?=[ap]m\b)", "", spaced).split()
    moment = Moment(said=said)
    for word in words:
        if word in _FILLERS:
            continue
        found = _word(word, said)
        if any(getattr(moment, field) is not None for field in found) or (
            "clock" not in found and moment.names_day
        ):
            raise UsageError(f"{quoted(said)} names two days or two hours", advice=_EXAMPLES)
        moment = msgspec.structs.replace(moment, **found)
    if moment == Moment(said=said):
        raise UsageError(f"{quoted(said)} is no time", advice=_EXAMPLES)
    return moment


def _word(word: str, said: str) -> dict[str, int | date]:
    clock = _clock(word)
    if clock is not None:
        return {"clock": clock}
    if word in RELATIVE_DAYS:
        return {"relative_day": RELATIVE_DAYS[word]}
    weekday = read_weekday(word)
    if weekday is not None:
        return {"weekday": weekday}
    if _DATE.fullmatch(word):
        return {"calendar_day": read_date(word)}
    raise _unknown(word, said)


def _clock(word: str) -> int | None:
    if word in _CLOCK_WORDS:
        return _CLOCK_WORDS[word]
    match = _CLOCK.fullmatch(word)
    if match is None:
        return None
    hour, half = int(match[1] or match[5]), match[4] or match[6]
    minute, second = int(match[2] or 0), int(match[3] or 0)
    if half:
        if not 1 <= hour <= 12:
            raise UsageError(f"there is no hour {quoted(word)}", advice="write 5pm or 17:00")
        hour = hour % 12 + (12 if half == "pm" else 0)
    clock = hour * 3600 + minute * 60 + second
    if clock > 24 * 3600:
        raise UsageError(f"there is no hour {quoted(word)}", advice="hours go from 00:00 to 24:00")
    return clock


def _unknown(word: str, said: str) -> UsageError:
    what = f"{quoted(said)} is no time"
    if word == "next":
        return UsageError(
            f"{quoted(said)} can be read in two ways", advice='write the date, or "friday" for the coming one'
        )
    if read_month(word) is not None:
        return UsageError(what, advice=f"write --during {word} for the month, or a date such as 2026-05-31")
    if word.isdecimal() and len(word) <= 2:
        return UsageError(f"{quoted(said)} has no unit", advice=f"write {word}:00 for the hour")
    near = difflib.get_close_matches(word, _WORDS, n=1)
    return UsageError(what, advice=f"did you mean {near[0]}?" if near else _EXAMPLES)
