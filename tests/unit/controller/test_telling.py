"""What is told, where and how often: notices, problems, deletions; and what an observer does not do."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, EVENTS, NAMESPACES
from skoupa.sim.faults import asking
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, WIDGETS, Stage, definition, story

pytestmark = pytest.mark.unit


@story()
async def test_a_deletion_is_a_log_line_a_counter_and_an_event_that_outlives_the_object(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.make("web", "1m")
    await stage.until(62)
    (line,) = play.told("deleted", "web")
    assert (line["kind"], line["namespace"]) == ("configmaps", SHOP)
    assert line["why"] == "cleanup.kyverno.io/ttl=1m, counted from 2026-01-01T00:00:00Z"
    assert play.value("skoupa_deletions_total", kind="configmaps", mechanism="ttl") == 1
    assert play.value("skoupa_deletion_lag_seconds_count", mechanism="ttl") == 1
    (event,) = stage.events("SkoupaDeleted")
    assert event["metadata"]["namespace"] == SHOP
    assert event["regarding"]["uid"] == made["metadata"]["uid"]
    assert event["note"] == f"deleted: {line['why']}"
    assert event["type"] == "Normal"
    assert not stage.there("web")


@story()
async def test_many_deletions_share_events_and_no_name_is_lost(stage: Stage) -> None:
    await stage.play(rate={"deletionsPerSecond": 10_000})
    wanted = {f"a-rather-long-name-for-a-small-object-{number:04}" for number in range(500)}
    for name in wanted:
        await stage.make(name, "1m")
    await stage.until(70)
    events = stage.events("SkoupaDeleted")
    assert len(events) < 40
    told = [name for event in events for name in event["note"].partition(": ")[2].split(", ")]
    assert sorted(told) == sorted(wanted)
    assert max(len(event["note"].encode()) for event in events) <= 1024


@story()
async def test_names_that_could_not_be_told_are_told_when_the_server_is_back(stage: Stage) -> None:
    await stage.play()
    fault = stage.cluster.faults.answer(503, when=asking(method="POST", kind=EVENTS.qualified), times=None)
    for number in range(30):
        await stage.make(f"web-{number}", f"{number + 1}m")
    await stage.until(31 * MINUTE)
    assert not stage.events("SkoupaDeleted")
    stage.cluster.faults.remove(fault)
    await stage.later(2 * MINUTE)
    assert {event["regarding"]["name"] for event in stage.events("SkoupaDeleted")} == {
        f"web-{number}" for number in range(30)
    }


@story()
async def test_an_invalid_label_is_told_once_on_the_object_in_the_log_and_as_a_count(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "2days")
    await stage.later(10 * MINUTE)
    await stage.label("web", team="b")
    await stage.later(10 * MINUTE)
    (line,) = play.told("label problem", "web")
    assert "is not understood and deletes nothing" in line["why"]
    assert line["why"].endswith("write 2d")
    (event,) = stage.events("SkoupaLabelProblem", "web")
    assert (event["type"], event["note"]) == ("Warning", line["why"])
    assert play.value("skoupa_invalid_labels_total", kind="configmaps", reason="ttl-invalid") == 1


@story()
async def test_an_invalid_label_that_is_mended_goes_at_its_time_and_one_that_gets_worse_is_told_anew(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("web", "2days")
    await stage.make("api", "5h")
    await stage.later(1)
    await stage.label("web", ttl="10m")
    await stage.label("api", ttl="soon")
    await stage.later(2)
    assert len(play.told("label problem", "api")) == 1
    await stage.until(10 * MINUTE + 1)
    assert not stage.there("web")
    await stage.until(6 * HOUR)
    assert stage.there("api")


@story()
async def test_telling_twice_makes_one_event(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "2days")
    await stage.later(2)
    await play.stop()
    await stage.play()
    await stage.later(2)
    assert len(stage.events("SkoupaLabelProblem", "web")) == 1


@story()
async def test_a_replica_that_waits_tells_nothing_and_tells_all_when_it_leads(stage: Stage) -> None:
    play = await stage.play()
    play.standing_by = True
    await stage.make("bad", "2days")
    await stage.make("web", "1m")
    await stage.later(10 * MINUTE)
    assert not stage.events()
    assert not play.lines
    assert not [request for _, request in play.wire.seen if request.method not in {"GET", "POST"}]
    play.standing_by = False
    await stage.later(3)
    assert play.told("label problem", "bad")
    assert play.told("deleted", "web")


@story(ttl={"noticeBefore": "1h"})
async def test_a_notice_comes_that_far_ahead_and_says_how_to_keep_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "3h")
    await stage.until(2 * HOUR - 1)
    assert not stage.events("SkoupaNotice")
    await stage.until(2 * HOUR + 1)
    (event,) = stage.events("SkoupaNotice", "web")
    assert "will be deleted at 2026-01-01T03:00:00Z" in event["note"]
    assert event["note"].endswith("To keep it: skoupa keep configmaps/web -n shop")
    assert play.value("skoupa_notices_total", kind="configmaps") == 1
    await stage.until(3 * HOUR + 1)
    assert not stage.there("web")
    assert len(play.told("notice", "web")) == 1


@story(ttl={"noticeBefore": "1h"})
async def test_a_time_that_is_put_off_is_noticed_anew(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "70m")
    await stage.until(30 * MINUTE)
    await stage.label("web", ttl="3h")
    await stage.until(3 * HOUR + 1)
    assert [line["due"] for line in play.told("notice", "web")] == [
        "2026-01-01T01:10:00Z",
        "2026-01-01T03:00:00Z",
    ]
    assert not stage.there("web")


@story(ttl={"noticeBefore": "1h"})
async def test_what_has_less_time_than_the_notice_is_noticed_at_once(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "10m")
    await stage.make("past", "0")
    await stage.later(2)
    assert play.told("notice", "web")
    assert not play.told("notice", "past")
    await stage.until(10 * MINUTE + 1)
    assert not stage.there("web")


@story(ttl={"noticeBefore": "1h"})
async def test_what_is_kept_is_not_noticed_until_it_is_not(stage: Stage) -> None:
    play = await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.make("web", "2h")
    await stage.until(90 * MINUTE)
    assert not play.told("notice")
    await stage.label(SHOP, resource=NAMESPACES, keep=None)
    await stage.later(5)
    assert play.told("notice", "web")


@story(ttl={"noticeBefore": "1h"})
async def test_the_object_itself_can_wish_for_another_notice(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("early", "4h", annotations={names.NOTICE_BEFORE_ANNOTATION: "3h"})
    await stage.make("silent", "4h", annotations={names.NOTICE_BEFORE_ANNOTATION: "0"})
    await stage.make("odd", "4h", annotations={names.NOTICE_BEFORE_ANNOTATION: "whenever"})
    await stage.until(HOUR + 1)
    assert [line["name"] for line in play.told("notice")] == ["early"]
    await stage.until(3 * HOUR + 1)
    assert [line["name"] for line in play.told("notice")] == ["early", "odd"]


@story(mode="observe", ttl={"noticeBefore": "10m"})
async def test_an_observer_tells_what_would_go_and_writes_nothing_at_all(stage: Stage) -> None:
    stage.old(["forgotten"], "1h", age=DAY)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(5)
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.make("bad", "2days")
    await stage.make("kept", "1m", keep="true")
    await stage.make("stuck", "1m", finalizers=["example.com/never"])
    await stage.make("gear", "1m", resource=WIDGETS)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1h")
    await stage.until(3 * HOUR)
    assert {"web", "bad", "kept", "stuck"} <= stage.found()
    writes = [
        f"{request.method} {request.path}"
        for _, request in play.wire.seen
        if request.method != "GET" and "authorization.k8s.io" not in request.path
    ]
    assert not writes
    assert not stage.events()
    would = [line["name"] for line in play.told("would delete")]
    assert sorted(would) == ["forgotten", "gear", "stuck", "web"], "each is told once"
    assert play.value("skoupa_would_delete_total", kind="configmaps", mechanism="ttl") == 3
    assert play.told("label problem", "bad")
    assert "kept by its label" in play.why_held("kept")
    assert "ConfigMap shop/kept" in play.why_held(SHOP)
    assert play.overdue == {"observing": 4, "kept": 1, "keeps-inside": 1}


@story(mode="observe")
async def test_an_observer_notices_that_what_would_go_is_held_now(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.until(2 * MINUTE)
    assert play.overdue == {"observing": 1}
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.later(3)
    assert play.overdue == {"namespace-kept": 1}
    await stage.label(SHOP, resource=NAMESPACES, keep=None)
    await stage.later(3)
    assert play.overdue == {"observing": 1}
    await stage.label("web", ttl="5h")
    await stage.later(3)
    assert play.overdue == {}


@story()
async def test_what_is_not_overdue_any_more_leaves_the_gauge(stage: Stage) -> None:
    play = await stage.play()
    for name in ("extended", "deleted", "unlabelled"):
        await stage.make(name, "1m", keep="true")
    await stage.until(2 * MINUTE)
    assert play.overdue == {"kept": 3}
    await stage.label("extended", ttl="5h")
    await stage.label("unlabelled", ttl=None)
    found = {one["metadata"]["name"]: one["metadata"]["uid"] for one in stage.cluster.objects(CONFIG_MAPS)}
    await stage.people.delete(
        CONFIG_MAPS, "deleted", namespace=SHOP, uid=found["deleted"], propagation="Background"
    )
    await stage.later(1)
    assert play.overdue == {}


@story()
async def test_short_breaks_of_the_watch_of_namespaces_are_no_news_of_every_object_that_is_held(
    stage: Stage,
) -> None:
    play = await stage.play()
    for number in range(20):
        await stage.make(f"kept-{number}", "1m", keep="true")
    await stage.until(2 * MINUTE)
    assert len(play.told("held")) == 20
    for _ in range(3):
        fault = stage.cluster.faults.answer(
            503, when=lambda request: request.path == "/api/v1/namespaces", times=None
        )
        stage.cluster.restart()
        await stage.later(20)
        stage.cluster.faults.remove(fault)
        await stage.later(2 * MINUTE)
    assert len(play.told("held")) == 20


@story()
async def test_a_refresh_that_is_not_understood_holds_and_is_told_until_it_is_mended(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1h", annotations={names.REFRESHED_AT_ANNOTATION: "2026-01-01 00:30:00"})
    await stage.later(2)
    assert len(stage.events("SkoupaLabelProblem", "web")) == 1
    await stage.until(100 * MINUTE)
    assert stage.there("web")
    assert "write 2026-01-01T00:30:00Z" in play.why_held("web")
    (event,) = stage.events("SkoupaHeld", "web")
    assert "skoupa.dev/refreshed-at=2026-01-01 00:30:00 is not an RFC 3339 time" in event["note"]
    await stage.annotate("web", names.REFRESHED_AT_ANNOTATION, "2026-01-01T00:30:00Z")
    await stage.later(2)
    assert not stage.there("web")
