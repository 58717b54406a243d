"""The caller's time zone, `--tz`, and clocks on walls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from skoupa.errors import UsageError
from skoupa.expr import zones
from skoupa.expr.walltime import show_time, shown_at, wall_clock
from skoupa.expr.zones import local_zone, named_zone

pytestmark = pytest.mark.unit

ZONES = [
    ZoneInfo(name)
    for name in ("Europe/Athens", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia", "America/Havana")
]
SUMMER, WINTER = 1_785_585_600, 1_796_126_400  # noon UTC on 2026-08-01 and 2026-12-01


def offset(zone: object, epoch: int) -> timedelta | None:
    assert isinstance(zone, ZoneInfo | timezone)
    return datetime.fromtimestamp(epoch, zone).utcoffset()


@pytest.mark.parametrize(
    ("name", "hours"),
    [("Europe/Athens", 3), ("UTC", 0), ("Z", 0), ("+02:00", 2), ("UTC-5", -5), ("-0330", -3.5)],
)
def test_a_zone_is_named_or_given_as_an_offset(name: str, hours: float) -> None:
    assert offset(named_zone(name), SUMMER) == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Europe/Atens", "Europe/Athens"),
        ("europe/athens", "Europe/Athens"),
        ("athens", "Europe/Athens"),
        ("Atens", "Europe/Athens"),
        ("new york", "America/New_York"),
        ("", "Europe/Athens"),
        ("../../etc/passwd", "Europe/Athens"),
        ("+25:00", "Europe/Athens"),
    ],
)
def test_an_unknown_zone_is_an_error_with_near_names(name: str, near: str) -> None:
    with pytest.raises(UsageError) as caught:
        named_zone(name)
    assert near in caught.value.advice
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    "name", ["localtime", "Local", "posixrules", "Factory", "right/Europe/Athens", "posix/Europe/Athens"]
)
def test_a_file_that_is_another_zone_on_another_machine_is_none(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`check` on a laptop and the controller in a pod mean the same hour."""
    monkeypatch.setattr(zones, "ZoneInfo", lambda _: ZoneInfo("Asia/Tokyo"))
    with pytest.raises(UsageError, match="is no time zone") as caught:
        named_zone(name)
    assert "Europe/Athens" in caught.value.advice


def test_without_a_time_zone_database_utc_and_offsets_still_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(key: str) -> ZoneInfo:
        raise ZoneInfoNotFoundError(key)

    monkeypatch.setattr(zones, "ZoneInfo", absent)
    monkeypatch.setattr(zones, "available_timezones", set)
    assert named_zone("UTC") is UTC
    assert named_zone("+02:00") == timezone(timedelta(hours=2))
    with pytest.raises(UsageError, match="no time zone database"):
        named_zone("Europe/Athens")


@pytest.mark.parametrize(
    ("value", "summer", "winter"),
    [
        ("Europe/Athens", 3, 2),
        (":Europe/Athens", 3, 2),
        ("/usr/share/zoneinfo/Europe/Athens", 3, 2),
        ("/no/such/zoneinfo/Europe/Athens", 3, 2),
        ("EET-2EEST,M3.5.0/3,M10.5.0/4", 3, 2),
        ("JST-9", 9, 9),
        ("UTC+2", -2, -2),
        ("", 0, 0),
        ("UTC0", 0, 0),
    ],
)
def test_the_environment_is_read_as_the_c_library_reads_it(value: str, summer: int, winter: int) -> None:
    zone = local_zone({"TZ": value})
    assert offset(zone, SUMMER) == timedelta(hours=summer)
    assert offset(zone, WINTER) == timedelta(hours=winter)


def test_an_environment_that_means_nothing_is_an_error_that_names_the_way_round() -> None:
    with pytest.raises(UsageError, match=r"\$TZ.*Atens.*Europe/Athens.*--tz"):
        local_zone({"TZ": "Atens"})


def test_the_environment_goes_before_the_files(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/timezone").write_text("Asia/Tokyo\n")
    assert str(local_zone({"TZ": "Europe/Athens"}, root=tmp_path)) == "Europe/Athens"


def test_the_zone_is_what_localtime_links_to(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").symlink_to("../usr/share/zoneinfo/Asia/Tokyo")
    (tmp_path / "etc/timezone").write_text("Europe/Athens\n")
    assert str(local_zone({}, root=tmp_path)) == "Asia/Tokyo"


def test_where_localtime_is_no_link_the_zone_is_named_in_the_timezone_file(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").write_bytes(b"not rules")
    (tmp_path / "etc/timezone").write_text("Europe/Athens\n")
    assert str(local_zone({}, root=tmp_path)) == "Europe/Athens"


def test_where_nothing_names_the_zone_the_rules_in_localtime_count(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").write_bytes(Path("/usr/share/zoneinfo/Asia/Tokyo").read_bytes())
    assert offset(local_zone({}, root=tmp_path), SUMMER) == timedelta(hours=9)


def test_where_nothing_is_known_the_zone_is_utc(tmp_path: Path) -> None:
    assert local_zone({}, root=tmp_path) is UTC
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/localtime").write_bytes(b"not rules")
    (tmp_path / "etc/timezone").write_bytes(b"\xff\xfe")
    assert local_zone({}, root=tmp_path) is UTC


@settings(deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
@example("EST5EDT,M3.2.0,M11.1.0,")
@example("A1,")
@example("<+03>-3")
def test_no_environment_raises_anything_but_a_usage_error(value: str) -> None:
    try:
        zone = local_zone({"TZ": value})
    except UsageError:
        return
    show_time(SUMMER, zone)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Europe/Athens", "Sat 2026-08-01 15:00 EEST (UTC+03:00)"),
        ("America/New_York", "Sat 2026-08-01 08:00 EDT (UTC-04:00)"),
        ("Australia/Lord_Howe", "Sat 2026-08-01 22:30 UTC+10:30"),
        ("UTC", "Sat 2026-08-01 12:00 UTC"),
        ("-0330", "Sat 2026-08-01 08:30 UTC-03:30"),
    ],
)
def test_a_time_is_shown_with_its_day_its_zone_and_its_offset(name: str, text: str) -> None:
    assert show_time(SUMMER, named_zone(name)) == text


def test_seconds_are_shown_where_there_are_any() -> None:
    assert show_time(SUMMER + 5, UTC) == "Sat 2026-08-01 12:00:05 UTC"


@pytest.mark.parametrize(
    ("zone", "wall", "taken", "note"),
    [
        (
            "Europe/Athens",
            "2026-03-29T03:30",
            "2026-03-29T04:30+03:00",
            "is skipped by the clocks, taken as 04:30",
        ),
        ("America/New_York", "2026-03-08T02:00", "2026-03-08T03:00-04:00", "is skipped"),
        ("Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-04T02:45+11:00", "is skipped"),
        ("Pacific/Apia", "2011-12-30T17:00", "2011-12-31T17:00+14:00", "is skipped"),
        ("Europe/Athens", "2026-03-29T02:59", "2026-03-29T02:59+02:00", ""),
        ("Europe/Athens", "2026-03-29T04:00", "2026-03-29T04:00+03:00", ""),
    ],
)
def test_a_time_in_the_gap_moves_forward(zone: str, wall: str, taken: str, note: str) -> None:
    for later in (False, True):
        shown = shown_at(datetime.fromisoformat(wall), ZoneInfo(zone), later=later)
        assert shown.epoch == datetime.fromisoformat(taken).timestamp()
        assert note in shown.note
        assert bool(note) == bool(shown.note)


@pytest.mark.parametrize(
    ("zone", "wall", "earlier", "later"),
    [
        ("Europe/Athens", "2026-10-25T03:30", "2026-10-25T03:30+03:00", "2026-10-25T03:30+02:00"),
        ("America/New_York", "2026-11-01T01:30", "2026-11-01T01:30-04:00", "2026-11-01T01:30-05:00"),
        ("Australia/Lord_Howe", "2026-04-05T01:45", "2026-04-05T01:45+11:00", "2026-04-05T01:45+10:30"),
        ("America/Havana", "2026-11-01T00:00", "2026-11-01T00:00-04:00", "2026-11-01T00:00-05:00"),
    ],
)
def test_a_time_in_the_fold_is_the_earlier_or_the_later_as_asked(
    zone: str, wall: str, earlier: str, later: str
) -> None:
    when = datetime.fromisoformat(wall)
    first, second = (shown_at(when, ZoneInfo(zone), later=which) for which in (False, True))
    assert first.epoch == datetime.fromisoformat(earlier).timestamp()
    assert second.epoch == datetime.fromisoformat(later).timestamp()
    assert "the earlier one is taken" in first.note
    assert "the later one is taken" in second.note


@settings(deadline=None)
@given(st.integers(0, 4_000_000_000), st.sampled_from(ZONES))
def test_every_moment_is_found_again_from_what_the_wall_shows(epoch: int, zone: ZoneInfo) -> None:
    wall = wall_clock(epoch, zone)
    assert epoch in {shown_at(wall, zone, later=later).epoch for later in (False, True)}
