"""Windows of time for `plan`: `--within`, `--by`, `--between`, `--during`, as absolute moments and in words.

`--within` and `--by` begin now, and what is overdue belongs to them: it goes at once. The end of a window belongs to it
where an hour was named (by 17:00 includes 17:00) and not where days were (May ends before June begins); `--by friday`
ends with that day. A window that can't be meant is a UsageError with the one that may have been.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.durations import parse_duration, render_duration
from skoupa.expr.moments import Moment, at_clock, read_moment
from skoupa.expr.periods import read_period
from skoupa.expr.readings import Problem, quoted
from skoupa.expr.walltime import WallTime, show_time, wall_clock

_END_OF_DAY: Final = 86_400


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """`text` is what was understood, for people to check."""

    start: int
    end: int
    text: str
    from_now: bool = False
    includes_end: bool = True

    def contains(self, due: float) -> bool:
        """Whether something due then belongs to the window."""
        started = self.from_now or due >= self.start
        return started and (due < self.end or (self.includes_end and due == self.end))


class _Edge(msgspec.Struct, frozen=True):
    """One end of a window. `whole_day`: a day was named and no hour."""

    epoch: int
    note: str = ""
    whole_day: bool = False
    is_now: bool = False


def read_window(
    *,
    within: str | None = None,
    by: str | None = None,
    between: str | None = None,
    during: str | None = None,
    now: float,
    zone: tzinfo,
) -> Window | None:
    """The window that the options of `plan` ask for; None: they ask for none, and all time is meant."""
    readers = {
        "--within": within_window,
        "--by": by_window,
        "--between": between_window,
        "--during": during_window,
    }
    texts = dict(zip(readers, (within, by, between, during), strict=True))
    given = {option: text for option, text in texts.items() if text is not None}
    if len(given) > 1:
        raise UsageError(f"{' and '.join(given)} can't go together", advice="give one window")
    return next((readers[option](text, now=now, zone=zone) for option, text in given.items()), None)


def within_window(text: str, *, now: float, zone: tzinfo) -> Window:
    seconds = parse_duration(text.strip())
    if isinstance(seconds, Problem):
        raise UsageError(f"--within: {seconds.what}", advice=seconds.instead)
    start = _Edge(int(now // 1), is_now=True)
    return _window(start, _Edge(start.epoch + seconds), now=now, zone=zone)


def by_window(text: str, *, now: float, zone: tzinfo) -> Window:
    moment = _read("--by", text)
    if moment.from_now is not None:
        span = moment.from_now
        advice = (
            f"did you mean --within {render_duration(span)}?" if span else "write a later time, such as 17:00"
        )
        raise UsageError(f"--by {quoted(text)} is no time to come", advice=advice)
    end = _end(moment, after=now, now=now, zone=zone, rolls=moment.weekday is not None)
    if end.epoch <= now:
        raise _past(moment, now=now, zone=zone)
    return _window(_Edge(int(now // 1), is_now=True), end, now=now, zone=zone)


def between_window(text: str, *, now: float, zone: tzinfo) -> Window:
    first, dots, last = text.partition("..")
    if not dots or not first.strip() or not last.strip():
        raise UsageError(
            f"--between {quoted(text)} needs two times", advice='write both: "now..friday 17:00"'
        )
    opening, closing = _read("--between", first), _read("--between", last)
    start = _start(opening, now=now, zone=zone)
    end = _end(closing, after=start.epoch, now=now, zone=zone, rolls=True)
    if end.epoch <= now and opening.weekday is not None:
        start = _start(opening, now=now, zone=zone, weeks=1)
        end = _end(closing, after=start.epoch, now=now, zone=zone, rolls=True)
    if end.epoch <= start.epoch:
        advice = f'did you mean "{closing.said}..{opening.said}"?'
        raise UsageError(f"--between {quoted(text)} ends before it begins", advice=advice)
    if end.epoch <= now and not opening.names_day and opening.clock is not None:
        raise UsageError(
            f"--between {quoted(text)} is past, it is {show_time(int(now // 1), zone)} now",
            advice=f'did you mean "tomorrow {opening.said}..{closing.said}"?',
        )
    return _window(start, end, now=now, zone=zone)


def during_window(text: str, *, now: float, zone: tzinfo) -> Window:
    try:
        first, after_last = read_period(text, wall_clock(now, zone).date())
    except UsageError as error:
        raise UsageError(f"--during: {error.message}", advice=error.advice) from None
    start = _edge(at_clock(first, 0, zone, later=False), whole_day=True)
    end = _edge(at_clock(after_last, 0, zone, later=True), whole_day=True)
    if end.epoch <= start.epoch:
        raise UsageError(
            f"--during {quoted(text)} never is: the calendar there skips it", advice="take the day after"
        )
    return _window(start, end, now=now, zone=zone)


def _read(option: str, text: str) -> Moment:
    try:
        return read_moment(text)
    except UsageError as error:
        raise UsageError(f"{option}: {error.message}", advice=error.advice) from None


def _edge(shown: WallTime, *, whole_day: bool) -> _Edge:
    return _Edge(shown.epoch, shown.note, whole_day)


def _start(moment: Moment, *, now: float, zone: tzinfo, weeks: int = 0) -> _Edge:
    if moment.instant is not None:
        return _Edge(moment.instant)
    if moment.from_now is not None:
        return _Edge(int(now // 1) + moment.from_now, is_now=moment.from_now == 0)
    day = moment.day(wall_clock(now, zone).date()) + timedelta(weeks=weeks)
    return _edge(at_clock(day, moment.clock or 0, zone, later=False), whole_day=moment.clock is None)


def _end(moment: Moment, *, after: float, now: float, zone: tzinfo, rolls: bool) -> _Edge:
    """`rolls`: a weekday or an hour alone is the next one after the start of the window, be it a week or a day on."""
    if moment.instant is not None or moment.from_now is not None:
        return _start(moment, now=now, zone=zone)
    floating = moment.weekday is not None or not moment.names_day
    day = moment.day(wall_clock(after if floating else now, zone).date())
    clock = _END_OF_DAY if moment.clock is None else moment.clock
    shown = at_clock(day, clock, zone, later=True)
    if rolls and floating and shown.epoch <= after:
        step = timedelta(days=1 if moment.weekday is None else 7)
        shown = at_clock(day + step, clock, zone, later=True)
    return _edge(shown, whole_day=moment.clock is None)


def _past(moment: Moment, *, now: float, zone: tzinfo) -> UsageError:
    what = f"--by {quoted(moment.said)} is past, it is {show_time(int(now // 1), zone)} now"
    if moment.clock is not None and (not moment.names_day or moment.relative_day == 0):
        hour = (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=moment.clock)).strftime("%H:%M:%S")
        return UsageError(what, advice=f'did you mean "tomorrow {hour.removesuffix(":00")}"?')
    return UsageError(what, advice=f'to look back, write --between "{moment.said}..now"')


def _window(start: _Edge, end: _Edge, *, now: float, zone: tzinfo) -> Window:
    text = f"from {_shown(start, zone)} to {_shown(end, zone)}"
    if end.epoch <= now and not (start.is_now or end.is_now):
        text += ", which is past"
    notes = "; ".join(dict.fromkeys(note for note in (start.note, end.note) if note))
    return Window(
        start=start.epoch,
        end=end.epoch,
        text=f"{text} ({notes})" if notes else text,
        from_now=start.is_now,
        includes_end=not end.whole_day,
    )


def _shown(edge: _Edge, zone: tzinfo) -> str:
    return f"{'now, ' if edge.is_now else ''}{show_time(edge.epoch, zone)}"
