"""Kinds that come and go, namespaces that go, and rights that are granted in part, lost and regained."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import (
    DEPLOYMENTS,
    HOME,
    HOUR,
    MINUTE,
    SECRETS,
    SHOP,
    WIDGETS,
    Stage,
    definition,
    story,
)

pytestmark = pytest.mark.unit

ENOUGH = ("list", "watch", "delete")
# What the process needs for itself, beside the kinds that it looks after.
OWN = (
    Rule(verbs=("get", "create", "patch"), resources=("configmaps",), namespaces=(HOME,)),
    Rule(verbs=("create",), resources=("events.events.k8s.io", "events")),
    Rule(
        verbs=("create",),
        resources=(
            "selfsubjectrulesreviews.authorization.k8s.io",
            "selfsubjectaccessreviews.authorization.k8s.io",
        ),
    ),
)


@story()
async def test_objects_of_a_kind_that_is_defined_later_go_too(stage: Stage) -> None:
    await stage.play()
    await stage.later(10 * MINUTE)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(2)
    await stage.make("gear", "1m", resource=WIDGETS)
    await stage.later(61)
    assert not stage.there("gear", WIDGETS)


@story()
async def test_a_definition_that_goes_while_it_is_watched_disturbs_nothing(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    await stage.make("gear", "10m", resource=WIDGETS)
    await stage.make("web", "10m")
    await stage.later(MINUTE)
    await stage.people.delete(
        CUSTOM_RESOURCE_DEFINITIONS,
        WIDGETS.qualified,
        uid=made["metadata"]["uid"],
        propagation="Background",
    )
    await stage.later(2 * MINUTE)
    assert WIDGETS.qualified not in {feed.resource.qualified for feed in play.engine.feeds or ()}
    assert play.engine.knowledge.blind == {}
    await stage.until(11 * MINUTE)
    assert not stage.there("web")
    asked = [at for at, request in play.wire.seen if WIDGETS.plural in request.path]
    assert asked[-1] - stage.clock.now() < -MINUTE, "nobody asks for a kind that is gone"


@story()
async def test_a_definition_that_comes_back_is_followed_again(stage: Stage) -> None:
    await stage.play()
    for _ in range(2):
        made = await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
        await stage.later(30)
        await stage.make("gear", "1m", resource=WIDGETS)
        await stage.later(61)
        assert not stage.there("gear", WIDGETS)
        await stage.people.delete(
            CUSTOM_RESOURCE_DEFINITIONS,
            WIDGETS.qualified,
            uid=made["metadata"]["uid"],
            propagation="Background",
        )
        await stage.later(MINUTE)


@story()
async def test_objects_in_a_namespace_that_is_going_are_no_trouble(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.namespace("preview")
    await stage.make("web", "1m", namespace="preview", finalizers=["example.com/slow"])
    await stage.make("late", "2m", namespace="preview")
    await stage.until(58)
    await stage.people.delete(NAMESPACES, "preview", uid=made["metadata"]["uid"], propagation="Background")
    await stage.until(5 * MINUTE)
    assert stage.found(namespace="preview") <= {"web"}
    assert not play.told("delete failed")


@story()
async def test_the_event_of_an_object_in_a_namespace_that_is_going_is_told_in_default(stage: Stage) -> None:
    await stage.play()
    made = await stage.namespace("preview")
    await stage.make("web", "1m", namespace="preview", finalizers=["example.com/slow"])
    await stage.until(59)
    await stage.people.delete(NAMESPACES, "preview", uid=made["metadata"]["uid"], propagation="Background")
    await stage.until(65)
    (event,) = stage.events("SkoupaDeleted", "web")
    assert event["metadata"]["namespace"] == "default"
    assert event["regarding"]["namespace"] == "preview"


@story()
async def test_a_kind_that_may_not_be_deleted_is_held_and_goes_when_the_right_comes(stage: Stage) -> None:
    readers = [*OWN, Rule(verbs=("list", "watch"))]
    stage.cluster.allow_only("sweeper", readers)
    play = await stage.play(user="sweeper")
    await stage.make("web", "1m")
    await stage.until(10 * MINUTE)
    assert stage.there("web")
    assert play.why_held("web") == "no permission: delete configmaps in shop"
    assert play.overdue == {"no-permission": 1}
    assert len(play.sent("DELETE")) <= 1
    stage.cluster.allow_only("sweeper", [*readers, Rule(verbs=("delete",), resources=("configmaps",))])
    await stage.later(61)
    assert not stage.there("web")


@story()
async def test_a_right_that_is_lost_becomes_a_hold_and_its_return_ends_it(stage: Stage) -> None:
    """The loss shows in a 403, long before the rules are asked for again."""
    everything = [*OWN, Rule(verbs=ENOUGH)]
    stage.cluster.allow_only("sweeper", everything)
    play = await stage.play(user="sweeper")
    for number in range(100):
        await stage.make(f"web-{number}", "4m30s")
    await stage.until(4.5 * MINUTE - 5)
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=("list", "watch"))])
    await stage.until(4.5 * MINUTE + 5)
    assert play.overdue == {"no-permission": 100}
    await stage.until(HOUR)
    assert len(stage.found()) == 100
    assert len(play.sent("DELETE")) <= 100
    stage.cluster.allow_only("sweeper", everything)
    await stage.later(65)
    assert not stage.found()


@story()
async def test_rights_to_delete_in_one_namespace_are_used_there(stage: Stage) -> None:
    rules = [*OWN, Rule(verbs=("list", "watch")), Rule(verbs=("delete",), namespaces=(SHOP,))]
    stage.cluster.allow_only("sweeper", rules)
    await stage.namespace("other")
    play = await stage.play(user="sweeper")
    await stage.make("web", "1m")
    await stage.make("foreign", "1m", namespace="other")
    await stage.until(5 * MINUTE)
    assert not stage.there("web")
    assert stage.there("foreign", namespace="other")
    assert play.why_held("foreign") == "no permission: delete configmaps in other"


@story()
async def test_a_right_that_comes_in_one_of_a_hundred_namespaces_is_used_within_a_minute(
    stage: Stage,
) -> None:
    rules = [*OWN, Rule(verbs=("list", "watch"))]
    stage.cluster.allow_only("sweeper", rules)
    spaces = [f"team-{number}" for number in range(100)]
    for name in spaces:
        await stage.namespace(name)
    play = await stage.play(user="sweeper")
    for name in spaces:
        await stage.make("web", "1m", namespace=name)
    await stage.until(10 * MINUTE)
    assert play.overdue == {"no-permission": 100}
    for name in (spaces[5], spaces[50], spaces[95]):
        rules.append(Rule(verbs=("delete",), namespaces=(name,)))
        stage.cluster.allow_only("sweeper", rules)
        await stage.later(65)
        assert not stage.there("web", namespace=name)
    before = len(play.sent("POST", path="selfsubjectrulesreviews"))
    await stage.later(10 * MINUTE)
    asked = len(play.sent("POST", path="selfsubjectrulesreviews")) - before
    assert asked <= 10 * 115, "no more than a hundred of them in a minute"


@story()
async def test_rights_to_delete_one_name_are_used_for_it(stage: Stage) -> None:
    rules = [*OWN, Rule(verbs=("list", "watch")), Rule(verbs=("delete",), names=("web",))]
    stage.cluster.allow_only("sweeper", rules)
    play = await stage.play(user="sweeper")
    await stage.make("web", "1m")
    await stage.make("api", "1m")
    await stage.until(5 * MINUTE)
    assert stage.found() == {"api"}
    assert play.why_held("api") == "no permission: delete configmaps in shop"


@story()
async def test_list_watch_and_delete_are_all_that_a_kind_needs(stage: Stage) -> None:
    """Also when the object is busy and has to be looked at freshly: get is not granted."""
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    play = await stage.play(user="sweeper")
    await stage.make("web", "1m")
    await stage.make("parent", "1m")
    await stage.label(SHOP, resource=NAMESPACES, ttl="10m")
    stage.cluster.faults.answer(409, when=lambda request: request.method == "DELETE", times=2)
    await stage.until(11 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)
    assert not play.told("delete failed")


@story(namespaces=[SHOP, "other"])
async def test_with_rights_in_some_namespaces_just_those_are_watched(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH, namespaces=(SHOP, "other"))])
    await stage.namespace("other")
    await stage.namespace("third")
    play = await stage.play(user="sweeper")
    for namespace in (SHOP, "other", "third"):
        await stage.make("web", "1m", namespace=namespace)
    await stage.until(2 * MINUTE)
    assert not stage.there("web")
    assert not stage.there("web", namespace="other")
    assert stage.there("web", namespace="third")
    watched = {request.path for _, request in play.wire.seen if request.verb == "watch"}
    assert "/api/v1/namespaces/shop/configmaps" in watched
    assert "/api/v1/configmaps" not in watched
    assert any("keep labels on Namespaces are not seen" in said for said in play.engine.outlook.degraded)
    assert any("new kinds are noticed" in said for said in play.engine.outlook.degraded)


@story(namespaces=[SHOP])
async def test_other_namespaces_and_what_lies_in_none_are_left_alone_even_with_all_rights(
    stage: Stage,
) -> None:
    """Several installs with disjoint sets can share a cluster."""
    play = await stage.play()
    await stage.namespace("other", labels={"cleanup.kyverno.io/ttl": "1m"})
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.label(WIDGETS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.make("web", "1m")
    await stage.label(SHOP, resource=NAMESPACES, ttl="5m")
    await stage.until(10 * MINUTE)
    assert stage.there("other", NAMESPACES)
    assert "only the namespaces shop are looked after here" in play.why_held("other")
    assert stage.there(WIDGETS.qualified, CUSTOM_RESOURCE_DEFINITIONS)
    assert not stage.there(SHOP, NAMESPACES)


@story(also=(SECRETS, DEPLOYMENTS))
async def test_a_right_to_read_that_comes_later_opens_the_kind(stage: Stage) -> None:
    some = [*OWN, Rule(verbs=ENOUGH, resources=("configmaps", "namespaces"))]
    stage.cluster.allow_only("sweeper", some)
    play = await stage.play(user="sweeper")
    await stage.make("secret", "1m", resource=SECRETS)
    await stage.make("pod", "1m", resource=PODS)
    await stage.until(3 * MINUTE)
    assert stage.there("secret", SECRETS)
    assert "secrets" in play.engine.knowledge.blind
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    await stage.later(65)
    assert not stage.there("secret", SECRETS)
    assert "secrets" not in play.engine.knowledge.blind


@story(also=(SECRETS,))
async def test_a_right_to_read_that_is_lost_closes_the_kind_and_holds_namespaces(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    play = await stage.play(user="sweeper")
    await stage.make("secret", "10m", resource=SECRETS)
    await stage.label(SHOP, resource=NAMESPACES, ttl="10m")
    await stage.until(2 * MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("secrets",))
    await stage.until(15 * MINUTE)
    assert stage.there("secret", SECRETS)
    assert "kept objects of secrets can't be read" in play.why_held(SHOP)


@story()
async def test_nothing_readable_at_all_is_a_state_that_is_shown_and_no_crash(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", OWN)
    play = await stage.play(user="sweeper")
    assert play.engine.ready.is_set()
    assert "configmaps" in play.engine.knowledge.blind


@story()
async def test_an_idle_hour_asks_little(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "5h")
    await stage.later(10 * MINUTE)
    before = len(play.wire.seen)
    await stage.later(HOUR)
    assert (len(play.wire.seen) - before) / 60 <= 6


@story()
async def test_kinds_that_come_and_go_by_the_second_are_not_watched_unless_asked_for(stage: Stage) -> None:
    play = await stage.play()
    kinds = {feed.resource.qualified for feed in play.engine.feeds or ()}
    assert not kinds & {"events", "events.events.k8s.io", "leases.coordination.k8s.io"}
    play = await stage.play(watchAlso=["Lease"])
    assert "leases.coordination.k8s.io" in {feed.resource.qualified for feed in play.engine.feeds or ()}


@story()
async def test_a_server_that_restarts_costs_nothing_but_time(stage: Stage) -> None:
    await stage.play()
    for number in range(50):
        await stage.make(f"web-{number}", f"{number + 1}m")
    for minute in (5, 10, 20):
        await stage.until(minute * MINUTE)
        stage.cluster.restart(seconds=30)
    await stage.until(51 * MINUTE)
    assert not stage.found()
