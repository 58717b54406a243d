"""Notices ahead of runs: what a policy is going to delete is told as long before as it asks for, with how to keep it."""

from __future__ import annotations

import pytest

from skoupa.sim.faults import asking
from tests.unit.controller.braking import many
from tests.unit.controller.policies import EVERY_FIVE, HOURLY, bring_policies, cleanup, matching
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

AHEAD = {"notice-before": "30m"}


def noticed(play: Play) -> dict[str, str]:
    return {line["name"]: line["due"] for line in play.told("notice")}


@story()
async def test_what_a_policy_will_delete_is_told_ahead_with_how_to_keep_it(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    stage.old(many(2, "other"))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations=AHEAD)
    await stage.until(29 * MINUTE)
    assert not play.told("notice")
    await stage.until(31 * MINUTE)
    assert noticed(play) == dict.fromkeys(many(3), "2026-01-01T01:00:00Z")
    (event,) = stage.events("SkoupaNotice", "web-1")
    assert "will be deleted at 2026-01-01T01:00:00Z (ClusterCleanupPolicy/tidy matches it" in event["note"]
    assert "skoupa keep configmaps/web-1 -n shop" in event["note"]
    assert len(stage.found()) == 5
    await stage.label("web-1", keep="true")
    await stage.until(HOUR + MINUTE)
    assert stage.found() == {"web-1", *many(2, "other")}
    # The same is not told twice, and what is kept not at all.
    await stage.until(3 * HOUR)
    assert len(play.told("notice")) == 3


@story(policies={"noticeBefore": "10m"})
async def test_the_setting_counts_for_policies_that_say_nothing(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(49 * MINUTE)
    assert not play.told("notice")
    await stage.until(51 * MINUTE)
    assert noticed(play).keys() == set(many(3))


@story()
async def test_what_comes_of_age_until_the_run_is_told_too(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await stage.make("web-young")
    age = "{{ time_diff('{{ target.metadata.creationTimestamp }}', '{{ time_now_utc() }}') }}"
    old = {"all": [{"key": age, "operator": "GreaterThanOrEquals", "value": "45m"}]}
    await cleanup(stage, schedule=HOURLY, annotations=AHEAD, conditions=old)
    await stage.until(32 * MINUTE)
    assert noticed(play).keys() == {"web-young"}
    await stage.until(HOUR + MINUTE)
    assert "web-young" not in stage.found()


@story()
async def test_a_policy_that_runs_more_often_than_its_notice_is_long_tells_after_each_run(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    play = await stage.play()
    await cleanup(stage, schedule=EVERY_FIVE, annotations=AHEAD)
    await stage.until(5 * MINUTE + 2)
    stage.old(many(3))
    await stage.until(6 * MINUTE)
    assert noticed(play) == dict.fromkeys(many(3), "2026-01-01T00:10:00Z")
    await stage.until(11 * MINUTE)
    assert not stage.found()
    assert len(play.told("notice")) == 3


@story(brakes={"share": 100, "maxPerRun": 1000, "surgeOver": 1000})
async def test_many_notices_share_events_and_no_name_is_lost(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(200))
    await stage.play()
    await cleanup(
        stage, schedule=HOURLY, annotations=AHEAD, match=matching(namespaces=[SHOP], names=["web-*"])
    )
    await stage.until(32 * MINUTE)
    events = stage.events("SkoupaNotice")
    assert len(events) < 20
    told = {name for event in events for name in event["note"].rpartition("They are: ")[2].split(", ")}
    assert told == set(many(200))
    assert all("skoupa keep configmaps/NAME -n shop" in event["note"] for event in events)


@story()
async def test_a_policy_that_only_reports_or_is_suspended_gives_no_notice(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations={**AHEAD, "observe": "24h"})
    await cleanup(stage, "asleep", schedule=HOURLY, annotations={**AHEAD, "suspend": "true"})
    await stage.until(HOUR + MINUTE)
    assert not play.told("notice")
    assert len(stage.found()) == 3


@story(mode="observe")
async def test_an_observer_gives_no_notice(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations=AHEAD)
    await stage.until(HOUR + MINUTE)
    assert not play.told("notice")


@story()
async def test_a_server_in_trouble_puts_a_notice_off_and_not_away(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, annotations=AHEAD)
    await stage.until(29 * MINUTE)
    stage.cluster.faults.answer(500, when=asking(kind="configmaps"), times=None, seconds=5 * MINUTE)
    await stage.until(32 * MINUTE)
    assert not play.told("notice")
    await stage.until(59 * MINUTE)
    assert noticed(play).keys() == set(many(3))
