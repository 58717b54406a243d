"""Cron expressions: when they fire, also where clocks change, and what is said about those that can't be read."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skoupa.expr.cron import LONGEST, NAMES, Cron, following, latest, parse_cron
from skoupa.expr.readings import Problem, ProblemCode

pytestmark = pytest.mark.unit

MINUTE = timedelta(minutes=1)

# Field and what it means; the starred ones are what makes an expression follow the wall.
MINUTES = {
    "0": {0},
    "30": {30},
    "15,45": {15, 45},
    "*/20": {0, 20, 40},
    "*": set(range(60)),
    "0-59/29": {0, 29, 58},
}
HOURS = {
    "0": {0},
    "1": {1},
    "2": {2},
    "3": {3},
    "1-3": {1, 2, 3},
    "23": {23},
    "*/2": set(range(0, 24, 2)),
    "*": set(range(24)),
}
# A day on which the clocks of the zone change: by an hour, by half of one, by two, at midnight, and by a whole day.
CHANGES = [
    ("Europe/Athens", (2026, 3, 29)),
    ("Europe/Athens", (2026, 10, 25)),
    ("America/New_York", (2026, 3, 8)),
    ("America/New_York", (2026, 11, 1)),
    ("Australia/Lord_Howe", (2026, 4, 4)),
    ("Australia/Lord_Howe", (2026, 10, 3)),
    ("Antarctica/Troll", (2026, 3, 29)),
    ("Antarctica/Troll", (2026, 10, 25)),
    ("America/Sao_Paulo", (2017, 10, 15)),
    ("America/Sao_Paulo", (2018, 2, 18)),
    ("Pacific/Apia", (2011, 12, 30)),
    ("UTC", (2026, 3, 29)),
]


def read(text: str) -> Cron:
    cron = parse_cron(text)
    assert isinstance(cron, Cron), cron
    return cron


def problem(text: str) -> Problem:
    found = parse_cron(text)
    assert isinstance(found, Problem), found
    return found


def moment(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def shown(epoch: float | None, zone: str) -> str:
    assert epoch is not None
    return datetime.fromtimestamp(epoch, ZoneInfo(zone)).isoformat()


def fires(
    at: datetime, minutes: set[int], hours: set[int], zone: ZoneInfo, *, fixed: bool, later: bool = False
) -> bool:
    """The rule itself, minute by minute and without any cleverness."""
    wall = at.astimezone(zone)
    fits = wall.minute in minutes and wall.hour in hours
    if not fixed:
        return fits
    before = (at - MINUTE).astimezone(zone).replace(tzinfo=None)
    skipped, now = before + MINUTE, wall.replace(tzinfo=None)
    while skipped < now:
        if skipped.minute in minutes and skipped.hour in hours:
            return True
        skipped += MINUTE
    if later:
        again = wall.replace(fold=1).astimezone(UTC)
        return fits and again <= at
    return fits and not wall.fold


@given(
    minute=st.sampled_from(sorted(MINUTES)),
    hour=st.sampled_from(sorted(HOURS)),
    change=st.sampled_from(CHANGES),
    seconds=st.integers(min_value=-30 * 3600, max_value=50 * 3600),
    later=st.booleans(),
)
@example(minute="30", hour="3", change=("Europe/Athens", (2026, 10, 25)), seconds=75 * 60, later=False)
@example(minute="30", hour="3", change=("Europe/Athens", (2026, 10, 25)), seconds=75 * 60, later=True)
# Within the hour that comes twice, the nearest time on the wall is not the nearest moment.
@example(minute="*/20", hour="*", change=("Europe/Athens", (2026, 10, 25)), seconds=10 * 60, later=False)
@example(minute="*/20", hour="*", change=("Europe/Athens", (2026, 10, 25)), seconds=90 * 60, later=True)
def test_both_directions_find_what_the_rule_says_also_where_clocks_change(
    minute: str, hour: str, change: tuple[str, tuple[int, int, int]], seconds: int, *, later: bool
) -> None:
    cron = msgspec.structs.replace(read(f"{minute} {hour} * * *"), later=later)
    zone = ZoneInfo(change[0])
    now = datetime(*change[1], tzinfo=UTC) + timedelta(seconds=seconds)
    minutes, hours, fixed = MINUTES[minute], HOURS[hour], "*" not in {minute[0], hour[0]}

    at = now.replace(second=0)
    while not fires(at, minutes, hours, zone, fixed=fixed, later=later):
        at -= MINUTE
    assert latest(cron, now.timestamp(), zone=zone) == at.timestamp()

    at = now.replace(second=0) + MINUTE
    while not fires(at, minutes, hours, zone, fixed=fixed, later=later):
        at += MINUTE
    assert following(cron, now.timestamp(), zone=zone) == at.timestamp()


@given(
    text=st.sampled_from(
        ["0 16 * * 5", "*/7 * * * *", "30 2 29 2 *", "0 0 L * *", "0 9 * * 1#2", "15 3 1,15 * MON"]
    ),
    zone=st.sampled_from(sorted({name for name, _ in CHANGES})),
    now=st.floats(min_value=0, max_value=4e9),
)
def test_the_one_before_comes_before_the_one_after_with_nothing_between(
    text: str, zone: str, now: float
) -> None:
    cron, place = read(text), ZoneInfo(zone)
    before, after = latest(cron, now, zone=place), following(cron, now, zone=place)
    assert before is not None
    assert after is not None
    assert before <= now < after
    assert following(cron, before, zone=place) == after
    assert latest(cron, after, zone=place) == after
    assert latest(cron, after - 1, zone=place) == before


# Where a field stands, its values, and what a time of 2023, which begins with a Sunday, has of it.
SPANS: dict[str, tuple[int, int, Callable[[datetime], int]]] = {
    "{} 0 1 1 *": (0, 59, lambda at: at.minute),
    "0 {} 1 1 *": (0, 23, lambda at: at.hour),
    "0 0 {} 1 *": (1, 31, lambda at: at.day),
    "0 0 1 {} *": (1, 12, lambda at: at.month),
    "0 0 * 1 {}": (0, 6, lambda at: at.isoweekday() % 7),
}


@given(place=st.sampled_from(sorted(SPANS)), data=st.data())
def test_a_range_with_a_step_is_what_python_says_also_where_it_is_a_range_of_one(
    place: str, data: st.DataObject
) -> None:
    least, most, of = SPANS[place]
    low = data.draw(st.integers(least, most))
    high = data.draw(st.integers(low, most) | st.just(low))
    step = data.draw(st.integers(1, 9))
    cron, found = read(place.format(f"{low}-{high}/{step}")), set()
    at, end = following(cron, moment("2023-01-01T00:00:00Z") - 1, zone=UTC), moment("2024-01-01T00:00:00Z")
    while at is not None and at < end:
        found.add(of(datetime.fromtimestamp(at, UTC)))
        at = following(cron, at, zone=UTC)
    assert found == set(range(low, high + 1, step))


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("0 3 1 JUN-6/3 *", "0 3 1 6 *"),
        ("0 3 * * MON-MON/2,FRI", "0 3 * * 1,5"),
        ("07-7/5 3 * * *", "7 3 * * *"),
        # Every day is no day that is named.
        ("0 3 */01 * MON", "0 3 * * MON"),
        # Days have names also where the last of a month is meant.
        ("0 3 * * FRIL,sunL", "0 3 * * 5L,0L"),
    ],
)
def test_two_ways_to_write_it_are_one_schedule(text: str, same: str) -> None:
    now = moment("2026-11-18T12:34:56Z")
    for _ in range(30):
        assert following(read(text), now, zone=UTC) == following(read(same), now, zone=UTC)
        now += 5 * 86_400


def test_a_fixed_time_that_comes_twice_fires_once_and_one_that_is_skipped_fires_after_the_gap() -> None:
    zone = ZoneInfo("Europe/Athens")
    nightly = read("30 3 * * *")
    assert [
        shown(following(nightly, moment(start), zone=zone), "Europe/Athens")
        for start in ("2026-10-24T23:00:00Z", "2026-10-25T00:45:00Z", "2026-03-28T23:00:00Z")
    ] == ["2026-10-25T03:30:00+03:00", "2026-10-26T03:30:00+02:00", "2026-03-29T04:00:00+03:00"]


def test_at_the_very_moment_it_has_fired_and_fires_next_later() -> None:
    friday = moment("2026-11-20T16:00:00Z")
    weekly = read("0 16 * * 5")
    assert latest(weekly, friday, zone=UTC) == friday
    assert latest(weekly, friday - 0.001, zone=UTC) == friday - 7 * 86_400
    assert following(weekly, friday - 0.001, zone=UTC) == friday
    assert following(weekly, friday, zone=UTC) == friday + 7 * 86_400


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_name_means_its_five_fields(name: str) -> None:
    now = moment("2026-11-18T12:34:56Z")
    for text in (name, name.upper()):
        assert following(read(text), now, zone=UTC) == following(read(NAMES[name]), now, zone=UTC)


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", ProblemCode.EMPTY, "0 16 * * 5"),
        ("  ", ProblemCode.EMPTY, "0 16 * * 5"),
        ("0 16 * *", ProblemCode.NOT_UNDERSTOOD, "4 fields, not five"),
        ("0 0 16 * * 5", ProblemCode.NOT_UNDERSTOOD, "leave out the seconds"),
        ("60 * * * *", ProblemCode.OUT_OF_RANGE, '"60" is no minute; write 0 to 59'),
        ("0 24 * * *", ProblemCode.OUT_OF_RANGE, '"24" is no hour'),
        ("0 0 0 * *", ProblemCode.OUT_OF_RANGE, '"0" is no day of the month'),
        ("0 0 * 13 *", ProblemCode.OUT_OF_RANGE, '"13" is no month'),
        ("0 0 * * FRIDAY", ProblemCode.OUT_OF_RANGE, '"FRIDAY" is no day of the week'),
        ("0 0 * * 5-1", ProblemCode.OUT_OF_RANGE, '"5-1" is no day of the week'),
        # What was meant, where a range goes over the end.
        ("0 22-2 * * *", ProblemCode.OUT_OF_RANGE, "does not go over the end: write 22-23,0-2"),
        ("0 0 * NOV-FEB *", ProblemCode.OUT_OF_RANGE, "write 11-12,1-2"),
        ("0 0 * * fri-mon", ProblemCode.OUT_OF_RANGE, "write 5-6,0-1"),
        ("0 0 * * SAT-SUN", ProblemCode.OUT_OF_RANGE, "write 6,0"),
        ("0 0 25-32 * *", ProblemCode.OUT_OF_RANGE, "write 1 to 31"),
        ("0 0 * FRI-MON *", ProblemCode.OUT_OF_RANGE, "write 1 to 12"),
        ("FEB-JAN 0 * * *", ProblemCode.OUT_OF_RANGE, "write 0 to 59"),
        # Nobody can say what that would be.
        ("0 0 L/2 * *", ProblemCode.OUT_OF_RANGE, '"L/2" is no day of the month'),
        ("0 0 15,l/2 * *", ProblemCode.OUT_OF_RANGE, '"15,l/2" is no day of the month'),
        ("0 0 * * JANL", ProblemCode.OUT_OF_RANGE, '"JANL" is no day of the week'),
        ("0 0 * * MON/0", ProblemCode.OUT_OF_RANGE, '"MON/0" is no day of the week'),
        ("*/0 * * * *", ProblemCode.OUT_OF_RANGE, '"*/0" is no minute'),
        ("0 0 * FOO-BAR/2 *", ProblemCode.OUT_OF_RANGE, '"FOO-BAR/2" is no month'),
        ("70-70/2 * * * *", ProblemCode.OUT_OF_RANGE, '"70-70/2" is no minute'),
        ("0 0 31 2 *", ProblemCode.NO_SUCH_TIME, "there is no such day"),
        ("0 0 30,31 2 *", ProblemCode.NO_SUCH_TIME, "there is no such day"),
        ("@every 5m", ProblemCode.NOT_UNDERSTOOD, "*/5 * * * *"),
        ("@reboot", ProblemCode.NOT_UNDERSTOOD, "@daily"),
        ("TZ=Europe/Athens 0 16 * * 5", ProblemCode.NOT_UNDERSTOOD, 'write "0 16 * * 5"'),
        ("CRON_TZ=UTC 0 16 * * 5", ProblemCode.NOT_UNDERSTOOD, "time zone"),
        ("0" * (LONGEST + 1), ProblemCode.TOO_LONG, "ranges"),
    ],
)
def test_what_is_no_cron_expression_is_told_with_what_to_write(
    text: str, code: ProblemCode, says: str
) -> None:
    found = problem(text)
    assert found.code == code
    assert says in str(found)


@given(st.text(max_size=300) | st.text(alphabet="0123456789*/,-#LW@? ", max_size=60))
def test_no_text_makes_the_parser_fail(text: str) -> None:
    cron = parse_cron(text)
    if isinstance(cron, Cron):
        assert following(cron, 0, zone=UTC) is not None


def test_beyond_the_end_of_the_calendar_nothing_fires() -> None:
    assert following(read("0 0 1 1 *"), moment("9999-06-01T00:00:00Z"), zone=UTC) is None
