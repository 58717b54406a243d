"""What a policy chose and what did not go within moments: its conditions are asked again before it goes, as things are by then."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, PODS
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.braking import brakes, many, pull, release
from tests.unit.controller.policies import (
    HOURLY,
    bring_policies,
    cleanup,
    conditions,
    deleting,
    matching,
    read,
)
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

RULE = "ClusterCleanupPolicy/tidy"
DELETES = asking(verb="delete", kind="configmaps")
PODS_OF_THE_SHOP = {
    "name": "pods",
    "apiCall": {"urlPath": f"/api/v1/namespaces/{SHOP}/pods", "jmesPath": "items[].metadata.name"},
}
NO_PODS: dict[str, Any] = {
    "context": [PODS_OF_THE_SHOP],
    "conditions": {"all": [{"key": "{{ length(pods) }}", "operator": "Equals", "value": 0}]},
}


def early(seconds: float, stage: Stage) -> dict[str, Any]:
    """Meets its condition until so many seconds from now."""
    moment = stage.time(seconds)
    key = f"{{{{ time_before(time_now_utc(), '{moment}') }}}}"
    return {"conditions": {"all": [{"key": key, "operator": "Equals", "value": True}]}}


def lists(play: Play, name: str = "") -> list[Request]:
    """Those of a policy's run, or of one object."""
    field = ("fieldSelector", f"metadata.name={name}")
    return [
        request
        for _, request in play.wire.seen
        if request.verb == "list"
        and request.path.endswith(f"namespaces/{SHOP}/configmaps")
        and not any(key in {"watch", "labelSelector"} for key, _ in request.query)
        and (field in request.query if name else not any(key == "fieldSelector" for key, _ in request.query))
    ]


def _asks_for_pods(request: Request) -> bool:
    return request.path.endswith(f"namespaces/{SHOP}/pods")


@pytest.mark.parametrize("count", [3, 80])
@story(brakes={"share": 100})
async def test_what_a_brake_held_goes_only_if_the_context_lets_it_go_now(stage: Stage, count: int) -> None:
    await bring_policies(stage)
    stage.old(many(count))
    play = await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 5)
    await stage.make("one", resource=PODS)
    await release(stage, "wait")
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == count
    assert (await read(stage))["status"]["lastRun"]["held"] == 0
    message = (await conditions(stage))["LastRunSucceeded"]["message"]
    assert (
        message == f"matched {count}, deleted 0, held 0, failed 0; asked again: {count} do not match any more"
    )
    stays = play.told("stays")
    assert {line["name"] for line in stays} == set(many(count))
    assert (len(stays), {line["policy"] for line in stays}) == (count, {RULE})
    assert all(line["why"].startswith("asked again: ") for line in stays)


@story()
async def test_what_an_exception_spares_when_it_is_asked_about_again_is_told_with_it(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(60))
    play = await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await deleting(stage, "object.metadata.name.startsWith('web-')")
    await stage.until(HOUR + 5)
    spare = {
        "apiVersion": POLICY_EXCEPTIONS.api_version,
        "kind": POLICY_EXCEPTIONS.kind,
        "metadata": {"name": "spare"},
        "spec": {"policyRefs": [{"name": "cel", "kind": "DeletingPolicy"}]},
    }
    await stage.people.create(POLICY_EXCEPTIONS, spare, namespace=SHOP)
    await release(stage, "wait")
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 60
    assert {line["why"] for line in play.told("stays")} == {
        "asked again: the PolicyException shop/spare exempts it from DeletingPolicy/cel"
    }


@pytest.mark.parametrize("count", [3, 80])
@story(brakes={"share": 100})
async def test_what_a_brake_held_goes_when_its_conditions_are_met_still(stage: Stage, count: int) -> None:
    await bring_policies(stage)
    stage.old(many(count))
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 20 * MINUTE)
    assert len(stage.found()) == count
    await release(stage, "wait")
    await stage.later(10)
    assert not stage.found()
    assert (await read(stage))["status"]["lastRun"] == {
        "matched": count,
        "deleted": count,
        "held": 0,
        "failed": 0,
    }


IN_DEV = {"matchLabels": {"env": "dev"}}


@story(rate={"deletionsPerSecond": 2}, brakes={"share": 100})
async def test_a_label_taken_off_a_namespace_while_its_objects_go_keeps_the_rest(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    stage.old(many(20))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, match=matching(names=["web-*"], namespaceSelector=IN_DEV))
    await stage.until(HOUR + 3)
    gone = 20 - len(stage.found())
    assert 0 < gone < 10
    await stage.label(SHOP, resource=NAMESPACES, env=None)
    await stage.later(2 * MINUTE)
    assert len(stage.found()) == 20 - gone
    assert len(play.sent("DELETE", path="configmaps")) == gone
    assert "do not match any more" in (await conditions(stage))["LastRunSucceeded"]["message"]


@story(brakes={"share": 100})
async def test_a_label_taken_off_a_namespace_during_a_long_run_keeps_all(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    stage.old(many(20))
    play = await stage.play()
    await cleanup(
        stage, schedule=HOURLY, match=matching(names=["web-*"], namespaceSelector=IN_DEV), **NO_PODS
    )
    await stage.until(HOUR - 1)
    stage.cluster.faults.delay(4, when=_asks_for_pods, times=None)
    await stage.until(HOUR + 2)
    await stage.label(SHOP, resource=NAMESPACES, env=None)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 20
    assert not play.sent("DELETE", path="configmaps")


@story()
async def test_what_a_brake_held_stays_when_its_namespace_does_not_match_any_more(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    stage.old(many(3))
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    dev = {"matchLabels": {"env": "dev"}}
    await cleanup(stage, schedule=HOURLY, match=matching(names=["web-*"], namespaceSelector=dev))
    await stage.until(HOUR + 5)
    await stage.label(SHOP, resource=NAMESPACES, env="prod")
    await release(stage, "wait")
    await stage.later(MINUTE)
    assert len(stage.found()) == 3


@story()
async def test_what_a_brake_held_is_asked_again_of_cel_too(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await deleting(stage, f"resource.List('v1', 'pods', '{SHOP}').items.size() == 0")
    await stage.until(HOUR + 20)
    await stage.make("one", resource=PODS)
    await release(stage, "wait")
    await stage.later(MINUTE)
    assert len(stage.found()) == 3


@story()
async def test_a_keep_that_ends_later_lets_nothing_go_whose_time_is_over(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=HOURLY, **early(HOUR + MINUTE, stage))
    await stage.until(HOUR + 5 * MINUTE)
    await stage.label(SHOP, resource=NAMESPACES, keep=None)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 3


@story()
async def test_a_delete_that_was_refused_is_tried_again_only_while_the_conditions_are_met(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    refusal = stage.cluster.faults.answer(422, when=DELETES, times=None, message="ask first")
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 20 * MINUTE)
    assert play.overdue == {"failing": 3}
    assert (await read(stage))["status"]["lastRun"]["failed"] == 3
    await stage.make("one", resource=PODS)
    stage.cluster.faults.remove(refusal)
    await stage.later(5 * MINUTE)
    assert len(stage.found()) == 3
    assert play.overdue == {}


@story()
async def test_a_delete_that_was_refused_goes_within_a_minute_of_its_cause(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    refusal = stage.cluster.faults.answer(422, when=DELETES, times=None, message="ask first")
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 20 * MINUTE)
    stage.cluster.faults.remove(refusal)
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_what_can_not_be_asked_again_stays_and_goes_when_it_can(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 5)
    fault = stage.cluster.faults.answer(500, when=_asks_for_pods, times=None)
    await release(stage, "wait")
    await stage.later(3 * MINUTE)
    assert len(stage.found()) == 3
    assert "what it says of it now is not known" in play.why_held("web-0")
    stage.cluster.faults.remove(fault)
    await stage.later(MINUTE)
    assert not stage.found()


@story(brakes={"share": 100, "maxPerRun": 1000}, rate={"deletionsPerSecond": 10})
async def test_a_long_run_is_not_looked_at_object_by_object(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(900))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 3 * MINUTE)
    assert not stage.found()
    assert await brakes(stage) == set()
    assert 2 <= len(lists(play)) <= 3
    assert not lists(play, "web-899")


@story(brakes={"share": 100, "maxPerRun": 1000}, rate={"deletionsPerSecond": 10})
async def test_a_long_run_ends_when_its_conditions_are_not_met_any_more(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(900))
    await stage.play()
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 20)
    await stage.make("one", resource=PODS)
    await stage.until(HOUR + 5 * MINUTE)
    assert len(stage.found()) > 250


@story(brakes={"share": 100})
async def test_a_run_of_which_nothing_was_held_is_not_looked_at_twice(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(40))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 2 * MINUTE)
    assert not stage.found()
    assert len(lists(play)) == 1
    assert not lists(play, "web-0")


@pytest.mark.parametrize(("about", "again"), [("other", False), ("cel", True)])
@story(brakes={"share": 100}, rate={"deletionsPerSecond": 10})
async def test_only_what_an_exception_is_about_is_looked_at_again_for_it(
    stage: Stage, about: str, *, again: bool
) -> None:
    await bring_policies(stage)
    stage.old(many(200))
    play = await stage.play()
    await deleting(stage, "object.metadata.name.startsWith('web-')")
    await stage.until(HOUR + 5)
    exception = {
        "apiVersion": POLICY_EXCEPTIONS.api_version,
        "kind": POLICY_EXCEPTIONS.kind,
        "metadata": {"name": "spare"},
        "spec": {
            "policyRefs": [{"name": about, "kind": "DeletingPolicy"}],
            "matchConditions": [{"name": "none", "expression": "object.metadata.name == 'nobody'"}],
        },
    }
    await stage.people.create(POLICY_EXCEPTIONS, exception, namespace=SHOP)
    assert len(stage.found()) > 100, "the run has to be under way"
    await stage.later(3 * MINUTE)
    assert not stage.found()
    assert (len(lists(play)) > 1) is again


@story()
async def test_a_change_of_the_object_is_asked_about_once_and_held_ones_not_again_and_again(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY, **NO_PODS)
    await stage.until(HOUR + 50 * MINUTE)
    assert len(lists(play)) == 1
    assert not lists(play, "web-0")
    body = {"metadata": {"annotations": {f"{names.SKOUPA_GROUP}/note": "touched"}}}
    await stage.people.merge_patch(CONFIG_MAPS, "web-0", body, namespace=SHOP)
    await release(stage, "wait")
    await stage.later(MINUTE)
    assert not stage.found()
