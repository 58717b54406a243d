"""Go's layouts. `go` are the tests of Go's time package, `kyverno` those of its time functions."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skoupa.expr import layouts
from skoupa.expr.layouts import NAMED, RFC3339
from skoupa.expr.stamps import Stamp

pytestmark = pytest.mark.unit

# Wed Feb 4 21:00:57.0123456 PST 2009, the time that Go's own tests format
WEDNESDAY = Stamp(1_233_810_057_012_345_600, -8 * 3600, "PST")
ANSIC = NAMED["ANSIC"]


@pytest.mark.parametrize(
    ("layout", "text", "source"),
    [
        ("ANSIC", "Wed Feb  4 21:00:57 2009", "go"),
        ("UnixDate", "Wed Feb  4 21:00:57 PST 2009", "go"),
        ("RubyDate", "Wed Feb 04 21:00:57 -0800 2009", "go"),
        ("RFC822", "04 Feb 09 21:00 PST", "go"),
        ("RFC850", "Wednesday, 04-Feb-09 21:00:57 PST", "go"),
        ("RFC1123", "Wed, 04 Feb 2009 21:00:57 PST", "go"),
        ("RFC1123Z", "Wed, 04 Feb 2009 21:00:57 -0800", "go"),
        ("RFC3339", "2009-02-04T21:00:57-08:00", "go"),
        ("RFC3339Nano", "2009-02-04T21:00:57.0123456-08:00", "go"),
        ("Kitchen", "9:00PM", "go"),
        ("3pm", "9pm", "go"),
        ("3PM", "9PM", "go"),
        ("06 01 02", "09 02 04", "go"),
        ("Hi Janet, the Month is January", "Hi Janet, the Month is February", "go"),
        ("Stamp", "Feb  4 21:00:57", "go"),
        ("StampMilli", "Feb  4 21:00:57.012", "go"),
        ("StampMicro", "Feb  4 21:00:57.012345", "go"),
        ("StampNano", "Feb  4 21:00:57.012345600", "go"),
        ("DateTime", "2009-02-04 21:00:57", "go"),
        ("DateOnly", "2009-02-04", "go"),
        ("TimeOnly", "21:00:57", "go"),
        ("Jan  2 002 __2 2", "Feb  4 035  35 4", "go"),
        ("2006 6 06 _6 __6 ___6", "2009 6 09 _6 __6 ___6", "go"),
        ("Jan January 1 01 _1", "Feb February 2 02 _2", "go"),
        ("2 02 _2 __2", "4 04  4  35", "go"),
        ("Mon Monday", "Wed Wednesday", "go"),
        ("15 3 03 _3", "21 9 09 _9", "go"),
        ("4 04 _4", "0 00 _0", "go"),
        ("5 05 _5", "57 57 _57", "go"),
    ],
)
def test_a_time_is_written_as_go_writes_it(layout: str, text: str, source: str) -> None:
    assert layouts.format(layout, WEDNESDAY) == text, source


@pytest.mark.parametrize(
    "year", [-100001, -10000, -9999, -101, -9, -1, 0, 1, 10, 99, 101, 9999, 10000, 100001]
)
def test_years_have_at_least_four_digits(year: int) -> None:
    # Go: TestFormatShortYear; 365.2425 days are the year of the calendar, on average
    start = round((year - 1970) * 365.2425) * 86_400 * 10**9
    around = {layouts.format("2006.01.02", Stamp(start + days * 86_400 * 10**9)) for days in range(-3, 4)}
    assert f"{'-' if year < 0 else ''}{abs(year):04}.01.01" in around


@pytest.mark.parametrize(
    ("layout", "text", "rfc3339", "source"),
    [
        (ANSIC, "Thu Feb  4 21:00:57 2010", "2010-02-04T21:00:57Z", "go"),
        (NAMED["RubyDate"], "Thu Feb 04 21:00:57 -0800 2010", "2010-02-04T21:00:57-08:00", "go"),
        (NAMED["RFC1123Z"], "Thu, 04 Feb 2010 21:00:57 -0800", "2010-02-04T21:00:57-08:00", "go"),
        (RFC3339, "2010-02-04T21:00:57-08:00", "2010-02-04T21:00:57-08:00", "go"),
        ("2006-01-02 15:04:05-07", "2010-02-04 21:00:57-08", "2010-02-04T21:00:57-08:00", "go"),
        (ANSIC, "Thu Feb  4 21:00:57.0 2010", "2010-02-04T21:00:57Z", "go"),
        (
            *(NAMED["RubyDate"], "Thu Feb 04 21:00:57.012 -0800 2010"),
            *("2010-02-04T21:00:57.012-08:00", "go"),
        ),
        (RFC3339, "2010-02-04T21:00:57.012345678-08:00", "2010-02-04T21:00:57.012345678-08:00", "go"),
        (ANSIC, "Thu      Feb     4     21:00:57     2010", "2010-02-04T21:00:57Z", "go"),
        (ANSIC, "THU FEB 4 21:00:57 2010", "2010-02-04T21:00:57Z", "go"),
        (ANSIC, "thu feb 4 21:00:57 2010", "2010-02-04T21:00:57Z", "go"),
        (
            *("Mon Jan _2 15:04:05,000 2006", "Thu Feb  4 21:00:57.012 2010"),
            *("2010-02-04T21:00:57.012Z", "go"),
        ),
        ("2006.01.02.15.04.05.00", "2010.02.04.21.00.57.01", "2010-02-04T21:00:57.01Z", "go"),
        (
            *(
                "Hi Janet, the Month is January: Jan _2 15:04:05 2006",
                "Hi Janet, the Month is February: Feb  4 21:00:57 2010",
            ),
            *("2010-02-04T21:00:57Z", "go"),
        ),
        (NAMED["UnixDate"], "Fri Feb  5 05:00:57 GMT-8 2010", "2010-02-05T05:00:57-08:00", "go"),
        (
            *("2006-01-02 15:04:05.9999 -0700 MST", "2010-02-04 21:00:57.012345678 -0800 PST"),
            *("2010-02-04T21:00:57.012345678-08:00", "go"),
        ),
        (
            *("2006-01-02 15:04:05,999999999 -0700 MST", "2010-02-04 21:00:57 -0800 PST"),
            *("2010-02-04T21:00:57-08:00", "go"),
        ),
        (NAMED["StampNano"], "Feb  4 21:00:57.012345678", "0000-02-04T21:00:57.012345678Z", "go"),
        ("3:04PM", "3:04PM", "0000-01-01T15:04:00Z", "go"),
        ("Jan _2 002 2006", "Feb  4 035 2010", "2010-02-04T00:00:00Z", "go"),
        ("2006-002", "2024-060", "2024-02-29T00:00:00Z", "go"),
        ("06-01-02", "69-01-01", "1969-01-01T00:00:00Z", "go"),
        ("06-01-02", "68-01-01", "2068-01-01T00:00:00Z", "go"),
        (
            *("Mon Jan 02 15:04:05 -0700 2006", "Sat Jan 02 15:04:05 -0700 2021"),
            *("2021-01-02T15:04:05-07:00", "kyverno"),
        ),
        ("Mon Jan _2 15:04:05 MST 2006", "Mon Jan 02 15:04:05 MST 2021", "2021-01-02T15:04:05Z", "kyverno"),
        ("RFC1123", "Mon, 02 Jan 2006 15:04:05 +03", "2006-01-02T15:04:05+03:00", "own"),
    ],
)
def test_a_time_is_read_as_go_reads_it(layout: str, text: str, rfc3339: str, source: str) -> None:
    assert layouts.format("RFC3339Nano", layouts.parse(layout, text)) == rfc3339, source


@pytest.mark.parametrize(
    ("layout", "text", "says"),
    [
        (ANSIC, "Feb  4 21:00:60 2010", "is not written like"),
        (ANSIC, "Thu Feb  4 21:00:57 @2010", "is not written like"),
        (ANSIC, "Thu Feb  4 21:00:60 2010", "second is out of range"),
        (ANSIC, "Thu Feb  4 21:61:57 2010", "minute is out of range"),
        (ANSIC, "Thu Feb  4 24:00:00 2010", "hour is out of range"),
        ("Mon Jan _2 15:04:05.000 2006", "Thu Feb  4 23:00:59x01 2010", "is not written like"),
        ("Mon Jan _2 15:04:05.000 2006", "Thu Feb  4 23:00:59.-123 2010", "is not written like"),
        (NAMED["StampNano"], "Dec  7 11:22:01.000000", "is not written like"),
        (NAMED["StampNano"], "Dec  7 11:22:01.0000000000", "is not written like"),
        (RFC3339, "2006-01-02T15:04:05Z07:00", "is not written like"),
        (RFC3339, "2006-01-02T15:04_abc", "is not written like"),
        (RFC3339, "2010-02-04T21:00:67.012345678-08:00", "second is out of range"),
        (RFC3339, "0000-01-01T00:00:.0+00:00", "is not written like"),
        ("_2 Jan 06 15:04 MST", "4 --- 00 00:00 GMT", "is not written like"),
        ("Jan _2 002 2006", "Feb  4 034 2006", "day of the year is out of range"),
        ("Jan _2 002 2006", "Feb  4 004 2006", "day of the year is out of range"),
        (RFC3339, "0000-01-01T00:00:00+00:+0", "is not written like"),
        ("2006-01-02", "22-10-25", "is not written like"),
        ("06-01-02", "a2-10-25", "is not written like"),
        ("03:04PM", "12:03pM", "is not written like"),
        ("-07", "-25", "time zone offset is out of range"),
        ("Z07:00", "-23:61", "time zone offset is out of range"),
        ("Z07:00:00", "+23:59:61", "time zone offset is out of range"),
        *(
            (ANSIC, f"Thu {day} 21:00:57 2010", "day is out of range")
            for day in ("Jan 99", "Jan 32", "Feb 29", "Apr 31", "Nov 31", "Dec 00")
        ),
    ],
)
def test_what_go_refuses_is_refused_in_words(layout: str, text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        layouts.parse(layout, text)


@pytest.mark.parametrize("layout", ["", "YYYY-MM-DD", "%Y-%m-%d"])
def test_a_layout_without_a_place_is_refused_with_what_to_write(layout: str) -> None:
    with pytest.raises(ValueError, match="write how Mon Jan 2 15:04:05 MST 2006 looks in it"):
        layouts.parse(layout, "2024-01-01")


@pytest.mark.parametrize("layout", ["2" * 500, " 2" * 250, "MST" * 160, ".999" * 120, "January" * 70])
def test_no_layout_hangs(layout: str) -> None:
    started = time.process_time()
    for text in ("2" * 500, " " * 500, "A" * 500, ".9" * 250, "MayMAY" * 80):
        with pytest.raises(ValueError, match="time"):
            layouts.parse(layout, text + "!")
    assert time.process_time() - started < 2


stamps = st.builds(
    Stamp,
    st.integers(-62_135_596_800 * 10**9, 253_402_300_799 * 10**9),
    st.integers(-23 * 60, 23 * 60).map(lambda minutes: minutes * 60),
    st.just(""),
)


@given(stamps)
def test_what_is_written_is_read_back(stamp: Stamp) -> None:
    layout = "Mon, 2 January 2006 15:04:05.999999999 Z07:00"
    year = stamp.civil.year
    if 0 <= year <= 9999:
        again = layouts.parse(layout, layouts.format(layout, stamp))
        assert (again.epoch, again.offset) == (stamp.epoch, stamp.offset)


@given(st.text(), st.text())
def test_any_layout_reads_any_text_or_says_why_not(layout: str, text: str) -> None:
    try:
        layouts.parse(layout, text)
    except ValueError as error:
        assert "time" in str(error)  # noqa: PT017 - either outcome is right
    layouts.format(layout, WEDNESDAY)
