"""A point in time as Go has it: nanoseconds, an offset from UTC that it was written with, years beyond 1 to 9999.

Python's datetime keeps microseconds and no year 0, which Go gives to times without a date. Stamps compare by the point
in time, never by the offset. Calendar arithmetic is that of the Gregorian calendar in both directions. There is no
zone database here: an offset is a number, and a zone is only the name that stood beside it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Final

import msgspec

SECOND: Final = 10**9
LONGEST: Final = 2**63 - 1  # nanoseconds that a Go duration holds, some 292 years
_DAY: Final = 86_400
_DAYS_TO_1970: Final = 719_468  # from 0000-03-01, with which the years of `_date` begin
_YEAR_ONE: Final = -62_135_596_800


class Civil(msgspec.Struct, frozen=True, kw_only=True):
    """What a calendar and a clock at the offset of the stamp show; `weekday` counts from Sunday, `yearday` from 1."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    nanosecond: int
    weekday: int
    yearday: int


class Stamp(msgspec.Struct, frozen=True, eq=False):
    """`epoch` counts nanoseconds since 1970, UTC; `offset` is in seconds east of UTC."""

    epoch: int
    offset: int = 0
    zone: str = "UTC"

    @property
    def civil(self) -> Civil:
        seconds, nanosecond = divmod(self.epoch, SECOND)
        days, rest = divmod(seconds + self.offset, _DAY)
        year, month, day = _date(days)
        return Civil(
            year=year,
            month=month,
            day=day,
            hour=rest // 3600,
            minute=rest // 60 % 60,
            second=rest % 60,
            nanosecond=nanosecond,
            weekday=(days + 4) % 7,
            yearday=days - days_before(year, 1, 1) + 1,
        )

    @property
    def utc(self) -> Stamp:
        return Stamp(self.epoch)

    @property
    def as_datetime(self) -> datetime:
        """Cut to microseconds; a ValueError outside the years that datetime has."""
        try:
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.epoch // 1000)
            return moment.astimezone(timezone(timedelta(seconds=self.offset)))
        except OverflowError as error:
            raise ValueError(f"the year {self.civil.year} is outside what can be computed with") from error

    @classmethod
    def of(cls, moment: datetime) -> Stamp:
        """An aware datetime."""
        offset = moment.utcoffset()
        if offset is None:
            raise ValueError("a time without a zone is no point in time")
        microseconds = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
        return cls(microseconds * 1000, offset // timedelta(seconds=1), "" if offset else "UTC")

    def plus(self, nanoseconds: int) -> Stamp:
        return Stamp(self.epoch + nanoseconds, self.offset, self.zone)

    def since(self, earlier: Stamp) -> int:
        """Nanoseconds, as Go's Sub: at most what a duration holds, in either direction."""
        return max(-LONGEST - 1, min(LONGEST, self.epoch - earlier.epoch))

    def truncated(self, nanoseconds: int) -> Stamp:
        """Down to a multiple of that many nanoseconds since the year 1, UTC; zero and less change nothing, as in Go."""
        if nanoseconds <= 0:
            return self
        return self.plus(-((self.epoch - _YEAR_ONE * SECOND) % nanoseconds))

    def __eq__(self, other: object) -> bool:
        return self.epoch == other.epoch if isinstance(other, Stamp) else NotImplemented

    def __ne__(self, other: object) -> bool:
        # A Struct has one of its own, which would not ask __eq__.
        return not self == other

    def __lt__(self, other: Stamp) -> bool:
        return self.epoch < other.epoch

    def __le__(self, other: Stamp) -> bool:
        return self.epoch <= other.epoch

    def __gt__(self, other: Stamp) -> bool:
        return self.epoch > other.epoch

    def __ge__(self, other: Stamp) -> bool:
        return self.epoch >= other.epoch

    def __hash__(self) -> int:
        return hash(self.epoch)


def days_before(year: int, month: int, day: int) -> int:
    """From 1970-01-01 to that date, which must exist."""
    year -= month <= 2
    century, of_century = divmod(year, 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return (
        century * 146_097 + of_century * 365 + of_century // 4 - of_century // 100 + of_year - _DAYS_TO_1970
    )


def days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def _date(days: int) -> tuple[int, int, int]:
    # Years that begin in March put the leap day at their end, so that no month depends on it.
    century, day = divmod(days + _DAYS_TO_1970, 146_097)
    of_century = (day - day // 1_460 + day // 36_524 - day // 146_096) // 365
    of_year = day - (365 * of_century + of_century // 4 - of_century // 100)
    months = (5 * of_year + 2) // 153
    month = months + 3 if months < 10 else months - 9
    return century * 400 + of_century + (month <= 2), month, of_year - (153 * months + 2) // 5 + 1
