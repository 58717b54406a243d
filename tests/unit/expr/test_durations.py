"""The grammar of durations, and what people are told who write another one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.durations import MAXIMUM_SECONDS, parse_duration, render_duration
from skoupa.expr.readings import Problem, ProblemCode

pytestmark = pytest.mark.unit

HOUR, DAY, WEEK = 3_600, 86_400, 604_800


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("0w0d", 0),
        ("1s", 1),
        ("90m", 5400),
        ("1h90m", 9000),
        ("1d12h", 129_600),
        ("1w2d3h4m5s", WEEK + 2 * DAY + 3 * HOUR + 4 * 60 + 5),
        ("1w5s", WEEK + 5),
        ("007d", 7 * DAY),
        ("15250w", 15_250 * WEEK),
        ("9223372036s", MAXIMUM_SECONDS),
    ],
)
def test_a_duration_is_the_sum_of_its_parts(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "code", "suggestion"),
    [
        ("2days", ProblemCode.UNIT_SPELLING, "2d"),
        ("3weeks", ProblemCode.UNIT_SPELLING, "3w"),
        ("5hr", ProblemCode.UNIT_SPELLING, "5h"),
        ("5hrs", ProblemCode.UNIT_SPELLING, "5h"),
        ("7mins", ProblemCode.UNIT_SPELLING, "7m"),
        ("1D", ProblemCode.UNIT_SPELLING, "1d"),
        ("48 hours", ProblemCode.UNIT_SPELLING, "48h"),
        (" 1d ", ProblemCode.UNIT_SPELLING, "1d"),
        ("1d 12h", ProblemCode.UNIT_SPELLING, "1d12h"),
        ("1 day and 2 hours", ProblemCode.UNIT_SPELLING, "1d2h"),
        ("PT1H30M", ProblemCode.UNIT_SPELLING, "1h30m"),
        ("P1DT12H", ProblemCode.UNIT_SPELLING, "1d12h"),
        ("1.5h", ProblemCode.DECIMAL, "1h30m"),
        ("1.5d", ProblemCode.DECIMAL, "1d12h"),
        ("1,5d", ProblemCode.DECIMAL, "1d12h"),
        ("1.5d12h", ProblemCode.DECIMAL, "2d"),
        ("0.5days", ProblemCode.DECIMAL, "12h"),
        ("1h30", ProblemCode.NO_UNIT, "1h30m"),
        ("00", ProblemCode.NO_UNIT, "0"),
        ("30", ProblemCode.NO_UNIT, ""),
        ("1h1d", ProblemCode.UNIT_ORDER, "1d1h"),
        ("1d1d", ProblemCode.UNIT_ORDER, "2d"),
        ("10m-5d", ProblemCode.UNIT_ORDER, "5d10m"),
        ("1mo", ProblemCode.UNKNOWN_UNIT, "30d"),
        ("2months", ProblemCode.UNKNOWN_UNIT, "60d"),
        ("1y", ProblemCode.UNKNOWN_UNIT, "365d"),
        ("10ay", ProblemCode.UNKNOWN_UNIT, ""),
        ("1d5x", ProblemCode.UNKNOWN_UNIT, ""),
        ("500ms", ProblemCode.UNKNOWN_UNIT, ""),
        ("1M", ProblemCode.UNIT_SPELLING, ""),
        ("-5d", ProblemCode.NEGATIVE, "5d"),
        ("", ProblemCode.EMPTY, ""),
        ("  ", ProblemCode.EMPTY, ""),
        ("never", ProblemCode.NEVER, ""),
        ("forever", ProblemCode.NEVER, ""),
        ("9223372037s", ProblemCode.TOO_LONG, ""),
        ("1" + "0" * 30 + "w", ProblemCode.TOO_LONG, ""),
        ("1" + "0" * 30 + "weeks", ProblemCode.TOO_LONG, ""),
        ("abc10d", ProblemCode.NOT_UNDERSTOOD, ""),
        ("12:30", ProblemCode.NOT_UNDERSTOOD, ""),
        ("\u0663d", ProblemCode.NOT_UNDERSTOOD, ""),
        ("1" * 5000 + "d", ProblemCode.NOT_UNDERSTOOD, ""),
    ],
)
def test_what_is_no_duration_is_a_problem_that_says_what_to_write(
    text: str, code: ProblemCode, suggestion: str
) -> None:
    problem = parse_duration(text)
    assert isinstance(problem, Problem)
    assert (problem.code, problem.suggestion) == (code, suggestion)
    assert suggestion in problem.instead
    assert problem.instead


def test_a_number_without_a_unit_is_asked_back_with_all_likely_units() -> None:
    assert str(parse_duration("30")) == '"30" has no unit; write 30m, 30h or 30d'


def test_capital_m_may_mean_months_so_both_readings_are_offered() -> None:
    assert str(parse_duration("3M")).endswith("write 3m for minutes or 90d for months")


def test_a_long_or_unprintable_text_is_shown_short_and_escaped() -> None:
    assert len(str(parse_duration("x" * 100_000))) < 200
    assert "\x1b" not in str(parse_duration("\x1b[31m1d"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0"), (1, "1s"), (60, "1m"), (5400, "1h30m"), (129_600, "1d12h"), (30 * DAY, "30d"), (WEEK, "7d")],
)
def test_a_duration_is_written_in_days_and_less_without_empty_parts(seconds: int, text: str) -> None:
    assert render_duration(seconds) == text


def test_a_negative_duration_can_not_be_written() -> None:
    with pytest.raises(ValueError, match="not negative"):
        render_duration(-1)


@settings(deadline=None)
@given(st.integers(min_value=0, max_value=MAXIMUM_SECONDS))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert parse_duration(render_duration(seconds)) == seconds


@settings(deadline=None)
@given(
    st.text()
    | st.from_regex(r"[-+P]?([0-9]{1,25}[.,]?[0-9]{0,9} ?[a-zA-Zµ]{0,6}[-_ ]?){0,4}", fullmatch=True)
)
def test_no_text_raises_and_every_suggestion_is_understood(text: str) -> None:
    read = parse_duration(text)
    if isinstance(read, Problem):
        assert read.what
        assert read.instead
        assert not read.suggestion or isinstance(parse_duration(read.suggestion), int)
    else:
        assert 0 <= read <= MAXIMUM_SECONDS


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from("wdhms")), min_size=1, max_size=6))
def test_units_go_largest_first_and_each_once(parts: list[tuple[int, str]]) -> None:
    text = "".join(f"{number}{unit}" for number, unit in parts)
    order = ["wdhms".index(unit) for _, unit in parts]
    sizes = {"w": WEEK, "d": DAY, "h": HOUR, "m": 60, "s": 1}
    total = sum(number * sizes[unit] for number, unit in parts)
    read = parse_duration(text)
    if order == sorted(set(order)):
        assert read == total
    else:
        assert isinstance(read, Problem)
        assert read.code is ProblemCode.UNIT_ORDER
        assert parse_duration(read.suggestion) == total
