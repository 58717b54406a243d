"""Rules that choose by themselves: all that a run claims is weighed before the first of it goes."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.sim.clock import START
from skoupa.sim.faults import asking
from tests.standing_rule import Spec, StandingRule
from tests.unit.controller.braking import brake, brakes, bring_kind, many, release, state
from tests.unit.controller.stage import DAY, HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

RULE = "Rule/standing-in"


async def ruled(stage: Stage, **spec: Any) -> Play:
    settings = {key: spec.pop(key) for key in ("mode", "brakes", "user") if key in spec}
    # But for the certificate that every namespace has: it comes back.
    chosen = {"first": START + MINUTE, "namespaces": (SHOP,), "names": "[!k]*", **spec}
    rule = StandingRule(Spec(**chosen))
    return await stage.play(rulings=[rule], **settings)


@story()
async def test_a_rule_deletes_what_fits_when_its_time_has_come(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(20))
    stage.old(many(60, "other"), namespace="default")
    play = await ruled(stage, author="team-shop")
    await stage.later(30)
    assert len(stage.found()) == 20
    await stage.later(MINUTE)
    assert not stage.found()
    assert len(stage.found(namespace="default")) == 60
    assert await brakes(stage) == set()
    assert len(play.told("deleted")) == 20


@story()
async def test_a_rule_that_takes_most_of_a_kind_is_braked_before_its_first_deletion(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    stage.old(many(50, "other"), namespace="default")
    await stage.make("labelled", "2m")
    play = await ruled(stage)
    await stage.later(10 * MINUTE)
    assert stage.found() == set(many(50)), "what has a label of its own goes on"
    (name,) = await brakes(stage)
    made = await brake(stage, name)
    assert made["spec"]["scope"] == {"policy": RULE}
    assert made["spec"]["reason"].startswith(f"{RULE} claims 51 of all 1")
    assert "more than the 30 % of brakes.share; nothing of it went" in made["spec"]["reason"]
    assert made["status"]["held"] == 50
    assert play.why_held("web-0").startswith(f"brake {name}: ")
    assert len(play.sent("DELETE", path="/configmaps/web-")) == 0
    assert play.value("skoupa_trips_total", span="share") == 1


@story()
async def test_a_rule_that_was_released_takes_what_was_held_and_no_more(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    play = await ruled(stage, every=HOUR)
    await stage.later(5 * MINUTE)
    (name,) = await brakes(stage)
    assert len(stage.found()) == 50
    await release(stage, name, by="kim")
    await stage.later(5 * MINUTE)
    assert not stage.found()
    assert await brakes(stage) == set()
    # The next run finds as many again, and nobody has released those.
    stage.old(many(50, "new"), age=MINUTE)
    await stage.later(HOUR)
    assert len(stage.found()) == 50
    assert await brakes(stage) == {name}
    assert len(play.told("brake pulled")) == 2


@story()
async def test_up_to_twenty_objects_no_share_is_too_large(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(20))
    await ruled(stage)
    await stage.later(5 * MINUTE)
    assert not stage.found()


@story(brakes={"maxPerRun": 30, "share": 100})
async def test_a_run_over_the_maximum_does_not_begin(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(31))
    await ruled(stage)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 31
    (name,) = await brakes(stage)
    assert (
        "claims 31 objects in one run: more than the 30 of brakes.maxPerRun"
        in ((await brake(stage, name))["spec"]["reason"])
    )


@story(brakes={"share": 100})
async def test_a_rule_may_allow_itself_less(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(31))
    await ruled(stage, most=30)
    await stage.later(5 * MINUTE)
    (name,) = await brakes(stage)
    assert "more than the 30 it allows itself" in (await brake(stage, name))["spec"]["reason"]


@story(brakes={"share": 100, "namespacePerMinute": 30})
async def test_a_run_for_which_a_ceiling_has_no_room_does_not_begin(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(31))
    await ruled(stage)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 31
    (name,) = await brakes(stage)
    made = await brake(stage, name)
    assert made["spec"]["scope"] == {"policy": RULE}
    assert "brakes.namespacePerMinute" in made["spec"]["reason"]


@story(brakes={"share": 100, "maxPerRun": 100_000})
async def test_parents_are_limited_to_three_and_a_namespace_counts_as_what_is_in_it(stage: Stage) -> None:
    await bring_kind(stage)
    for number in range(4):
        await stage.namespace(f"old-{number}")
    await stage.later(1)
    await ruled(stage, kinds=("namespaces",), namespaces=("",), names="old-*")
    await stage.later(5 * MINUTE)
    assert {f"old-{number}" for number in range(4)} <= stage.found(NAMESPACES)
    (name,) = await brakes(stage)
    assert "claims 4 namespaces" in (await brake(stage, name))["spec"]["reason"]


@story()
async def test_the_share_counts_what_goes_along_with_namespaces(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.namespace("old-1")
    stage.old(many(200), namespace="old-1")
    stage.old(many(100))
    await ruled(stage, kinds=("namespaces",), namespaces=("",), names="old-*")
    await stage.later(5 * MINUTE)
    assert "old-1" in stage.found(NAMESPACES)
    (name,) = await brakes(stage)
    assert "claims 201 of all 3" in (await brake(stage, name))["spec"]["reason"]


@story(brakes={"share": 100})
async def test_a_surge_is_braked_and_a_new_spec_counts_anew(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(6))
    play = await ruled(stage, every=HOUR, names="web-*")
    await stage.later(5 * MINUTE)
    assert not stage.found()
    assert state(stage)["largestRuns"] == {RULE: [1, 6, ""]}
    stage.old(many(61), age=MINUTE)
    await stage.later(HOUR)
    assert len(stage.found()) == 61
    (name,) = await brakes(stage)
    reason = (await brake(stage, name))["spec"]["reason"]
    assert "claims 61 objects, and its largest run so far had 6: more than 10 times as many" in reason
    await play.stop()
    await ruled(stage, every=HOUR, names="web-*", generation=2)
    await stage.later(MINUTE)
    assert len(stage.found()) == 61, "its Brake holds whatever the spec says now"
    await release(stage, name)
    await stage.later(MINUTE)
    assert not stage.found()
    assert state(stage)["largestRuns"] == {RULE: [2, 61, ""]}


@story(brakes={"share": 100})
async def test_an_empty_run_counts_as_a_run_and_fifty_objects_are_no_surge(stage: Stage) -> None:
    await bring_kind(stage)
    await ruled(stage, every=HOUR, names="web-*")
    await stage.later(5 * MINUTE)
    assert state(stage)["largestRuns"] == {RULE: [1, 0, ""]}
    stage.old(many(50), age=MINUTE)
    await stage.later(HOUR)
    assert not stage.found()
    assert await brakes(stage) == set()


@story()
async def test_what_joins_a_run_later_is_weighed_with_what_went(stage: Stage) -> None:
    """Three times fifteen are as much as forty-five at once."""
    await bring_kind(stage)
    stage.old(many(15, "first"))
    await ruled(stage)
    await stage.later(2 * MINUTE)
    assert not stage.found()
    stage.old(many(15, "second"))
    await stage.later(MINUTE)
    assert len(stage.found()) == 15
    (name,) = await brakes(stage)
    assert "15 went before, and no more do" in (await brake(stage, name))["spec"]["reason"]


@story()
async def test_what_is_kept_does_not_weigh(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(100, "kept"), keep="true")
    stage.old(many(20))
    await ruled(stage)
    await stage.later(5 * MINUTE)
    assert stage.found() == set(many(100, "kept"))
    assert await brakes(stage) == set()


@story()
async def test_what_can_not_be_counted_is_held_and_goes_when_it_can(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(25))
    stage.old(many(100, "other"), namespace="default")
    play = await ruled(stage)
    counting = asking(method="GET", verb="list", kind="configmaps")
    stage.cluster.faults.answer(500, when=counting, times=None, seconds=5 * MINUTE)
    await stage.later(4 * MINUTE)
    assert len(stage.found()) == 25
    assert play.why_held("web-0").startswith(f"all that {RULE} claims has to be weighed first, and can't be")
    await stage.later(MINUTE)
    await stage.later(2 * MINUTE)
    assert not stage.found()


@story()
async def test_a_rule_that_is_born_observing_only_reports(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(10))
    await stage.make("labelled", "2m")
    play = await ruled(stage, every=HOUR, observe=DAY)
    await stage.later(10 * HOUR)
    assert stage.found() == set(many(10)), "the label of an object is no part of the rule"
    assert len(play.told("would delete", "web-0")) >= 1
    assert not play.sent("DELETE", path="/configmaps/web-")
    await stage.later(15 * HOUR)
    assert not stage.found()


@story(mode="observe")
async def test_an_observer_weighs_and_says_that_it_would_brake(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    play = await ruled(stage)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 50
    assert play.told("brake pulled")
    assert "brakes.share" in play.why_held("web-0")
    assert await brakes(stage) == set(), "an observer writes nothing"


@story()
async def test_a_brake_on_the_rule_does_not_hold_what_goes_by_its_own_label(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50), "3h")
    play = await ruled(stage)
    await stage.later(30 * MINUTE)
    assert len(stage.found()) == 50
    assert len(await brakes(stage)) == 1
    await stage.later(HOUR)
    assert not stage.found()
    assert all(line["why"].startswith("cleanup.kyverno.io/ttl=3h") for line in play.told("deleted"))


@story()
async def test_another_leader_goes_on_where_the_first_one_stopped(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(50))
    play = await ruled(stage)
    await stage.later(5 * MINUTE)
    (name,) = await brakes(stage)
    await play.kill()
    await ruled(stage)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 50
    assert await brakes(stage) == {name}
    await release(stage, name)
    await stage.later(MINUTE)
    assert not stage.found(CONFIG_MAPS)
