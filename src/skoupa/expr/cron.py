"""Cron expressions: five fields or a name such as `@daily`, read as the clock on the wall of a time zone shows them.

Where clocks change, Debian's rule holds. An expression that names its minute and its hour fires once for each time that
it names: at the first of two in autumn, and when the clocks have jumped if they jumped over it in spring. One whose
minute or hour begins with a star fires whenever the wall shows a fitting time: twice in autumn, not at all in the gap.
A day fits when either the day of the month or that of the week does, where neither is `*` (Kubernetes reads it so).
Seconds, years, `W`, `@every` and `@reboot` are refused, since each reader of such things reads them differently, and so is
`TZ=` here: `schedules` reads that. `following` and `latest` are two views of one set of moments.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

import msgspec
from cronsim import CronSim, CronSimError

from skoupa.expr.cron_fields import DAY, plain, two_ranges, unknown
from skoupa.expr.readings import Problem, ProblemCode, quoted

EXAMPLES: Final = '"0 16 * * 5" (Fridays at 16:00) or "@daily"'
NAMES: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_FIELDS: Final = (
    ("minute", "0 to 59"),
    ("hour", "0 to 23"),
    ("day of the month", "1 to 31, or L for the last"),
    ("month", "1 to 12, or JAN to DEC"),
    ("day of the week", "0 to 7 (0 and 7 are Sunday), or SUN to SAT"),
)
# Sixty minutes written one by one fit; what is longer is no expression that somebody wrote.
LONGEST: Final = 250
ZONE_PREFIX: Final = re.compile(r"(?:CRON_)?TZ=(\S*)\s*", re.IGNORECASE)
_EVERY: Final = re.compile(r"@every\s+([1-9][0-9]*)([mhd])0*[ms]?")
_SOME_LEAP_YEAR: Final = datetime(2000, 1, 1)  # noqa: DTZ001 - a time on the wall
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
# Longer than any change of clocks: Samoa left out a whole day.
_AROUND: Final = timedelta(hours=36)


class Cron(msgspec.Struct, frozen=True):
    """`text` as it was written, `fields` as five fields.

    `later`: of a time that clocks show twice in autumn the second is meant, as for the end of something that holds until then.
    """

    text: str
    fields: str
    later: bool = False

    @property
    def fixed(self) -> bool:
        """Whether minute and hour are named, so that no time fires twice or is lost when clocks change."""
        minute, hour, *_ = self.fields.split()
        return not minute.startswith("*") and not hour.startswith("*")


def parse_cron(text: str) -> Cron | Problem:
    """The expression, or what to write instead."""
    stripped = text.strip()
    if not stripped:
        return _problem(ProblemCode.EMPTY, "the cron expression is empty", f"write {EXAMPLES}")
    if len(text) > LONGEST:
        what = f"{quoted(text)} is longer than {LONGEST} characters"
        return _problem(ProblemCode.TOO_LONG, what, "write ranges and steps: 0-59, */5")
    prefix = ZONE_PREFIX.match(stripped)
    if prefix:
        rest = stripped[prefix.end() :]
        what = f"{quoted(text)} names its time zone"
        return _problem(ProblemCode.NOT_UNDERSTOOD, what, f'write "{rest}", and the zone as the time zone')
    if stripped.startswith("@"):
        return _named(text, stripped.lower())
    return _five_fields(text, stripped.split())


def following(cron: Cron, moment: float, *, zone: tzinfo) -> float | None:
    """The first time it fires after `moment`; None: not within fifty years. Seconds since the epoch."""
    start = _EPOCH + timedelta(seconds=math.floor(moment))
    shift = _shift(start, zone)
    # After the clocks go back the wall shows once more what it has shown already.
    walls = _walls(cron, _wall(start, zone) - shift, back=False)
    best, end = None, None
    for wall in walls:
        if end is not None and wall >= end:
            break
        shown = _moments(wall, zone, cron)
        later = [each for each in shown if each > start]
        if later and (best is None or later[0] < best):
            best = later[0]
        if later and end is None:
            end = wall + (shown[-1] - shown[0])
    return None if best is None else _seconds(best)


def latest(cron: Cron, moment: float, *, zone: tzinfo) -> float | None:
    """The last time it fired, at or before `moment`; None: not within fifty years. Seconds since the epoch."""
    start = _EPOCH + timedelta(seconds=math.floor(moment))
    shift = _shift(start, zone)
    walls = _walls(cron, _wall(start, zone) + shift, back=True)
    best, end = None, None
    for wall in walls:
        if end is not None and wall <= end:
            break
        shown = _moments(wall, zone, cron)
        earlier = [each for each in shown if each <= start]
        if earlier and (best is None or earlier[-1] > best):
            best = earlier[-1]
        if earlier and end is None:
            end = wall - (shown[-1] - shown[0])
    return None if best is None else _seconds(best)


def walls(cron: Cron) -> Iterator[datetime]:
    """Its times on the wall, from the beginning of some leap year on."""
    return _walls(cron, _SOME_LEAP_YEAR, back=False)


def minutes_of_day(cron: Cron) -> list[int]:
    """The minutes, counted from midnight, at which it comes on a day that fits."""
    fields = CronSim(cron.fields, _SOME_LEAP_YEAR)
    return sorted(60 * hour + minute for hour in fields.hours for minute in fields.minutes)


def _walls(cron: Cron, start: datetime, *, back: bool) -> Iterator[datetime]:
    """Fitting times on the wall, from `start` on, which is included."""
    try:
        yield from CronSim(cron.fields, start + _SECOND if back else start - _SECOND, reverse=back)
    except (OverflowError, ValueError):
        # The calendar ends in the year 9999.
        return


def _moments(wall: datetime, zone: tzinfo, cron: Cron) -> list[datetime]:
    """When that time fires: mostly once; in the fold of autumn twice or once, in the gap of spring never or at its end."""
    first, second = (wall.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if first == second:
        return [first]
    if first < second:
        once = [second] if cron.later else [first]
        return once if cron.fixed else [first, second]
    return [_jump(second, first, zone)] if cron.fixed else []


def _jump(low: datetime, high: datetime, zone: tzinfo) -> datetime:
    """The moment, after `low` and not after `high`, at which the clocks jump."""
    before = low.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + timedelta(seconds=(high - low) // _SECOND // 2)
        if middle.astimezone(zone).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high


def _shift(moment: datetime, zone: tzinfo) -> timedelta:
    """By how much clocks change around that moment: mostly not at all."""
    offsets = [
        (moment + step).astimezone(zone).utcoffset() or timedelta(0)
        for step in (-_AROUND, timedelta(0), _AROUND)
    ]
    return max(offsets) - min(offsets)


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def _seconds(moment: datetime) -> float:
    return (moment - _EPOCH).total_seconds()


def _named(text: str, name: str) -> Cron | Problem:
    if name in NAMES:
        return Cron(text, NAMES[name])
    if name.startswith("@every"):
        step = _as_step(name)
        instead = f'write "{step}"' if step else 'write a step, such as "*/5 * * * *" for every five minutes'
        what = f"{quoted(text)} counts from a start that nobody knows"
        return _problem(ProblemCode.NOT_UNDERSTOOD, what, instead)
    what = f"{quoted(text)} is no name of a cron expression"
    return _problem(ProblemCode.NOT_UNDERSTOOD, what, f"write one of {', '.join(NAMES)}, or five fields")


def _five_fields(text: str, parts: list[str]) -> Cron | Problem:
    if len(parts) != 5:
        what = f"{quoted(text)} has {len(parts)} field{'s' * (len(parts) != 1)}, not five"
        instead = f"write minute, hour, day of the month, month and day of the week: {EXAMPLES}"
        if len(parts) in {6, 7}:
            instead = f"leave out {'the seconds, or the year' if len(parts) == 6 else 'seconds and year'}: {instead}"
        return _problem(ProblemCode.NOT_UNDERSTOOD, what, instead)
    if "W" in parts[DAY].upper():
        what = f"{quoted(parts[DAY])} means the working day nearest to a day, which is not known here"
        instead = 'name the days of the week instead: "0 3 * * 1#1" is the first Monday of a month'
        return _problem(ProblemCode.NOT_UNDERSTOOD, what, instead)
    written = parts
    parts = [plain(part, place) for place, part in enumerate(parts)]
    for place, (name, values) in enumerate(_FIELDS):
        alone = ["*"] * 5
        alone[place] = parts[place]
        # The 31st alone is a day of some months; whether of those that are named is asked below.
        if not _accepted(alone) or unknown(parts[place]):
            what = f"{quoted(written[place])} is no {name}"
            instead = f"write {values}; also *, lists (1,2), ranges (1-5) and steps (*/2)"
            if turned := two_ranges(written[place], place):
                instead = f"a range does not go over the end: write {turned}"
            return _problem(ProblemCode.OUT_OF_RANGE, what, f"{instead}, in {quoted(text)}")
    cron = Cron(text, " ".join(parts))
    if not _accepted(parts) or next(walls(cron), None) is None:
        what = f"{quoted(text)} never comes: there is no such day"
        return _problem(ProblemCode.NO_SUCH_TIME, what, "check the day and the month")
    return cron


def _as_step(every: str) -> str:
    """What comes as often, where the clock can say it."""
    match = _EVERY.fullmatch(every)
    if match is None:
        return ""
    number, unit = int(match[1]), match[2]
    if unit == "m" and 60 % number == 0:
        return f"*/{number} * * * *" if number < 60 else "0 * * * *"
    if unit == "h" and 24 % number == 0:
        return "@hourly" if number == 1 else f"0 */{number} * * *" if number < 24 else "@daily"
    return "@daily" if unit == "d" and number == 1 else ""


def _accepted(parts: list[str]) -> bool:
    try:
        CronSim(" ".join(parts), _SOME_LEAP_YEAR)
    except CronSimError:
        return False
    return True


def _problem(code: ProblemCode, what: str, instead: str) -> Problem:
    return Problem(code=code, what=what, instead=instead)
