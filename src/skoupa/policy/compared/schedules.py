"""When Kyverno would run a policy, beside when Skoupa does.

Kyverno lets schedules in by one parser and runs them by another: five fields, six with a year, seven with seconds as well, and
six names. What the second can't read never runs, whatever the first let in. Hours are those of its process, mostly UTC.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import tzinfo
from typing import Final

import msgspec

from skoupa.expr.cron import ZONE_PREFIX, parse_cron
from skoupa.expr.readings import Problem, ProblemCode, quoted
from skoupa.expr.schedules import Schedule
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.differences import Difference, difference

# Kyverno writes down a run at its end, which may take minutes; its leader may just have changed.
LATE_SECONDS: Final = 600
_NAMES: Final = frozenset({"@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@annually"})
_QUARTER: Final = 91 * 86_400


class Timetable(msgspec.Struct, frozen=True, kw_only=True):
    """Kyverno's reading. `schedule` is None where it can't be run, or only Kyverno knows when (`runs`)."""

    text: str
    runs: bool
    schedule: Schedule | None = None

    def following(self, moment: float) -> float | None:
        return self.schedule.following(moment) if self.schedule is not None else None


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What Kyverno did with it so far: its last run, or when it was made; `lives`: it could have run since."""

    last: float | None = None
    created: float | None = None
    lives: bool = False


def kyverno_timetable(text: str, *, zone: tzinfo, zone_name: str = "") -> Timetable:
    stripped = text.strip()
    parts = stripped.split()
    if ZONE_PREFIX.match(stripped) or (stripped.startswith("@") and stripped not in _NAMES):
        return Timetable(text=text, runs=False)
    year = "*"
    if len(parts) == 6:
        *parts, year = parts
    elif len(parts) == 7:
        _, *parts, year = parts
    five = " ".join(parts)
    cron = parse_cron(five)
    if isinstance(cron, Problem):
        # Working days it knows and we do not; what is no cron expression at all neither does.
        known = len(parts) == 5 and "W" in parts[2].upper() and cron.code is ProblemCode.NOT_UNDERSTOOD
        return Timetable(text=text, runs=known)
    if year not in {"*", "?"}:
        return Timetable(text=text, runs=True)
    schedule = Schedule(text=text, cron=cron, zone=zone, zone_name=zone_name)
    return Timetable(text=text, runs=True, schedule=schedule)


def schedule_differences(
    timetable: Timetable, ours: Schedule | None, *, instead: str, past: Past, now: float
) -> Iterator[Difference]:
    """`ours` None: it is refused, and `instead` says what to write."""
    shown = quoted(timetable.text)
    if ours is None:
        code = "schedule-refused" if timetable.runs else "schedule-nobody"
        yield difference(code, schedule=shown, instead=instead)
        return
    if not timetable.runs:
        yield difference("schedule-unrunnable", schedule=shown)
        return
    theirs = timetable.schedule
    if theirs is not None and _at_other_times(theirs, ours, now):
        kyverno_zone, zone = theirs.zone_name or "UTC", ours.zone_name or "UTC"
        yield difference("time-zone", schedule=shown, kyverno_zone=kyverno_zone, zone=zone)
    yield from _of_the_past(timetable, past, now)


def _at_other_times(theirs: Schedule, ours: Schedule, now: float) -> bool:
    """In some season: zones differ in summer, too."""
    moments = (now + season * _QUARTER for season in range(4))
    return any(theirs.following(moment) != ours.following(moment) for moment in moments)


def _of_the_past(timetable: Timetable, past: Past, now: float) -> Iterator[Difference]:
    since = past.last if past.last is not None else past.created
    due = None if since is None else timetable.following(since)
    if since is None or due is None or due + LATE_SECONDS >= now:
        return
    if past.lives:
        last = whole_seconds(since) if past.last is not None else f"it was made ({whole_seconds(since)})"
        yield difference("lost-schedule", last=last)
    else:
        yield difference("missed-tick", due=whole_seconds(due))
