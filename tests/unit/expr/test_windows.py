"""The windows of `plan`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import UsageError
from skoupa.expr.walltime import wall_clock
from skoupa.expr.windows import (
    Window,
    between_window,
    by_window,
    during_window,
    read_window,
    within_window,
)

pytestmark = pytest.mark.unit

ATHENS = ZoneInfo("Europe/Athens")
ZONES = [
    UTC,
    *(
        ZoneInfo(name)
        for name in ("Europe/Athens", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia")
    ),
]
READERS = [within_window, by_window, between_window, during_window]


def epoch(text: str, zone: tzinfo = ATHENS) -> int:
    when = datetime.fromisoformat(text)
    return int((when if when.tzinfo else when.replace(tzinfo=zone)).timestamp())


FRIDAY_NOON = epoch("2026-11-20T12:00")
MOMENTS = st.integers(min_value=epoch("1999-01-01"), max_value=epoch("2037-01-01"))
# Days on which the clocks of one of the zones change, and Apia's missing one.
CHANGES = st.sampled_from(
    [
        (ZoneInfo("Europe/Athens"), "2026-03-29"),
        (ZoneInfo("Europe/Athens"), "2026-10-25"),
        (ZoneInfo("America/New_York"), "2026-03-08"),
        (ZoneInfo("America/New_York"), "2026-11-01"),
        (ZoneInfo("Australia/Lord_Howe"), "2026-04-05"),
        (ZoneInfo("Australia/Lord_Howe"), "2026-10-04"),
        (ZoneInfo("Pacific/Apia"), "2011-12-30"),
        (ZoneInfo("America/Havana"), "2026-11-01"),
    ]
)


def within(text: str, now: float = FRIDAY_NOON) -> Window:
    return within_window(text, now=now, zone=ATHENS)


def by(text: str, now: float = FRIDAY_NOON) -> Window:
    return by_window(text, now=now, zone=ATHENS)


def between(text: str, now: float = FRIDAY_NOON) -> Window:
    return between_window(text, now=now, zone=ATHENS)


def during(text: str, now: float = FRIDAY_NOON) -> Window:
    return during_window(text, now=now, zone=ATHENS)


def test_within_ends_so_long_from_now() -> None:
    window = within("6h")
    assert (window.start, window.end) == (FRIDAY_NOON, FRIDAY_NOON + 21_600)
    assert (
        window.text
        == "from now, Fri 2026-11-20 12:00 EET (UTC+02:00) to Fri 2026-11-20 18:00 EET (UTC+02:00)"
    )


def test_within_counts_hours_that_pass_and_not_what_the_wall_shows() -> None:
    window = within("24h", epoch("2026-10-24T12:00"))
    assert window.end - window.start == 86_400
    assert "Sun 2026-10-25 11:00 EET" in window.text


@pytest.mark.parametrize(
    ("text", "advice"), [("1.5h", "write 1h30m"), ("6 hours", "write 6h"), ("friday", "write")]
)
def test_within_what_is_no_duration_is_an_error_that_says_what_to_write(text: str, advice: str) -> None:
    with pytest.raises(UsageError, match="--within") as caught:
        within(text)
    assert caught.value.advice.startswith(advice)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("17:00", "2026-11-20T17:00"),
        ("17:00:30", "2026-11-20T17:00:30"),
        ("5pm", "2026-11-20T17:00"),
        ("5:30 pm", "2026-11-20T17:30"),
        ("today 17:00", "2026-11-20T17:00"),
        ("friday 17:00", "2026-11-20T17:00"),
        ("Friday at 17:00", "2026-11-20T17:00"),
        ("17:00 friday", "2026-11-20T17:00"),
        ("friday 11:00", "2026-11-27T11:00"),
        ("friday 12:00", "2026-11-27T12:00"),
        ("monday 9am", "2026-11-23T09:00"),
        ("thu noon", "2026-11-26T12:00"),
        ("tomorrow 08:00", "2026-11-21T08:00"),
        ("midnight", "2026-11-21T00:00"),
        ("24:00", "2026-11-21T00:00"),
        ("2026-12-01 17:00", "2026-12-01T17:00"),
        ("2026-12-01T17:00", "2026-12-01T17:00"),
        ("2026-12-01T17:00:00Z", "2026-12-01T17:00+00:00"),
        ("2026-12-01T17:00:00-05:00", "2026-12-01T17:00-05:00"),
        ("2026-12-01T170000Z", "2026-12-01T17:00+00:00"),
    ],
)
def test_by_an_hour_includes_that_hour(text: str, end: str) -> None:
    window = by(text)
    assert window.end == epoch(end)
    assert window.contains(window.end)
    assert not window.contains(window.end + 1)


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("today", "2026-11-21T00:00"),
        ("tomorrow", "2026-11-22T00:00"),
        ("friday", "2026-11-21T00:00"),
        ("monday", "2026-11-24T00:00"),
        ("2026-12-01", "2026-12-02T00:00"),
    ],
)
def test_by_a_day_lasts_to_the_end_of_that_day(text: str, end: str) -> None:
    window = by(text)
    assert window.end == epoch(end)
    assert window.contains(window.end - 1)
    assert not window.contains(window.end)


def test_what_is_overdue_belongs_to_a_window_that_begins_now() -> None:
    assert within("6h").contains(FRIDAY_NOON - 86_400)
    assert by("17:00").contains(FRIDAY_NOON - 86_400)
    assert between("now..17:00").contains(FRIDAY_NOON - 86_400)
    assert not between("13:00..17:00").contains(FRIDAY_NOON - 86_400)
    assert not during("today").contains(FRIDAY_NOON - 86_400)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("11:00", 'did you mean "tomorrow 11:00"?'),
        ("12:00", 'did you mean "tomorrow 12:00"?'),
        ("11 am", 'did you mean "tomorrow 11:00"?'),
        ("today 11:00", 'did you mean "tomorrow 11:00"?'),
        ("yesterday", 'to look back, write --between "yesterday..now"'),
        ("2026-08-01 17:00", 'to look back, write --between "2026-08-01 17:00..now"'),
        ("2026-08-01T17:00:00Z", 'to look back, write --between "2026-08-01T17:00:00Z..now"'),
        ("6h", "did you mean --within 6h?"),
        ("in 90m", "did you mean --within 1h30m?"),
        ("now", "write a later time, such as 17:00"),
        ("17", "write 17:00 for the hour"),
        ("firday 17:00", "did you mean friday?"),
        ("next friday", 'write the date, or "friday" for the coming one'),
        ("may", "write --during may for the month, or a date such as 2026-05-31"),
        ("2026-02-30", "write 2026-03-01"),
        ("9999-12-31", "years go from 1970 to 9998"),
        ("9999-12-31T23:00:00Z", "years go from 1970 to 9998"),
        ("13pm", "write 5pm or 17:00"),
        ("25:00", "hours go from 00:00 to 24:00"),
        ("friday monday", 'write 17:00, "friday 17:00"'),
        ("17:00 18:00", 'write 17:00, "friday 17:00"'),
        ("", 'write 17:00, "friday 17:00"'),
        ("at", 'write 17:00, "friday 17:00"'),
    ],
)
def test_by_what_can_not_be_meant_is_an_error_that_suggests_the_right_window(text: str, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        by(text)
    assert caught.value.advice.startswith(advice)
    assert caught.value.message.startswith("--by")
    assert caught.value.exit_code == 2


def test_by_17_00_at_18_00_asks_whether_tomorrow_is_meant() -> None:
    with pytest.raises(UsageError, match=r'"17:00" is past.*18:00.*"tomorrow 17:00"'):
        by("17:00", epoch("2026-11-20T18:00"))


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("now..friday 17:00", "2026-11-20T12:00", "2026-11-20T17:00"),
        ("now..11:00", "2026-11-20T12:00", "2026-11-21T11:00"),
        ("now .. tomorrow", "2026-11-20T12:00", "2026-11-22T00:00"),
        ("now..6h", "2026-11-20T12:00", "2026-11-20T18:00"),
        ("6h..12h", "2026-11-20T18:00", "2026-11-21T00:00"),
        ("09:00..17:00", "2026-11-20T09:00", "2026-11-20T17:00"),
        ("22:00..06:00", "2026-11-20T22:00", "2026-11-21T06:00"),
        ("17:00..tomorrow 9:00", "2026-11-20T17:00", "2026-11-21T09:00"),
        ("friday..monday", "2026-11-20T00:00", "2026-11-24T00:00"),
        ("monday..friday", "2026-11-23T00:00", "2026-11-28T00:00"),
        ("friday 09:00..17:00", "2026-11-20T09:00", "2026-11-20T17:00"),
        ("friday 09:00..11:00", "2026-11-27T09:00", "2026-11-27T11:00"),
        ("friday 18:00..friday 9:00", "2026-11-20T18:00", "2026-11-27T09:00"),
        ("2026-05-01..2026-05-31", "2026-05-01T00:00", "2026-06-01T00:00"),
        ("2026-12-01 08:00..18:00", "2026-12-01T08:00", "2026-12-01T18:00"),
        ("yesterday..now", "2026-11-19T00:00", "2026-11-20T12:00"),
    ],
)
def test_between_two_moments(text: str, start: str, end: str) -> None:
    window = between(text)
    assert (window.start, window.end) == (epoch(start), epoch(end))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("09:00..11:00", 'did you mean "tomorrow 09:00..11:00"?'),
        ("2026-05-31..2026-05-01", 'did you mean "2026-05-01..2026-05-31"?'),
        ("12h..6h", 'did you mean "6h..12h"?'),
        ("tomorrow..today", 'did you mean "today..tomorrow"?'),
        ("friday", 'write both: "now..friday 17:00"'),
        ("..friday", 'write both: "now..friday 17:00"'),
        ("friday..", 'write both: "now..friday 17:00"'),
        ("now..firday", "did you mean friday?"),
    ],
)
def test_between_what_can_not_be_meant_is_an_error_that_suggests_the_right_window(
    text: str, advice: str
) -> None:
    with pytest.raises(UsageError) as caught:
        between(text)
    assert caught.value.advice == advice


def test_the_suggested_windows_are_understood() -> None:
    assert by("tomorrow 11:00").end == epoch("2026-11-21T11:00")
    assert between("tomorrow 09:00..11:00").end == epoch("2026-11-21T11:00")
    assert between("2026-08-01 17:00..now").start == epoch("2026-08-01T17:00")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("may", "2026-05-01", "2026-06-01"),
        ("May", "2026-05-01", "2026-06-01"),
        ("dec", "2026-12-01", "2027-01-01"),
        ("may 2027", "2027-05-01", "2027-06-01"),
        ("2026-05", "2026-05-01", "2026-06-01"),
        ("2026", "2026-01-01", "2027-01-01"),
        ("today", "2026-11-20", "2026-11-21"),
        ("tomorrow", "2026-11-21", "2026-11-22"),
        ("yesterday", "2026-11-19", "2026-11-20"),
        ("friday", "2026-11-20", "2026-11-21"),
        ("thursday", "2026-11-26", "2026-11-27"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("next week", "2026-11-23", "2026-11-30"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("weekend", "2026-11-21", "2026-11-23"),
        ("next month", "2026-12-01", "2027-01-01"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("next year", "2027-01-01", "2028-01-01"),
        ("2026-05-14", "2026-05-14", "2026-05-15"),
        ("2026-W21", "2026-05-18", "2026-05-25"),
    ],
)
def test_during_takes_whole_days_and_ends_before_the_next_begins(text: str, start: str, end: str) -> None:
    window = during(text)
    assert (window.start, window.end) == (epoch(start), epoch(end))
    assert window.contains(window.start)
    assert window.contains(window.end - 1)
    assert not window.contains(window.end)


def test_months_step_over_the_turn_of_the_year() -> None:
    assert during("next month", epoch("2026-12-31T23:59")).start == epoch("2027-01-01")
    assert during("last month", epoch("2026-01-01T00:00")).start == epoch("2025-12-01")


def test_during_may_after_may_is_may_of_this_year_and_says_that_it_is_past() -> None:
    window = during("may")
    assert window.text == (
        "from Fri 2026-05-01 00:00 EEST (UTC+03:00) to Mon 2026-06-01 00:00 EEST (UTC+03:00), which is past"
    )
    assert "past" not in during("may", epoch("2026-05-31T23:59")).text
    assert "past" not in during("may", epoch("2026-01-31")).text


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("6h", "did you mean --within 6h?"),
        ("17:00", 'did you mean --by "17:00"?'),
        ("now..friday", 'did you mean --between "now..friday"?'),
        ("next may", 'did you mean "may 2027"?'),
        ("next friday", "write the date"),
        ("mai", "did you mean may?"),
        ("next weak", "did you mean next week?"),
        ("2026-13", "months go from 01 to 12"),
        ("2026-W60", "weeks go from W01 to W52 or W53"),
        ("2026-02-30", "write 2026-03-01"),
        ("9999", "years go from 1970 to 9998"),
        ("", "write may"),
    ],
)
def test_during_what_can_not_be_meant_is_an_error_that_suggests_the_right_window(
    text: str, advice: str
) -> None:
    with pytest.raises(UsageError) as caught:
        during(text)
    assert caught.value.advice.startswith(advice)
    assert caught.value.message.startswith("--during")


def test_one_window_is_enough() -> None:
    with pytest.raises(UsageError, match="--within and --by can't go together"):
        read_window(within="6h", by="17:00", now=FRIDAY_NOON, zone=ATHENS)
    assert read_window(now=FRIDAY_NOON, zone=ATHENS) is None
    assert read_window(during="may", now=FRIDAY_NOON, zone=ATHENS) == during("may")


def test_an_hour_that_the_clocks_skip_moves_forward_and_is_told() -> None:
    window = by("03:30", epoch("2026-03-29T01:00"))
    assert window.end == epoch("2026-03-29T04:30+03:00")
    assert window.text.endswith("(03:30 on 2026-03-29 is skipped by the clocks, taken as 04:30)")


def test_an_hour_that_comes_twice_ends_a_window_late_and_starts_it_early() -> None:
    night = epoch("2026-10-25T01:00")
    assert by("03:30", night).end == epoch("2026-10-25T03:30+02:00")
    window = between("03:30..03:45", night)
    assert window.start == epoch("2026-10-25T03:30+03:00")
    assert window.end == epoch("2026-10-25T03:45+02:00")
    # In the first 03:40 the later 03:30 is still to come.
    assert by("03:30", epoch("2026-10-25T03:40+03:00")).end == epoch("2026-10-25T03:30+02:00")


def test_a_day_that_the_calendar_skips_can_not_be_asked_for() -> None:
    apia = ZoneInfo("Pacific/Apia")
    thursday = epoch("2011-12-29T12:00", apia)
    with pytest.raises(UsageError, match="the calendar there skips it"):
        during_window("tomorrow", now=thursday, zone=apia)
    assert by_window("tomorrow", now=thursday, zone=apia).end == epoch("2011-12-31T00:00", apia)
    assert within_window("24h", now=thursday, zone=apia).end == epoch("2011-12-31T12:00", apia)


def test_days_have_the_length_that_the_clocks_give_them() -> None:
    spring, autumn = epoch("2026-03-29T12:00"), epoch("2026-10-25T12:00")
    assert during("today", spring).end - during("today", spring).start == 23 * 3600
    assert during("today", autumn).end - during("today", autumn).start == 25 * 3600


@settings(deadline=None)
@given(CHANGES, st.integers(-86_400, 2 * 86_400), st.integers(0, 23), st.integers(0, 59))
def test_around_a_change_of_the_clocks_an_hour_is_still_to_come_or_asked_back(
    change: tuple[ZoneInfo, str], seconds: int, hour: int, minute: int
) -> None:
    zone, day = change
    now = epoch(f"{day}T00:00", zone) + seconds
    try:
        window = by_window(f"{hour:02}:{minute:02}", now=now, zone=zone)
    except UsageError as error:
        assert "tomorrow" in error.advice  # noqa: PT017 - the error is one of two right outcomes
        return
    assert now < window.end
    assert window.contains(now)
    shown = wall_clock(window.end, zone)
    assert (shown.hour, shown.minute) == (hour, minute) or "skipped" in window.text
    assert window.end - now <= 2 * 86_400


@settings(deadline=None)
@given(
    MOMENTS,
    st.sampled_from(ZONES),
    st.sampled_from(["monday", "tue", "friday", "sunday"]),
    st.integers(0, 23),
)
def test_a_weekday_is_the_coming_one(now: int, zone: tzinfo, weekday: str, hour: int) -> None:
    window = by_window(f"{weekday} {hour:02}:00", now=now, zone=zone)
    assert now < window.end <= now + 9 * 86_400
    assert window.from_now
    if "skipped" not in window.text:
        assert wall_clock(window.end, zone).strftime("%A").lower().startswith(weekday)
        assert wall_clock(window.end - 7 * 86_400, zone) <= wall_clock(now, zone) + timedelta(hours=1)


@settings(deadline=None)
@given(MOMENTS, st.sampled_from(ZONES))
def test_today_contains_now_and_its_neighbours_do_not(now: int, zone: tzinfo) -> None:
    assert during_window("today", now=now, zone=zone).contains(now)
    for text in ("this week", "this month", "this year"):
        assert during_window(text, now=now, zone=zone).contains(now)
    for text in ("next month", "last year", "2038", "1997"):
        assert not during_window(text, now=now, zone=zone).contains(now)
    for text in ("yesterday", "tomorrow"):
        try:
            assert not during_window(text, now=now, zone=zone).contains(now)
        except UsageError as error:
            assert "skips it" in error.message  # noqa: PT017 - the error is one of two right outcomes


WORDS = st.lists(
    st.sampled_from(
        [
            "now", "today", "tomorrow", "yesterday", "monday", "fri", "17:00", "5pm", "25:00", "noon", "midnight", "may",
            "2026", "2026-05", "2026-08-01", "6h", "1.5d", "next", "last", "this", "week", "month", "..", "at",
            "2026-W21", "2026-08-01T17:00:00Z", "9999-12-31", "0000-00-00", "+", "-", "x",
        ]
    ),
    max_size=5,
).map(" ".join)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(READERS), WORDS | st.text(), MOMENTS | st.floats(1e9, 2e9), st.sampled_from(ZONES))
def test_every_text_is_a_window_or_a_usage_error_with_advice(
    reader: object, text: str, now: float, zone: tzinfo
) -> None:
    assert callable(reader)
    try:
        window = reader(text, now=now, zone=zone)
    except UsageError as error:
        assert error.advice  # noqa: PT017 - the error is one of two right outcomes
        return
    assert isinstance(window, Window)
    assert window.start <= window.end
    assert window.text.startswith("from ")
    assert window.contains(window.start) or window.start == window.end
    assert not window.contains(window.end + 1)
    if window.from_now:
        assert window.start == now // 1
        assert window.contains(now) or window.end <= now
    if window.end < now // 1:
        assert "which is past" in window.text
