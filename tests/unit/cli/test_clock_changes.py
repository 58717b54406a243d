"""Days on which clocks change: a day that is written on an object is 24 hours, wherever Skoupa and who asks it are."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from skoupa import names
from skoupa.cli.acting.keep import keep_value
from skoupa.cli.braking import pause
from skoupa.cli.remembering.recalling import Filters, wishes_of
from skoupa.expr.ttl_after import TtlAfter, parse_ttl_after
from skoupa.expr.typed_times import read_time
from skoupa.judge.judge import Judge
from skoupa.judge.retention import RetentionMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import document
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import decode
from skoupa.usage.finishing import Ends
from tests.unit.cli.saying import Shell
from tests.unit.cli.worlds import Town, config_map, installed, obj
from tests.unit.judge.rows import row
from tests.unit.judge.test_retention import Known
from tests.unit.zones import in_zone

pytestmark = pytest.mark.unit

DAY = 86400
# The hour before clocks go on, or back; on Lord Howe by half an hour.
CHANGES = [
    ("Europe/Athens", "2026-03-29T00:30:00Z"),
    ("Europe/Athens", "2026-10-25T00:30:00Z"),
    ("America/New_York", "2026-03-08T06:30:00Z"),
    ("America/New_York", "2026-11-01T05:30:00Z"),
    ("Australia/Lord_Howe", "2026-04-04T14:45:00Z"),
    ("Australia/Lord_Howe", "2026-10-03T15:15:00Z"),
    ("UTC", "2026-03-29T00:30:00Z"),
]
ON = "mode: enforce\nfeatures:\n  retention: true\n"
changing = pytest.mark.parametrize(("zone", "moment"), CHANGES, ids=str)


def seconds(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp())


@changing
def test_a_day_after_an_end_or_a_use_is_24_hours(
    zone: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_zone(zone, monkeypatch):
        assert parse_ttl_after("unused-1d") == TtlAfter(unused=DAY)
        assert parse_ttl_after("unused-24h") == TtlAfter(unused=DAY)
        began = seconds(moment)
        marks = {names.UNNEEDED_SINCE_ANNOTATION: moment}
        labels = {names.TTL_AFTER_LABEL: "unused-1d"}
        judge = Judge([RetentionMechanism(Known(ends=Ends.NEVER))], [])
        found = judge.verdict(row(labels=labels, annotations=marks, created=began - DAY), began + DAY - 1)
        assert found.goes == began + DAY
        assert found.claim(began + DAY - 1) is None
        assert found.claim(began + DAY) is not None


@changing
def test_a_mark_that_somebody_wrote_in_local_time_means_the_same_moment(
    zone: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_zone(zone, monkeypatch):
        began = seconds(moment)
        local = datetime.fromtimestamp(began).astimezone().isoformat()
        mechanism = RetentionMechanism(Known(ends=Ends.NEVER))
        labels, marks = {names.TTL_AFTER_LABEL: "unused-1d"}, {names.UNNEEDED_SINCE_ANNOTATION: local}
        assert mechanism.due(row(labels=labels, annotations=marks, created=began - DAY), began) == began + DAY


@changing
def test_a_ttl_of_a_day_is_24_hours_and_a_refresh_does_not_change_that(
    zone: str, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_zone(zone, monkeypatch):
        began = seconds(moment)
        mechanism = TtlMechanism(decode({}, source="the test"))
        assert mechanism.due(row(ttl="1d", created=began), began) == began + DAY
        assert mechanism.lifetime(row(ttl="1d", created=began)) == DAY
        refreshed = row(ttl="1d", created=began - DAY, annotations={names.REFRESHED_AT_ANNOTATION: moment})
        assert mechanism.due(refreshed, began) == began + DAY


@changing
def test_plan_shows_the_same_moment_in_every_zone(
    zone: str, moment: str, skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = seconds(moment)
    before = whole_seconds(began - DAY)
    unused = config_map(
        "unused",
        created=before,
        labels={names.TTL_AFTER_LABEL: "unused-1d"},
        annotations={names.UNNEEDED_SINCE_ANNOTATION: moment},
    )
    objects = (obj("Namespace", "shop"), obj("Namespace", "skoupa"), installed(ON), unused)
    with in_zone(zone, monkeypatch):
        town = Town(skoupa, monkeypatch).holding(*objects, config_map("aged", "1d", created=moment))
        town.clock.moment = float(began)
        said = skoupa("plan", "-n", "shop", "-o", "wide", env={"TZ": zone})
        document = town.document("plan", "-n", "shop")
    wanted = whole_seconds(began + DAY)
    assert {item["name"]: item["due"] for item in document["items"]} == {"unused": wanted, "aged": wanted}
    assert said.code == 0
    local = datetime.fromtimestamp(began + DAY, tz=ZoneInfo(zone)).strftime("%H:%M")
    assert said.out.count(local) >= 2


# The clocks show half past three twice: at 00:30 and at 01:30 UTC.
TWICE, FIRST, SECOND = "2026-10-25 03:30", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"
ATHENS = ZoneInfo("Europe/Athens")
EVE = float(seconds("2026-10-24T12:00:00Z"))


def test_until_a_time_that_comes_twice_is_until_the_second() -> None:
    end = read_time(TWICE, option="--until", now=EVE, zone=ATHENS, later=True)
    assert whole_seconds(end) == SECOND
    assert keep_value(TWICE, now=EVE, tz="Europe/Athens") == "2026-10-25T013000Z"
    sunday = read_time("sunday 03:30", option="--until", now=EVE, zone=ATHENS, later=True)
    assert whole_seconds(sunday) == SECOND


def test_a_pause_until_a_time_that_comes_twice_holds_until_the_second(
    skoupa: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    town = Town(skoupa, monkeypatch)
    monkeypatch.setattr(pause, "in_cluster", town._in_cluster)
    town.holding(document(BRAKE), obj("Namespace", "shop"))
    town.clock.moment = EVE
    said = town("pause", "--until", TWICE, "--tz", "Europe/Athens")
    assert said.code == 0, said.err
    (brake,) = town.cluster.objects(BRAKES)
    assert brake["spec"]["until"] == SECOND


def test_what_is_looked_back_at_reaches_from_the_first_to_the_second() -> None:
    after = float(seconds("2026-10-26T12:00:00Z"))
    filters = Filters(since=TWICE, until=TWICE)
    (wish,) = wishes_of(filters, now=after, zone=ATHENS)
    assert wish.since is not None
    assert whole_seconds(wish.since) == FIRST
    assert wish.until is not None
    assert whole_seconds(wish.until) == SECOND
