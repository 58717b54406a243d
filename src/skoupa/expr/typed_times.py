"""Moments as people type them, on the command line and in the filters of the dashboard."""

from __future__ import annotations

from datetime import timedelta, tzinfo
from typing import Final

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration
from skoupa.expr.moments import at_clock, read_moment
from skoupa.expr.walltime import wall_clock

_WEEK: Final = 7 * 86400
_TIMES: Final = "write 7d (ago), 'friday 17:00' or 2026-09-30"


def read_time(text: str, *, option: str, now: float, zone: tzinfo, later: bool = False) -> int:
    """One moment as people say it: a date, `2026-08-01 17:00`, `friday 17:00`, `7d` from now, or with Z and an offset.

    Where clocks show it twice in autumn the first is meant, and the second with `later`: until then something is to hold.
    """
    try:
        moment = read_moment(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", advice=error.advice) from None
    if moment.instant is not None:
        return moment.instant
    if moment.from_now is not None:
        return int(now) + moment.from_now
    today = wall_clock(now, zone).date()
    day = moment.day(today)
    found = at_clock(day, moment.clock or 0, zone, later=later).epoch
    if found <= now and moment.weekday is not None:
        found = at_clock(day + timedelta(weeks=1), moment.clock or 0, zone, later=later).epoch
    return found


def past_time(
    text: str | None, *, option: str, now: float, zone: tzinfo, later: bool = False
) -> float | None:
    """A duration counts back from now, and a weekday is the last one; `later` as in `read_time`."""
    if text is None:
        return None
    ago = parse_duration(text)
    if isinstance(ago, int):
        return now - ago
    try:
        moment = read_time(text, option=option, now=now, zone=zone, later=later)
    except UsageError as error:
        raise UsageError(error.message, advice=_advice(text, error, ago.instead)) from None
    if moment > now and read_moment(text).weekday is not None:
        return read_time(text, option=option, now=now - _WEEK, zone=zone, later=later)
    return moment


def _advice(text: str, error: UsageError, duration: str) -> str:
    """What begins with a number was meant to be a duration, as often as not; days to come are none to look back to."""
    if text[:1].isdecimal() and text.replace(" ", "").isalnum():
        return f"{_TIMES}; {duration}"
    return _TIMES if "tomorrow" in error.advice else error.advice
