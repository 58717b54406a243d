"""A delete whose Claim changes on its way: the ceilings count it for the rule by which it goes, and not for another."""

from __future__ import annotations

from skoupa.kube.resources import NAMESPACES
from skoupa.sim.clock import START
from skoupa.sim.faults import asking
from tests.standing_rule import Spec, StandingRule
from tests.unit.controller.braking import brakes, bring_kind
from tests.unit.controller.stage import MINUTE, Play, Stage, story

OF_BOTH = asking(method="DELETE", path="/api/v1/namespaces/shop/configmaps/web-both")
RULE = "Rule/late"


async def a_rule_of_the_same_hour(stage: Stage) -> Play:
    """By its label `web-both` goes after a minute, and the rule begins a moment later; another of the rule's objects is `web-one`."""
    await bring_kind(stage)
    rule = StandingRule(Spec(rule=RULE, names="web-*", first=START + MINUTE + 5, every=30 * MINUTE))
    play = await stage.play(rulings=[rule])
    await stage.make("web-one")
    await stage.make("web-both", "1m")
    return play


async def later_ones(stage: Stage) -> None:
    """Two more that the rule takes when it runs again, in the same hour."""
    assert stage.found() == set()
    for name in ("web-three", "web-four"):
        await stage.make(name)
    await stage.until(32 * MINUTE)


@story(brakes={"rulePerHour": 3})
async def test_after_a_conflict_it_goes_by_another_rule_only_in_a_place_of_that_rule(stage: Stage) -> None:
    play = await a_rule_of_the_same_hour(stage)
    stage.cluster.faults.delay(8.0, when=OF_BOTH, times=1)
    await stage.until(68)
    await stage.label("web-both", ttl=None)
    await stage.until(2 * MINUTE)
    assert [RULE in line["why"] for line in play.told("deleted", "web-both")] == [True]
    await later_ones(stage)
    assert stage.found() == {"web-three", "web-four"}, "two of the rule went, and two more are over its three"
    (name,) = await brakes(stage)
    assert name.startswith("rule-hour-")


@story(brakes={"rulePerHour": 3})
async def test_after_a_try_without_an_answer_it_goes_by_another_rule_only_in_a_place_of_that_rule(
    stage: Stage,
) -> None:
    play = await a_rule_of_the_same_hour(stage)
    stage.cluster.faults.disconnect(when=OF_BOTH, times=None, seconds=80)
    await stage.until(66)
    await stage.label("web-both", ttl=None)
    await stage.until(4 * MINUTE)
    assert [RULE in line["why"] for line in play.told("deleted", "web-both")] == [True]
    await later_ones(stage)
    assert stage.found() == {"web-three", "web-four"}, "two of the rule went, and two more are over its three"


@story(brakes={"namespacePerHour": 3})
async def test_a_place_that_another_rule_takes_over_is_one_place_still(stage: Stage) -> None:
    await a_rule_of_the_same_hour(stage)
    stage.cluster.faults.disconnect(when=OF_BOTH, times=None, seconds=80)
    await stage.until(66)
    await stage.label("web-both", ttl=None)
    await stage.until(4 * MINUTE)
    assert stage.found() == set()
    await stage.make("a-third", "1m")
    await stage.until(6 * MINUTE)
    assert stage.found() == set()
    assert await brakes(stage) == set()


@story()
async def test_what_a_rule_does_not_want_any_more_while_it_is_counted_goes_in_the_name_of_its_label(
    stage: Stage,
) -> None:
    await stage.namespace("team")
    await stage.label("team", resource=NAMESPACES, ttl="66s")
    rule = StandingRule(Spec(rule=RULE, kinds=("namespaces",), names="team", first=START + MINUTE))
    play = await stage.play(rulings=[rule], policies={"respectTtl": False})
    await stage.until(MINUTE - 1)
    # Once as the run is weighed, and once more before the delete.
    stage.cluster.faults.delay(4.5, when=asking(verb="list", path="/api/v1/namespaces/team/pods"), times=2)
    await stage.until(67)
    rule.spec = Spec(rule=RULE, kinds=("namespaces",), names="nothing")
    await stage.later(5 * MINUTE)
    assert "team" not in stage.found(NAMESPACES)
    (told,) = play.told("deleted", "team")
    assert "66s" in told["why"]
