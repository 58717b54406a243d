"""What runs of policies did is told on the policies too: names of all that went, was refused, or could not be judged."""

from __future__ import annotations

import pytest

from skoupa.controller.gauges import gauges_of
from skoupa.controller.opinions import EngineOpinions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS
from tests.unit.controller.braking import many
from tests.unit.controller.policies import EVERY_MINUTE, bring_policies, cleanup, deleting, matching, read
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_refusals import Refusing

pytestmark = pytest.mark.unit

TIDY = {"policy": "ClusterCleanupPolicy/tidy"}
WIDE = {"share": 100, "maxPerRun": 10000, "surgeOver": 10000, "namespacePerMinute": 10000}


def named(stage: Stage, reason: str, name: str = "tidy") -> list[str]:
    """All names that such Events on a policy, or on objects, have in their notes."""
    notes = [event["note"] for event in stage.events(reason, name)]
    return sorted(one for note in notes for one in note.rpartition(": ")[2].split(", "))


@story(brakes=WIDE)
async def test_every_name_that_went_by_a_policy_is_in_events_on_the_policy(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=EVERY_MINUTE)
    await stage.later(2 * MINUTE)
    (event,) = stage.events("SkoupaPolicyDeleted", "tidy")
    assert event["note"] == "deleted configmaps in shop: " + ", ".join(sorted(many(3)))
    assert event["regarding"]["kind"] == "ClusterCleanupPolicy"
    assert play.value("skoupa_policy_deletions_total", **TIDY) == 3
    # The same names at another run are told again.
    stage.old(many(3))
    await stage.later(2 * MINUTE)
    assert len(stage.events("SkoupaPolicyDeleted", "tidy")) == 2
    stage.old(many(900, "web-more"))
    await stage.later(2 * MINUTE)
    assert set(many(900, "web-more")) < set(named(stage, "SkoupaPolicyDeleted"))
    assert set(many(900, "web-more")) < set(named(stage, "SkoupaDeleted", ""))
    assert len(stage.events("SkoupaPolicyDeleted")) < 30


@story()
async def test_why_a_run_took_nothing_is_told_once_on_the_policy_and_counted(stage: Stage) -> None:
    await bring_policies(stage)
    stage.cluster.allow_only(f"system:serviceaccount:{SHOP}:robot", ())
    stage.old(many(2))
    play = await stage.play()
    await cleanup(stage, schedule=EVERY_MINUTE, namespace=SHOP, annotations={"service-account": "robot"})
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 2
    found = await read(stage, kind=CLEANUP_POLICIES, namespace=SHOP)
    said = {one["type"]: one for one in found["status"]["conditions"]}["LastRunSucceeded"]
    assert (said["status"], said["reason"]) == ("True", "Held")
    assert "2 held: " in said["message"]
    assert "robot" in said["message"]
    (event,) = stage.events("SkoupaPolicyRan", "tidy")
    assert event["type"] == "Warning"
    assert "robot" in event["note"]
    assert all("robot" in line["stays"] for line in play.told("policy ran"))
    assert gauges_of(play.engine, stage.clock.now())["skoupa_holds"]["account-may-not",] == 2


@story()
async def test_a_run_that_failed_tells_its_numbers_once(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(1))
    await stage.play()
    unclear = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "old"}]}
    await cleanup(stage, conditions=unclear)
    await stage.later(10 * MINUTE)
    note = stage.events("SkoupaPolicyFailed", "tidy")[0]["note"]
    assert note.count("matched 1") == 1
    assert "1 object stays, for it could not be judged" in note


@story()
async def test_what_may_not_be_deleted_is_named_on_the_policy_with_the_words_of_the_server(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.cluster.admit(Refusing())
    stage.old(many(3))
    await stage.play()
    await cleanup(stage)
    await stage.later(10 * MINUTE)
    assert named(stage, "SkoupaPolicyRefused") == sorted(many(3))
    assert all("not on a Friday" in event["note"] for event in stage.events("SkoupaPolicyRefused"))


def held(play: Play) -> dict[str, str]:
    return {line["name"]: line["why"] for line in play.told("held")}


async def a_strange_condition(stage: Stage) -> None:
    strange = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "old"}]}
    await cleanup(
        stage, match=matching(names=["web-*"], namespaces=[SHOP]), conditions=strange, schedule="0 * * * *"
    )


@story()
async def test_what_can_not_be_judged_is_told_as_held_with_expression_and_reason(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await a_strange_condition(stage)
    await stage.until(HOUR + MINUTE)
    why = held(play)
    assert why.keys() == set(many(3))
    assert all("target.data.state" in said and "ClusterCleanupPolicy/tidy" in said for said in why.values())
    assert named(stage, "SkoupaPolicyUnclear") == sorted(many(3))
    assert {event["regarding"]["name"] for event in stage.events("SkoupaHeld")} == set(many(3))
    assert play.engine.policies is not None
    assert play.engine.policies.runs.unclear.counts() == {"policy-unclear": 3}
    opinions = EngineOpinions(play.engine, clock=stage.clock, observing=False)
    uid = (await stage.people.get(CONFIG_MAPS, "web-1", namespace=SHOP, view=METADATA)).metadata.uid
    (said,) = opinions.of(uid, resource="configmaps", namespace=SHOP).stays
    assert (said.code, said.text) == ("policy-unclear", why["web-1"])
    # Whoever names another place than the object's own, where they may read, is told nothing.
    assert opinions.of(uid, resource="configmaps", namespace="lab").stays == ()
    assert opinions.of(uid, resource="pods", namespace=SHOP).stays == ()
    await stage.until(3 * HOUR + MINUTE)
    assert len(play.told("held")) == 3
    assert len(stage.found()) == 3


@story()
async def test_what_can_be_judged_again_is_not_counted_any_more(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await deleting(stage, "object.metadata.name.startsWith('web') && object.data.state == 'old'")
    await stage.until(HOUR + MINUTE)
    assert held(play).keys() == set(many(3))
    for name in many(3):
        await stage.people.merge_patch(CONFIG_MAPS, name, {"data": {"state": "new"}}, namespace=SHOP)
    await stage.until(2 * HOUR + MINUTE)
    assert play.engine.policies is not None
    assert not play.engine.policies.runs.unclear.counts()
    assert len(stage.found()) == 3
