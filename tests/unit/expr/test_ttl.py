"""The TTL label, the keep label and the refresh annotation."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.durations import MAXIMUM_SECONDS, render_duration
from skoupa.expr.golang import kyverno_reading
from skoupa.expr.instants import LAST_SECOND, render_label_time
from skoupa.expr.readings import After, At, CautionCode, Problem, ProblemCode, due_time
from skoupa.expr.ttl import (
    KEPT_FOR_GOOD,
    NOT_KEPT,
    keep_slip,
    keep_until,
    kyverno_ttl,
    parse_ttl,
    refreshed_at,
)

pytestmark = pytest.mark.unit

LABEL_VALUES = st.from_regex(r"([A-Za-z0-9][A-Za-z0-9_.-]{0,30})?[A-Za-z0-9]", fullmatch=True)
LIKELY_VALUES = st.from_regex(
    r"([0-9]{1,21}[.]?[0-9]{0,3}(ns|ms|s|m|h|hr|d|w|day|weeks|M|x)[-_]?){1,4}", fullmatch=True
)
DATED_VALUES = st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2,6}[Zzhm]?)?", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("30m", After(1800)),
        ("30d", After(30 * 86_400)),
        ("1d12h", After(129_600)),
        ("2w", After(14 * 86_400)),
        ("2026-09-30", At(1_790_726_400)),
        ("2026-08-04T003000Z", At(1_785_803_400)),
    ],
)
def test_the_label_gives_a_duration_or_a_time(text: str, value: After | At) -> None:
    assert parse_ttl(text) == value


@pytest.mark.parametrize(
    ("text", "seconds", "codes"),
    [
        ("10s", 10, [CautionCode.SECONDS]),
        ("1h30s", 3630, [CautionCode.SECONDS]),
        ("0", 0, [CautionCode.ZERO]),
        ("0h", 0, [CautionCode.ZERO]),
        ("0s", 0, [CautionCode.SECONDS, CautionCode.ZERO]),
        ("1m", 60, []),
    ],
)
def test_seconds_and_zero_are_taken_with_a_warning(text: str, seconds: int, codes: list[CautionCode]) -> None:
    read = parse_ttl(text)
    assert isinstance(read, After)
    assert read.seconds == seconds
    assert [caution.code for caution in read.warnings] == codes


@pytest.mark.parametrize(
    ("text", "suggestion", "kyverno"),
    [
        ("2days", "2d", "Kyverno would read it as 2d"),
        ("5hr", "5h", "Kyverno would read it as 5h"),
        ("1.5h", "1h30m", "Kyverno would read it as 1h30m"),
        ("1.5d", "1d12h", "Kyverno would read it as 5d"),
        ("1h30", "1h30m", "Kyverno would read it as 1h"),
        ("2026-07-19T12h", "2026-07-19T120000Z", "Kyverno would read it as 12h"),
        ("1M", "", "Kyverno would read it as 1m"),
        ("abc10d", "", "Kyverno would read it as 10d"),
        ("1d5x", "", "Kyverno would read it as 1d"),
        ("0026-09-30", "", "Kyverno would read it as a time before 1970"),
        ("106752d", "", "Kyverno would count it wrong"),
        ("1month", "30d", ""),
        ("2026-02-30", "2026-03-01", ""),
        ("30", "", ""),
    ],
)
def test_what_kyverno_reads_in_odd_ways_is_refused_with_both_readings(
    text: str, suggestion: str, kyverno: str
) -> None:
    problem = parse_ttl(text)
    assert isinstance(problem, Problem)
    assert problem.suggestion == suggestion
    assert suggestion in problem.instead
    assert kyverno in problem.what
    assert kyverno or "Kyverno" not in problem.what


@pytest.mark.parametrize("text", ["", "abc", "tomorrow", "1d12", "\u0661d"])
def test_every_refusal_says_what_to_write(text: str) -> None:
    problem = parse_ttl(text)
    assert isinstance(problem, Problem)
    assert problem.instead.startswith("write ")


@pytest.mark.parametrize("text", ["never", "forever", "99999w"])
def test_who_wants_no_end_is_told_to_remove_the_label(text: str) -> None:
    problem = parse_ttl(text)
    assert isinstance(problem, Problem)
    assert problem.code in {ProblemCode.NEVER, ProblemCode.TOO_LONG}
    assert "remove the label" in problem.instead
    assert "skoupa.dev/keep" in problem.instead


def test_as_kyverno_reads_it_a_surprise_is_taken_with_a_warning_that_gives_both_spellings() -> None:
    read = kyverno_ttl("1.5d")
    assert isinstance(read, After)
    assert read.seconds == 5 * 86_400
    assert [caution.code for caution in read.warnings] == [CautionCode.ODD_SPELLING]
    assert read.warnings[0].text.endswith("as 5d; write 5d, or 1d12h if that is meant")


def test_as_kyverno_reads_it_a_duration_of_more_than_292_years_is_refused_where_kyverno_would_delete_at_once() -> (
    None
):
    problem = kyverno_ttl("106752d")
    assert isinstance(problem, Problem)
    assert problem.code is ProblemCode.TOO_LONG


@pytest.mark.parametrize("text", ["30", "5hrs", "2wks", "1mo", "1y", "10ay", "2023-02-30", "never", ""])
def test_as_kyverno_reads_it_what_kyverno_does_not_understand_is_a_problem(text: str) -> None:
    assert isinstance(kyverno_ttl(text), Problem)


def test_a_lifetime_is_due_from_creation_or_at_its_time() -> None:
    assert due_time(After(60), since=1000) == 1060
    assert due_time(At(500), since=1000) == 500


@settings(deadline=None)
@given(
    st.integers(0, MAXIMUM_SECONDS).map(render_duration) | st.integers(0, LAST_SECOND).map(render_label_time)
)
def test_whatever_skoupa_understands_kyverno_understands_alike(text: str) -> None:
    strict, kyverno = parse_ttl(text), kyverno_reading(text)
    assert isinstance(strict, After | At)
    assert type(strict) is type(kyverno)
    assert isinstance(kyverno, After | At)
    assert due_time(strict, since=0) == due_time(kyverno, since=0)
    assert kyverno_ttl(text) == strict


@settings(deadline=None)
@given(LABEL_VALUES | LIKELY_VALUES | DATED_VALUES | st.text())
def test_no_label_raises_and_what_is_accepted_means_the_same_to_kyverno(text: str) -> None:
    strict, lenient, kyverno = parse_ttl(text), kyverno_ttl(text), kyverno_reading(text)
    if isinstance(strict, Problem):
        assert not strict.suggestion or not isinstance(parse_ttl(strict.suggestion), Problem)
    else:
        assert lenient == strict
    if isinstance(lenient, After | At):
        assert isinstance(kyverno, After | At)
        assert due_time(lenient, since=0) == due_time(kyverno, since=0)
        assert 0 <= due_time(lenient, since=0) <= LAST_SECOND


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("false", NOT_KEPT),
        ("2026-09-30", 1_790_726_400),
        ("2026-08-04T003000Z", 1_785_803_400),
        ("true", KEPT_FOR_GOOD),
        ("", KEPT_FOR_GOOD),
        ("False", KEPT_FOR_GOOD),
        ("2026-02-30", KEPT_FOR_GOOD),
        ("2026-9-30", KEPT_FOR_GOOD),
        ("7d", KEPT_FOR_GOOD),
    ],
)
def test_a_keep_label_keeps_until_its_date_begins_or_for_good(text: str, until: object) -> None:
    assert keep_until(text) == until


@settings(deadline=None)
@given(st.text())
def test_a_keep_label_keeps_when_in_doubt(text: str) -> None:
    assert (keep_until(text) is NOT_KEPT) == (text == "false")


@pytest.mark.parametrize(
    ("text", "instead"),
    [
        ("FALSE", "write false"),
        ("no", "write false"),
        ("off", "write false"),
        ("0", "write false"),
        ("Never", "write false"),
        ("1h", "write the day until which to keep it as YYYY-MM-DD"),
        ("2days", "write the day until which to keep it as YYYY-MM-DD"),
        ("1.5d", "write the day until which to keep it as YYYY-MM-DD"),
        ("2months", "write the day until which to keep it as YYYY-MM-DD"),
        ("15251w", "write the day until which to keep it as YYYY-MM-DD"),
        ("2026-9-30", "write 2026-09-30"),
        ("20260930", "write 2026-09-30"),
        ("2026-13-01", "the month before the day"),
        ("2026-13-45", "check the date"),
        ("1785803400", "write 2026-08-04T003000Z"),
    ],
)
def test_a_keep_label_that_was_probably_meant_otherwise_is_told_what_to_write(
    text: str, instead: str
) -> None:
    slip = keep_slip(text)
    assert slip is not None
    assert instead in slip[1]


@settings(deadline=None)
@given(LABEL_VALUES | LIKELY_VALUES | DATED_VALUES | st.text())
def test_only_a_keep_label_that_keeps_for_good_can_be_a_slip(text: str) -> None:
    if keep_slip(text) is not None:
        assert keep_until(text) is KEPT_FOR_GOOD


@pytest.mark.parametrize(
    "text", ["true", "false", "", "yes", "1", "30", "12345", "audit-2026", "JIRA-7", "v1.2", "2026-09-30"]
)
def test_words_numbers_and_what_is_understood_are_no_slips(text: str) -> None:
    assert keep_slip(text) is None


def test_a_refresh_is_a_time_of_rfc_3339() -> None:
    assert refreshed_at("2026-08-04T00:30:00Z") == 1_785_803_400
    assert isinstance(refreshed_at("2026-08-04"), Problem)
