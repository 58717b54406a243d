"""Times on the command line: in whose zone, how they are shown, and how one that was typed is read."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta, tzinfo

from skoupa.expr.durations import UNITS
from skoupa.expr.walltime import show_time
from skoupa.expr.zones import local_zone, named_zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def zone_of(name: str | None) -> tzinfo:
    return named_zone(name) if name is not None else local_zone(os.environ)


def short_time(epoch: float, zone: tzinfo) -> str:
    """`2026-11-20 17:00`; whoever needs the second sees it in the distance, or asks for JSON."""
    when = _EPOCH + timedelta(seconds=int(epoch))
    try:
        when = when.astimezone(zone)
    except OverflowError:
        # The last hours of the year 9999 are in no calendar east of Greenwich.
        return f"{when:%Y-%m-%d %H:%M}Z"
    return f"{when:%Y-%m-%d %H:%M}"


def full_time(epoch: float, zone: tzinfo) -> str:
    try:
        return show_time(int(epoch), zone)
    except OverflowError:
        return show_time(int(epoch), UTC)


def distance(moment: float, now: float) -> str:
    """`in 3h`, `2d4h ago`: the two largest units, which is as exact as anybody reads."""
    seconds = int(abs(moment - now))
    if not seconds:
        return "now"
    parts: list[str] = []
    units = [unit for unit in UNITS if unit != "w"]
    for position, unit in enumerate(units):
        number, seconds = divmod(seconds, UNITS[unit])
        if number:
            parts.append(f"{number}{unit}")
            for smaller in units[position + 1 : position + 2]:
                rest = seconds // UNITS[smaller]
                # Beyond ten of a unit nobody asks for the next one.
                if rest and number < 10:
                    parts.append(f"{rest}{smaller}")
            break
    text = "".join(parts)
    return f"in {text}" if moment > now else f"{text} ago"
