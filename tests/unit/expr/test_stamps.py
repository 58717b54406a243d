"""Points in time with nanoseconds. `kyverno` are the tests of its time functions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr import layouts
from skoupa.expr.golang import duration_text, go_duration
from skoupa.expr.stamps import LONGEST, Stamp, days_before, days_in

pytestmark = pytest.mark.unit


def at(text: str) -> Stamp:
    return layouts.parse("RFC3339", text)


def test_stamps_compare_by_the_point_in_time() -> None:
    early, late = at("2021-01-02T15:04:05-07:00"), at("2021-01-02T22:04:05.000000001Z")
    assert early < late
    assert late > early
    assert early <= at("2021-01-02T22:04:05Z") <= early
    assert early == at("2021-01-02T22:04:05Z")
    assert not early != at("2021-01-02T22:04:05Z")  # noqa: SIM202 - `!=` is asked, too
    assert hash(early) == hash(early.utc)


@pytest.mark.parametrize(
    ("earlier", "later", "duration", "source"),
    [
        ("2021-01-02T15:04:05-07:00", "2021-01-10T03:14:05-07:00", "180h10m0s", "kyverno"),
        ("2021-01-10T03:14:05-07:00", "2021-01-02T15:04:05-07:00", "-180h10m0s", "kyverno"),
    ],
)
def test_the_time_between_two_is_a_go_duration(earlier: str, later: str, duration: str, source: str) -> None:
    assert duration_text(at(later).since(at(earlier))) == duration, source


def test_a_distance_is_at_most_what_a_duration_holds() -> None:
    assert at("9999-01-01T00:00:00Z").since(at("0001-01-01T00:00:00Z")) == LONGEST
    assert at("0001-01-01T00:00:00Z").since(at("9999-01-01T00:00:00Z")) == -LONGEST - 1


@pytest.mark.parametrize(
    ("text", "duration", "result", "source"),
    [
        ("2021-01-02T15:04:05-07:00", "3h", "2021-01-02T18:04:05-07:00", "kyverno"),
        ("2021-01-02T15:04:05-07:00", "5h30m40s", "2021-01-02T20:34:45-07:00", "kyverno"),
        ("2024-02-28T23:59:59Z", "1s", "2024-02-29T00:00:00Z", "calendar"),
        ("2023-12-31T23:59:59Z", "1s", "2024-01-01T00:00:00Z", "calendar"),
    ],
)
def test_a_duration_is_added_in_the_offset_of_the_stamp(
    text: str, duration: str, result: str, source: str
) -> None:
    nanoseconds = go_duration(duration)
    assert isinstance(nanoseconds, int)
    assert layouts.format("RFC3339", at(text).plus(nanoseconds)) == result, source


@pytest.mark.parametrize(
    ("text", "duration", "result", "source"),
    [
        ("2021-01-02T17:00:00Z", "1h", "2021-01-02T17:00:00Z", "kyverno"),
        ("2021-01-02T17:04:30Z", "1h", "2021-01-02T17:00:00Z", "kyverno"),
        ("2021-01-02T17:04:30Z", "1h30m", "2021-01-02T16:30:00Z", "go"),
        ("2021-01-02T17:04:30+05:30", "24h", "2021-01-02T05:30:00+05:30", "go"),
        ("2021-01-02T17:04:30.5Z", "0s", "2021-01-02T17:04:30.5Z", "go"),
        ("2021-01-02T17:04:30.5Z", "-1h", "2021-01-02T17:04:30.5Z", "go"),
    ],
)
def test_truncating_counts_from_the_year_one(text: str, duration: str, result: str, source: str) -> None:
    nanoseconds = go_duration(duration)
    assert isinstance(nanoseconds, int)
    assert layouts.format("RFC3339Nano", at(text).truncated(nanoseconds)) == result, source


def test_a_datetime_becomes_a_stamp_and_back() -> None:
    moment = datetime(2024, 2, 29, 12, 30, 15, 123456, tzinfo=UTC)
    assert Stamp.of(moment).as_datetime == moment
    assert at("2024-02-29T14:30:15.123456789+02:00").as_datetime == moment
    assert at("2024-02-29T14:30:15+02:00").as_datetime.utcoffset() == timedelta(hours=2)
    with pytest.raises(ValueError, match="without a zone"):
        Stamp.of(datetime(2024, 1, 1))  # noqa: DTZ001 - the subject
    with pytest.raises(ValueError, match="the year 0 is outside"):
        _ = layouts.parse("15:04", "12:00").as_datetime


@given(st.datetimes(timezones=st.just(UTC)))
def test_the_calendar_is_that_of_datetime(moment: datetime) -> None:
    civil = Stamp.of(moment).civil
    assert (civil.year, civil.month, civil.day) == (moment.year, moment.month, moment.day)
    assert (civil.hour, civil.minute, civil.second) == (moment.hour, moment.minute, moment.second)
    assert (civil.weekday, civil.yearday) == (moment.isoweekday() % 7, moment.timetuple().tm_yday)
    assert civil.nanosecond == moment.microsecond * 1000


@given(st.integers(-(10**18), 10**18))
def test_every_day_has_one_date(days: int) -> None:
    civil = Stamp(days * 86_400 * 10**9).civil
    assert days_before(civil.year, civil.month, civil.day) == days
    assert 1 <= civil.day <= days_in(civil.year, civil.month)
