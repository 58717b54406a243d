"""Schedules of policies: a cron expression, the time zone that its hours are of, and how close two runs can come.

A zone is named before the expression (`CRON_TZ=Europe/Athens 0 3 * * *`, also `TZ=`) or beside it; nothing is UTC, and two
that differ are a Problem. The same value validates and runs: what is read here has a next time. How to space runs that come
closer than they may when clocks change is for who runs them.
"""

from __future__ import annotations

import math
from datetime import UTC, tzinfo
from functools import lru_cache
from itertools import pairwise, takewhile
from typing import Final

import msgspec

from skoupa.errors import UsageError
from skoupa.expr.cron import LONGEST, ZONE_PREFIX, Cron, following, latest, minutes_of_day, parse_cron, walls
from skoupa.expr.durations import render_duration
from skoupa.expr.readings import Problem, ProblemCode, quoted
from skoupa.expr.zones import named_zone

LONGEST_ZONE: Final = 64
LONGEST_SCHEDULE: Final = LONGEST + LONGEST_ZONE + len("CRON_TZ= ")
# From one leap day to the next: no expression has a shorter gap that it shows only later.
_YEARS_LOOKED_AT: Final = 5
_MINUTES_OF_A_DAY: Final = 1440


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """`text` as it was written; `zone_name` is empty where nobody named a zone."""

    text: str
    cron: Cron
    zone: tzinfo
    zone_name: str = ""

    def following(self, moment: float) -> float | None:
        """The first run after that moment, in seconds since the epoch; None: not within fifty years."""
        return _following(self.cron, math.floor(moment), self.zone)

    def latest(self, moment: float) -> float | None:
        """The last run at or before that moment."""
        return _latest(self.cron, math.floor(moment), self.zone)


def parse_schedule(text: str, *, zone_name: str = "", minimum_seconds: int = 60) -> Schedule | Problem:
    """The schedule, or what to write instead; `zone_name` is a zone that stands beside it."""
    stripped = text.strip()
    prefix = ZONE_PREFIX.match(stripped)
    inside = prefix[1] if prefix else ""
    if prefix and not inside:
        what = f"{quoted(text)} names no time zone"
        return _problem(what, "write CRON_TZ=Europe/Athens before the expression, or leave it out")
    if inside and zone_name.strip() and inside != zone_name.strip():
        what = f"{quoted(text)} names another time zone than {quoted(zone_name)}, which stands beside it"
        return _problem(what, "write one of them")
    named = inside or zone_name.strip()
    try:
        zone = named_zone(named) if named else UTC
    except UsageError as error:
        return _problem(error.message, error.advice)
    cron = parse_cron(stripped[prefix.end() :] if prefix else stripped)
    if isinstance(cron, Problem):
        return cron
    # No expression comes more often than every minute.
    gap = shortest_gap(cron) if minimum_seconds > 60 else None
    if gap is not None and gap < minimum_seconds:
        what = f"{quoted(text)} comes every {render_duration(gap)}, and policies run at most every "
        return Problem(
            code=ProblemCode.OUT_OF_RANGE,
            what=what + render_duration(minimum_seconds),
            instead="write a longer interval, or lower policies.minimumInterval",
        )
    return Schedule(text=text, cron=cron, zone=zone, zone_name=named)


# Policies that are due together have few schedules, and count from the same moments.
@lru_cache(maxsize=1024)
def _following(cron: Cron, moment: int, zone: tzinfo) -> float | None:
    return following(cron, moment, zone=zone)


@lru_cache(maxsize=1024)
def _latest(cron: Cron, moment: int, zone: tzinfo) -> float | None:
    return latest(cron, moment, zone=zone)


@lru_cache(maxsize=1024)
def shortest_gap(cron: Cron) -> int | None:
    """The least number of seconds between two times on the wall; None where no two come within five years."""
    within = minutes_of_day(cron)
    gaps = [after - before for before, after in pairwise(within)]
    days = _days_apart(cron)
    if days is not None:
        gaps.append(days * _MINUTES_OF_A_DAY - within[-1] + within[0])
    return min(gaps) * 60 if gaps else None


def _days_apart(cron: Cron) -> int | None:
    """How close two days on which it comes can be."""
    days = msgspec.structs.replace(cron, fields=" ".join(["0", "0", *cron.fields.split()[2:]]))
    ticks = takewhile(lambda wall: wall.year < 2000 + _YEARS_LOOKED_AT, walls(days))
    closest = None
    for before, after in pairwise(ticks):
        apart = (after - before).days
        if apart == 1:
            return 1
        closest = apart if closest is None else min(closest, apart)
    return closest


def _problem(what: str, instead: str) -> Problem:
    return Problem(code=ProblemCode.NOT_UNDERSTOOD, what=what, instead=instead)
