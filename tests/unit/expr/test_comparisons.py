"""`plan --ttl`."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skoupa.errors import UsageError
from skoupa.expr.comparisons import read_comparison
from skoupa.expr.durations import render_duration

pytestmark = pytest.mark.unit

SECONDS = st.integers(min_value=0, max_value=10**9)


@pytest.mark.parametrize(
    ("text", "within", "outside", "words"),
    [
        (">7d", [604_801], [604_800, 0, -5], "over 7d"),
        (">=1h", [3600, 9999], [3599], "1h or more"),
        ("<30m", [1799, 0, -5], [1800], "under 30m"),
        ("<=30m", [1800], [1801], "30m or less"),
        ("=1d", [86_400], [86_399, 86_401], "exactly 1d"),
        ("==24h", [86_400], [86_399], "exactly 1d"),
        ("1h..7d", [3600, 604_800], [3599, 604_801], "1h to 7d"),
        (" > 7d ", [604_801], [604_800], "over 7d"),
    ],
)
def test_a_comparison_takes_lifetimes(text: str, within: list[int], outside: list[int], words: str) -> None:
    comparison = read_comparison(text)
    assert comparison.text == words
    assert all(comparison.holds(seconds) for seconds in within)
    assert not any(comparison.holds(seconds) for seconds in outside)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("7d", "did you mean '>=7d', '<=7d' or '=7d'?"),
        ("=>7d", "did you mean '>=7d'?"),
        ("≤7d", "did you mean '<=7d'?"),
        (">7days", "write 7d"),
        (">1.5d", "write 1d12h"),
        ("7d..1h", "did you mean '1h..7d'?"),
        ("1h..", "write '>=1h'"),
        ("..7d", "write '<=7d'"),
        ("", "write '>7d'"),
        ("!=7d", "write '>7d'"),
        ("..", "write '>7d'"),
    ],
)
def test_what_is_no_comparison_is_an_error_that_says_what_to_write(text: str, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_comparison(text)
    assert caught.value.advice.startswith(advice)
    assert caught.value.exit_code == 2


@settings(deadline=None)
@given(SECONDS, SECONDS)
def test_the_operators_mean_what_they_mean_elsewhere(bound: int, seconds: int) -> None:
    text = render_duration(bound)
    assert read_comparison(f">{text}").holds(seconds) == (seconds > bound)
    assert read_comparison(f">={text}").holds(seconds) == (seconds >= bound)
    assert read_comparison(f"<{text}").holds(seconds) == (seconds < bound)
    assert read_comparison(f"<={text}").holds(seconds) == (seconds <= bound)
    assert read_comparison(f"={text}").holds(seconds) == (seconds == bound)


@settings(deadline=None)
@given(st.text() | st.from_regex(r"[<>=]{0,3}[0-9]{0,9}[wdhms]?(\.\.)?[0-9]{0,9}[wdhms]?", fullmatch=True))
def test_no_text_raises_anything_but_a_usage_error(text: str) -> None:
    try:
        read_comparison(text)
    except UsageError as error:
        assert error.advice  # noqa: PT017 - the error is one of two right outcomes
