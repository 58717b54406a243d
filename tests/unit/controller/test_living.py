"""Alive and the controller: made, made anew, told about, forced, and let go for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from skoupa.admission.alive import alive_admission
from skoupa.alive.sdk import Participant, register
from skoupa.controller.gauges import gauges_of
from skoupa.errors import NotFound
from skoupa.kinds.alive import ALIVE, ALIVES
from skoupa.kinds.definition import document
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource
from skoupa.kube.transport import Request
from skoupa.settings import decode
from skoupa.sim.faults import Fault, asking
from tests.unit.controller.braking import bring_kind, pull, release, state
from tests.unit.controller.stage import ALL_VERBS, HOUR, MINUTE, Play, Stage, story
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit

GUARDING = [
    Resource(
        group="admissionregistration.k8s.io",
        version="v1",
        plural=plural,
        kind=kind,
        namespaced=False,
        verbs=ALL_VERBS,
    )
    for plural, kind in (
        ("validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
        ("validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    )
]
DNS, DISKS = "dns.example.com/cleanup", "disks.example.com/cleanup"


async def bring(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(ALIVE))
    await stage.people.create(NAMESPACES, {"metadata": {"name": "work"}})
    await stage.later(2)


async def alive(stage: Stage) -> dict[str, Any] | None:
    try:
        return await stage.people.get(ALIVES, "cluster", view=WHOLE)
    except NotFound:
        return None


async def there(stage: Stage) -> dict[str, Any]:
    found = await alive(stage)
    assert found is not None
    return found


async def joined(stage: Stage, finalizer: str) -> Participant:
    name = finalizer.split(".", maxsplit=1)[0]
    return await register(stage.people, finalizer, lease=("work", name), identity=name)


async def begun(stage: Stage, *finalizers: str, **how: Any) -> Play:
    """A controller that leads, and those who take part and never say anything."""
    await bring(stage)
    play = await stage.play(**how)
    await stage.later(MINUTE)
    for finalizer in finalizers:
        await joined(stage, finalizer)
    return play


async def signal(stage: Stage, **spec: Any) -> str:
    if spec:
        await stage.people.merge_patch(ALIVES, "cluster", {"spec": spec})
    uid = str((await there(stage))["metadata"]["uid"])
    patch = {"metadata": {"annotations": {"skoupa.dev/confirm-deletion": uid}}}
    await stage.people.merge_patch(ALIVES, "cluster", patch)
    await stage.people.delete(ALIVES, "cluster", uid=uid, propagation="Background")
    return uid


def said(play: Play, what: str) -> list[str]:
    return [line["note"] for line in play.told("alive") if line["what"] == what]


def condition(found: dict[str, Any], kind: str) -> tuple[str, str]:
    return next(
        (one["status"], one["reason"]) for one in found["status"]["conditions"] if one["type"] == kind
    )


@story(features={"alive": True})
async def test_a_cluster_without_one_gets_one_and_nothing_is_signalled(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    found = await there(stage)
    assert found["metadata"]["finalizers"] == ["skoupa.dev/alive"]
    assert "deletionTimestamp" not in found["metadata"]
    assert found["status"]["phase"] == "Active"
    assert condition(found, "Alive") == ("True", "Living")
    assert len(said(play, "SkoupaAliveMade")) == 1
    assert not said(play, "SkoupaSignalled")
    assert not play.sent("DELETE", path="alives")


@story(features={"alive": True})
async def test_where_it_is_off_or_only_observed_there_is_none(stage: Stage) -> None:
    await bring(stage)
    await stage.play(mode="observe")
    await stage.later(MINUTE)
    assert await alive(stage) is None
    await stage.play(features={"alive": False})
    await stage.later(MINUTE)
    assert await alive(stage) is None


@story(features={"alive": True})
async def test_without_its_kind_that_is_told_and_it_is_made_once_that_is_there(stage: Stage) -> None:
    await bring_kind(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    assert any("no kind Alive" in said for said in play.engine.outlook.degraded)
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(ALIVE))
    await stage.later(MINUTE)
    assert await alive(stage) is not None
    assert not any("no kind Alive" in said for said in play.engine.outlook.degraded)


@story(features={"alive": True})
async def test_one_that_vanished_without_having_been_deleted_is_made_anew_and_loudly(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    before = (await there(stage))["metadata"]["uid"]
    # Everything taken off, and gone within a moment: nobody could see a deletion.
    await stage.people.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
    await stage.people.delete(ALIVES, "cluster", uid=before, propagation="Background")
    await stage.later(MINUTE)
    found = await there(stage)
    assert found["metadata"]["uid"] != before
    assert "deletionTimestamp" not in found["metadata"]
    assert len(said(play, "SkoupaAliveVanished")) == 1
    [event] = stage.events("SkoupaAliveVanished")
    assert event["type"] == "Warning"


async def vanish(stage: Stage) -> None:
    """Everything taken off, and gone within a moment: nobody could see a deletion."""
    uid = (await there(stage))["metadata"]["uid"]
    await stage.people.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
    await stage.people.delete(ALIVES, "cluster", uid=uid, propagation="Background")
    await stage.later(MINUTE)


@story(features={"alive": True})
async def test_one_that_is_made_anew_wants_what_the_last_one_wanted_and_nobody_is_on_it(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    spec = {
        "timeout": "2h",
        "blockCreation": True,
        "preserve": [{"kind": "Service", "names": ["web"], "until": "2030-01-01T00:00:00Z"}],
    }
    await stage.people.merge_patch(ALIVES, "cluster", {"spec": spec})
    await stage.later(MINUTE)
    await play.kill()
    play = await stage.play()
    await vanish(stage)
    shipped = {"deletionPolicy": "Signal", "onTimeout": "Fail", "onUnreachable": "Fail"}
    assert (await there(stage))["spec"] == {**shipped, **spec}
    [note] = said(play, "SkoupaAliveVanished")
    assert "with the spec that it had" in note


@story(features={"alive": True})
async def test_where_it_is_not_known_what_the_last_one_wanted_that_is_told(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    long = [{"names": [f"{number}-{'x' * 300}" for number in range(each, each + 400)]} for each in range(2)]
    await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"preserve": long}})
    await stage.later(MINUTE)
    await vanish(stage)
    assert "preserve" not in (await there(stage))["spec"]
    [note] = said(play, "SkoupaAliveVanished")
    assert "look at spec.preserve" in note


@story(features={"alive": True})
async def test_where_nobody_can_tell_whether_one_has_ended_none_is_made(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await signal(stage)
    await stage.later(MINUTE)
    await play.kill()
    await stage.people.merge_patch(
        CONFIG_MAPS, "skoupa-state", {"data": {"alive": "{tombstone"}}, namespace="skoupa"
    )
    play = await stage.play()
    await stage.later(HOUR)
    assert await alive(stage) is None
    assert any("so no Alive is made" in told for told in play.engine.outlook.degraded)
    body = {"apiVersion": ALIVES.api_version, "kind": "Alive", "metadata": {"name": "cluster"}}
    await stage.people.create(ALIVES, body)
    await stage.later(MINUTE)
    assert not any("so no Alive is made" in told for told in play.engine.outlook.degraded)
    assert (await there(stage))["metadata"]["finalizers"] == ["skoupa.dev/alive"]


@story(features={"alive": True})
async def test_a_deletion_waits_for_everybody_and_is_over_for_good(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns, disks = await joined(stage, DNS), await joined(stage, DISKS)
    uid = await signal(stage)
    await dns.report(remaining=2, message="removing records")
    await disks.report(remaining=5, message="quota", failed=True)
    await stage.later(10)
    found = await there(stage)
    assert found["status"]["phase"] == "Terminating"
    assert (found["status"]["waiting"], found["status"]["remaining"]) == (2, 7)
    states = {one["finalizer"]: one["state"] for one in found["status"]["participants"]}
    assert states == {DNS: "Working", DISKS: "Failed"}
    assert condition(found, "ExternalResourcesDestroyed") == ("False", "Error")
    await dns.done()
    await stage.later(10)
    assert (await there(stage))["status"]["waiting"] == 1
    await disks.done()
    await stage.later(10)
    assert await alive(stage) is None
    assert state(stage)["alive"]["tombstone"]["uid"] == uid
    assert state(stage)["alive"]["tombstone"]["outcome"] == "Drained"
    assert len(said(play, "SkoupaSignalled")) == 1
    await play.kill()
    again = await stage.play()
    await stage.later(HOUR)
    assert await alive(stage) is None, "a restart brings nothing back"
    assert not again.told("alive")


@story(features={"alive": True})
async def test_what_was_to_outlive_the_cluster_is_not_called_destroyed(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns = await joined(stage, DNS)
    await play.kill()
    await signal(stage)
    await dns.report(remaining=0, preserved=["zone shop.example.com: sold"])
    await dns.done()
    play = await stage.play()
    await stage.later(MINUTE)
    assert await alive(stage) is None
    last = [
        json.loads(request.body or b"{}")
        for _, request in play.wire.seen
        if request.method == "PATCH" and request.path.endswith("alives/cluster/status")
    ][-1]
    told = {one["type"]: one for one in last["status"]["conditions"]}["ExternalResourcesDestroyed"]
    assert (told["status"], told["reason"]) == ("False", "Preserved")
    assert "zone shop.example.com: sold" in told["message"]


@story(features={"alive": True})
async def test_a_controller_that_ends_half_way_is_followed_by_one_that_goes_on(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns = await joined(stage, DNS)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers", forceAfter="5m")
    await stage.later(12 * MINUTE)
    await play.kill()
    again = await stage.play()
    await stage.later(2 * MINUTE)
    assert (await there(stage))["status"]["phase"] == "TimedOut"
    assert not said(again, "SkoupaTimedOut"), "that was told before"
    assert not said(again, "SkoupaSignalled")
    await dns.beat()
    await stage.later(2 * MINUTE)
    assert await alive(stage) is None, "time counts from the deletion"
    assert state(stage)["alive"]["tombstone"]["outcome"] == "Forced"


@story(features={"alive": True})
async def test_a_deletion_that_nobody_saw_begin_is_seen_to_its_end(stage: Stage) -> None:
    """Skoupa was down all the while."""
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns = await joined(stage, DNS)
    await play.kill()
    uid = await signal(stage)
    await dns.done()
    await stage.later(HOUR)
    assert (await there(stage))["metadata"]["finalizers"] == ["skoupa.dev/alive"]
    await stage.play()
    await stage.later(MINUTE)
    assert await alive(stage) is None
    assert state(stage)["alive"]["tombstone"]["uid"] == uid


@story(features={"alive": True})
async def test_one_that_was_going_and_is_taken_away_does_not_come_back(stage: Stage) -> None:
    await bring(stage)
    await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    uid = await signal(stage)
    await stage.later(MINUTE)
    await stage.people.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
    await stage.later(HOUR)
    assert await alive(stage) is None
    assert state(stage)["alive"]["tombstone"] | {"began": 0, "ended": 0} == {
        "uid": uid,
        "began": 0,
        "ended": 0,
        "outcome": "TakenAway",
        "forced": [],
    }


@story(features={"alive": True})
async def test_one_that_is_made_by_hand_after_the_end_of_another_is_looked_after(stage: Stage) -> None:
    await bring(stage)
    await stage.play()
    await stage.later(MINUTE)
    await signal(stage)
    await stage.later(MINUTE)
    assert await alive(stage) is None
    await stage.people.create(
        ALIVES, {"apiVersion": ALIVES.api_version, "kind": "Alive", "metadata": {"name": "cluster"}}
    )
    await stage.later(MINUTE)
    found = await there(stage)
    assert found["metadata"]["finalizers"] == ["skoupa.dev/alive"]
    await stage.people.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
    await stage.people.delete(ALIVES, "cluster", uid=found["metadata"]["uid"], propagation="Background")
    await stage.later(MINUTE)
    assert await alive(stage) is not None, "that one had not ended"


@story(features={"alive": True})
async def test_a_time_out_is_told_once_and_takes_nothing_off_unless_that_was_wished(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    await signal(stage, timeout="10m", onTimeout="Proceed")
    await stage.later(2 * HOUR)
    found = await there(stage)
    assert found["status"]["phase"] == "TimedOut"
    assert set(found["metadata"]["finalizers"]) == {"skoupa.dev/alive", DNS}
    assert condition(found, "CleanupProgressing") == ("False", "TimedOut")
    [note] = said(play, "SkoupaTimedOut")
    assert DNS in note
    assert not said(play, "SkoupaForced")


@story(features={"alive": True})
async def test_where_the_status_may_not_be_written_it_is_told_once_and_nothing_is_forced(
    stage: Stage,
) -> None:
    await bring(stage)
    refusing = asking(method="PATCH", path="/apis/skoupa.dev/v1alpha1/alives/cluster/status")
    stage.cluster.faults.answer(403, when=refusing, times=None)
    play = await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
    await stage.later(HOUR)
    assert DNS in (await there(stage))["metadata"]["finalizers"], "it could not be written before"
    assert (len(said(play, "SkoupaSignalled")), len(said(play, "SkoupaTimedOut"))) == (1, 1)
    assert any("no permission to patch alives" in told for told in play.engine.outlook.degraded)


@story(features={"alive": True})
async def test_finalizers_are_forced_together_and_each_is_on_record_before(
    stage: Stage, tmp_path: Path
) -> None:
    await bring(stage)
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.later(MINUTE)
        dns, _ = await joined(stage, DNS), await joined(stage, DISKS)
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers", forceAfter="5m")
        await dns.report(remaining=3, message="stuck")
        await stage.later(14 * MINUTE)
        found = await there(stage)
        assert found["status"]["phase"] == "TimedOut"
        assert set(found["metadata"]["finalizers"]) == {"skoupa.dev/alive", DNS, DISKS}
        await stage.later(2 * MINUTE)
        assert await alive(stage) is None
        rows = {row.rule.rpartition(" ")[2]: row for row in await book.record.store.find()}
        assert rows.keys() == {DNS, DISKS}
        assert {row.outcome for row in rows.values()} == {"deleted"}
        assert dict(rows[DNS].claims[0].reason.facts)["remaining"] == "3"
        tombstone = state(stage)["alive"]["tombstone"]
        assert (tombstone["outcome"], set(tombstone["forced"])) == ("Forced", {DNS, DISKS})
        assert len(said(play, "SkoupaForced")) == 2
        order = [
            (path, request.body)
            for _, request in play.wire.seen
            if request.method == "PATCH" and "alives/cluster" in (path := request.path)
        ]
        status = next(
            i
            for i, (path, text) in enumerate(order)
            if path.endswith("/status") and b'forced":[' in (text or b"")
        )
        removal = next(
            i for i, (_, text) in enumerate(order) if b'"finalizers"' in (text or b"") and i > status
        )
        assert status < removal


@story(features={"alive": True})
async def test_of_a_thousand_that_are_silent_each_is_forced_and_on_record(
    stage: Stage, tmp_path: Path
) -> None:
    await bring(stage)
    many = [f"p{number}.example.com/cleanup" for number in range(1000)]
    async with ledger(stage, tmp_path / "l.db") as book:
        play = await stage.play(record=book.record)
        await stage.later(MINUTE)
        own = (await there(stage))["metadata"]["finalizers"]
        entries = [{"finalizer": one, "identity": "somebody"} for one in many]
        joining = {"metadata": {"finalizers": [*own, *many]}, "spec": {"participants": entries}}
        await stage.people.merge_patch(ALIVES, "cluster", joining)
        await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
        await stage.later(9 * MINUTE)
        assert len((await there(stage))["metadata"]["finalizers"]) == len(many) + 1
        await stage.later(3 * MINUTE)
        assert await alive(stage) is None
        rows = {row.rule.rpartition(" ")[2]: row for row in await book.record.store.find(limit=2000)}
        assert rows.keys() == set(many)
        assert {row.outcome for row in rows.values()} == {"deleted"}
        assert set(state(stage)["alive"]["tombstone"]["forced"]) == set(many)
    # Each of them costs the server as much as Alive is large.
    writes = [one for _, one in play.wire.seen if one.method == "PATCH" and "alives/cluster" in one.path]
    assert len(writes) < 50


@story(features={"alive": True})
async def test_a_brake_keeps_finalizers_from_being_forced(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    await pull(stage, "stop", all=True)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers")
    await stage.later(HOUR)
    assert DNS in (await there(stage))["metadata"]["finalizers"]
    assert any("are not forced" in said for said in play.engine.outlook.degraded)
    await release(stage, "stop")
    await stage.later(MINUTE)
    assert await alive(stage) is None


@story(features={"alive": True})
async def test_who_becomes_more_careful_before_the_end_is_heard(stage: Stage) -> None:
    await bring(stage)
    await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    await signal(stage, timeout="10m", onTimeout="ForceFinalizers", forceAfter="10m")
    await stage.later(15 * MINUTE)
    await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"onTimeout": "Fail", "forceAfter": None}})
    await stage.later(HOUR)
    assert DNS in (await there(stage))["metadata"]["finalizers"]


@story(features={"alive": True})
async def test_only_who_leads_does_anything(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    play.standing_by = True
    await stage.later(MINUTE)
    before = len(play.sent("PATCH", path="alives"))
    await stage.later(HOUR)
    assert len(play.sent("PATCH", path="alives")) == before


@story(features={"alive": True})
async def test_heartbeats_alone_hardly_change_it(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns = await joined(stage, DNS)
    await stage.later(MINUTE)
    before = len(play.sent("PATCH", path="alives/cluster/status"))
    for _ in range(60):
        await dns.beat()
        await stage.later(10)
    assert len(play.sent("PATCH", path="alives/cluster/status")) - before <= 11


@story(features={"alive": True})
async def test_switched_off_it_lets_go_of_an_alive_that_lives_and_of_nothing_else(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await joined(stage, DNS)
    await play.kill()
    before = await there(stage)
    refusing = asking(method="PATCH", path="/apis/skoupa.dev/v1alpha1/alives/cluster")
    stage.cluster.faults.answer(409, when=refusing, times=2)
    off = await stage.play(features={"alive": False})
    await stage.later(MINUTE)
    found = await there(stage)
    assert found["metadata"]["finalizers"] == [DNS]
    assert found["metadata"]["uid"] == before["metadata"]["uid"]
    assert "deletionTimestamp" not in found["metadata"]
    assert found["spec"] == before["spec"]
    assert not off.told("alive")
    assert not off.engine.outlook.degraded
    assert not off.sent("DELETE", path="alives")
    patches = len(off.sent("PATCH", path="alives"))
    await off.kill()
    again = await stage.play(features={"alive": False})
    await stage.later(HOUR)
    assert (patches, len(again.sent("PATCH", path="alives"))) == (3, 0)
    await again.kill()
    # Whoever deletes it now need not be told that it vanished; switched on again there is one.
    uid = found["metadata"]["uid"]
    await stage.people.merge_patch(ALIVES, "cluster", {"metadata": {"finalizers": None}})
    await stage.people.delete(ALIVES, "cluster", uid=uid, propagation="Background")
    on = await stage.play()
    await stage.later(MINUTE)
    assert (await there(stage))["metadata"]["uid"] != uid
    assert not said(on, "SkoupaAliveVanished")


@story(features={"alive": True})
async def test_switched_off_while_it_goes_it_waits_for_nobody_and_the_deletion_is_not_forgotten(
    stage: Stage,
) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    dns = await joined(stage, DNS)
    await play.kill()
    uid = await signal(stage)
    off = await stage.play(features={"alive": False})
    await stage.later(MINUTE)
    assert (await there(stage))["metadata"]["finalizers"] == [DNS], "its participant is still waited for"
    await off.kill()
    await dns.done()
    assert await alive(stage) is None
    await stage.play()
    await stage.later(HOUR)
    assert await alive(stage) is None, "switched on again it brings nothing back"
    assert state(stage)["alive"]["tombstone"]["uid"] == uid


@story(features={"alive": True})
async def test_switched_off_a_deletion_that_waits_for_skoupa_alone_is_over(stage: Stage) -> None:
    await bring(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    await play.kill()
    uid = await signal(stage)
    await stage.play(features={"alive": False})
    await stage.later(MINUTE)
    assert await alive(stage) is None
    tombstone = state(stage)["alive"]["tombstone"]
    assert (tombstone["uid"], tombstone["outcome"]) == (uid, "Drained")


@story(features={"alive": True})
async def test_switched_off_without_the_right_it_is_told_where_there_was_one(stage: Stage) -> None:
    await bring(stage)
    refusing = asking(path="/apis/skoupa.dev/v1alpha1/alives/cluster")
    stage.cluster.faults.answer(403, when=refusing, times=None)
    never = await stage.play(features={"alive": False})
    await stage.later(MINUTE)
    assert not never.engine.outlook.degraded
    await never.kill()
    stage.cluster.faults.clear()
    play = await stage.play()
    await stage.later(MINUTE)
    await play.kill()
    stage.cluster.faults.answer(403, when=refusing, times=None)
    off = await stage.play(features={"alive": False})
    await stage.later(MINUTE)
    assert any("no permission to get and patch alives" in told for told in off.engine.outlook.degraded)


@story(features={"alive": True})
async def test_the_metrics_tell_the_phase_and_who_has_something_left(stage: Stage) -> None:
    await bring(stage)
    off = await stage.play(features={"alive": False})
    found = gauges_of(off.engine, stage.clock.now())
    assert found["skoupa_alive"]["Unknown",] == 1
    await off.kill()
    play = await stage.play()
    await stage.later(MINUTE)
    dns = await joined(stage, DNS)
    await dns.report(remaining=3)
    await joined(stage, DISKS)
    await signal(stage, timeout="10m")
    await dns.report(remaining=2)
    await stage.later(10)
    found = gauges_of(play.engine, stage.clock.now())
    assert {phase for (phase,), value in found["skoupa_alive"].items() if value} == {"Terminating"}
    assert found["skoupa_alive_participants"]["Working",] == 2
    assert found["skoupa_alive_remaining"][()] == 2
    assert found["skoupa_alive_unguarded"][()] == 1, "nothing installed the policies here"
    await stage.later(10 * MINUTE)
    assert gauges_of(play.engine, stage.clock.now())["skoupa_alive"]["TimedOut",] == 1
    play.standing_by = True
    assert gauges_of(play.engine, stage.clock.now())["skoupa_alive"]["Unknown",] == 1


def guarded(stage: Stage) -> Fault:
    """As a server that enforces: the embedded one knows its policies and does nothing by them."""
    said = "ValidatingAdmissionPolicy 'skoupa-alive-changes' with binding 'skoupa-alive-changes' denied request: it confirms another Alive"

    def trial(request: Request) -> bool:
        return request.path == ALIVES.path(name="cluster") and ("dryRun", "All") in request.query

    return stage.cluster.faults.answer(422, when=trial, times=None, message=said)


@story(also=GUARDING, features={"alive": True})
async def test_the_guard_is_looked_at_when_somebody_writes_on_alive_and_often_while_it_is_not_there(
    stage: Stage,
) -> None:
    await bring(stage)
    kinds = {one.kind: one for one in GUARDING}
    for manifest in alive_admission(decode({"features": {"alive": True}}, source="the test")):
        await stage.people.create(kinds[manifest["kind"]], manifest)
    guarding = guarded(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    assert condition(await there(stage), "Protected") == ("True", "Guarded")
    looks = len(play.sent("GET", path="validatingadmission"))
    await stage.later(10 * MINUTE)
    assert len(play.sent("GET", path="validatingadmission")) - looks <= 80, "eight of them once a minute"
    stage.cluster.faults.remove(guarding)
    before = await there(stage)
    while (told := condition(await there(stage), "Protected")) == ("True", "Guarded"):
        await stage.later(1)
    assert told == ("False", "NotEnforced")
    assert not said(play, "SkoupaUnprotected"), "nor is what was installed a moment ago"
    await stage.later(15)
    [note] = said(play, "SkoupaUnprotected")
    assert "switched off?" in note
    assert (await there(stage))["metadata"].get("annotations") == before["metadata"].get("annotations")
    guarded(stage)
    await stage.later(12)
    assert condition(await there(stage), "Protected") == ("True", "Guarded")
    binding = kinds["ValidatingAdmissionPolicyBinding"]
    found = await stage.people.get(binding, "skoupa-alive-deletion", view=WHOLE)
    await stage.people.delete(
        binding, "skoupa-alive-deletion", uid=found["metadata"]["uid"], propagation="Background"
    )
    await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"timeout": "45m"}})
    await stage.later(6)
    assert condition(await there(stage), "Protected") == ("False", "Missing")
    body = {key: value for key, value in found.items() if key != "metadata"}
    await stage.people.create(binding, {**body, "metadata": {"name": "skoupa-alive-deletion"}})
    await stage.later(6)
    assert condition(await there(stage), "Protected") == ("True", "Guarded")
    assert len(said(play, "SkoupaUnprotected")) == 2
    found = await stage.people.get(binding, "skoupa-alive-changes", view=WHOLE)
    await stage.later(MINUTE)
    await stage.people.delete(
        binding, "skoupa-alive-changes", uid=found["metadata"]["uid"], propagation="Background"
    )
    lost = stage.cluster.faults.answer(500, when=asking(method="GET", path=binding.path()), times=4)
    await stage.people.merge_patch(ALIVES, "cluster", {"spec": {"timeout": "50m"}})
    await stage.later(15)
    assert lost.hits == 4
    assert condition(await there(stage), "Protected") == ("False", "Missing"), "a look that failed was none"


@story(also=GUARDING, features={"alive": True})
async def test_a_guard_that_was_altered_or_may_not_be_read_does_not_pass_for_one(stage: Stage) -> None:
    await bring(stage)
    kinds = {one.kind: one for one in GUARDING}
    for manifest in alive_admission(decode({"features": {"alive": True}}, source="the test")):
        await stage.people.create(kinds[manifest["kind"]], manifest)
    guarded(stage)
    play = await stage.play()
    await stage.later(MINUTE)
    assert condition(await there(stage), "Protected") == ("True", "Guarded")
    changes: tuple[tuple[str, dict[str, Any], dict[str, Any]], ...] = (
        (
            "ValidatingAdmissionPolicyBinding",
            {"validationActions": ["Audit"]},
            {"validationActions": ["Deny"]},
        ),
        ("ValidatingAdmissionPolicy", {"failurePolicy": "Ignore"}, {"failurePolicy": "Fail"}),
    )
    for kind, altered, before in changes:
        await stage.people.merge_patch(kinds[kind], "skoupa-alive-deletion", {"spec": altered})
        await stage.later(MINUTE + 10)
        assert condition(await there(stage), "Protected") == ("False", "Altered"), kind
        await stage.people.merge_patch(kinds[kind], "skoupa-alive-deletion", {"spec": before})
        await stage.later(15)
        assert condition(await there(stage), "Protected") == ("True", "Guarded")
    notes = said(play, "SkoupaUnprotected")
    assert ["ValidatingAdmissionPolicyBinding" in note for note in notes] == [True, False]
    stage.cluster.faults.answer(403, when=asking(path=kinds["ValidatingAdmissionPolicy"].path()), times=None)
    await stage.later(MINUTE + 10)
    assert condition(await there(stage), "Protected") == ("Unknown", "MayNotBeRead")
