"""What stands in the way of a delete: conflicts, refusals, failures. Nothing is lost, nothing goes wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import msgspec
import pytest

from skoupa import names
from skoupa.controller.gauges import gauges_of
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.kube.transport import Request
from skoupa.sim.faults import Fault, asking
from skoupa.sim.state.access import User
from skoupa.sim.state.admission import Operation, Refuse
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

DELETES = asking(method="DELETE")


def preconditions(request: Request) -> dict[str, str]:
    found = msgspec.json.decode(request.body)["preconditions"]
    assert isinstance(found, dict)
    return found


class Refusing:
    """An admission webhook that refuses deletes until it is told not to."""

    def __init__(self) -> None:
        self.refuses = True
        self.asked = 0

    def __call__(
        self,
        operation: Operation,
        resource: Resource,
        obj: Mapping[str, Any] | None,
        old: Mapping[str, Any] | None,
        user: User,
    ) -> Refuse | None:
        if operation != "DELETE" or not self.refuses:
            return None
        self.asked += 1
        return Refuse("not on a Friday")


def names_a_state(request: Request) -> bool:
    return request.method == "DELETE" and "resourceVersion" in preconditions(request)


@story()
async def test_every_delete_names_the_very_state_that_was_judged(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.make("web", "1m")
    await stage.until(61)
    ((_, request),) = play.sent("DELETE")
    assert preconditions(request) == {
        "uid": made["metadata"]["uid"],
        "resourceVersion": made["metadata"]["resourceVersion"],
    }


@story()
async def test_the_user_agent_of_a_delete_names_mechanism_and_rule(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.until(61)
    ((_, request),) = play.sent("DELETE")
    agent = dict(request.headers)["User-Agent"]
    assert agent.startswith("skoupa/")
    assert agent.endswith("(ttl; cleanup.kyverno.io/ttl=1m)")


@story()
async def test_a_busy_object_goes_after_three_equal_verdicts_by_its_uid_alone(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.make("web", "1m")
    stage.cluster.faults.answer(409, when=names_a_state, times=None, message="the object has been modified")
    await stage.until(61)
    assert not stage.there("web")
    sent = [preconditions(request) for _, request in play.sent("DELETE")]
    assert [("resourceVersion" in one) for one in sent] == [True, True, False]
    assert {one["uid"] for one in sent} == {made["metadata"]["uid"]}


@pytest.mark.parametrize(
    "annotation",
    [
        (names.REFRESHED_AT_ANNOTATION, "2026-01-01T00:00:00Z"),
        (names.PROPAGATION_POLICY_ANNOTATION, "Orphan"),
    ],
    ids=lambda one: one[0],
)
@story()
async def test_a_busy_object_whose_annotations_have_a_say_never_goes_by_its_uid_alone(
    stage: Stage, annotation: tuple[str, str]
) -> None:
    play = await stage.play()
    await stage.make("web", "1m", annotations=dict([annotation]))
    stage.cluster.faults.answer(409, when=names_a_state, times=None, message="the object has been modified")
    await stage.until(3 * MINUTE)
    assert stage.there("web")
    sent = [preconditions(request) for _, request in play.sent("DELETE")]
    assert len(sent) > 3
    assert all("resourceVersion" in one for one in sent)


@story()
async def test_a_label_that_is_removed_between_judging_and_deleting_saves_the_object(stage: Stage) -> None:
    """The feed is silent, so nobody but the server knows of the change."""
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.until(30)
    _silence(stage)
    await stage.label("web", ttl=None)
    await stage.until(10 * MINUTE)
    assert stage.there("web")
    assert len(play.sent("DELETE")) >= 1


@story()
async def test_a_keep_label_that_nobody_told_us_of_saves_the_object_and_is_remembered(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    await stage.label(SHOP, resource=NAMESPACES, ttl="5m")
    await stage.until(30)
    _silence(stage)
    await stage.label("web", keep="true")
    await stage.until(4 * MINUTE)
    assert stage.there("web")
    assert "kept by its label" in play.why_held("web")
    await stage.until(10 * MINUTE)
    assert "ConfigMap shop/web" in play.why_held(SHOP)


@story()
async def test_a_keep_label_that_only_a_conflict_told_of_holds_the_owner_too(stage: Stage) -> None:
    """When the watch is back it brings nothing new: the object is known in that very state already."""
    play = await stage.play()
    owner = await stage.make("parent", "10m")
    await stage.make("child", "1m", owner=owner)
    await stage.until(30)
    silence = _silence(stage)
    await stage.label("child", keep="true")
    await stage.until(3 * MINUTE)
    assert "kept by its label" in play.why_held("child")
    stage.cluster.faults.remove(silence)
    await stage.until(15 * MINUTE)
    assert stage.found() == {"parent", "child"}
    assert "ConfigMap shop/child" in play.why_held("parent")


def _silence(stage: Stage) -> Fault:
    """From now on no watch of ConfigMaps brings anything; that of kept ones is frozen, which nobody notices for a while."""

    def follows(labels: str) -> Callable[[Request], bool]:
        watches = asking(verb="watch", kind="configmaps")
        return lambda request: watches(request) and ("labelSelector", labels) in request.query

    fault = stage.cluster.faults.unreachable(when=follows(names.TTL_LABEL), times=None)
    stage.cluster.faults.silence_watch(when=follows(names.KEEP_LABEL), times=1, after=1)
    stage.cluster.restart()
    return fault


@story()
async def test_an_object_that_was_re_created_in_the_gap_survives(stage: Stage) -> None:
    play = await stage.play()
    first = await stage.make("web", "1m")
    await stage.until(30)
    _silence(stage)
    await stage.people.delete(
        CONFIG_MAPS, "web", namespace=SHOP, uid=first["metadata"]["uid"], propagation="Background"
    )
    await stage.later(1)
    second = await stage.make("web", "1h")
    await stage.until(10 * MINUTE)
    (found,) = (one for one in stage.cluster.objects(CONFIG_MAPS) if one["metadata"]["name"] == "web")
    assert found["metadata"]["uid"] == second["metadata"]["uid"]
    assert play.told("gone already", "web")


@story()
async def test_an_object_that_is_gone_already_is_done(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.make("web", "1m")
    await stage.until(30)
    _silence(stage)
    await stage.people.delete(
        CONFIG_MAPS, "web", namespace=SHOP, uid=made["metadata"]["uid"], propagation="Background"
    )
    await stage.until(2 * MINUTE)
    assert len(play.told("gone already", "web")) == 1
    assert not play.told("deleted", "web")
    assert play.overdue == {}


@story()
async def test_a_404_that_was_not_true_is_not_believed_for_ever(stage: Stage) -> None:
    """A proxy on the way, or a server that has not read its definitions yet, answers 404 too."""
    await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.answer(404, when=DELETES, times=1)
    await stage.until(59 + 2 * MINUTE)
    assert not stage.there("web")


@pytest.mark.parametrize("status", [429, 500, 503, 504])
@story()
async def test_a_server_in_trouble_is_tried_until_it_is_well(stage: Stage, status: int) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    fault = stage.cluster.faults.answer(status, when=DELETES, times=None, retry_after=1)
    await stage.until(20 * MINUTE)
    assert play.overdue == {"failing": 1}
    stage.cluster.faults.remove(fault)
    await stage.later(MINUTE)
    assert not stage.there("web")
    assert play.overdue == {}


@pytest.mark.parametrize("trouble", ["unreachable", "lost answer", "no answer"])
@story()
async def test_connections_that_break_lose_nothing_and_double_nothing(stage: Stage, trouble: str) -> None:
    play = await stage.play()
    for number in range(20):
        await stage.make(f"web-{number}", "1m")
    faults = stage.cluster.faults
    if trouble == "unreachable":
        faults.unreachable(when=DELETES, times=60)
    elif trouble == "lost answer":
        faults.disconnect(when=DELETES, times=60, done=True)
    else:
        faults.delay(45, when=DELETES, times=20)
    await stage.until(20 * MINUTE)
    assert not stage.found()
    told = [line["name"] for line in play.lines if line["event"] in {"deleted", "gone already"}]
    assert sorted(told) == sorted(f"web-{number}" for number in range(20))
    assert play.overdue == {}


@story()
async def test_after_two_hundred_refusals_it_goes_within_a_minute_of_the_cause_being_removed(
    stage: Stage,
) -> None:
    refusing = Refusing()
    stage.cluster.admit(refusing)
    play = await stage.play()
    await stage.make("web", "1m")
    while refusing.asked < 200:
        await stage.later(10 * MINUTE)
        assert stage.now < 4 * HOUR
    (failed,) = play.told("delete failed", "web")
    assert "not on a Friday" in failed["error"]
    moments = [at for at, _ in play.sent("DELETE")]
    assert max(later - earlier for earlier, later in pairwise(moments)) <= 46
    refusing.refuses = False
    await stage.later(MINUTE)
    assert not stage.there("web")


@story()
async def test_a_webhook_that_refuses_many_is_no_storm_of_access_reviews(stage: Stage) -> None:
    refusing = Refusing()
    stage.cluster.admit(refusing)
    play = await stage.play()
    for number in range(200):
        await stage.make(f"web-{number}", "1m")
    await stage.until(MINUTE)
    before = len(play.sent("POST", path="authorization.k8s.io"))
    await stage.until(11 * MINUTE)
    assert refusing.asked > 2000
    assert len(play.sent("POST", path="authorization.k8s.io")) - before <= 300


@story()
async def test_a_busy_failing_object_is_not_tried_more_often_for_being_busy(stage: Stage) -> None:
    refusing = Refusing()
    stage.cluster.admit(refusing)
    play = await stage.play()
    await stage.make("web", "1m")
    for second in range(70, 670, 5):
        await stage.until(second)
        await stage.label("web", beat=str(second))
    assert refusing.asked < 40
    assert len(play.engine.sweeper.agenda) <= 2


@story()
async def test_a_terminating_object_is_not_deleted_again(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m", finalizers=["example.com/slow"])
    await stage.until(2 * MINUTE)
    await stage.label("web", team="b")
    await stage.until(3 * HOUR)
    assert len(play.sent("DELETE")) == 1
    assert stage.there("web")


@story()
async def test_an_object_that_is_being_deleted_by_somebody_else_is_left_to_them(stage: Stage) -> None:
    play = await stage.play()
    made = await stage.make("web", "1m", finalizers=["example.com/slow"])
    await stage.people.delete(
        CONFIG_MAPS, "web", namespace=SHOP, uid=made["metadata"]["uid"], propagation="Background"
    )
    await stage.until(10 * MINUTE)
    assert not play.sent("DELETE")


@story()
async def test_what_is_stuck_is_reported_with_its_finalizers(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m", finalizers=["example.com/slow", "example.com/never"])
    await stage.until(16 * MINUTE - 1)
    assert not play.told("stuck")
    await stage.until(16 * MINUTE + 1)
    (told,) = play.told("stuck", "web")
    assert told["finalizers"] == "example.com/slow, example.com/never"
    (event,) = stage.events("SkoupaStuck", "web")
    assert "waiting for example.com/slow, example.com/never" in event["note"]
    assert play.value("skoupa_stuck_total", kind="configmaps") == 1
    assert play.overdue == {"terminating": 1}


@pytest.mark.parametrize("stuck_after", ["15m", "90m"])
@story()
async def test_what_is_stuck_is_reported_by_the_next_leader_too(stage: Stage, stuck_after: str) -> None:
    play = await stage.play(stuckAfter=stuck_after)
    await stage.make("web", "1m", finalizers=["example.com/never"])
    await stage.until(5 * MINUTE)
    await play.stop()
    play = await stage.play(stuckAfter=stuck_after)
    wait = 15 * MINUTE if stuck_after == "15m" else 90 * MINUTE
    await stage.until(MINUTE + wait + 2)
    assert len(play.told("stuck", "web")) == 1
    await stage.until(MINUTE + 2 * wait + 5)
    assert len(play.told("stuck", "web")) == 2
    assert play.value("skoupa_stuck_total", kind="configmaps") == 1
    assert not play.sent("DELETE")


@story()
async def test_what_is_stuck_is_counted_once_and_told_ever_less_often_until_its_finalizers_change(
    stage: Stage,
) -> None:
    play = await stage.play()
    await stage.make("web", "1m", finalizers=["example.com/slow", "example.com/never"])

    def stuck_now() -> float:
        return gauges_of(play.engine, stage.clock.now())["skoupa_stuck"][()]

    await stage.until(10 * MINUTE)
    assert stuck_now() == 0
    await stage.until(4 * HOUR + 10 * MINUTE)
    assert len(stage.events("SkoupaStuck", "web")) == 1, "the server forgets Events after an hour"
    await stage.until(24 * HOUR)
    assert play.value("skoupa_stuck_total", kind="configmaps") == 1
    assert len(play.told("stuck", "web")) == 7, "each time after twice as long"
    assert stuck_now() == 1
    await stage.people.merge_patch(
        CONFIG_MAPS, "web", {"metadata": {"finalizers": ["example.com/never"]}}, namespace=SHOP
    )
    await stage.later(16 * MINUTE)
    assert play.told("stuck", "web")[-1]["finalizers"] == "example.com/never"
    assert play.value("skoupa_stuck_total", kind="configmaps") == 2
    await stage.people.merge_patch(CONFIG_MAPS, "web", {"metadata": {"finalizers": None}}, namespace=SHOP)
    await stage.later(1)
    assert not stage.there("web")
    assert stuck_now() == 0


@story()
async def test_a_namespace_that_is_stuck_says_what_is_left_in_it(stage: Stage) -> None:
    play = await stage.play()
    await stage.namespace("preview", labels={names.TTL_LABEL: "1m"})
    await stage.make("web", namespace="preview", finalizers=["example.com/never"])
    await stage.until(20 * MINUTE)
    (told,) = play.told("stuck", "preview")
    assert "example.com/never" in told["finalizers"]


@story()
async def test_stopping_starts_nothing_new_however_slow_the_rate(stage: Stage) -> None:
    play: Play = await stage.play(rate={"deletionsPerSecond": 0.1})
    for number in range(300):
        await stage.make(f"web-{number}", "1m")
    await stage.until(85)
    before = stage.now
    await play.stop()
    assert stage.now - before < 1
    assert 290 <= len(stage.found()) <= 299


@story()
async def test_stopping_waits_for_the_delete_that_is_out(stage: Stage) -> None:
    play = await stage.play()
    await stage.make("web", "1m")
    stage.cluster.faults.delay(7, when=DELETES)
    await stage.until(62)
    await play.stop()
    assert stage.now >= 67
    assert play.told("deleted", "web")


@story()
async def test_never_more_a_second_than_the_rate_allows(stage: Stage) -> None:
    play = await stage.play(rate={"deletionsPerSecond": 20})
    stage.old([f"web-{number}" for number in range(90)], "1h")
    await stage.later(10)
    moments = [at for at, _ in play.sent("DELETE")]
    assert len(moments) == 90
    for index in range(20, 90):
        assert moments[index] - moments[index - 20] >= 0.999


@story()
async def test_a_keep_label_that_comes_while_the_rate_makes_it_wait_still_counts(stage: Stage) -> None:
    """A kept Pod saves its owner, whose own state does not change."""
    await stage.play(rate={"deletionsPerSecond": 0.05})
    owner = await stage.make("a-parent", "2m")
    await stage.make("child", owner=owner)
    for number in range(8):
        await stage.make(f"first-{number}", "1m")
    await stage.until(2 * MINUTE + 1)
    await stage.label("child", keep="true")
    await stage.until(10 * MINUTE)
    assert stage.found() == {"a-parent", "child"}
