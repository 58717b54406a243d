"""Schedules in words say when a policy runs, so that its writer sees what was not meant."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.readings import Problem
from skoupa.expr.schedule_words import in_words
from skoupa.expr.schedules import parse_schedule

pytestmark = pytest.mark.unit

SAID = {
    "* * * * *": "every minute (UTC)",
    "*/5 * * * *": "every 5 minutes (UTC)",
    "7/20 * * * *": "every 20 minutes, from minute 7 on (UTC)",
    "*/7 * * * *": "at the minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour every day (UTC)",
    "@hourly": "every hour at minute 0 (UTC)",
    "0 */2 * * *": "every 2 hours from 00:00 on (UTC)",
    "0 */5 * * *": "at 00:00, 05:00, 10:00, 15:00 and 20:00 every day (UTC)",
    "0 0 * * *": "at 00:00 every day (UTC)",
    "0 0 */5 * *": "at 00:00 on the 1st, 6th, 11th, 16th, 21st, 26th and 31st (UTC)",
    "0 * 1 * *": "every hour at minute 0 on the 1st (UTC)",
    "0 0 5/10 * *": "at 00:00 on the 5th, 15th and 25th (UTC)",
    "0 0 L * *": "at 00:00 on the last day of the month (UTC)",
    "0 7 * * 0": "at 07:00 on Sundays (UTC)",
    "0 3 * * MON-FRI": "at 03:00 on Mondays to Fridays (UTC)",
    "0 0 * * 5-7": "at 00:00 on Fridays to Sundays (UTC)",
    # From a day on ends with Saturday, as Kyverno and Kubernetes read it, though 7 is a Sunday too.
    "0 3 * * MON/2": "at 03:00 on Mondays, Wednesdays and Fridays (UTC)",
    "0 3 * * 3/2": "at 03:00 on Wednesdays and Fridays (UTC)",
    "0 3 * * 7/3,2": "at 03:00 on Tuesdays, Wednesdays, Saturdays and Sundays (UTC)",
    "0 3 * * 1#1": "at 03:00 on the first Monday of the month (UTC)",
    "0 3 * * 5L": "at 03:00 on the last Friday of the month (UTC)",
    "0 3 * * friL": "at 03:00 on the last Friday of the month (UTC)",
    "0 0 1 * 1": "at 00:00 on the 1st or on Mondays (UTC)",
    "59 23 31 12 *": "at 23:59 on the 31st in December (UTC)",
    "0 0 * JAN,JUL *": "at 00:00 every day in January and July (UTC)",
    "* 3 * * *": "every minute of the hour 3 (UTC)",
    "15,45 8-17 * * 1-5": "at the minutes 15 and 45 of the hours 8 to 17 on Mondays to Fridays (UTC)",
    "CRON_TZ=Europe/Athens 30 2 * * 6,7": "at 02:30 on Saturdays and Sundays (Europe/Athens)",
}


@pytest.mark.parametrize(("text", "words"), SAID.items())
def test_a_schedule_is_said_in_words(text: str, words: str) -> None:
    schedule = parse_schedule(text)
    assert not isinstance(schedule, Problem)
    assert in_words(schedule) == words


def _field(low: int, high: int, *extra: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high).map(str)
    span = st.tuples(st.integers(low, high), st.integers(low, high)).map(
        lambda ends: f"{min(ends)}-{max(ends)}"
    )
    step = st.tuples(st.one_of(span, st.just("*")), st.integers(1, 9)).map(
        lambda both: f"{both[0]}/{both[1]}"
    )
    term = st.one_of(number, span, step, st.sampled_from(["*", *extra]))
    return st.lists(term, min_size=1, max_size=2).map(",".join)


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(
        _field(0, 59),
        _field(0, 23),
        _field(1, 31, "L", "?", "L/2", "5-l"),
        _field(1, 12, "JAN", "feb-apr"),
        _field(0, 7, "MON", "1#2", "5L", "?", "FRIL", "5L/2", "L"),
    )
)
def test_whatever_is_a_schedule_can_be_said(fields: tuple[str, ...]) -> None:
    schedule = parse_schedule(" ".join(fields))
    if not isinstance(schedule, Problem):
        assert in_words(schedule).endswith(" (UTC)")
