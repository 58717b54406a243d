"""The forms that the API server matches are the grammar that the engine reads, value for value."""

from __future__ import annotations

import re
from datetime import date, time, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skoupa.admission.grammar import DATE, DURATION, KYVERNO, MAXIMUM_SECONDS, RFC3339, TIME, UNITS
from skoupa.expr import durations
from skoupa.expr.readings import After, At, Problem
from skoupa.expr.ttl import kyverno_ttl, parse_ttl, refreshed_at
from tests.unit.admission.ttl_values import DURATIONS, GOLDEN, NOT_UNDERSTOOD, TIMES

pytestmark = pytest.mark.unit

LABEL_LETTERS = "0123456789wdhmsTZ-._aeiounyrDHM"
near_the_grammar = st.one_of(
    st.from_regex(r"([0-9]{1,12}[wdhmsM.]){0,6}", fullmatch=True),
    st.from_regex(r"[0-9]{4}[-.][0-9]{1,2}-[0-9]{1,2}(T[0-9]{2,6}Z?)?", fullmatch=True),
    st.from_regex(
        r"(19|20)[0-9]{2}-(0[0-9]|1[0-3])-[0-3][0-9](T[0-2][0-9][0-6][0-9][0-6][0-9]Z)?", fullmatch=True
    ),
    st.from_regex(r"[0-9]{1,3}(\.[0-9])?[_-]?(ns|ms|s|sec|mins|hr|hours|day|wk|weeks|mo|y)", fullmatch=True),
    st.text(LABEL_LETTERS, max_size=63),
)


def understood(value: str) -> bool:
    """As the policy has it: a time, or a duration that is not too long."""
    if re.fullmatch(TIME, value):
        return True
    if not value or not re.fullmatch(DURATION, value):
        return False
    parts = re.findall("([0-9]+)([wdhms])", value)
    return sum(int(number) * UNITS[unit] for number, unit in parts) <= MAXIMUM_SECONDS


def test_the_units_and_the_longest_duration_are_those_of_the_engine() -> None:
    assert UNITS == durations.UNITS
    assert MAXIMUM_SECONDS == durations.MAXIMUM_SECONDS


@pytest.mark.parametrize("value", GOLDEN)
def test_the_golden_values_are_sorted_rightly(value: str) -> None:
    assert isinstance(parse_ttl(value), Problem) == (value in NOT_UNDERSTOOD)
    assert isinstance(parse_ttl(value), After) == (value in DURATIONS)
    assert isinstance(parse_ttl(value), At) == (value in TIMES)


@given(near_the_grammar)
def test_admission_understands_what_the_engine_understands_and_nothing_else(value: str) -> None:
    assert understood(value) == (not isinstance(parse_ttl(value), Problem))


@pytest.mark.parametrize("value", GOLDEN)
def test_admission_understands_the_golden_values_as_the_engine_does(value: str) -> None:
    assert understood(value) == (not isinstance(parse_ttl(value), Problem))


def test_every_day_of_the_calendar_is_a_date_and_no_other_is() -> None:
    first = date(1970, 1, 1)
    days = {str(first + timedelta(days)) for days in range(366 * 135)}
    last = max(days)
    written = (
        f"{year}-{month:02}-{day:02}"
        for year in range(1969, 2106)
        for month in range(14)
        for day in range(33)
    )
    found = {text for text in written if text <= last and re.fullmatch(DATE, text)}
    assert found == days


@pytest.mark.parametrize("century", range(19, 100))
def test_leap_days_are_those_of_the_calendar(century: int) -> None:
    for year in range(century * 100, century * 100 + 100):
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        assert bool(re.fullmatch(DATE, f"{year}-02-29")) == (is_leap and year >= 1970), year


@given(near_the_grammar)
@example("1.h")
@example("2027-08-04T003000.5Z")
@example("0-5day")
@example("-0")
def test_what_kyverno_reads_is_never_called_not_understood_in_its_compat_mode(value: str) -> None:
    if not isinstance(kyverno_ttl(value), Problem):
        assert re.fullmatch(KYVERNO, value)


@given(
    st.dates(min_value=date(1970, 1, 2), max_value=date(9999, 12, 30)),
    st.times(),
    st.sampled_from(["Z", "z", "+00:00", "-23:59", "+05:30"]),
    st.sampled_from(["", ".5", ".000001", ".1234567891"]),
)
def test_a_refresh_is_read_in_every_form_that_the_engine_reads(
    day: date, at: time, zone: str, fraction: str
) -> None:
    text = f"{day}T{at:%H:%M:%S}{fraction}{zone}"
    assert isinstance(refreshed_at(text), int)
    assert re.fullmatch(RFC3339, text)


@given(
    st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt _][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]*)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?"
    )
)
def test_a_refresh_that_the_engine_does_not_read_does_not_count_in_admission(text: str) -> None:
    if re.fullmatch(RFC3339, text):
        assert isinstance(refreshed_at(text), int)
