"""Schedules of policies: the zone before or beside the expression, how close runs come, and what is refused with what to write."""

from __future__ import annotations

import re
from datetime import datetime
from itertools import islice, pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr.cron import Cron, parse_cron, walls
from skoupa.expr.readings import Problem
from skoupa.expr.schedule_words import in_words
from skoupa.expr.schedules import LONGEST_SCHEDULE, Schedule, parse_schedule, shortest_gap

pytestmark = pytest.mark.unit


def read(text: str, *, zone: str = "") -> Schedule:
    schedule = parse_schedule(text, zone_name=zone)
    assert isinstance(schedule, Schedule), schedule
    return schedule


def problem(text: str, *, zone: str = "", minimum: int = 60) -> str:
    found = parse_schedule(text, zone_name=zone, minimum_seconds=minimum)
    assert isinstance(found, Problem), found
    return str(found)


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("0 3 * * *", "", "2026-11-15T03:00:00+00:00"),
        ("CRON_TZ=Europe/Athens 0 3 * * *", "", "2026-11-15T01:00:00+00:00"),
        ("TZ=Europe/Athens 0 3 * * *", "Europe/Athens", "2026-11-15T01:00:00+00:00"),
        ("  cron_tz=+02:00   @daily ", "", "2026-11-15T22:00:00+00:00"),
        ("0 3 * * *", " Europe/Athens ", "2026-11-15T01:00:00+00:00"),
        ("0 3 ? * SUN", "", "2026-11-15T03:00:00+00:00"),
        ("0 3 1 * ?", "", "2026-12-01T03:00:00+00:00"),
        ("0 3 L * *", "", "2026-11-30T03:00:00+00:00"),
        ("0 3 * * mon#3", "", "2026-11-16T03:00:00+00:00"),
        ("0 3 * * 5L", "", "2026-11-27T03:00:00+00:00"),
        ("0 3 * jan-mar/2 *", "", "2027-01-01T03:00:00+00:00"),
        # Days of the month and of the week: either fits, a step narrows as a list does.
        ("0 3 20 * MON", "", "2026-11-16T03:00:00+00:00"),
        ("0 3 */10 * MON", "", "2026-11-16T03:00:00+00:00"),
        ("0 3 */10 * *", "", "2026-11-21T03:00:00+00:00"),
        ("0 3 */1 * MON", "", "2026-11-16T03:00:00+00:00"),
    ],
)
def test_the_next_run_is_that_of_the_wall_in_its_zone(text: str, zone: str, expected: str) -> None:
    after = read(text, zone=zone).following(moment("2026-11-15T00:30:00Z"))
    assert after == moment(expected)
    assert read(text, zone=zone).latest(after) == after


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        # Clocks jump from 3:00 to 4:00: the run comes when they have.
        ("2026-03-28T23:00:00Z", "2026-03-29T04:00:00+03:00"),
        # 3:30 comes twice: the run comes at the first.
        ("2026-10-24T23:00:00Z", "2026-10-25T03:30:00+03:00"),
        ("2026-10-25T00:45:00Z", "2026-10-26T03:30:00+02:00"),
    ],
)
def test_a_time_that_does_not_exist_and_one_that_comes_twice_bring_one_run(start: str, expected: str) -> None:
    schedule = read("CRON_TZ=Europe/Athens 30 3 * * *")
    after = schedule.following(moment(start))
    assert after is not None
    assert datetime.fromtimestamp(after, ZoneInfo("Europe/Athens")).isoformat() == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the cron expression is empty"),
        ("CRON_TZ=Europe/Athens", "the cron expression is empty"),
        ("TZ= 0 3 * * *", "names no time zone; write CRON_TZ=Europe/Athens"),
        ("CRON_TZ=Europe/Athen 0 3 * * *", '"Europe/Athen" is no time zone; did you mean Europe/Athens'),
        ("@every 1h", 'write "@hourly"'),
        ("@every 90m", "write a step"),
        ("@every 5m0s", 'write "*/5 * * * *"'),
        ("@every 6h", 'write "0 */6 * * *"'),
        ("@every 24h", 'write "@daily"'),
        ("@every 60m", 'write "0 * * * *"'),
        ("@reboot", "write one of @yearly"),
        ("0 0 3 * * *", "6 fields, not five; leave out the seconds, or the year"),
        ("0 0 3 * * * 2027", "7 fields, not five; leave out seconds and year"),
        ("0 3 15W * *", "the working day nearest to a day"),
        ("0 3 LW * *", "name the days of the week instead"),
        ("30 2 31 2 *", "never comes: there is no such day"),
        ("30 2 30 FEB ?", "never comes: there is no such day"),
    ],
)
def test_what_is_refused_is_refused_with_what_to_write(text: str, says: str) -> None:
    assert says in problem(text)


def test_two_zones_that_differ_are_refused() -> None:
    assert "write one of them" in problem("CRON_TZ=UTC 0 3 * * *", zone="Europe/Athens")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("* * * * *", 60),
        ("*/5 * * * *", 300),
        ("0,50 * * * *", 600),
        ("@hourly", 3600),
        ("@daily", 86_400),
        ("@weekly", 7 * 86_400),
        ("0 0 1,2 * *", 86_400),
        ("0 0 1 * *", 28 * 86_400),
        ("0 0 1 1 *", 365 * 86_400),
        ("0 0 29 2 *", 1461 * 86_400),
        # The last run of a day and the first of the next.
        ("59 23 * * *", 86_400),
        ("0 0,23 * * *", 3600),
        ("30 0,23 31 12 *", 23 * 3600),
    ],
)
def test_the_shortest_gap_is_found(text: str, seconds: int) -> None:
    cron = parse_cron(text)
    assert isinstance(cron, Cron)
    assert shortest_gap(cron) == seconds


@given(
    minute=st.sampled_from(["0", "*/7", "0,59", "30-35"]),
    hour=st.sampled_from(["0", "*", "0,23", "*/5"]),
    day=st.sampled_from(["*", "1", "L", "28-31", "*/9"]),
    week=st.sampled_from(["*", "1", "0,6"]),
)
def test_no_two_runs_come_closer_than_the_shortest_gap(minute: str, hour: str, day: str, week: str) -> None:
    cron = parse_cron(f"{minute} {hour} {day} * {week}")
    assert isinstance(cron, Cron)
    gap = shortest_gap(cron)
    assert gap is not None
    found = [(after - before).total_seconds() for before, after in pairwise(islice(walls(cron), 150))]
    assert min(found) >= gap


def test_what_comes_more_often_than_policies_may_run_is_refused() -> None:
    assert "comes every 5m, and policies run at most every 1h; write a longer interval" in problem(
        "*/5 * * * *", minimum=3600
    )
    assert isinstance(parse_schedule("@hourly", minimum_seconds=3600), Schedule)


@given(
    st.text(max_size=LONGEST_SCHEDULE + 5)
    | st.text(alphabet="CRON_TZ=@every0123456789*/,-#LW? ", max_size=60)
)
def test_no_text_makes_the_parser_fail(text: str) -> None:
    schedule = parse_schedule(text, minimum_seconds=3600)
    if isinstance(schedule, Schedule):
        assert schedule.following(0) is not None


def test_the_guide_says_of_each_schedule_when_it_runs_and_of_what_is_refused_that_it_is() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "policies.md").read_text(encoding="utf-8")
    section = guide.partition("\n## Schedules\n")[2].partition("\n## ")[0]
    runs, refused = (section.partition(head)[2].partition("\n\n")[0] for head in ("| runs |", "| refused |"))
    written = re.findall(r"^\| `([^`]+)` \| (.+) \|$", runs, re.MULTILINE)
    assert len(written) >= 10
    for text, words in written:
        assert in_words(read(text)) == f"{words} (UTC)"
    never = re.findall(r"^\| `([^`]+)` \|", refused, re.MULTILINE)
    assert len(never) >= 6
    for text in never:
        assert isinstance(parse_schedule(text), Problem)
    for text in re.findall(r"\((?:`|)(CRON_TZ=[^`]+)`", section):
        assert read(text).zone_name == "Europe/Athens"
