"""What comes to be known while a delete is on its way: it is judged once more as it leaves, each time it leaves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa.errors import NotFound
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.stage import APPS, DEPLOYMENTS, HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_refusals import names_a_state

pytestmark = pytest.mark.unit

DELETES = asking(method="DELETE")


def is_trial(request: Request) -> bool:
    return request.method == "DELETE" and b"dryRun" in request.body


@story()
async def test_a_keep_label_on_what_is_inside_counts_while_the_namespace_is_looked_into(stage: Stage) -> None:
    play = await stage.play()
    await stage.namespace("team")
    await stage.make("precious", namespace="team")
    slow = asking(verb="list", path="/api/v1/namespaces/team/configmaps")
    # Once to count what goes along, once to look for what is kept.
    stage.cluster.faults.delay(6.0, when=slow, times=2)
    await stage.label("team", resource=NAMESPACES, ttl="5s")
    await stage.later(14)
    assert not play.sent("DELETE")
    await stage.label("precious", namespace="team", keep="true")
    await stage.later(HOUR)
    assert "team" in stage.found(NAMESPACES)
    assert stage.there("precious", namespace="team")
    assert "precious" in play.why_held("team")


@story()
async def test_a_keep_label_on_its_namespace_counts_while_a_busy_server_makes_it_wait(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=6)
    await stage.until(62)
    assert play.sent("DELETE", path="configmaps")
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.later(HOUR)
    assert stage.there("web")
    assert len(play.sent("DELETE", path="configmaps")) == 1
    assert play.why_held("web").startswith("kept: its Namespace has the label")


@story(also=APPS)
async def test_a_keep_label_on_a_dependent_counts_while_its_owner_is_tried_again(stage: Stage) -> None:
    await stage.play()
    owner = await stage.make("web", "1m", resource=DEPLOYMENTS)
    await stage.make("dependent", owner=owner)
    stage.cluster.faults.answer(503, when=DELETES, times=1, retry_after=4)
    await stage.until(62)
    await stage.label("dependent", keep="true")
    await stage.later(HOUR)
    assert stage.there("web", DEPLOYMENTS)
    assert stage.there("dependent")


@story()
async def test_a_label_that_is_taken_off_counts_while_a_busy_server_makes_it_wait(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=6)
    await stage.until(62)
    await stage.label("web", ttl=None)
    await stage.later(HOUR)
    assert stage.there("web")
    # That it was labelled no more may also mean that it is gone: the server knows, by the state that was judged.
    assert all(b"resourceVersion" in request.body for _, request in play.sent("DELETE", path="configmaps"))


@story()
async def test_a_label_that_is_taken_off_saves_what_would_have_gone_by_its_uid_alone(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(409, when=DELETES, times=2)
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=6)
    await stage.until(62)
    assert len(play.sent("DELETE", path="configmaps")) == 3
    await stage.label("web", ttl=None)
    await stage.later(HOUR)
    assert stage.there("web")
    assert len(play.sent("DELETE", path="configmaps")) == 3


@story()
async def test_a_namespace_that_is_written_to_all_the_time_never_goes_by_its_uid_alone(stage: Stage) -> None:
    play = await stage.play()
    await stage.namespace("team")
    stage.cluster.faults.answer(409, when=DELETES, times=20)
    await stage.label("team", resource=NAMESPACES, ttl="1m")
    await stage.later(HOUR)
    assert "team" not in stage.found(NAMESPACES)
    sent = play.sent("DELETE", path="/namespaces/team")
    assert len(sent) == 21
    assert all(b"resourceVersion" in request.body for _, request in sent)


@story()
async def test_conflicts_without_end_are_told_and_tried_with_pauses(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m", annotations={"cleanup.kyverno.io/propagation-policy": "Foreground"})
    stage.cluster.faults.answer(409, when=DELETES, times=None, seconds=HOUR)
    await stage.later(10 * MINUTE)
    assert stage.there("web")
    assert play.told("delete failed", "web")
    assert play.overdue == {"failing": 1}
    # Nine minutes with pauses of up to 45 s, six requests each.
    assert len(play.sent("DELETE", path="configmaps")) < 6 * 40
    await stage.later(HOUR)
    assert not stage.there("web")


@pytest.mark.parametrize("change", [{"keep": "true"}, {"ttl": "30d"}], ids=["kept", "extended"])
@story()
async def test_nothing_goes_by_its_uid_alone_on_what_a_feed_that_is_frozen_knows(
    stage: Stage, change: dict[str, Any]
) -> None:
    stage.cluster.faults.silence_watch(when=asking(kind="configmaps"), times=None, after=20)
    play = await stage.play()
    await stage.make("web", "1m")
    for number in range(45):
        await stage.make(f"other-{number}", "1h", keep="false")
    await stage.until(50)
    stage.cluster.faults.answer(409, when=DELETES, times=2)
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=6)
    await stage.until(62)
    assert len(play.sent("DELETE", path="configmaps")) == 3, "the third, by its uid alone, has to wait"
    await stage.label("web", **change)
    await stage.later(MINUTE)
    assert stage.there("web")


@story(protect={"names": ["ConfigMap/vault"]})
async def test_a_namespace_whose_delete_had_to_wait_is_looked_into_again(stage: Stage) -> None:
    play = await stage.play()
    await stage.namespace("team")
    await stage.label("team", resource=NAMESPACES, ttl="1m")
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=20)
    await stage.until(65)
    assert len(play.sent("DELETE")) == 1
    await stage.make("vault", namespace="team")
    await stage.later(10 * MINUTE)
    assert stage.there("vault", namespace="team")
    assert "vault" in play.why_held("team")


@story()
async def test_a_namespace_whose_watch_is_frozen_is_read_again_when_a_delete_had_to_wait(
    stage: Stage,
) -> None:
    stage.cluster.faults.silence_watch(when=asking(kind="namespaces"), times=None, after=40)
    play = await stage.play()
    await stage.make("web", "10m")
    await stage.until(10 * MINUTE - 40)
    for number in range(45):
        await stage.namespace(f"other-{number}")
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=20)
    await stage.until(10 * MINUTE + 5)
    assert len(play.sent("DELETE")) == 1
    await stage.label(SHOP, resource=NAMESPACES, keep="true")
    await stage.later(MINUTE)
    assert stage.there("web")


@story()
async def test_a_delete_that_only_had_to_wait_goes_at_once_after_another_look(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(429, when=DELETES, times=1, retry_after=20)
    await stage.until(90)
    assert not stage.there("web")
    assert not play.told("delete failed")
    first, second = (at for at, _ in play.sent("DELETE"))
    assert second - first < 21


async def heartbeat(stage: Stage, name: str) -> None:
    beat = 0
    while True:
        beat += 1
        try:
            await stage.people.merge_patch(CONFIG_MAPS, name, {"data": {"beat": str(beat)}}, namespace=SHOP)
        except NotFound:
            return
        await stage.clock.sleep(0.3)


@pytest.mark.parametrize("takes", [1.5, 3.0, 8.0], ids=lambda takes: f"{takes} s")
@story()
async def test_nothing_goes_by_its_uid_alone_behind_a_slow_webhook(stage: Stage, *, takes: float) -> None:
    play = await stage.play()
    await stage.make("busy", "10s")
    slow = stage.cluster.faults.delay(takes, when=DELETES, times=None)
    beating = asyncio.create_task(heartbeat(stage, "busy"))
    await stage.until(3 * MINUTE)
    sent = [request for _, request in play.sent("DELETE", path="busy") if not is_trial(request)]
    assert len(sent) > 6
    assert all(b"resourceVersion" in request.body for request in sent)
    told = play.told("delete failed", "busy")
    assert len(told) == 1
    assert "does not go by its uid alone, since deletes here take longer than 1 s" in told[0]["error"]
    assert "look for a slow admission webhook" in told[0]["error"]
    await stage.label("busy", keep="true")
    await stage.later(MINUTE)
    assert stage.there("busy")
    await stage.label("busy", keep=None)
    # Once deletes there are quick again it goes, however busy it is.
    stage.cluster.faults.remove(slow)
    await stage.later(MINUTE)
    assert not stage.there("busy")
    await beating


@story()
async def test_two_slow_deletes_do_not_keep_a_busy_object(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("busy", "10s")
    stage.cluster.faults.delay(1.3, when=DELETES, times=2)
    stage.cluster.faults.answer(409, when=names_a_state, times=None, message="the object has been modified")
    await stage.until(15)
    assert not stage.there("busy")
    *_, last = play.sent("DELETE", path="busy")
    assert not is_trial(last[1])
    assert [is_trial(request) for _, request in play.sent("DELETE")].count(True) == 1
    assert not play.told("delete failed")


@story()
async def test_a_conflict_that_comes_before_a_slow_webhook_is_asked_clears_nothing(stage: Stage) -> None:
    """The server looks at the state first: an object that is written to all the time may never come to the webhook."""
    play = await stage.play()
    await stage.make("busy", "10s")
    stage.cluster.faults.delay(1.3, when=DELETES, times=2)
    stage.cluster.faults.delay(
        1.3, when=lambda request: DELETES(request) and not names_a_state(request), times=None
    )
    stage.cluster.faults.answer(409, when=names_a_state, times=None, message="the object has been modified")
    await stage.until(3 * MINUTE)
    assert stage.there("busy")
    assert "deletes here take longer than 1 s" in play.told("delete failed", "busy")[-1]["error"]


@story()
async def test_that_deletes_were_slow_is_forgotten_after_a_while_where_none_can_be_tried_out(
    stage: Stage,
) -> None:
    stage.cluster.faults.answer(
        400, when=is_trial, times=None, message="the webhook does not support dry run"
    )
    await stage.play()
    await stage.make("busy", "10s")
    slow = stage.cluster.faults.delay(1.5, when=DELETES, times=None)
    beating = asyncio.create_task(heartbeat(stage, "busy"))
    await stage.until(MINUTE)
    stage.cluster.faults.remove(slow)
    stage.cluster.faults.answer(409, when=names_a_state, times=None, message="the object has been modified")
    await stage.later(5 * MINUTE)
    assert stage.there("busy")
    await stage.later(7 * MINUTE)
    assert not stage.there("busy")
    await beating
