"""What a clock on a wall shows, and when it shows it.

A time on the wall is not always one moment. In the gap of spring it never shows: it is moved forward by the length of
the gap. In the fold of autumn it shows twice: the start of a window takes the earlier, the end the later, so that
nothing is missed.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

import msgspec

_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class WallTime(msgspec.Struct, frozen=True):
    """The moment at which a clock shows a time; `note` says where that needed a decision."""

    epoch: int
    note: str = ""


def shown_at(wall: datetime, zone: tzinfo, *, later: bool) -> WallTime:
    """When `wall` (which has no zone) shows in `zone`; `later` picks the second of two moments."""
    before, after = (_offset(wall.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    naive = wall.replace(tzinfo=UTC) - _EPOCH
    if before == after:
        return WallTime(_seconds(naive - before))
    day = f"{wall:%H:%M} on {wall:%Y-%m-%d}"
    if before < after:
        epoch = _seconds(naive - before)
        return WallTime(epoch, f"{day} is skipped by the clocks, taken as {wall_clock(epoch, zone):%H:%M}")
    if later:
        return WallTime(_seconds(naive - after), f"{day} comes twice, the later one is taken")
    return WallTime(_seconds(naive - before), f"{day} comes twice, the earlier one is taken")


def wall_clock(epoch: float, zone: tzinfo) -> datetime:
    """What the wall shows, without its zone: to count days with."""
    return _local(int(epoch // 1), zone).replace(tzinfo=None)


def show_time(epoch: int, zone: tzinfo) -> str:
    """`Fri 2026-11-20 17:00 EET (UTC+02:00)`; seconds only where there are any."""
    when = _local(epoch, zone)
    clock = f"{when:%H:%M:%S}" if when.second else f"{when:%H:%M}"
    return f"{_WEEKDAYS[when.weekday()]} {when:%Y-%m-%d} {clock} {_place(when)}"


def _place(when: datetime) -> str:
    seconds, name = _seconds(_offset(when)), when.tzname() or ""
    if name == "UTC" and not seconds:
        return name
    minutes, rest = divmod(abs(seconds), 60)
    east = f"UTC{'-' if seconds < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}" + (
        f":{rest:02}" if rest else ""
    )
    # Many zones have no letters of their own and are called +03.
    return f"{name} ({east})" if name.isalpha() else east


def _local(epoch: int, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(seconds=epoch)).astimezone(zone)


def _offset(when: datetime) -> timedelta:
    return when.utcoffset() or timedelta(0)


def _seconds(span: timedelta) -> int:
    return span.days * 86_400 + span.seconds
