"""Right before something goes, who could need it is asked once more; and what can't be read keeps it."""

from __future__ import annotations

import pytest

from skoupa.kube.resources import Resource
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.retaining.scene import KINDS, ON, after, mark_of, remove, said, workload
from tests.unit.controller.stage import DEPLOYMENTS, MINUTE, SECRETS, SHOP, Stage, story

pytestmark = pytest.mark.unit

BUDGETS = Resource(
    group="policy", version="v1", plural="poddisruptionbudgets", kind="PodDisruptionBudget", namespaced=True
)
WEBHOOKS = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    plural="validatingwebhookconfigurations",
    kind="ValidatingWebhookConfiguration",
    namespaced=False,
)


def lists_all_deployments(request: Request) -> bool:
    listed = asking(verb="list", path="/apis/apps/v1/deployments")(request)
    return listed and not any(key == "labelSelector" for key, _ in request.query)


def follows_all_deployments(request: Request) -> bool:
    watched = asking(verb="watch", path="/apis/apps/v1/deployments")(request)
    return watched and not any(key == "labelSelector" for key, _ in request.query)


@story(also=KINDS, features=ON)
async def test_a_user_that_no_watch_told_of_saves_it(stage: Stage) -> None:
    play = await stage.play()
    silent = stage.cluster.faults.silence_watch(when=follows_all_deployments, after=1)
    await stage.make("config", labels=after("unused-1m"))
    await stage.make("other", labels=after("unused-1m"))
    await stage.later(50)
    assert silent.hits == 1
    await workload(stage, "web", "config")
    assert mark_of(stage, "config") is not None
    await stage.later(15)
    assert stage.found() == {"config"}
    assert "Deployment shop/web uses it" in said(play, "config")
    assert mark_of(stage, "config") is None


@story(also=KINDS, features=ON)
async def test_what_is_due_together_costs_one_list_of_each_kind(stage: Stage) -> None:
    play = await stage.play()
    await workload(stage, "web", "elsewhere")
    for number in range(20):
        await stage.make(f"config-{number}", labels=after("unused-5m"))
    await stage.later(4 * MINUTE)
    before = len(play.wire.seen)
    await stage.later(2 * MINUTE)
    assert not stage.found()
    asked = [one for _, one in play.wire.seen[before:] if asking(verb="list")(one)]
    # Deployments may name a ConfigMap of another namespace in an annotation, Pods can't.
    assert [one.path for one in asked if "deployments" in one.path] == ["/apis/apps/v1/deployments"]
    assert [one.path for one in asked if "pods" in one.path] == [f"/api/v1/namespaces/{SHOP}/pods"]


@story(also=KINDS, features=ON)
async def test_while_who_could_use_it_can_not_be_asked_it_stays_and_goes_when_that_is_over(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(MINUTE)
    stage.cluster.faults.answer(500, when=lists_all_deployments, seconds=10 * MINUTE)
    await stage.later(9 * MINUTE)
    assert stage.there("config")
    assert "could not be asked once more" in play.why_held("config")
    await stage.later(3 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_a_kind_that_may_not_be_read_holds_and_is_named(stage: Stage) -> None:
    stage.cluster.deny(user="skoupa", verbs=("list", "watch"), resources=("deployments.apps",))
    play = await stage.play(user="skoupa")
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(10 * MINUTE)
    assert stage.there("config")
    assert mark_of(stage, "config") is None
    assert "deployments.apps can't be read" in said(play, "config")
    assert play.engine.retention is not None
    assert play.engine.retention.feeds.unread() == 1
    stage.cluster.plane.access.clear()
    await stage.later(7 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON, usage={"ignoreKinds": ["deployments.apps"]})
async def test_a_kind_that_the_settings_waive_does_not_hold(stage: Stage) -> None:
    stage.cluster.deny(user="skoupa", verbs=("list", "watch"), resources=("deployments.apps",))
    play = await stage.play(user="skoupa")
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(7 * MINUTE)
    assert not stage.there("config")
    assert play.engine.retention is not None
    assert play.engine.retention.feeds.unread() == 0


@story(also=KINDS, features=ON)
async def test_a_watch_that_breaks_holds_what_is_due_and_keeps_its_mark(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    await stage.later(MINUTE)
    marked = mark_of(stage, "config")
    stage.cluster.faults.answer(500, when=asking(path="/apis/apps/v1/deployments"), seconds=10 * MINUTE)
    stage.cluster.restart()
    await stage.later(8 * MINUTE)
    assert stage.there("config")
    assert mark_of(stage, "config") == marked
    assert "deployments.apps can't be read" in play.why_held("config")
    await stage.later(4 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_a_user_that_came_and_went_while_it_was_asked_starts_the_time_anew(stage: Stage) -> None:
    await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    stage.cluster.faults.delay(20.0, when=lists_all_deployments, times=1)
    await stage.later(5 * MINUTE + 5)
    await workload(stage, "web", "config")
    await stage.later(MINUTE)
    assert stage.there("config")
    await remove(stage, "web", resource=DEPLOYMENTS)
    await stage.later(4 * MINUTE)
    assert stage.there("config")
    await stage.later(2 * MINUTE)
    assert not stage.there("config")


@story(also=KINDS, features=ON)
async def test_a_server_that_is_slow_to_take_a_delete_does_not_keep_it_for_ever(stage: Stage) -> None:
    await stage.play()
    await stage.make("config", labels=after("unused-5m"))
    # What is read right before the delete takes longer than the answer is good for.
    slow = asking(verb="list", path="/api/v1/namespaces", kind="namespaces")
    stage.cluster.faults.delay(8.0, when=slow, times=None)
    stage.cluster.faults.delay(8.0, when=asking(method="GET", path="/api/v1/namespaces/shop"), times=None)
    await stage.later(8 * MINUTE)
    assert not stage.there("config")


@story(also=(*KINDS, WEBHOOKS), features=ON)
async def test_what_can_not_be_asked_holds_only_what_it_could_matter_for_and_is_named(stage: Stage) -> None:
    play = await stage.play()
    # A webhook may be given a certificate out of a Secret, and never has to do with a ConfigMap.
    await stage.make("config", labels=after("unused-5m"))
    await stage.make("secret", labels=after("unused-5m"), resource=SECRETS)
    await stage.later(MINUTE)
    webhooks = asking(verb="list", path=WEBHOOKS.path())
    stage.cluster.faults.answer(500, when=webhooks, seconds=20 * MINUTE)
    await stage.later(6 * MINUTE)
    assert not stage.there("config")
    assert stage.there("secret", SECRETS)
    assert "validatingwebhookconfigurations.admissionregistration.k8s.io: " in play.why_held("secret")
    # Nor does one that can't be asked about keep what comes later waiting.
    await stage.make("later", labels=after("unused-1m"))
    await stage.later(2 * MINUTE)
    assert not stage.there("later")
    await stage.later(14 * MINUTE)
    assert not stage.there("secret", SECRETS)


@story(also=(*KINDS, BUDGETS), features=ON)
async def test_a_name_in_an_annotation_counts_though_nothing_else_asks_for_that_kind(stage: Stage) -> None:
    """The same as `skoupa unused` says of it, and as soon as it is written."""
    play = await stage.play()
    for name in ("config", "other", "free"):
        await stage.make(name, labels=after("unused-5m"))
    said_so = {"example.com/settings": "config"}
    await stage.make("by", resource=BUDGETS, annotations=said_so)
    await stage.later(4 * MINUTE)
    assert "PodDisruptionBudget shop/by" in said(play, "config")
    # Right before the delete, which no watch tells of.
    stage.cluster.faults.silence_watch(when=asking(verb="watch", path=BUDGETS.path()), after=0)
    await stage.make("late", resource=BUDGETS, annotations={"example.com/settings": "other"})
    await stage.later(4 * MINUTE)
    assert stage.found() == {"config", "other"}


@story(also=KINDS, features=ON)
async def test_one_namespace_that_can_not_be_asked_about_holds_nothing_of_another(stage: Stage) -> None:
    await stage.play()
    await stage.namespace("other")
    await stage.make("here", labels=after("unused-5m"))
    await stage.make("there", labels=after("unused-5m"), namespace="other")
    pods = asking(verb="list", path="/api/v1/namespaces/other/pods")
    stage.cluster.faults.answer(500, when=pods, seconds=20 * MINUTE)
    await stage.later(7 * MINUTE)
    assert not stage.there("here")
    assert stage.there("there", namespace="other")
    await stage.later(16 * MINUTE)
    assert not stage.there("there", namespace="other")
