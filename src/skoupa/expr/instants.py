"""Points in time, UTC: `2026-09-30` and `2026-08-04T003000Z` in labels, RFC 3339 in annotations.

A date is the midnight with which that day begins; labels allow no colons. A text outside these forms is a
Problem; what its writer probably meant is worked out only to suggest the right spelling. A time before 1970 is a slip
of the finger and never acted on; a past time is otherwise as good as any.
"""

from __future__ import annotations

import calendar
import re
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from skoupa.expr.readings import Problem, ProblemCode, quoted

EXAMPLES: Final = "2026-09-30 or 2026-08-04T003000Z"
RFC3339_EXAMPLE: Final = "2026-08-04T00:30:00Z"
_FIRST_YEAR: Final = 1970
LAST_SECOND: Final = 253_402_300_799  # the end of 9999, the last second that RFC 3339 can write
_LONGEST: Final = 100
_DAY: Final = 86_400

_LABEL: Final = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2})(?P<minute>[0-9]{2})(?P<second>[0-9]{2})Z)?"
)
_RFC3339: Final = re.compile(
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})[Tt]"
    r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2})(?P<fraction>\.[0-9]+)?"
    r"(?P<zone>[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)
_LOOSE_CLOCK: Final = r"""
    (?: [T\s_.-]+ (?P<hour>[0-9]{1,2}) (?: [:.h-]? (?P<minute>[0-9]{2}) (?: [:.m-]? (?P<second>[0-9]{2}) )? )?
        (?P<fraction>[.,][0-9]+)? \s* [hms]? \s* (?P<zone> Z | UTC | GMT | [+-](?:[01][0-9]|2[0-3]):?[0-5][0-9] )? )?"""
_LOOSE: Final = tuple(
    re.compile(date + _LOOSE_CLOCK, re.VERBOSE | re.ASCII | re.IGNORECASE)
    for date in (
        r"(?P<year>[0-9]{4})[-/._](?P<month>[0-9]{1,2})[-/._](?P<day>[0-9]{1,2})",
        r"(?P<year>(?:19|20)[0-9]{2})(?P<month>[0-9]{2})(?P<day>[0-9]{2})",
        r"(?P<day>[0-9]{1,2})[-/._](?P<month>[0-9]{1,2})[-/._](?P<year>[0-9]{4})",
    )
)
_EPOCH: Final = re.compile(r"[1-3][0-9]{9}")


class _Stated(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of a time as they were written, whether or not a calendar has them."""

    year: int
    month: int
    day: int
    hour: int = 0
    minute: int = 0
    second: int = 0
    dated: bool = False
    offset: int = 0
    round_up: bool = False
    ambiguous: bool = False

    def epoch(self) -> int | None:
        try:
            when = datetime(self.year, self.month, self.day, self.hour, self.minute, self.second, tzinfo=UTC)
        except ValueError:
            return None
        return calendar.timegm(when.timetuple()) - self.offset + self.round_up

    def nearest(self) -> int | None:
        """What was probably meant, never sooner than it was written: the end of a day, or of a shorter month.

        There is no clock here to see that a sooner time is past, and whoever writes a past time loses the object.
        """
        if self.hour == 24 and not self.minute and not self.second:
            midnight = msgspec.structs.replace(self, hour=0).epoch()
            return None if midnight is None else midnight + _DAY
        if 1 <= self.month <= 12 and 28 < self.day <= 31:
            last = msgspec.structs.replace(self, day=calendar.monthrange(self.year, self.month)[1]).epoch()
            return None if last is None else last + _DAY
        return None

    @property
    def may_be_swapped(self) -> bool:
        return 12 < self.month <= 31 and 1 <= self.day <= 12


def parse_label_time(text: str) -> int | Problem:
    """Seconds since the epoch of a label's date or time, or what to write instead."""
    return _parse(text, _LABEL, colons=False)


def parse_rfc3339(text: str) -> int | Problem:
    """Seconds since the epoch of an annotation's time; a fraction counts as a second, so that nothing is early."""
    return _parse(text, _RFC3339, colons=True)


def render_label_time(epoch: int) -> str:
    """In a label's own grammar; midnight is the bare date."""
    return _spelt(epoch, dated=epoch % _DAY == 0, colons=False)


def looks_like_time(text: str) -> bool:
    return _loosely(text) is not None or _EPOCH.fullmatch(text.strip()) is not None


def _parse(text: str, form: re.Pattern[str], *, colons: bool) -> int | Problem:
    match = form.fullmatch(text) if len(text) <= _LONGEST else None
    if match is None:
        return _problem(text, colons=colons)
    stated = _stated(match)
    epoch = stated.epoch()
    if epoch is None or not 0 <= epoch <= LAST_SECOND:
        return _no_such_time(text, stated, colons=colons)
    return epoch


def _stated(match: re.Match[str]) -> _Stated:
    found = match.groupdict()
    fraction, zone = found.get("fraction") or "", found.get("zone") or "Z"
    offset = 0
    if zone[0] in "+-":
        offset = (int(zone[1:3]) * 60 + int(zone[-2:])) * (-60 if zone[0] == "-" else 60)
    return _Stated(
        year=int(found["year"]),
        month=int(found["month"]),
        day=int(found["day"]),
        hour=int(found["hour"] or 0),
        minute=int(found["minute"] or 0),
        second=int(found["second"] or 0),
        dated=found["hour"] is None,
        offset=offset,
        round_up=bool(fraction.strip(".,0")),
        ambiguous=match.start("day") == 0 and found["day"] != found["month"] and int(found["day"]) <= 12,
    )


def _loosely(text: str) -> _Stated | None:
    if len(text) > _LONGEST:
        return None
    match = next((found for form in _LOOSE if (found := form.fullmatch(text.strip()))), None)
    return match and _stated(match)


def _problem(text: str, *, colons: bool) -> Problem:
    examples = RFC3339_EXAMPLE if colons else EXAMPLES
    general = f"write a time in UTC such as {examples}"
    if not text.strip():
        return Problem(code=ProblemCode.EMPTY, what="the time is empty", instead=general)
    stated = _loosely(text)
    if stated is None and not _EPOCH.fullmatch(text.strip()):
        return Problem(code=ProblemCode.NOT_UNDERSTOOD, what=f"{quoted(text)} is no time", instead=general)
    epoch = int(text) if stated is None else stated.epoch()
    if stated is not None and (epoch is None or not 0 <= epoch <= LAST_SECOND):
        return _no_such_time(text, stated, colons=colons)
    assert epoch is not None
    dated = stated is not None and stated.dated
    suggestion = _spelt(epoch, dated=dated, colons=colons)
    if stated is not None and stated.ambiguous:
        suggestion, instead = "", f"{general}, the year first and the day last"
    else:
        instead = f"write {suggestion}" if dated else f"write {suggestion}, which is in UTC"
    return Problem(
        code=ProblemCode.TIME_FORMAT,
        what=f"{quoted(text)} does not write its time as {examples}",
        instead=instead,
        suggestion=suggestion,
    )


def _no_such_time(text: str, stated: _Stated, *, colons: bool) -> Problem:
    if stated.year < _FIRST_YEAR or stated.epoch() is not None:
        what, instead = f"{quoted(text)} does not lie between {_FIRST_YEAR} and 9999", "check the year"
        return Problem(code=ProblemCode.OUT_OF_RANGE, what=what, instead=instead)
    epoch = stated.nearest()
    suggestion = "" if epoch is None else _spelt(epoch, dated=stated.dated, colons=colons)
    instead = f"write {suggestion}" if suggestion else "check the date and the hour"
    if stated.may_be_swapped:
        form = (
            "YYYY-MM-DD"
            if stated.dated and not colons
            else f"YYYY-MM-DDT{'HH:MM:SS' if colons else 'HHMMSS'}Z"
        )
        instead = f"write it as {form}, the month before the day"
    return Problem(
        code=ProblemCode.NO_SUCH_TIME,
        what=f"there is no such day or hour as {quoted(text)}",
        instead=instead,
        suggestion=suggestion,
    )


def _spelt(epoch: int, *, dated: bool, colons: bool) -> str:
    """Empty where no text can say it: beyond the year 9999."""
    try:
        when = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=epoch)
    except OverflowError:
        return ""
    if colons:
        return f"{when:%Y-%m-%dT%H:%M:%SZ}"
    return f"{when:%Y-%m-%d}" if dated else f"{when:%Y-%m-%dT%H%M%SZ}"
