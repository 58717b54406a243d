"""Annotations of kube-janitor and k8s-ttl-controller."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.durations import MAXIMUM_SECONDS, render_duration
from skoupa.expr.peers import janitor_expires, janitor_ttl, ttl_controller_ttl
from skoupa.expr.readings import After, At, Never, Problem

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("60s", After(60)),
        ("5m", After(300)),
        ("8h", After(28_800)),
        ("7d", After(604_800)),
        ("2w", After(1_209_600)),
        ("forever", Never()),
        ("Forever", Never()),
    ],
)
def test_a_janitor_ttl_is_one_number_and_one_unit_or_forever(text: str, value: object) -> None:
    assert janitor_ttl(text) == value


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("1d12h", "36h"),
        ("1.5d", "36h"),
        ("2days", "2d"),
        ("7D", "7d"),
        ("-1d", "1d"),
        ("30", ""),
        ("", ""),
        ("x", ""),
    ],
)
def test_what_kube_janitor_ignores_is_a_problem_in_its_own_grammar(text: str, suggestion: str) -> None:
    problem = janitor_ttl(text)
    assert isinstance(problem, Problem)
    assert problem.suggestion == suggestion
    assert not suggestion or isinstance(janitor_ttl(suggestion), After)


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("2019-02-25T09:26:14Z", 1_551_086_774),
        ("2019-02-25T09:26", 1_551_086_760),
        ("2019-02-25", 1_551_052_800),
        ("2019-2-5", 1_549_324_800),
    ],
)
def test_a_janitor_expiry_is_one_of_three_forms_in_utc(text: str, epoch: int) -> None:
    assert janitor_expires(text) == At(epoch)


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [
        ("2019-02-25T09:26:14+02:00", "2019-02-25T07:26:14Z"),
        ("2019-02-25T092614Z", "2019-02-25T09:26:14Z"),
        ("2019-02-30", "2019-03-01T00:00:00Z"),
        ("0019-02-25", ""),
        ("soon", ""),
        ("", ""),
    ],
)
def test_what_is_no_janitor_expiry_is_a_problem_that_says_what_to_write(text: str, suggestion: str) -> None:
    problem = janitor_expires(text)
    assert isinstance(problem, Problem)
    assert problem.suggestion == suggestion
    assert problem.instead


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("24h", 86_400),
        ("7d", 604_800),
        ("1w1d", 691_200),
        ("1.5d", 129_600),
        ("500ms", 1),
        ("0", 0),
    ],
)
def test_a_ttl_controller_ttl_is_a_go_duration_with_days_and_weeks(text: str, seconds: int) -> None:
    read = ttl_controller_ttl(text)
    assert isinstance(read, After)
    assert read.seconds == seconds


@pytest.mark.parametrize(
    ("text", "suggestion"),
    [("2days", "2d"), ("-5m", "5m"), ("1 d", "1d"), ("30", ""), ("", ""), ("99999w", "")],
)
def test_what_is_no_ttl_controller_ttl_is_a_problem(text: str, suggestion: str) -> None:
    problem = ttl_controller_ttl(text)
    assert isinstance(problem, Problem)
    assert problem.suggestion == suggestion


def test_a_duration_that_is_over_at_once_is_warned_about() -> None:
    for read in (janitor_ttl("0s"), ttl_controller_ttl("0")):
        assert isinstance(read, After)
        assert read.warnings


@settings(deadline=None)
@given(st.integers(0, MAXIMUM_SECONDS).map(render_duration))
def test_skoupas_own_durations_are_ttl_controller_durations(text: str) -> None:
    assert isinstance(ttl_controller_ttl(text), After)


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[0-9]{0,30}[a-z:TZ.-]{0,9}[0-9:]{0,9}Z?", fullmatch=True))
def test_no_text_raises_and_every_time_can_be_written(text: str) -> None:
    janitor_ttl(text)
    ttl_controller_ttl(text)
    read = janitor_expires(text)
    if isinstance(read, At):
        datetime.fromtimestamp(read.epoch_seconds, UTC)
