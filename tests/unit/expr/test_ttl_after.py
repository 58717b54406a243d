"""The grammar of `skoupa.dev/ttl-after`, and what people are told who write another one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.durations import MAXIMUM_SECONDS, parse_duration, render_duration
from skoupa.expr.readings import CautionCode, Problem, ProblemCode
from skoupa.expr.ttl_after import LONGEST, Moment, TtlAfter, parse_ttl_after, render_ttl_after

pytestmark = pytest.mark.unit

MINUTE, HOUR, DAY = 60, 3_600, 86_400
WORDS = [str(moment) for moment in Moment]
LABEL_VALUES = st.from_regex(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,40})?[A-Za-z0-9]", fullmatch=True)
LIKELY_VALUES = st.lists(
    st.tuples(
        st.sampled_from([*WORDS, "Finished", "done", "success", "failure", "created", "1h", "x", ""]),
        st.sampled_from(["-", "=", ":", "_", " ", "", "--", "."]),
        st.sampled_from(
            ["1h", "0", "30", "1.5h", "2days", "1M", "", "never", "2026-09-30", "99999w", "1H", "7d12h"]
        ),
        st.sampled_from([".", "-", ",", " ", ""]),
    ),
    min_size=1,
    max_size=5,
).map(lambda pieces: "".join(part for piece in pieces for part in piece))
AFTERS = st.builds(TtlAfter, **{word: st.none() | st.integers(0, 400 * DAY) for word in WORDS}).filter(
    lambda after: any(getattr(after, word) is not None for word in WORDS)
)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("finished-1h", TtlAfter(finished=HOUR)),
        ("succeeded-1h", TtlAfter(succeeded=HOUR)),
        ("failed-7d", TtlAfter(failed=7 * DAY)),
        ("unused-30m", TtlAfter(unused=30 * MINUTE)),
        ("succeeded-1h.failed-7d", TtlAfter(succeeded=HOUR, failed=7 * DAY)),
        ("failed-7d.succeeded-1h", TtlAfter(succeeded=HOUR, failed=7 * DAY)),
        ("finished-1d12h.unused-2w", TtlAfter(finished=36 * HOUR, unused=14 * DAY)),
        (
            "finished-1h.succeeded-2h.failed-3h.unused-4h",
            TtlAfter(finished=HOUR, succeeded=2 * HOUR, failed=3 * HOUR, unused=4 * HOUR),
        ),
    ],
)
def test_a_value_gives_a_time_for_each_moment_that_it_names(text: str, after: TtlAfter) -> None:
    assert parse_ttl_after(text) == after


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("finished-90s", [CautionCode.SECONDS]),
        ("finished-0", [CautionCode.ZERO]),
        ("finished-1h.unused-0s", [CautionCode.SECONDS, CautionCode.ZERO]),
        ("finished-1m", []),
    ],
)
def test_seconds_and_zero_are_taken_with_a_warning(text: str, codes: list[CautionCode]) -> None:
    read = parse_ttl_after(text)
    assert isinstance(read, TtlAfter)
    assert [caution.code for caution in read.warnings] == codes


@pytest.mark.parametrize(
    ("text", "code", "suggestion"),
    [
        # Another word for the moment.
        ("completed-1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("success-1h.failure-7d", ProblemCode.MOMENT_SPELLING, "succeeded-1h.failed-7d"),
        ("unneeded-30m", ProblemCode.MOMENT_SPELLING, "unused-30m"),
        ("finnished-1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("Finished-1H", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("FAILED-7D", ProblemCode.MOMENT_SPELLING, "failed-7d"),
        # Other signs between.
        ("finished=1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("finished:1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("finished_1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("finished1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("finished--1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("finished.1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("succeeded-1h-failed-7d", ProblemCode.MOMENT_SPELLING, "succeeded-1h.failed-7d"),
        ("succeeded-1h,failed-7d", ProblemCode.MOMENT_SPELLING, "succeeded-1h.failed-7d"),
        ("finished-1h.", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        (" finished-1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("1h-after-finished", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        ("after-finished-1h", ProblemCode.MOMENT_SPELLING, "finished-1h"),
        # Another time.
        ("finished-1.5h", ProblemCode.DECIMAL, "finished-1h30m"),
        ("finished-2days", ProblemCode.UNIT_SPELLING, "finished-2d"),
        ("finished-1h30", ProblemCode.NO_UNIT, "finished-1h30m"),
        ("succeeded-1h.failed-12h1d", ProblemCode.UNIT_ORDER, "succeeded-1h.failed-1d12h"),
        ("finished-30", ProblemCode.NO_UNIT, ""),
        ("finished-1M", ProblemCode.UNIT_SPELLING, ""),
        ("finished-", ProblemCode.EMPTY, ""),
        ("finished", ProblemCode.EMPTY, ""),
        ("finished-never", ProblemCode.NEVER, ""),
        ("finished-99999w", ProblemCode.TOO_LONG, ""),
        ("finished-2026-09-30", ProblemCode.TIME_FORMAT, ""),
        # No moment, or one too many.
        ("1h", ProblemCode.NO_MOMENT, ""),
        ("2days", ProblemCode.NO_MOMENT, ""),
        ("created-1h", ProblemCode.NO_MOMENT, ""),
        ("2026-09-30", ProblemCode.TIME_FORMAT, ""),
        ("finished-1h.finished-2h", ProblemCode.MOMENT_TWICE, ""),
        ("finished-1h.done-2h", ProblemCode.MOMENT_TWICE, ""),
        ("", ProblemCode.EMPTY, ""),
        ("true", ProblemCode.NOT_UNDERSTOOD, ""),
        ("..", ProblemCode.NOT_UNDERSTOOD, ""),
        ("deleted-1h", ProblemCode.MOMENT_SPELLING, ""),
        ("x-2h.unused-1h", ProblemCode.MOMENT_SPELLING, ""),
        ("finished-1h" + "0" * 60, ProblemCode.TOO_LONG, ""),
    ],
)
def test_what_is_no_such_value_is_a_problem_that_says_what_to_write(
    text: str, code: ProblemCode, suggestion: str
) -> None:
    problem = parse_ttl_after(text)
    assert isinstance(problem, Problem)
    assert (problem.code, problem.suggestion) == (code, suggestion)
    assert suggestion in problem.instead


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1h", '"1h" does not say after what; write finished-1h, succeeded-1h, failed-1h or unused-1h'),
        ("finished-", '"finished-" has no time for finished; write a duration after it, such as finished-1h'),
        ("finished-30", 'in "finished-30", "30" has no unit; write 30m, 30h or 30d after finished-'),
        (
            "Finished-1h",
            '"Finished-1h" has "Finished", and moments are written in lower case; write finished-1h',
        ),
        (
            "completed-1h",
            '"completed-1h" has "completed", which is none of finished, succeeded, failed, unused; write finished-1h',
        ),
        (
            "created-1h",
            '"created-1h" counts from creation, which is no moment of this label; use the label cleanup.kyverno.io/ttl',
        ),
        (
            "failed-1h.failed-7d",
            '"failed-1h.failed-7d" says failed more than once; write failed once, with the time that is meant',
        ),
    ],
)
def test_what_people_are_told(text: str, told: str) -> None:
    assert str(parse_ttl_after(text)) == told


def test_a_value_of_more_characters_than_a_label_has_is_refused_even_where_each_part_is_right() -> None:
    text = ".".join(f"{moment}-15250w1d12h30m" for moment in Moment)
    assert len(text) > LONGEST
    problem = parse_ttl_after(text)
    assert isinstance(problem, Problem)
    assert "63 characters" in problem.what


def test_only_what_counts_from_an_end_speaks_of_an_end() -> None:
    assert TtlAfter(failed=1).on_finish
    assert TtlAfter(finished=0, unused=1).on_finish
    assert not TtlAfter(unused=1).on_finish


@settings(deadline=None)
@given(AFTERS)
def test_what_is_written_is_read_back(after: TtlAfter) -> None:
    text = render_ttl_after(after)
    read = parse_ttl_after(text)
    if len(text) > LONGEST:
        assert isinstance(read, Problem)
        return
    assert isinstance(read, TtlAfter)
    assert [getattr(read, word) for word in WORDS] == [getattr(after, word) for word in WORDS]


@settings(deadline=None)
@given(LABEL_VALUES | LIKELY_VALUES | st.text(max_size=80))
def test_no_text_raises_every_suggestion_is_understood_and_nothing_is_read_that_is_not_written(
    text: str,
) -> None:
    read = parse_ttl_after(text)
    if isinstance(read, Problem):
        assert read.what
        assert read.instead
        suggested = parse_ttl_after(read.suggestion) if read.suggestion else None
        assert not isinstance(suggested, Problem)
        return
    assert len(text) <= LONGEST
    named = [word for word in WORDS if getattr(read, word) is not None]
    assert sorted(named) == sorted(part.partition("-")[0] for part in text.split("."))
    for word in named:
        assert f"{word}-" in text


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(WORDS), st.integers(0, MAXIMUM_SECONDS).map(render_duration)),
        min_size=1,
        max_size=3,
    )
)
def test_each_moment_is_named_at_most_once(parts: list[tuple[str, str]]) -> None:
    text = ".".join(f"{word}-{length}" for word, length in parts)
    read = parse_ttl_after(text)
    twice = len({word for word, _ in parts}) < len(parts)
    if twice or len(text) > LONGEST:
        assert isinstance(read, Problem)
    else:
        assert isinstance(read, TtlAfter)
        assert all(getattr(read, word) == parse_duration(length) for word, length in parts)
