"""Kyverno's time library. The moment is the one that the batch is judged at, not that of a clock.

Timestamps come here with microseconds, not nanoseconds: what is finer is cut off.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from skoupa.expr.cel.library.declaring import function
from skoupa.expr.cel.library.world import World

# Go counts from the first moment of year 1, which decides where weeks and longer units are cut.
_BEGINNING: Final = datetime(1, 1, 1, tzinfo=UTC)


def now(world: World) -> datetime:
    return world.now


def truncate(moment: datetime, unit: timedelta) -> datetime:
    if unit <= timedelta():
        return moment
    return moment - (moment - _BEGINNING) % unit


def to_cron(moment: datetime) -> str:
    at = moment.astimezone(UTC)
    return f"{at.minute} {at.hour} {at.day} {at.month} {at.isoweekday() % 7}"


FUNCTIONS: Final = (
    function("time.now", now, "-> timestamp", worldly=True),
    function("time.truncate", truncate, "timestamp, duration -> timestamp"),
    function("time.toCron", to_cron, "timestamp -> string"),
)
