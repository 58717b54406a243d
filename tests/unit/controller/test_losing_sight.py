"""What was seen kept goes on holding when it can't be seen any more, and what is believed is fresh when something goes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, PODS, Resource
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.stage import (
    APPS,
    DEPLOYMENTS,
    HOUR,
    MINUTE,
    PRIORITIES,
    REPLICA_SETS,
    SECRETS,
    SHOP,
    WIDGETS,
    Play,
    Stage,
    definition,
    story,
)
from tests.unit.controller.test_kinds_and_rights import ENOUGH, OWN

pytestmark = pytest.mark.unit

BETA = msgspec.structs.replace(WIDGETS, version="v1beta1")
CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)


def versions(**served: bool) -> dict[str, Any]:
    """A definition that stores v1beta1."""
    body = definition(BETA)
    (version,) = body["spec"]["versions"]
    body["spec"]["versions"] = [
        {**version, "name": name, "served": is_served, "storage": name == "v1beta1"}
        for name, is_served in served.items()
    ]
    return body


async def defined(stage: Stage, **served: bool) -> None:
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, versions(**served))
    await stage.later(10)


async def redefine(stage: Stage, **served: bool) -> None:
    patch = {"spec": {"versions": versions(**served)["spec"]["versions"]}}
    await stage.people.merge_patch(CUSTOM_RESOURCE_DEFINITIONS, WIDGETS.qualified, patch)
    await stage.settle()


def asked(play: Play, path: str) -> list[float]:
    return [at for at, request in play.sent("GET") if request.path == path]


def asks_for_shop(request: Request) -> bool:
    """For this one Namespace, by get or by a list on its name."""
    one = ("fieldSelector", f"metadata.name={SHOP}") in request.query
    return request.path == f"/api/v1/namespaces/{SHOP}" or (request.path == "/api/v1/namespaces" and one)


def looked(play: Play) -> list[float]:
    return [at for at, request in play.sent("GET") if asks_for_shop(request)]


@pytest.mark.parametrize(
    "at_once", [False, True], ids=["both versions for a while", "the old one goes at once"]
)
@story(also=APPS)
async def test_another_version_of_a_kind_does_not_end_what_its_kept_objects_hold(
    stage: Stage, *, at_once: bool
) -> None:
    await defined(stage, v1beta1=True)
    play = await stage.play()
    top = await stage.make("web", "30m", resource=DEPLOYMENTS)
    await stage.make("deed", resource=BETA, owner=top, keep="true")
    await stage.until(31 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    # The list of the new version takes its time.
    slow = stage.cluster.faults.delay(20.0, when=lambda request: "/v1/widgets" in request.path, times=None)
    await redefine(stage, v1beta1=not at_once, v1=True)
    await stage.later(2 * MINUTE)
    stage.cluster.faults.remove(slow)
    await stage.later(10 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    assert stage.there("deed", WIDGETS)
    feeds = play.engine.feeds or ()
    assert {feed.resource.version for feed in feeds if feed.resource.kind == "Widget"} == {"v1"}
    await redefine(stage, v1beta1=False, v1=True)
    await stage.later(MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    await stage.label("deed", resource=WIDGETS, keep=None)
    await stage.later(5)
    assert not stage.there("web", DEPLOYMENTS)


@story()
async def test_objects_go_by_the_version_that_is_served_now(stage: Stage) -> None:
    await defined(stage, v1beta1=True)
    play = await stage.play()
    await stage.make("gear", "10m", resource=BETA)
    await stage.later(5)
    await redefine(stage, v1beta1=True, v1=True)
    await stage.later(MINUTE)
    await redefine(stage, v1beta1=False, v1=True)
    await stage.until(11 * MINUTE)
    assert not stage.there("gear", WIDGETS)
    assert len(play.told("deleted", "gear")) == 1


@story(also=(SECRETS,))
async def test_a_right_to_read_that_is_lost_does_not_end_what_kept_objects_hold(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    play = await stage.play(user="sweeper")
    owner = await stage.make("config", "10m")
    await stage.make("deed", resource=SECRETS, owner=owner, keep="true")
    await stage.until(11 * MINUTE)
    assert stage.there("config")
    stage.cluster.deny(user="sweeper", verbs=("get", "list", "watch"), resources=("secrets",))
    await stage.until(30 * MINUTE)
    assert stage.there("config")
    assert stage.there("deed", SECRETS)
    assert "Secret shop/deed" in play.why_held("config")
    await stage.label("deed", resource=SECRETS, keep=None)
    await stage.until(40 * MINUTE)
    assert stage.there("config"), "nobody saw that it is not kept any more"
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    stage.cluster.plane.access.clear()
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@story(also=(SECRETS,))
async def test_a_kept_object_that_went_unseen_is_asked_for_by_name(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=(*ENOUGH, "get"))])
    play = await stage.play(user="sweeper")
    owner = await stage.make("config", "10m")
    deed = await stage.make("deed", resource=SECRETS, owner=owner, keep="true")
    await stage.until(11 * MINUTE)
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("secrets",))
    await stage.until(20 * MINUTE)
    assert stage.there("config")
    await stage.people.delete(
        SECRETS, "deed", namespace=SHOP, uid=deed["metadata"]["uid"], propagation="Background"
    )
    await stage.later(3 * MINUTE)
    assert not stage.there("config")
    assert len(asked(play, f"/api/v1/namespaces/{SHOP}/secrets/deed")) <= 15


@story(also=APPS)
async def test_a_kind_that_vanishes_while_its_definition_is_there_holds_until_that_is_gone(
    stage: Stage,
) -> None:
    await defined(stage, v1beta1=True)
    play = await stage.play()
    top = await stage.make("web", "10m", resource=DEPLOYMENTS)
    await stage.make("deed", resource=BETA, owner=top, keep="true")
    await stage.later(5)
    await redefine(stage, v1beta1=False)
    await stage.until(30 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    assert "Widget shop/deed" in play.why_held("web")
    (found,) = stage.cluster.objects(CUSTOM_RESOURCE_DEFINITIONS)
    await stage.people.delete(
        CUSTOM_RESOURCE_DEFINITIONS,
        WIDGETS.qualified,
        uid=found["metadata"]["uid"],
        propagation="Background",
    )
    await stage.later(2 * MINUTE)
    assert not stage.there("web", DEPLOYMENTS)


@pytest.mark.parametrize("waived", [False, True])
@story()
async def test_a_kind_that_never_had_a_definition_may_be_away_for_a_while(
    stage: Stage, *, waived: bool
) -> None:
    """An aggregated API whose API service is made anew: that it is not there is no proof of anything."""
    stage.cluster.install(WIDGETS)
    more: dict[str, Any] = {"cascade": {"ignoreKinds": [WIDGETS.qualified]}} if waived else {}
    play = await stage.play(**more)
    owner = await stage.make("config", "10m")
    await stage.make("deed", resource=WIDGETS, owner=owner, keep="true")
    await stage.until(11 * MINUTE)
    assert stage.there("config")
    stage.cluster.plane.catalogue.remove(group=WIDGETS.group, plural=WIDGETS.plural)
    await stage.later(30 * MINUTE)
    assert stage.there("config") is not waived
    assert "Widget shop/deed" in play.why_held("config")


@story()
async def test_a_definition_of_which_no_version_is_served_stays(stage: Stage) -> None:
    """Whoever starts later can't know what is in it."""
    await defined(stage, v1beta1=True)
    await stage.make("deed", resource=BETA, keep="true")
    await redefine(stage, v1beta1=False)
    play = await stage.play()
    await stage.label(WIDGETS.qualified, resource=CUSTOM_RESOURCE_DEFINITIONS, ttl="1m")
    await stage.later(10 * MINUTE)
    assert stage.there(WIDGETS.qualified, CUSTOM_RESOURCE_DEFINITIONS)
    assert "no version of it is served" in play.why_held(WIDGETS.qualified)
    await redefine(stage, v1beta1=True)
    await stage.later(2 * MINUTE)
    assert "Widget shop/deed" in play.why_held(WIDGETS.qualified)
    await stage.label("deed", resource=BETA, keep=None)
    await stage.remove("deed", resource=BETA)
    await stage.later(2 * MINUTE)
    assert not stage.there(WIDGETS.qualified, CUSTOM_RESOURCE_DEFINITIONS)


@story(also=APPS)
async def test_a_feed_of_kept_objects_that_is_behind_holds_owners_in_silence(stage: Stage) -> None:
    play = await stage.play()
    middle = await stage.make("web-1", "10m", resource=REPLICA_SETS)
    await stage.make("web-1-a", resource=PODS, owner=middle)
    await stage.make("bystander", "10m")
    await stage.until(9 * MINUTE)
    stage.cluster.faults.answer(500, when=asking(verb="watch", kind="pods"), times=None)
    stage.cluster.restart()
    await stage.later(10)
    await stage.label("web-1-a", resource=PODS, keep="true")
    await stage.until(12 * MINUTE)
    assert stage.there("web-1", REPLICA_SETS)
    assert stage.there("web-1-a", PODS)
    assert stage.there("bystander"), "nobody knows that it owns no Pod"
    assert play.overdue == {"keeps-behind": 2}
    assert not play.told("held"), "a connection that is cut for a moment must not fill the log"
    stage.cluster.faults.clear()
    await stage.later(MINUTE)
    assert play.why_held("web-1") == "deleting it would take along Pod shop/web-1-a, which is kept"
    assert not stage.there("bystander"), "it owns nothing"
    await stage.label("web-1-a", resource=PODS, keep=None)
    await stage.later(5)
    assert not stage.there("web-1", REPLICA_SETS)


@story(also=(*APPS, CLAIMS))
async def test_what_can_not_be_read_holds_all_owners_above_it(stage: Stage) -> None:
    """A Pod's ephemeral volume claim goes with the Deployment."""
    stage.cluster.deny(user="blind", verbs=("get", "list", "watch"), resources=("persistentvolumeclaims",))
    play = await stage.play(user="blind")
    await stage.make("web", "1m", resource=DEPLOYMENTS)
    await stage.make("config", "1m")
    await stage.until(5 * MINUTE)
    assert stage.there("web", DEPLOYMENTS)
    assert "kept objects of persistentvolumeclaims can't be read" in play.why_held("web")
    assert not stage.there("config"), "a kind that owns nothing by itself"


@story()
async def test_a_keep_label_on_a_namespace_counts_although_its_watch_is_frozen(stage: Stage) -> None:
    stage.cluster.faults.silence_watch(when=asking(kind="namespaces"), times=None, after=40)
    play = await stage.play()
    await stage.make("web", "10m")
    await stage.until(10 * MINUTE - 40)
    for number in range(45):
        await stage.namespace(f"other-{number}")
    await stage.until(10 * MINUTE - 20)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.until(10 * MINUTE + 5)
    assert stage.there("web")
    assert "its Namespace has the label" in play.why_held("web")


@story()
async def test_a_namespace_that_no_feed_has_brought_yet_keeps_too(stage: Stage) -> None:
    stage.cluster.faults.silence_watch(when=asking(kind="namespaces"), times=None, after=40)
    play = await stage.play()
    for number in range(45):
        await stage.namespace(f"other-{number}")
    await stage.namespace("late", labels={"skoupa.dev/keep": "true"})
    await stage.make("web", "10s", namespace="late")
    await stage.later(20)
    assert stage.there("web", namespace="late")
    assert "its Namespace has the label" in play.why_held("web")


@story()
async def test_a_namespace_is_read_once_in_two_seconds_however_much_goes_there(stage: Stage) -> None:
    play = await stage.play()
    for number in range(60):
        await stage.make(f"web-{number}", "10m")
        await stage.make(f"api-{number}", f"{600 + number}s")
    await stage.until(9 * MINUTE)
    assert not looked(play), "nothing while nothing goes"
    await stage.until(12 * MINUTE)
    assert not stage.found()
    reads = looked(play)
    assert reads
    assert all(after - before >= 2.0 for before, after in pairwise(reads))


@story()
async def test_what_the_watch_of_namespaces_said_just_now_is_fresh(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "10m")
    await stage.until(10 * MINUTE - 1)
    await stage.annotate(SHOP, "people.example/touched", "yes", resource=NAMESPACES)
    await stage.until(10 * MINUTE + 2)
    assert not stage.there("web")
    assert not looked(play)


@story()
async def test_a_namespace_that_may_only_be_listed_is_found_by_name(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    play = await stage.play(user="sweeper")
    await stage.make("web", "10m")
    await stage.until(11 * MINUTE)
    assert not stage.there("web")
    assert not play.told("held")


@story()
async def test_namespaces_that_were_never_readable_cost_no_questions(stage: Stage) -> None:
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH, resources=("configmaps",))])
    play = await stage.play(user="sweeper")
    await stage.make("web", "10m")
    await stage.until(11 * MINUTE)
    assert not stage.there("web")
    assert not looked(play)


@story()
async def test_a_namespace_that_does_not_answer_holds_what_is_in_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "630s")
    stage.cluster.faults.answer(500, when=asks_for_shop, times=None)
    await stage.until(11 * MINUTE)
    assert stage.there("web")
    assert play.why_held("web").startswith("what is known of namespaces may be old: ")
    stage.cluster.faults.clear()
    await stage.later(MINUTE)
    assert not stage.there("web")


@story()
async def test_kinds_are_asked_for_anew_before_a_namespace_goes(stage: Stage) -> None:
    """A controller that may not watch definitions learns of a new one minutes later."""
    stage.cluster.allow_only("sweeper", [*OWN, Rule(verbs=ENOUGH)])
    stage.cluster.deny(user="sweeper", verbs=("watch",), resources=(CUSTOM_RESOURCE_DEFINITIONS.qualified,))
    play = await stage.play(user="sweeper")
    await stage.later(20)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(1)
    await stage.make("deed", resource=WIDGETS, keep="true")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1s")
    await stage.later(30)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held(SHOP)
    kinds = {feed.resource.qualified for feed in play.engine.feeds or ()}
    assert WIDGETS.qualified in kinds, "what was learned that way is watched from now on"


@story()
async def test_kinds_are_asked_for_anew_before_a_definition_goes(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(20)
    body = definition(WIDGETS)
    body["metadata"]["labels"] = {"cleanup.kyverno.io/ttl": "0"}
    # What the controller knows of the kinds stays as it is for a while.
    stale = stage.cluster.faults.answer(500, when=lambda request: request.path == "/apis", seconds=0.5)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, body)
    while not stale.hits:
        await stage.later(0.1)
    await stage.make("deed", resource=WIDGETS, keep="true")
    await stage.later(2 * MINUTE)
    assert stage.there("deed", WIDGETS)
    assert "Widget shop/deed" in play.why_held(WIDGETS.qualified)


@story()
async def test_many_namespaces_that_go_together_share_one_reading_of_the_kinds(stage: Stage) -> None:
    play = await stage.play()
    for number in range(30):
        await stage.namespace(f"pr-{number}", labels={"cleanup.kyverno.io/ttl": "10m"})
    await stage.until(9 * MINUTE)
    before = len(asked(play, "/apis"))
    await stage.until(10 * MINUTE + 1)
    assert len(asked(play, "/apis")) - before <= 2
    await stage.later(MINUTE)
    assert not [name for name in stage.found(NAMESPACES) if name.startswith("pr-")]


@story()
async def test_kinds_that_can_not_be_asked_for_hold_a_namespace(stage: Stage) -> None:
    play = await stage.play()
    await stage.label(SHOP, resource=NAMESPACES, ttl="10m")
    await stage.until(9 * MINUTE)
    stage.cluster.faults.answer(500, when=lambda request: request.path == "/apis", times=None)
    await stage.until(12 * MINUTE)
    assert stage.there(SHOP, NAMESPACES)
    assert "which kinds there are" in play.why_held(SHOP)
    stage.cluster.faults.clear()
    await stage.later(2 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story(also=(PRIORITIES,))
async def test_a_namespace_that_was_kept_a_moment_ago_holds_the_next_owner_of_no_namespace(
    stage: Stage,
) -> None:
    await stage.play()
    await stage.namespace("second")
    await stage.make("own-a", "1m", resource=PRIORITIES)
    owner = await stage.make("own-b", "61s", resource=PRIORITIES)
    await stage.make("dep", namespace="second", owner=owner)
    await stage.until(60.2)
    assert not stage.there("own-a", PRIORITIES)
    await stage.label("second", resource=NAMESPACES, keep="true")
    await stage.until(3 * MINUTE)
    assert stage.there("own-b", PRIORITIES)
    assert stage.there("dep", CONFIG_MAPS, "second")


@story(also=(PRIORITIES,))
async def test_what_owns_what_is_read_once_for_owners_that_go_together(stage: Stage) -> None:
    play = await stage.play()
    for number in range(30):
        await stage.make(f"own-{number}", "10m", resource=PRIORITIES)
    await stage.until(10 * MINUTE + 1)
    assert not [name for name in stage.found(PRIORITIES) if name.startswith("own-")]
    assert len(asked(play, "/apis/scheduling.k8s.io/v1/priorityclasses")) <= 6


@story(also=(PRIORITIES,))
async def test_however_slow_the_server_what_owns_what_is_no_older_than_ten_seconds(stage: Stage) -> None:
    await stage.play()
    await stage.namespace("second", labels={"skoupa.dev/keep": "true"})
    await stage.make("own-a", "10m", resource=PRIORITIES)
    owner = await stage.make("own-b", "630s", resource=PRIORITIES)
    await stage.until(9 * MINUTE)
    stage.cluster.faults.delay(2.0, when=asking(method="GET", kind="configmaps"), times=None)
    await stage.until(620)
    assert not stage.there("own-a", PRIORITIES)
    await stage.make("dep", namespace="second", owner=owner)
    await stage.until(HOUR)
    assert stage.there("dep", CONFIG_MAPS, "second")
    assert stage.there("own-b", PRIORITIES)
