"""A kind that may be read and is not, for whatever reason and however short: all that could own one of it waits."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import (
    APPS,
    HOUR,
    MINUTE,
    PRIORITIES,
    REPLICA_SETS,
    SECRETS,
    WIDGETS,
    Play,
    Stage,
    definition,
    story,
)
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit


@story(also=(SECRETS, PRIORITIES))
async def test_a_cut_watch_of_a_kind_holds_whatever_could_own_a_kept_one_of_it(stage: Stage) -> None:
    play = await stage.play()
    owner = await stage.make("config", "10m")
    await stage.make("deed", resource=SECRETS, owner=owner)
    await stage.until(9 * MINUTE)
    stage.cluster.faults.answer(500, when=asking(verb="watch", kind="secrets"), times=None)
    stage.cluster.restart()
    await stage.later(10)
    await stage.label("deed", resource=SECRETS, keep="true")
    await stage.until(16 * MINUTE)
    assert stage.there("deed", SECRETS)
    assert play.overdue == {"keeps-behind": 1}
    assert not play.told("held"), "it is told with the kind, not with each object"
    stage.cluster.faults.clear()
    await stage.later(2 * MINUTE)
    assert "Secret shop/deed" in play.why_held("config")


@pytest.mark.parametrize("waived", [False, True])
@story(also=(SECRETS,))
async def test_a_kind_whose_list_fails_from_the_start_holds_until_it_is_waived(
    stage: Stage, *, waived: bool
) -> None:
    owner = await stage.make("config", "10m")
    await stage.make("deed", resource=SECRETS, owner=owner, keep="true")
    stage.cluster.faults.answer(500, when=asking(kind="secrets"), times=None)
    more: dict[str, Any] = {"cascade": {"ignoreKinds": ["secrets"]}} if waived else {}
    await stage.play(**more)
    await stage.until(16 * MINUTE)
    assert stage.there("config") is not waived


@story(also=(SECRETS,))
async def test_objects_that_can_not_be_understood_hold_whatever_could_own_them(stage: Stage) -> None:
    owner = await stage.make("config", "10m")
    reference = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": "config",
        "uid": owner["metadata"]["uid"],
    }
    stage.cluster.load(
        [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {
                    "name": "odd",
                    "namespace": "shop",
                    "labels": {"skoupa.dev/keep": "true", "team": 7},
                    "ownerReferences": [reference],
                },
            }
        ]
    )
    await stage.play()
    await stage.until(16 * MINUTE)
    assert stage.there("config")


@story(also=(SECRETS,))
async def test_a_right_that_was_never_there_holds_no_built_in_owner(stage: Stage) -> None:
    stage.cluster.deny(user="blind", verbs=("get", "list", "watch"), resources=("secrets",))
    await stage.play(user="blind")
    await stage.make("config", "10m")
    await stage.until(16 * MINUTE)
    assert not stage.there("config")


@story()
async def test_a_group_that_could_not_be_told_at_the_start_holds_until_it_is(stage: Stage) -> None:
    """An API service behind which nobody answers."""
    stage.cluster.install(WIDGETS)
    owner = await stage.make("config", "10m")
    await stage.make("deed", resource=WIDGETS, owner=owner, keep="true")
    stage.cluster.discovery.stale.add(WIDGETS.group)
    play = await stage.play()
    await stage.until(16 * MINUTE)
    assert stage.there("config")
    stage.cluster.discovery.stale.clear()
    await stage.later(6 * MINUTE)
    assert "Widget shop/deed" in play.why_held("config")


@story(also=APPS)
async def test_a_watch_that_stands_again_and_is_silent_proves_nothing(stage: Stage) -> None:
    play = await stage.play()
    top = await stage.make("web-1", "10m", resource=REPLICA_SETS)
    await stage.make("web-1-a", resource=PODS, owner=top)
    await stage.until(10 * MINUTE - 30)
    stage.cluster.faults.answer(500, when=asking(verb="watch", kind="pods"), seconds=10)
    cut(stage, "pods")
    await stage.later(3)
    await stage.label("web-1-a", resource=PODS, keep="true")
    # When it stands again the server has not caught up.
    stage.cluster.faults.silence_watch(when=asking(verb="watch", kind="pods"), times=None)
    await stage.until(10 * MINUTE + 1)
    assert play.overdue == {"keeps-behind": 1}
    await stage.later(3 * MINUTE)
    assert stage.there("web-1-a", PODS)
    assert "Pod shop/web-1-a" in play.why_held("web-1")


def cut(stage: Stage, plural: str) -> None:
    """The server forgets nothing, so that a watch can go on where it was."""
    for shelf, watches in stage.cluster.plane.watches.items():
        for watch in tuple(watches) if shelf.plural == plural else ():
            watch.cut()


def lists(play: Play, after: float, *, selector: str) -> list[Request]:
    """What was listed in full since then: by a list, or by a watch that begins with one and was not refused."""
    return [
        request
        for at, request in play.wire.seen
        if at > after
        and request.path == "/api/v1/configmaps"
        and ("labelSelector", selector) in request.query
        and not any(name == "resourceVersion" for name, _ in request.query)
        and not (any(name == "watch" for name, _ in request.query) and at < after + 10)
    ]


@pytest.mark.parametrize("streaming", [True, False])
@story()
async def test_after_a_cut_what_is_kept_is_listed_once_and_the_rest_goes_on_where_it_was(
    stage: Stage, *, streaming: bool
) -> None:
    stage.cluster.plane.features["WatchList"] = streaming
    play = await stage.play()
    await stage.make("web", "1h")
    await stage.later(MINUTE)
    now = stage.clock.now()
    # However often the watch is refused before it stands again.
    stage.cluster.faults.answer(503, when=asking(verb="watch", kind="configmaps"), seconds=10)
    cut(stage, "configmaps")
    await stage.later(MINUTE)
    assert len(lists(play, now, selector="skoupa.dev/keep")) == 1
    assert not lists(play, now, selector="cleanup.kyverno.io/ttl")


@story(compat={"janitor": True})
async def test_a_watch_of_everything_asks_only_for_what_is_kept_after_a_cut(stage: Stage) -> None:
    play = await stage.play()
    owner = await stage.make("config", "30m")
    await stage.make("deed", owner=owner)
    await stage.until(28 * MINUTE)
    now = stage.clock.now()
    stage.cluster.faults.answer(503, when=asking(verb="watch", kind="configmaps"), seconds=10)
    # The server itself is behind: what is written meanwhile comes much later.
    cut(stage, "configmaps")
    await stage.later(3)
    await stage.label("deed", keep="true")
    stage.cluster.faults.silence_watch(when=asking(verb="watch", kind="configmaps"), times=None)
    await stage.until(30 * MINUTE + 10)
    assert stage.there("deed")
    assert "ConfigMap shop/deed" in play.why_held("config")
    assert not [one for one in lists(play, now, selector="") if "watch" not in dict(one.query)]
    assert len(lists(play, now, selector="skoupa.dev/keep")) == 1


@story(also=(SECRETS,))
async def test_a_watch_that_was_never_cut_costs_nothing_for_hours(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1d")
    await stage.later(MINUTE)
    before = len(play.wire.seen)
    await stage.later(2 * HOUR)
    assert len(play.wire.seen) - before <= 6 * 120


async def watching_no_definitions(stage: Stage) -> Play:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    stage.cluster.deny(user="sweeper", verbs=("watch",), resources=(CUSTOM_RESOURCE_DEFINITIONS.qualified,))
    play = await stage.play(user="sweeper")
    await stage.later(20)
    return play


@story()
async def test_a_new_kind_of_which_nobody_was_told_holds_until_it_is_read(stage: Stage) -> None:
    play = await watching_no_definitions(stage)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    owner = await stage.make("config", "1m")
    await stage.make("bystander", "1m")
    await stage.make("deed", resource=WIDGETS, owner=owner, keep="true")
    await stage.later(2 * MINUTE)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held("config")
    assert not stage.there("bystander")


@story()
async def test_a_chain_through_a_new_kind_is_followed(stage: Stage) -> None:
    await watching_no_definitions(stage)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    owner = await stage.make("config", "1m")
    middle = await stage.make("mid", resource=WIDGETS, owner=owner)
    await stage.make("deed", owner=middle, keep="true")
    await stage.later(2 * MINUTE)
    assert stage.there("deed")
    assert stage.there("config")


@story()
async def test_where_new_kinds_are_told_nobody_asks_for_them_before_a_delete(stage: Stage) -> None:
    play = await stage.play()
    for number in range(60):
        await stage.make(f"web-{number}", f"{60 + number}s")
    await stage.until(2 * MINUTE + 1)
    assert not stage.found()
    assert len([1 for _, request in play.sent("GET") if request.path == "/apis"]) <= 2


@story()
async def test_where_they_are_not_told_kinds_are_asked_for_every_ten_seconds_while_something_goes(
    stage: Stage,
) -> None:
    play = await watching_no_definitions(stage)
    for number in range(60):
        await stage.make(f"web-{number}", f"{60 + number}s")
    await stage.until(2 * MINUTE + 40)
    assert not stage.found()
    assert len([1 for _, request in play.sent("GET") if request.path == "/apis"]) <= 9


@story()
async def test_a_new_definition_holds_before_discovery_shows_what_it_defines(stage: Stage) -> None:
    play = await stage.play()
    owner = await stage.make("config", "1m")
    await stage.until(59.9)
    stage.cluster.faults.delay(2.0, when=lambda request: request.path == "/apis", times=None)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.settle()
    await stage.make("deed", resource=WIDGETS, owner=owner, keep="true")
    await stage.until(61)
    assert stage.there("config")
    assert play.overdue == {"keeps-behind": 1}
    await stage.later(MINUTE)
    assert "Widget shop/deed" in play.why_held("config")


@story()
async def test_a_definition_that_is_never_served_holds_for_seconds_only(stage: Stage) -> None:
    await stage.play()
    body = definition(WIDGETS)
    body["spec"]["versions"][0]["served"] = False
    await stage.make("config", "1m")
    await stage.until(59)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    await stage.until(2 * MINUTE)
    assert not stage.there("config")


@story()
async def test_an_owner_whose_kind_is_not_served_any_more_is_not_known_to_own_nothing(stage: Stage) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(10)
    owner = await stage.make("config", "10m")
    middle = await stage.make("mid", resource=WIDGETS, owner=owner)
    await stage.make("deed", owner=middle, keep="true")
    versions = definition(WIDGETS)["spec"]["versions"]
    patch = {"spec": {"versions": [{**versions[0], "served": False}]}}
    await stage.people.merge_patch(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified, patch)
    await stage.later(10)
    play = await stage.play()
    await stage.until(12 * MINUTE)
    assert stage.there("config")
    assert "ConfigMap shop/deed, which is kept: who owns that can't be read" in play.why_held("config")


@story()
async def test_a_new_kind_that_is_being_read_for_the_first_time_is_told_with_no_object_that_it_holds(
    stage: Stage,
) -> None:
    """A Namespace that is held anyway, by something kept in it, says so once."""
    play = await stage.play()
    await stage.namespace("lab", labels={"cleanup.kyverno.io/ttl": "10m"})
    await stage.make("deed", namespace="lab", keep="true")
    await stage.until(16 * MINUTE)
    (before,) = play.told("held", "lab")
    stage.cluster.faults.delay(5, when=asking(kind=WIDGETS.qualified), times=1)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(4 * MINUTE)
    assert play.told("held", "lab") == [before]
