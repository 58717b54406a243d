"""Kyverno's functions on times and durations, in Go's layouts; RFC 3339 where none is asked for.

Now is the Context's, in UTC (Kyverno's is the zone of its process, which is UTC in its image). Results have whole
seconds and keep the offset that the argument was written with.
"""

from __future__ import annotations

import re
from typing import Annotated, Final

from skoupa.expr import layouts
from skoupa.expr.golang import duration_text, go_duration
from skoupa.expr.jmespath.functions.signature import Checked, Function, Text, Truth, declare
from skoupa.expr.jmespath.jsontypes import Type
from skoupa.expr.jmespath.running import Run
from skoupa.expr.readings import quoted
from skoupa.expr.stamps import SECOND, Stamp

_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}")
# Beyond these years no time is written with four digits.
_LARGEST_EPOCH: Final = 253_402_300_799


def _stamp(text: str) -> Stamp:
    return layouts.parse(layouts.RFC3339, text)


def _duration(text: str) -> int:
    found = go_duration(text)
    if isinstance(found, int):
        return found
    raise ValueError(f"{quoted(text)} is no duration; write it like '1h30m' (units h, m, s, ms; no d)")


Time = Annotated[str, Type.STRING, Checked(_stamp)]
Duration = Annotated[str, Type.STRING, Checked(_duration)]


def time_since(run: Run, layout: Text, start: Text, end: Text) -> Text:
    """Empty: RFC 3339 for the layout, now for the end."""
    how = layout or layouts.RFC3339
    earlier = layouts.parse(how, start)
    later = layouts.parse(how, end) if end else _now(run)
    return duration_text(later.since(earlier))


def time_now(run: Run) -> Text:
    return _written(_now(run))


def time_now_utc(run: Run) -> Text:
    return _written(_now(run))


def time_add(_: Run, time: Time, duration: Duration) -> Text:
    return _written(_stamp(time).plus(_duration(duration)))


def time_parse(_: Run, layout: Text, time: Text) -> Text:
    """A layout that is a number says that the time is one: seconds since 1970."""
    if not _WHOLE_NUMBER.fullmatch(layout):
        return _written(layouts.parse(layout, time))
    if not _WHOLE_NUMBER.fullmatch(time) or abs(int(time)) > _LARGEST_EPOCH:
        raise ValueError(f"{quoted(time)} is no number of seconds since 1970")
    return _written(Stamp(int(time) * SECOND))


def time_to_cron(_: Run, time: Time) -> Text:
    at = _stamp(time).civil
    return f"{at.minute} {at.hour} {at.day} {at.month} {at.weekday}"


def time_utc(_: Run, time: Time) -> Text:
    return _written(_stamp(time).utc)


def time_diff(_: Run, start: Time, end: Time) -> Text:
    return duration_text(_stamp(end).since(_stamp(start)))


def time_before(_: Run, time: Time, other: Time) -> Truth:
    return _stamp(time) < _stamp(other)


def time_after(_: Run, time: Time, other: Time) -> Truth:
    return _stamp(time) > _stamp(other)


def time_between(_: Run, time: Time, start: Time, end: Time) -> Truth:
    """Neither end counts. What is no time is an error, wherever it stands."""
    after, before = _stamp(start), _stamp(end)
    return after < _stamp(time) < before


def time_truncate(_: Run, time: Time, duration: Duration) -> Text:
    return _written(_stamp(time).truncated(_duration(duration)))


def _now(run: Run) -> Stamp:
    return Stamp(round(run.context.now * 1_000_000) * 1000)


def _written(stamp: Stamp) -> str:
    return layouts.format(layouts.RFC3339, stamp)


# Reading and writing a time by its layout takes some microseconds.
_COST: Final = 150
FUNCTIONS: Final[tuple[Function, ...]] = tuple(
    declare(function, cost=_COST)
    for function in (
        time_since,
        time_now,
        time_now_utc,
        time_add,
        time_parse,
        time_to_cron,
        time_utc,
        time_diff,
        time_before,
        time_after,
        time_between,
        time_truncate,
    )
)
