"""Dates and times in labels and annotations."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.instants import LAST_SECOND, parse_label_time, parse_rfc3339, render_label_time
from skoupa.expr.readings import Problem, ProblemCode

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("2026-09-30", 1_790_726_400),
        ("2026-08-04T003000Z", 1_785_803_400),
        ("2024-02-29", 1_709_164_800),
        ("1970-01-01", 0),
        ("9999-12-31T235959Z", LAST_SECOND),
    ],
)
def test_a_label_holds_a_date_or_a_time_without_colons_in_utc(text: str, epoch: int) -> None:
    assert parse_label_time(text) == epoch


@pytest.mark.parametrize(
    ("text", "code", "suggestion"),
    [
        ("2026-02-30", ProblemCode.NO_SUCH_TIME, "2026-03-01"),
        ("2023-02-29", ProblemCode.NO_SUCH_TIME, "2023-03-01"),
        ("2026-12-32", ProblemCode.NO_SUCH_TIME, ""),
        ("2026-11-31T120000Z", ProblemCode.NO_SUCH_TIME, "2026-12-01T120000Z"),
        ("2026-30-09", ProblemCode.NO_SUCH_TIME, ""),
        ("2026-13-01", ProblemCode.NO_SUCH_TIME, ""),
        ("2026-13-13", ProblemCode.NO_SUCH_TIME, ""),
        ("2026-08-04T240000Z", ProblemCode.NO_SUCH_TIME, "2026-08-05T000000Z"),
        ("2026-08-04T250000Z", ProblemCode.NO_SUCH_TIME, ""),
        ("9999-12-31T240000Z", ProblemCode.NO_SUCH_TIME, ""),
        ("0000-01-01", ProblemCode.OUT_OF_RANGE, ""),
        ("0026-09-30", ProblemCode.OUT_OF_RANGE, ""),
        ("1969-12-31T235959Z", ProblemCode.OUT_OF_RANGE, ""),
        ("2026-07-19T12h", ProblemCode.TIME_FORMAT, "2026-07-19T120000Z"),
        ("2026-07-19T12h30m", ProblemCode.TIME_FORMAT, "2026-07-19T123000Z"),
        ("2026-08-04T00:30:00Z", ProblemCode.TIME_FORMAT, "2026-08-04T003000Z"),
        ("2026-08-04T00:30:00+02:00", ProblemCode.TIME_FORMAT, "2026-08-03T223000Z"),
        ("2026-08-04T003000", ProblemCode.TIME_FORMAT, "2026-08-04T003000Z"),
        ("2026-08-04t003000z", ProblemCode.TIME_FORMAT, "2026-08-04T003000Z"),
        ("2026-08-04T0030Z", ProblemCode.TIME_FORMAT, "2026-08-04T003000Z"),
        ("2026-8-4", ProblemCode.TIME_FORMAT, "2026-08-04"),
        ("2026.08.04", ProblemCode.TIME_FORMAT, "2026-08-04"),
        ("20260804", ProblemCode.TIME_FORMAT, "2026-08-04"),
        ("30-09-2026", ProblemCode.TIME_FORMAT, "2026-09-30"),
        ("04-08-2026", ProblemCode.TIME_FORMAT, ""),
        ("1735689600", ProblemCode.TIME_FORMAT, "2025-01-01T000000Z"),
        ("friday", ProblemCode.NOT_UNDERSTOOD, ""),
        ("", ProblemCode.EMPTY, ""),
    ],
)
def test_what_is_no_label_time_is_a_problem_that_says_what_to_write(
    text: str, code: ProblemCode, suggestion: str
) -> None:
    problem = parse_label_time(text)
    assert isinstance(problem, Problem)
    assert (problem.code, problem.suggestion) == (code, suggestion)
    assert suggestion in problem.instead


@pytest.mark.parametrize(
    ("parse", "text", "form"),
    [
        (parse_label_time, "2026-13-01", "YYYY-MM-DD,"),
        (parse_label_time, "2026-30-09", "YYYY-MM-DD,"),
        (parse_label_time, "09-30-2026", "YYYY-MM-DD,"),
        (parse_label_time, "2026-13-01T120000Z", "YYYY-MM-DDTHHMMSSZ,"),
        (parse_rfc3339, "2026-13-01T12:00:00Z", "YYYY-MM-DDTHH:MM:SSZ,"),
        (parse_rfc3339, "2026-13-01", "YYYY-MM-DDTHH:MM:SSZ,"),
    ],
)
def test_month_and_day_are_never_swapped_for_the_writer_but_the_form_is_told(
    parse: Callable[[str], int | Problem], text: str, form: str
) -> None:
    """The swapped date may be past, and following the advice would delete the object at once."""
    problem = parse(text)
    assert isinstance(problem, Problem)
    assert problem.suggestion == ""
    assert f"write it as {form} the month before the day" in problem.instead


@settings(deadline=None)
@given(st.integers(1970, 9998), st.integers(0, 99), st.integers(0, 99))
def test_no_advice_about_a_day_that_is_not_names_a_sooner_one(year: int, month: int, day: int) -> None:
    written = f"{year}-{month:02}-{day:02}"
    problem = parse_label_time(written)
    if isinstance(problem, Problem) and problem.suggestion:
        assert problem.suggestion > written


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("2026-08-04T00:30:00Z", 1_785_803_400),
        ("2026-08-04t00:30:00z", 1_785_803_400),
        ("2026-08-04T02:30:00+02:00", 1_785_803_400),
        ("2026-08-03T19:30:00-05:00", 1_785_803_400),
        ("2026-08-04T00:29:59.000001Z", 1_785_803_400),
        ("2026-08-04T00:30:00.000Z", 1_785_803_400),
    ],
)
def test_an_annotation_holds_rfc_3339_and_a_fraction_is_never_early(text: str, epoch: int) -> None:
    assert parse_rfc3339(text) == epoch


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("2026-09-30", "2026-09-30T00:00:00Z"),
        ("2026-08-04T003000Z", "2026-08-04T00:30:00Z"),
        ("2026-08-04 00:30:00Z", "2026-08-04T00:30:00Z"),
        ("2026-08-04T00:30:00", "2026-08-04T00:30:00Z"),
        ("2026-02-30T00:00:00Z", "2026-03-01T00:00:00Z"),
        ("1735689600", "2025-01-01T00:00:00Z"),
        ("2026-08-04T00:30:60Z", ""),
        ("2026-08-04T00:30:00+99:00", ""),
        ("9999-12-31T23:59:59-02:00", ""),
        ("1970-01-01T00:00:00+02:00", ""),
        ("yesterday", ""),
    ],
)
def test_what_is_no_rfc_3339_is_a_problem_that_says_what_to_write(text: str, suggestion: str) -> None:
    problem = parse_rfc3339(text)
    assert isinstance(problem, Problem)
    assert problem.suggestion == suggestion
    assert problem.instead


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=LAST_SECOND))
def test_a_label_time_that_is_written_is_read_back(epoch: int) -> None:
    assert parse_label_time(render_label_time(epoch)) == epoch


@settings(deadline=None)
@given(
    st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(9998, 1, 1)),  # noqa: DTZ001
    st.integers(min_value=-23 * 60, max_value=23 * 60),
)
def test_rfc_3339_is_read_as_python_reads_it(wall: datetime, minutes: int) -> None:
    when = wall.replace(microsecond=0, tzinfo=timezone(timedelta(minutes=minutes)))
    assert parse_rfc3339(when.isoformat()) == when.timestamp()


@settings(deadline=None)
@given(
    st.text()
    | st.from_regex(
        r"[0-9]{1,5}[-/.]?[0-9]{1,3}[-/.]?[0-9]{1,5}([T ._-][0-9:.,hmsZ+-]{0,16})?", fullmatch=True
    )
)
def test_no_text_raises_and_every_suggestion_is_understood(text: str) -> None:
    for parse in (parse_label_time, parse_rfc3339):
        read = parse(text)
        if isinstance(read, Problem):
            assert not read.suggestion or isinstance(parse(read.suggestion), int)
        else:
            datetime.fromtimestamp(read, UTC)
