"""What is read for the first time, and what can't be read any more: both are remembered over a restart."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from skoupa import names
from skoupa.controller.sight.ever_read import MOST, EverRead
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.braking import brake, brakes, bring_kind, release
from tests.unit.controller.stage import (
    DAY,
    HOME,
    HOUR,
    MINUTE,
    SECRETS,
    SHOP,
    WIDGETS,
    Play,
    Stage,
    definition,
    story,
)
from tests.unit.controller.test_backlog import many, state
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN
from tests.unit.controller.test_namespaces_one_by_one import GET, INSIDE, OTHER

pytestmark = pytest.mark.unit

EVERYTHING = (*OWN, Rule(verbs=ENOUGH))
BUT_CONFIG_MAPS = (*OWN, Rule(verbs=ENOUGH, resources=("namespaces", "pods")))


async def again(stage: Stage, play: Play, **how: Any) -> Play:
    """The process starts anew."""
    await play.stop()
    stage.plays.remove(play)
    return await stage.play(**how)


def read(stage: Stage) -> dict[str, list[str]]:
    found: dict[str, list[str]] = msgspec.json.decode(state(stage).get("kindsRead", "{}"))
    return found


def writes(play: Play) -> int:
    bodies = [request.body or b"" for _, request in play.sent("PATCH", path=names.STATE_CONFIG_MAP)]
    return sum(b"kindsRead" in body for body in bodies)


@story(also=(SECRETS,))
async def test_a_right_to_read_namespaces_that_was_lost_holds_also_after_a_restart(stage: Stage) -> None:
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    stage.cluster.allow_only("sweeper", EVERYTHING)
    play = await stage.play(user="sweeper")
    await stage.make("web", "10m")
    await stage.until(12 * MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("get", "list", "watch"), resources=("namespaces",))
    await stage.until(20 * MINUTE)
    play = await again(stage, play, user="sweeper")
    await stage.later(30 * MINUTE)
    assert stage.there("web")
    assert play.overdue == {"feed-behind": 1}
    told = [said for said in play.engine.outlook.degraded if "namespaces" in said]
    assert [said for said in told if said.startswith("no permission any more to list namespaces")] == told
    stage.cluster.plane.access.clear()
    await stage.later(2 * MINUTE)
    assert play.overdue == {"namespace-kept": 1}


@story(also=(SECRETS,))
async def test_a_right_to_read_kept_objects_that_was_lost_holds_also_after_a_restart(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", EVERYTHING)
    play = await stage.play(user="sweeper")
    owner = await stage.make("config", "10m")
    await stage.make("deed", resource=SECRETS, owner=owner, keep="true")
    await stage.until(12 * MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("get", "list", "watch"), resources=("secrets",))
    await stage.until(20 * MINUTE)
    play = await again(stage, play, user="sweeper")
    await stage.later(30 * MINUTE)
    assert stage.there("config")
    assert play.overdue == {"keeps-behind": 1}
    assert play.engine.feeds is not None
    assert play.engine.feeds.unreadable_kinds()["secrets"], "it is lost, not never read"
    stage.cluster.plane.access.clear()
    await stage.label("deed", resource=SECRETS, keep=None)
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@pytest.mark.parametrize("how", ["ignored", "forgotten"])
@story(also=(SECRETS,))
async def test_a_right_that_was_taken_away_on_purpose_can_be_waived(stage: Stage, how: str) -> None:
    stage.cluster.allow_only("sweeper", EVERYTHING)
    play = await stage.play(user="sweeper")
    await stage.make("config", "10m")
    await stage.until(5 * MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("get", "list", "watch"), resources=("secrets",))
    settings = {"cascade": {"ignoreKinds": ["secrets"]}} if how == "ignored" else {}
    if how == "forgotten":
        left = {kind: where for kind, where in read(stage).items() if kind != "secrets"}
        patch = {"data": {"kindsRead": msgspec.json.encode(left).decode()}}
        await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, patch, namespace=HOME)
    await again(stage, play, user="sweeper", **settings)
    await stage.until(12 * MINUTE)
    assert not stage.there("config")


@story(also=(SECRETS,))
async def test_a_right_that_was_never_there_holds_no_more_after_a_restart_than_before(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH, resources=("configmaps",))])
    play = await stage.play(user="sweeper")
    await stage.make("config", "10m")
    play = await again(stage, play, user="sweeper")
    await stage.until(12 * MINUTE)
    assert not stage.there("config")
    assert "secrets" not in read(stage)


@story(namespaces=[SHOP, OTHER])
async def test_a_right_that_was_lost_in_one_namespace_holds_there_alone(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE, GET])
    await stage.namespace(OTHER)
    play = await stage.play(user="sweeper")
    await stage.make("config", "10m")
    await stage.make("config", "10m", namespace=OTHER)
    await stage.later(MINUTE)
    pods = Rule(verbs=ENOUGH, resources=("pods", "serviceaccounts"), namespaces=(OTHER,))
    config_maps = Rule(verbs=ENOUGH, resources=("configmaps",), namespaces=(SHOP, OTHER))
    stage.cluster.allow_only("sweeper", [*OWN, config_maps, pods, GET])
    await again(stage, play, user="sweeper")
    await stage.until(20 * MINUTE)
    assert stage.there("config"), "a kept Pod may hang on it"
    assert not stage.there("config", namespace=OTHER)


@story(namespaces=[SHOP, OTHER])
async def test_a_namespace_that_was_read_by_itself_and_may_not_be_any_more_holds_after_a_restart(
    stage: Stage,
) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE, GET])
    await stage.namespace(OTHER)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    play = await stage.play(user="sweeper")
    await stage.make("web", "10m")
    await stage.later(5 * MINUTE)
    assert read(stage)["namespaces"] == [OTHER, SHOP]
    stage.cluster.allow_only("sweeper", [*OWN, INSIDE])
    play = await again(stage, play, user="sweeper")
    await stage.until(30 * MINUTE)
    assert stage.there("web")
    assert "no permission: get namespaces" in play.why_held("web")


@story()
async def test_what_was_read_is_written_once_and_again_when_there_is_more(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "5m")
    await stage.later(MINUTE)
    first = writes(play)
    await stage.later(3 * HOUR)
    assert writes(play) == first
    assert read(stage)["configmaps"] == ["*"]
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    assert writes(play) == first + 1
    assert WIDGETS.qualified in read(stage)
    play = await again(stage, play)
    await stage.later(HOUR)
    assert writes(play) == 0


@story(mode="observe")
async def test_an_observer_counts_and_writes_nothing(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    stage.cluster.allow_only("sweeper", BUT_CONFIG_MAPS)
    play = await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    stage.cluster.allow_only("sweeper", EVERYTHING)
    await stage.later(5 * MINUTE)
    assert play.overdue == {"first-start-backlog": 150}
    assert not state(stage)


@story()
async def test_a_backlog_of_a_kind_that_may_be_read_later_is_held_like_a_first_start(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    stage.cluster.allow_only("sweeper", BUT_CONFIG_MAPS)
    play = await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    assert "firstSweep" in state(stage)
    stage.cluster.allow_only("sweeper", EVERYTHING)
    await stage.later(HOUR)
    assert len(stage.found()) == 150
    assert play.why_held("web-7").startswith("one of 150 objects that were overdue when Skoupa first looked")
    await stage.make("new", "5m")
    await stage.later(6 * MINUTE)
    assert not stage.there("new"), "what becomes due from now on goes"
    play = await again(stage, play, user="sweeper")
    await stage.later(HOUR)
    assert len(stage.found()) == 150
    play = await again(stage, play, user="sweeper", acceptBacklog=True)
    await stage.later(MINUTE)
    assert not stage.found()
    stage.old(many(150), "1h", age=DAY)
    await again(stage, play, user="sweeper")
    await stage.later(MINUTE)
    assert not stage.found(), "a kind that was read before has no first start"


@pytest.mark.parametrize("by", ["release", "setting"])
@story(brakes={"namespacePerMinute": 100})
async def test_a_backlog_of_a_later_kind_has_a_brake_and_letting_it_go_trips_no_ceiling(
    stage: Stage, by: str
) -> None:
    await bring_kind(stage)
    stage.old(many(300), "1h", age=DAY, resource=PODS)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("pods",))
    play = await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    assert await brakes(stage) == set()
    stage.cluster.plane.access.clear()
    await stage.later(5 * MINUTE)
    assert len(stage.found(PODS)) == 300
    made = await brake(stage, "first-start")
    assert made["status"]["held"] == 300
    assert "300 objects were overdue when Skoupa first looked at pods" in made["spec"]["reason"]
    if by == "release":
        await release(stage, "first-start", by="kim")
    else:
        play = await again(stage, play, user="sweeper", acceptBacklog=True)
    await stage.later(MINUTE)
    assert not stage.found(PODS)
    assert state(stage)["firstReadingsHeld"] == "[]"
    stage.old(many(20), "1h", age=DAY, resource=PODS)
    await again(stage, play, user="sweeper")
    await stage.later(MINUTE)
    assert not stage.found(PODS)


@story()
async def test_who_takes_over_knows_what_was_counted_and_what_was_accepted(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    stage.cluster.allow_only("sweeper", BUT_CONFIG_MAPS)
    first, second = await stage.play(user="sweeper"), await stage.play(user="sweeper")
    second.standing_by = True
    await stage.later(5 * MINUTE)
    stage.cluster.allow_only("sweeper", EVERYTHING)
    await stage.later(5 * MINUTE)
    assert first.overdue == {"first-start-backlog": 150}
    first.standing_by, second.standing_by = True, False
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 150
    assert second.overdue == {"first-start-backlog": 150}
    await first.stop()
    await second.stop()
    stage.plays.clear()
    third = await stage.play(user="sweeper", acceptBacklog=True)
    await stage.later(MINUTE)
    assert not stage.found()
    assert not third.overdue


@story()
async def test_a_hundred_of_a_kind_that_may_be_read_later_go(stage: Stage) -> None:
    stage.old(many(100), "1h", age=DAY)
    stage.cluster.allow_only("sweeper", BUT_CONFIG_MAPS)
    await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    stage.cluster.allow_only("sweeper", EVERYTHING)
    await stage.later(5 * MINUTE)
    assert not stage.found()


@story(also=(SECRETS,))
async def test_kinds_that_may_be_read_later_together_are_counted_together(stage: Stage) -> None:
    stage.old(many(60), "1h", age=DAY)
    stage.old(many(60), "1h", age=DAY, resource=SECRETS)
    stage.cluster.allow_only("sweeper", BUT_CONFIG_MAPS)
    await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    stage.cluster.faults.delay(5.0, when=asking(method="GET", kind="secrets"), times=None)
    stage.cluster.allow_only("sweeper", EVERYTHING)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 60
    assert len(stage.found(SECRETS)) == 60


@story()
async def test_a_backlog_in_a_namespace_that_is_added_later_is_held_like_a_first_start(stage: Stage) -> None:
    await stage.namespace(OTHER)
    stage.old(many(150), "1h", age=DAY, namespace=OTHER)
    play = await stage.play(namespaces=[SHOP])
    await stage.later(5 * MINUTE)
    stage.old(many(3), "1h", age=DAY)
    play = await again(stage, play, namespaces=[SHOP, OTHER])
    await stage.later(HOUR)
    assert len(stage.found(namespace=OTHER)) == 150
    assert play.overdue == {"first-start-backlog": 150}
    assert not stage.found(), "what is overdue where Skoupa has swept before goes"


@story()
async def test_a_backlog_of_a_kind_that_is_watched_later_is_held_like_a_first_start(stage: Stage) -> None:
    leases = next(
        served.resource
        for served in stage.cluster.plane.catalogue.served()
        if served.resource.qualified == "leases.coordination.k8s.io"
    )
    stage.old(many(150), "1h", age=DAY, resource=leases)
    play = await stage.play()
    await stage.later(5 * MINUTE)
    await again(stage, play, watchAlso=["leases.coordination.k8s.io"])
    await stage.later(HOUR)
    assert len(stage.found(leases)) == 150


@story()
async def test_a_backlog_of_a_kind_whose_first_list_fails_for_long_is_held_too(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    stage.old(many(150), "1h", age=DAY, resource=WIDGETS)
    stage.cluster.faults.answer(500, when=asking(kind=WIDGETS.qualified), seconds=20 * MINUTE)
    play = await stage.play()
    await stage.later(HOUR)
    assert len(stage.found(WIDGETS)) == 150
    assert play.overdue == {"first-start-backlog": 150}


@story()
async def test_a_backlog_of_a_later_kind_is_over_when_nothing_is_left_of_it(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    stage.cluster.allow_only("sweeper", BUT_CONFIG_MAPS)
    play = await stage.play(user="sweeper")
    await stage.later(5 * MINUTE)
    stage.cluster.allow_only("sweeper", EVERYTHING)
    await stage.later(5 * MINUTE)
    assert state(stage)["firstReadingsHeld"] != "[]"
    for name in many(150):
        await stage.label(name, ttl=None)
    await again(stage, play, user="sweeper")
    await stage.later(10)
    assert state(stage)["firstReadingsHeld"] == "[]"


@story()
async def test_a_state_from_before_kinds_were_written_down_makes_no_first_start(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(MINUTE)
    await play.stop()
    stage.plays.remove(play)
    patch = {"data": {"kindsRead": None}}
    await stage.people.merge_patch(CONFIG_MAPS, names.STATE_CONFIG_MAP, patch, namespace=HOME)
    stage.old(many(150), "1h", age=DAY)
    await stage.play()
    await stage.later(MINUTE)
    assert not stage.found()


def test_what_is_remembered_is_bounded_and_what_is_not_served_goes_first() -> None:
    ever = EverRead()
    for number in range(MOST):
        ever.add(f"old-{number}.example", "")
    ever.add("secrets", SHOP)
    ever.add("configmaps", SHOP)
    ever.add("configmaps", "")
    written = ever.written(served={"secrets", "configmaps"})
    assert sum(map(len, written.values())) == MOST
    assert written["secrets"] == [SHOP]
    assert written["configmaps"] == ["*"]
    other = EverRead()
    other.load(written)
    assert other.written(served={"secrets", "configmaps"}) == written
    assert other.has("configmaps", "anywhere")
    assert not other.has("secrets", "anywhere")
