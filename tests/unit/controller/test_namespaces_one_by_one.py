"""Keep labels on Namespaces for who may not list them, and for who may not any more."""

from __future__ import annotations

import pytest

from skoupa import names
from skoupa.controller.gauges import gauges_of
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit

OTHER = "other"
INSIDE = Rule(verbs=ENOUGH, namespaces=(SHOP, OTHER))
# As a Role in each namespace grants it.
GET = Rule(verbs=("get",), resources=("namespaces",), namespaces=(SHOP, OTHER))
PATH = f"/api/v1/namespaces/{SHOP}"


def asked(play: Play, path: str = PATH) -> int:
    return len([1 for _, request in play.sent("GET") if request.path == path])


async def started(stage: Stage, *rules: Rule) -> Play:
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE, *rules])
    if not stage.there(OTHER, NAMESPACES):
        await stage.namespace(OTHER)
    return await stage.play(user="sweeper")


@story(namespaces=[SHOP, OTHER])
async def test_a_keep_label_on_a_namespace_counts_although_namespaces_can_not_be_listed(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    play = await started(stage, GET)
    await stage.make("web", "1m")
    await stage.make("web", "1m", namespace=OTHER)
    await stage.until(10 * MINUTE)
    assert stage.there("web")
    assert play.why_held("web") == "kept: its Namespace has the label skoupa.dev/keep=true"
    assert not stage.there("web", namespace=OTHER)
    await stage.label(SHOP, resource=NAMESPACES, keep=None)
    await stage.later(61)
    assert not stage.there("web")
    assert play.engine.outlook.degraded >= {
        "no permission to list namespaces: keep labels on Namespaces are read one by one"
    }
    assert not [said for said in play.engine.outlook.degraded if "are not seen" in said]


@story(namespaces=[SHOP, OTHER])
async def test_a_keep_label_that_comes_later_counts_within_a_minute(stage: Stage) -> None:
    play = await started(stage, GET)
    await stage.make("web", "30m")
    await stage.until(28 * MINUTE)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.until(HOUR)
    assert stage.there("web")
    assert 60 <= asked(play) <= 125, "one request for each namespace, once or twice a minute"


@story(namespaces=[SHOP, OTHER])
async def test_a_keep_label_that_was_written_a_moment_ago_counts(stage: Stage) -> None:
    await started(stage, GET)
    await stage.later(10 * MINUTE)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.make("web", "3s")
    await stage.later(10 * MINUTE)
    assert stage.there("web")


@story(namespaces=[SHOP, OTHER])
async def test_nothing_goes_before_its_namespace_was_asked_for(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.make("web", "1s")
    await stage.later(5)
    stage.cluster.faults.answer(500, when=lambda request: request.path == PATH, seconds=5 * MINUTE)
    play = await started(stage, GET)
    await stage.later(2 * MINUTE)
    assert stage.there("web")
    assert play.why_held("web").startswith("what is known of namespaces may be old: Internal error")
    await stage.later(10 * MINUTE)
    assert play.why_held("web").startswith("kept: its Namespace")


@story(namespaces=[SHOP, OTHER])
async def test_a_namespace_that_does_not_answer_holds_what_is_to_go_in_it_at_once(stage: Stage) -> None:
    play = await started(stage, GET)
    await stage.make("soon", "3m")
    await stage.make("late", "10m")
    await stage.until(MINUTE)
    stage.cluster.faults.answer(500, when=lambda request: request.path == PATH, times=None)
    await stage.until(3 * MINUTE + 10)
    assert stage.there("soon")
    assert play.why_held("soon").startswith("what is known of namespaces may be old: Internal error")
    await stage.until(15 * MINUTE)
    assert stage.there("late")
    assert play.why_held("late").startswith("what is known of namespaces may be old: Internal error")
    stage.cluster.faults.clear()
    await stage.later(61)
    assert not stage.found()


@pytest.mark.parametrize("how", ["it does not answer", "the right is lost"])
@story(namespaces=[SHOP, OTHER])
async def test_a_keep_label_that_can_not_be_read_any_more_counts(stage: Stage, how: str) -> None:
    play = await started(stage, GET)
    await stage.make("web", "3m")
    await stage.until(MINUTE + 5)
    if how == "the right is lost":
        stage.cluster.allow_only("sweeper", [*OWN, INSIDE])
    else:
        stage.cluster.faults.answer(500, when=asking(method="GET", path=PATH), times=None)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.until(10 * MINUTE)
    assert stage.there("web")
    assert play.why_held("web").startswith("what is known of namespaces may be old: ")
    assert asked(play) <= 100, "it is not asked for all the time"
    blind = gauges_of(play.engine, stage.clock.now())["skoupa_blind_kinds"]
    assert blind == {("lost",): how == "the right is lost", ("never-read",): 0}
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE, GET])
    await stage.later(10 * MINUTE)
    assert gauges_of(play.engine, stage.clock.now())["skoupa_blind_kinds"]["lost",] == 0


@story(namespaces=[SHOP, OTHER])
async def test_a_namespace_that_may_not_be_asked_for_is_told_and_holds_nothing(stage: Stage) -> None:
    play = await started(
        stage, Rule(verbs=("get",), resources=("namespaces",), namespaces=(OTHER,), names=(OTHER,))
    )
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.label(OTHER, resource=NAMESPACES, keep="true")
    await stage.make("web", "2m")
    await stage.make("web", "2m", namespace=OTHER)
    await stage.until(10 * MINUTE)
    assert not stage.there("web")
    assert stage.there("web", namespace=OTHER)
    refused = f"no permission to list namespaces, nor to get {SHOP}: keep labels on Namespaces are not seen"
    assert [said for said in play.engine.outlook.degraded if "are not seen" in said] == [refused]
    assert not asked(play), "the rules say that it would be refused"
    assert gauges_of(play.engine, stage.clock.now())["skoupa_blind_kinds"]["lost",] == 0


@story(namespaces=[SHOP, OTHER])
async def test_a_right_to_ask_that_is_lost_holds(stage: Stage) -> None:
    play = await started(stage, GET)
    await stage.make("web", "30m")
    await stage.until(10 * MINUTE)
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE])
    await stage.until(HOUR)
    assert stage.there("web")
    assert "no permission: get namespaces" in play.why_held("web")
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE, GET])
    await stage.later(3 * MINUTE)
    assert not stage.there("web")


@story(namespaces=[SHOP, OTHER])
async def test_a_namespace_that_was_made_anew_is_judged_by_its_own_label(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    play = await started(stage, GET)
    await stage.later(MINUTE)
    (found,) = [one for one in stage.cluster.objects(NAMESPACES) if one["metadata"]["name"] == SHOP]
    await stage.people.delete(NAMESPACES, SHOP, uid=found["metadata"]["uid"], propagation="Background")
    await stage.later(3 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)
    await stage.namespace(SHOP)
    await stage.make("web", "1s")
    await stage.later(2)
    assert stage.there("web"), "nobody knows yet what is written on the new one"
    await stage.later(61)
    assert not stage.there("web")
    assert not play.overdue


@story(namespaces=[SHOP, OTHER])
async def test_the_right_to_list_that_comes_and_goes_never_opens_a_gap(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    listing = Rule(verbs=("list", "watch"), resources=("namespaces",))
    await started(stage, GET)
    await stage.make("web", "1m")
    for number in range(20):
        await stage.later(90)
        stage.cluster.allow_only("sweeper", [*OWN, INSIDE, *((GET,) if number % 2 else (listing,))])
    await stage.later(5 * MINUTE)
    assert stage.there("web")


@story()
async def test_the_right_to_list_namespaces_that_is_lost_holds_what_is_in_them(stage: Stage) -> None:
    """With rights everywhere: nobody knows which Namespaces there are to ask for."""
    everything = Rule(verbs=ENOUGH)
    stage.cluster.allow_only("sweeper", [*OWN, everything])
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    play = await stage.play(user="sweeper")
    await stage.make("web", "5m")
    await stage.until(2 * MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("namespaces",))
    await stage.until(20 * MINUTE)
    assert stage.there("web")
    assert play.overdue == {"feed-behind": 1}
    assert any("is held until the right is back" in said for said in play.engine.outlook.degraded)


@story()
async def test_a_namespace_says_how_long_ahead_what_is_in_it_is_announced(stage: Stage) -> None:
    await stage.namespace("early", annotations={names.NOTICE_BEFORE_ANNOTATION: "3h"})
    play = await stage.play(ttl={"noticeBefore": "1h"})
    await stage.make("web", "4h", namespace="early")
    await stage.make("own", "4h", namespace="early", annotations={names.NOTICE_BEFORE_ANNOTATION: "2h"})
    await stage.make("web", "4h")
    told: dict[tuple[str, str], float] = {}
    for minute in range(240):
        await stage.until(minute * MINUTE + 30)
        for line in play.told("notice"):
            told.setdefault((line["namespace"], line["name"]), minute)
    assert told == {("early", "web"): 60, ("early", "own"): 120, (SHOP, "web"): 180}


@story()
async def test_what_a_namespace_says_about_notices_counts_from_when_it_is_said(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "4h")
    await stage.make("kept", "4h", keep="true")
    await stage.later(HOUR)
    await stage.annotate(SHOP, names.NOTICE_BEFORE_ANNOTATION, "2h30m", resource=NAMESPACES)
    await stage.until(1.5 * HOUR - 1)
    assert not play.told("notice")
    await stage.until(1.5 * HOUR + 1)
    assert [line["name"] for line in play.told("notice")] == ["web"]
    assert len(stage.events("SkoupaNotice")) == 1
    await stage.make("soon", "4h")
    await stage.annotate(SHOP, names.NOTICE_BEFORE_ANNOTATION, None, resource=NAMESPACES)
    await stage.until(6 * HOUR)
    assert not stage.there("web")
    assert not stage.there("soon")
    assert len(play.told("notice")) == 1


@story(namespaces=[SHOP, OTHER])
async def test_what_a_namespace_says_about_notices_counts_also_where_it_can_not_be_listed(
    stage: Stage,
) -> None:
    await stage.annotate(SHOP, names.NOTICE_BEFORE_ANNOTATION, "30m", resource=NAMESPACES)
    play = await started(stage, GET)
    await stage.make("web", "1h")
    await stage.until(29 * MINUTE)
    assert not play.told("notice")
    await stage.until(31 * MINUTE)
    assert [line["name"] for line in play.told("notice")] == ["web"]


@story()
async def test_namespaces_without_labels_cost_one_watch_and_are_not_judged(stage: Stage) -> None:
    play = await stage.play()
    watches = [dict(request.query) for _, request in play.wire.seen if request.path == "/api/v1/namespaces"]
    assert len([query for query in watches if "watch" in query]) == 1
    assert not [query for query in watches if "labelSelector" in query]
    await stage.make("web", "1m")
    await stage.later(2 * MINUTE)
    assert not stage.found(CONFIG_MAPS)
