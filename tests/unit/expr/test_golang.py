"""Kyverno's reading of the label. The values come from Go 1.26's time package and kube-openapi's strfmt."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.expr.golang import GO_UNITS_AND_DAYS, TOO_LONG, duration_text, go_duration, kyverno_reading
from skoupa.expr.readings import After, At

pytestmark = pytest.mark.unit

DAY = 86_400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("10s", 10),
        ("5m", 300),
        ("1h30m", 5400),
        ("1.5h", 5400),
        (".5h", 1800),
        ("5.h", 18_000),
        ("1d", DAY),
        ("2w", 14 * DAY),
        ("1d12h", 129_600),
        ("2days", 2 * DAY),
        ("3weeks", 21 * DAY),
        ("5hr", 18_000),
        ("7mins", 420),
        ("1hr30min", 5400),
        ("3MINUTES", 180),
        ("2Wk", 14 * DAY),
        ("1w2d3h4m5s", 788_645),
        ("0", 0),
        ("0d", 0),
        ("-5m", 0),
        ("1.5d", 5 * DAY),
        ("1.5w", 35 * DAY),
        ("1.5.5h", 18_000),
        ("1_5d", 5 * DAY),
        ("1e3s", 3),
        ("1h30", 3600),
        ("1M", 60),
        ("1D", DAY),
        ("1secular", 1),
        ("1d5x", DAY),
        ("1d-1d", 2 * DAY),
        ("abc10d", 10 * DAY),
        ("10m-5d", 432_600),
        ("2023-07-19T12h", 43_200),
        ("9223372036s", 9_223_372_036),
        ("106751d", 106_751 * DAY),
    ],
)
def test_kyverno_reads_a_duration(text: str, seconds: int) -> None:
    assert kyverno_reading(text) == After(seconds)


@pytest.mark.parametrize(
    ("text", "seconds"), [("100ms", 1), ("1us", 1), ("1.2s", 2), ("1500ms", 2), ("0.0s", 0)]
)
def test_less_than_a_second_is_rounded_up_so_that_nothing_goes_early(text: str, seconds: int) -> None:
    assert kyverno_reading(text) == After(seconds)


@pytest.mark.parametrize(
    ("text", "epoch"),
    [
        ("2023-07-19", 1_689_724_800),
        ("2023-07-19T120000Z", 1_689_768_000),
        ("2023-07-19T120000.5Z", 1_689_768_001),
        ("2024-02-29", 1_709_164_800),
        ("9999-12-31", 253_402_214_400),
        ("0000-02-29", 0),
        ("0026-09-30", 0),
    ],
)
def test_kyverno_reads_a_time(text: str, epoch: int) -> None:
    assert kyverno_reading(text) == At(epoch)


@pytest.mark.parametrize(
    "text",
    [
        "", "30", "00", "5hrs", "2wks", "1mo", "1month", "1y", "10ay", "1.d", "never", "T", "2023-02-30",
        "2023-02-29", "0001-02-29", "2023-07-19T240000Z", "2023-07-19T120000z", "2023-7-19",
        "9223372036854775808w", "99999999999999999999s", "1" * 5000 + "s",
    ],
)  # fmt: skip
def test_kyverno_does_not_understand(text: str) -> None:
    assert kyverno_reading(text) is None


@pytest.mark.parametrize("text", ["9223372037s", "2562048h", "106752d", "15251w"])
def test_a_sum_that_would_wrap_around_in_go_is_no_duration(text: str) -> None:
    assert kyverno_reading(text) is TOO_LONG


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        ("7d", 7 * DAY * 10**9),
        ("1w1d1h", (8 * DAY + 3600) * 10**9),
        ("1.5d", 129_600 * 10**9),
        ("-1.5h", -5400 * 10**9),
        ("+5s", 5 * 10**9),
        ("1\u00b5s", 1000),
        ("1\u03bcs", 1000),
        ("0.3333333333333333333h", 1_200_000_000_000),
        ("0.9223372036854775807h", 3_320_413_933_267),
        ("0.100000000000000000000h", 360_000_000_000),
        ("3.0.5s", None),
        ("1 d", None),
        ("d", None),
        (".d", None),
        ("", None),
        ("-", None),
        ("1day", None),
    ],
)
def test_go_durations_with_days_and_weeks(text: str, nanoseconds: int | None) -> None:
    assert go_duration(text, GO_UNITS_AND_DAYS) == nanoseconds


@settings(deadline=None)
@given(st.text(), st.sampled_from(["", "d", "h", "1d", "2026-01-01T"]))
def test_no_text_raises(text: str, around: str) -> None:
    kyverno_reading(around + text)
    go_duration(text + around, GO_UNITS_AND_DAYS)


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        # the table of Go's time package
        (0, "0s"),
        (1, "1ns"),
        (1_100, "1.1\u00b5s"),
        (2_200_000, "2.2ms"),
        (3_300_000_000, "3.3s"),
        (245_000_000_000, "4m5s"),
        (245_001_000_000, "4m5.001s"),
        (18_367_001_000_000, "5h6m7.001s"),
        (480_000_000_001, "8m0.000000001s"),
        (2**63 - 1, "2562047h47m16.854775807s"),
        (-(2**63), "-2562047h47m16.854775808s"),
    ],
)
def test_a_duration_is_written_as_go_writes_it(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_a_written_duration_is_read_back(nanoseconds: int) -> None:
    assert go_duration(duration_text(nanoseconds)) == nanoseconds
