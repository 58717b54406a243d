"""When Kyverno would run a policy and when Skoupa does: forms that only one of them runs, zones, and ticks that were lost."""

from __future__ import annotations

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.readings import Problem
from skoupa.expr.schedules import Schedule, parse_schedule
from skoupa.model.differences import Difference
from skoupa.policy.compared.schedules import (
    LATE_SECONDS,
    Past,
    Timetable,
    kyverno_timetable,
    schedule_differences,
)

pytestmark = pytest.mark.unit

NOON = 1_777_636_800.0  # Friday 2026-05-01T12:00:00Z
DAY = 86_400
NEVER = Past()


def found(text: str, *, past: Past = NEVER, zone: str = "", kyverno_zone: str = "") -> list[Difference]:
    read = parse_schedule(text, zone_name=zone)
    theirs = kyverno_timetable(
        text, zone=ZoneInfo(kyverno_zone) if kyverno_zone else UTC, zone_name=kyverno_zone
    )
    ours = read if isinstance(read, Schedule) else None
    instead = read.instead if isinstance(read, Problem) else ""
    return list(schedule_differences(theirs, ours, instead=instead, past=past, now=NOON))


def codes(text: str, **rest: str) -> list[str]:
    return [one.code for one in found(text, **rest)]  # type: ignore[arg-type] # all of them are texts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0 3 * * *", []),
        ("*/5 * * * *", []),
        ("@daily", []),
        ("@hourly", []),
        # Kyverno's second parser takes a year, and seconds before it.
        ("0 3 * * * *", ["schedule-refused"]),
        ("0 3 * * * 2027", ["schedule-refused"]),
        ("0 0 3 * * * *", ["schedule-refused"]),
        ("0 3 15W * *", ["schedule-refused"]),
        # Its first parser lets these in, and the second can't run them.
        ("@every 1h", ["schedule-nobody"]),
        ("CRON_TZ=UTC 0 3 * * *", ["schedule-unrunnable"]),
        ("TZ=Europe/Athens 0 3 * * *", ["schedule-unrunnable"]),
        ("@midnight", ["schedule-unrunnable"]),
        ("30 2 31 2 *", ["schedule-nobody"]),
        ("nonsense", ["schedule-nobody"]),
        ("", ["schedule-nobody"]),
    ],
)
def test_each_form_of_a_schedule_is_compared(text: str, expected: list[str]) -> None:
    assert codes(text) == expected


def test_what_to_write_is_told_with_a_refusal() -> None:
    (one,) = found("@every 1h")
    assert "@hourly" in one.skoupa
    (one,) = found("0 3 * * * *")
    assert "leave out" in one.skoupa


def test_six_and_seven_fields_have_a_next_run_where_every_year_is_meant() -> None:
    expected = kyverno_timetable("0 3 * * *", zone=UTC).following(NOON)
    assert kyverno_timetable("0 3 * * * *", zone=UTC).following(NOON) == expected
    assert kyverno_timetable("0 0 3 * * * *", zone=UTC).following(NOON) == expected
    once = kyverno_timetable("0 3 * * * 2027", zone=UTC)
    assert (once.runs, once.following(NOON)) == (True, None)


def test_another_zone_is_another_time() -> None:
    (one,) = found("0 3 * * *", zone="Europe/Athens")
    assert (one.code, "Europe/Athens" in one.skoupa, "UTC" in one.kyverno) == ("time-zone", True, True)
    assert codes("0 3 * * *", kyverno_zone="Europe/Athens") == ["time-zone"]
    assert codes("0 3 * * *", zone="Europe/Athens", kyverno_zone="Europe/Athens") == []
    assert codes("0 3 * * *", zone="Etc/UTC") == []
    # Whole hours from UTC: the minutes are the same everywhere.
    assert codes("5 * * * *", zone="Europe/Athens") == []


def test_a_zone_that_differs_in_summer_only_differs() -> None:
    assert codes("0 3 * * *", zone="Europe/London") == ["time-zone"]
    assert codes("0 3 1 1 *", zone="Europe/London") == []


def test_a_policy_that_a_living_kyverno_has_not_run_is_lost_there() -> None:
    (one,) = found("@daily", past=Past(last=NOON - 10 * DAY, lives=True))
    assert (one.code, one.meaning.effect) == ("lost-schedule", "more")
    assert "2026-04-21T12:00:00Z" in one.kyverno
    (never,) = found("@daily", past=Past(created=NOON - 10 * DAY, lives=True))
    assert "it was made" in never.kyverno


def test_a_tick_that_a_stopped_kyverno_missed_is_run_by_it_at_once_and_not_by_skoupa() -> None:
    (one,) = found("@daily", past=Past(last=NOON - 10 * DAY))
    assert (one.code, one.meaning.effect) == ("missed-tick", "time")


def test_a_policy_that_ran_at_its_last_tick_is_not_lost() -> None:
    assert found("@daily", past=Past(last=NOON - DAY / 2, created=NOON - 90 * DAY, lives=True)) == []
    assert found("@daily", past=Past(created=NOON - 60, lives=True)) == []


def test_a_run_that_may_still_be_under_way_is_not_lost() -> None:
    yesterday = Past(last=NOON - DAY, lives=True)
    minutes = LATE_SECONDS // 60
    assert found(f"{60 - minutes} 11 * * *", past=yesterday) == []
    assert [one.code for one in found(f"{59 - minutes} 11 * * *", past=yesterday)] == ["lost-schedule"]


@given(text=st.text(max_size=40))
def test_no_text_is_too_odd_to_be_compared(text: str) -> None:
    theirs = kyverno_timetable(text, zone=UTC)
    assert isinstance(theirs, Timetable)
    assert len(found(text)) <= 1


@given(minute=st.integers(0, 59), hour=st.integers(0, 23), day=st.sampled_from(["*", "1", "L", "*/2"]))
def test_five_fields_without_a_zone_run_at_the_same_times(minute: int, hour: int, day: str) -> None:
    assert codes(f"{minute} {hour} {day} * *") == []
