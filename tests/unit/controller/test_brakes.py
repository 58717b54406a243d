"""Brakes: what they hold, from when to when, and that nothing goes while nobody knows them."""

from __future__ import annotations

import pytest

from skoupa.kinds.brake import BRAKES
from skoupa.kube.resources import NAMESPACES
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.braking import brake, bring_kind, many, pull, release, state, take_kind_away
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


@story()
async def test_nothing_of_the_scope_of_a_brake_goes_and_everything_else_does(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    await stage.make("web", "5m")
    await stage.make("web", "5m", namespace="other")
    play = await stage.play()
    await pull(stage, "stop", reason="the audit", namespace=SHOP)
    await stage.later(6 * MINUTE)
    assert stage.there("web")
    assert not stage.there("web", namespace="other")
    assert play.why_held("web") == "brake stop: the audit"
    assert play.overdue == {"brake": 1}


@story()
async def test_a_brake_on_a_namespace_holds_the_namespace_itself(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.play()
    await pull(stage, "stop", namespace=SHOP)
    await stage.later(5 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)


@story()
async def test_a_brake_on_a_kind_holds_a_namespace_that_has_such_objects_inside(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("inside")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    play = await stage.play()
    await pull(stage, "stop", kind="configmaps")
    await stage.later(5 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert "brake stop" in play.why_held(SHOP)


@story()
async def test_what_a_brake_held_goes_when_it_is_deleted(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    await stage.play()
    await pull(stage, "stop", all=True)
    await stage.later(HOUR)
    assert stage.there("web")
    await release(stage, "stop")
    await stage.later(3)
    assert not stage.there("web")


@story()
async def test_a_brake_with_an_end_releases_by_itself(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    play = await stage.play()
    await pull(stage, "stop", all=True, until=stage.time(30 * MINUTE))
    await stage.later(29 * MINUTE)
    assert stage.there("web")
    await stage.later(70)
    assert not stage.there("web")
    lag = float(play.told("deleted", "web")[0]["lag"])
    assert lag < 26 * MINUTE, "it went when the Brake ended"


@story()
async def test_a_change_freeze_begins_and_ends_by_the_clock(stage: Stage) -> None:
    await bring_kind(stage)
    # The story begins on the hour.
    hour = int(stage.time()[11:13])
    schedule = {"from": f"10 {hour} * * *", "to": f"40 {hour} * * *"}
    await pull(stage, "freeze", all=True, schedule=schedule)
    for name, ttl in (("before", "5m"), ("within", "20m"), ("after", "50m")):
        await stage.make(name, ttl)
    await stage.play()
    await stage.later(8 * MINUTE)
    assert stage.found() == {"within", "after"}
    await stage.later(20 * MINUTE)
    assert stage.found() == {"within", "after"}
    await stage.later(15 * MINUTE)
    assert stage.found() == {"after"}


@story(rate={"deletionsPerSecond": 10})
async def test_a_new_brake_stops_a_backlog_that_is_under_way_within_a_second(stage: Stage) -> None:
    await bring_kind(stage)
    for name in many(100):
        await stage.make(name, "1m")
    play = await stage.play()
    await stage.later(MINUTE + 3)
    going = len(stage.found())
    assert 0 < going < 100
    await pull(stage, "stop", namespace=SHOP)
    pulled_at = stage.clock.now()
    await stage.later(MINUTE)
    sent = [at for at, _ in play.sent("DELETE", path="configmaps")]
    assert max(sent) <= pulled_at + 1
    assert len(stage.found()) >= going - 10
    assert (await brake(stage, "stop"))["status"]["held"] == len(stage.found())


@story()
async def test_a_delete_that_waits_its_turn_is_not_sent_once_a_brake_is_there(stage: Stage) -> None:
    """A server that is busy tells all deletes to come back later; a Brake comes first."""
    await bring_kind(stage)
    await stage.make("web", "1m")
    play = await stage.play()
    stage.cluster.faults.answer(429, when=asking(method="DELETE"), times=1, seconds=100, retry_after=20)
    await stage.later(MINUTE + 5)
    await pull(stage, "stop", all=True)
    await stage.later(HOUR)
    assert stage.there("web")
    assert len(play.sent("DELETE", path="configmaps")) == 1


@story()
async def test_a_brake_that_can_not_be_understood_holds_all_that_it_could_mean(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    await stage.play()
    body = {
        "apiVersion": BRAKES.api_version,
        "kind": BRAKES.kind,
        "metadata": {"name": "odd"},
        "spec": {"scope": {"namespace": "elsewhere"}, "schedule": {"from": "x y z", "to": "@daily"}},
    }
    await stage.people.create(BRAKES, body)
    await stage.later(HOUR)
    status = (await brake(stage, "odd"))["status"]
    assert not stage.there("web"), "its scope was understood"
    (ready,) = status["conditions"]
    assert (ready["type"], ready["status"], ready["reason"]) == ("Ready", "False", "NotUnderstood")
    assert "has 3 fields" in ready["message"]


@story()
async def test_while_the_watch_of_brakes_is_cut_everything_is_held_and_goes_on_when_it_stands_again(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    # Three watch this kind: for labels, for kept objects, and for Brakes as such.
    stage.cluster.faults.cut_watch(when=asking(path=BRAKES.path()), after=1, times=3)
    play = await stage.play()
    stage.cluster.faults.answer(
        500, when=asking(path=BRAKES.path(), verb="watch"), times=None, seconds=10 * MINUTE
    )
    await pull(stage, "elsewhere", namespace="elsewhere")
    await stage.later(6 * MINUTE)
    assert stage.there("web")
    assert "it is not known which Brakes there are" in play.why_held("web")
    await stage.later(6 * MINUTE)
    assert not stage.there("web")


@story()
async def test_brakes_that_vanish_with_their_definition_hold_everything_until_it_is_back(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    await stage.make("free", "5m")
    play = await stage.play()
    await pull(stage, "stop", kind="pods")
    await take_kind_away(stage)
    await stage.later(HOUR)
    assert stage.found() == {"web", "free"}
    assert "not known which Brakes" in play.why_held("web")
    await bring_kind(stage)
    await stage.later(10)
    assert not stage.found()


@story(mode="observe")
async def test_an_observer_holds_too_when_brakes_vanish_with_their_definition(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "stop", namespace=SHOP)
    await stage.make("web", "5m")
    play = await stage.play()
    await stage.later(MINUTE)
    await take_kind_away(stage)
    await stage.later(HOUR)
    assert not play.told("would delete")
    assert "not known which Brakes" in play.why_held("web")
    assert not [one for method in ("POST", "PATCH", "PUT", "DELETE") for one in _writes(play, method)]


def _writes(play: object, method: str) -> list[object]:
    sent = play.sent(method)  # type: ignore[attr-defined] # a Play
    return [one for one in sent if "authorization" not in one[1].path]


@story()
async def test_that_there_were_brakes_is_not_forgotten_by_a_restart(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await stage.later(10)
    assert "brakesSeen" in state(stage)
    await play.stop()
    await take_kind_away(stage)
    await stage.later(10)
    await stage.make("web", "5m")
    play = await stage.play()
    await stage.later(HOUR)
    assert stage.there("web")
    assert "skoupa install" in play.why_held("web")


@story()
async def test_where_the_kind_never_was_there_are_no_brakes_and_that_is_told(stage: Stage) -> None:
    await stage.make("web", "5m")
    play = await stage.play()
    await stage.later(6 * MINUTE)
    assert not stage.there("web")
    assert any("there is no kind brakes.skoupa.dev" in said for said in play.engine.outlook.degraded)


@story()
async def test_a_kind_that_comes_later_is_noticed(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(MINUTE)
    await bring_kind(stage)
    await stage.later(10)
    await stage.make("web", "5m")
    await pull(stage, "stop", all=True)
    await stage.later(HOUR)
    assert stage.there("web")
    assert play.overdue == {"brake": 1}


@story()
async def test_a_right_to_read_brakes_that_is_lost_holds_everything(stage: Stage) -> None:
    await bring_kind(stage)
    everything = Rule(verbs=("*",), resources=("*",))
    stage.cluster.allow_only("sweeper", (everything,))
    play = await stage.play(user="sweeper")
    await stage.later(10)
    others = Rule(
        verbs=("*",),
        resources=(
            "configmaps",
            "namespaces",
            "pods",
            "serviceaccounts",
            "events.events.k8s.io",
            "leases.coordination.k8s.io",
            "customresourcedefinitions.apiextensions.k8s.io",
            "selfsubjectrulesreviews.authorization.k8s.io",
            "selfsubjectaccessreviews.authorization.k8s.io",
        ),
    )
    stage.cluster.allow_only("sweeper", (others,))
    await stage.make("web", "5m")
    await stage.later(HOUR)
    assert stage.there("web")
    assert "no permission: list and watch brakes.skoupa.dev" in play.why_held("web")
    stage.cluster.allow_only("sweeper", (everything,))
    await stage.later(5 * MINUTE)
    assert not stage.there("web")
