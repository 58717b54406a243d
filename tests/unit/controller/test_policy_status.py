"""The status of policies tells the truth: written again when it may be, in time, of runs that stop, and with the cause of what fails."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import CONFIG_MAPS
from skoupa.kube.transport import Request
from skoupa.sim.faults import Fault, asking
from skoupa.sim.state.access import Rule
from tests.unit.controller.braking import many, pull
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions, deleting, read
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story
from tests.unit.controller.test_policy_marks import bring_without_room, mark

pytestmark = pytest.mark.unit

WIDE = {"share": 100}
DELETES = asking(verb="delete", kind="configmaps")
EVERYTHING = Rule(verbs=("*",), resources=("*",))
NO_PATCHES = Rule(verbs=("create", "delete", "get", "list", "update", "watch"), resources=("*",))
STATUS_ALONE = Rule(
    verbs=("patch",), resources=("configmaps", f"{CLUSTER_CLEANUP_POLICIES.qualified}/status")
)


def refuse_statuses(stage: Stage, kind: str = CLUSTER_CLEANUP_POLICIES.qualified) -> Fault:
    patches = asking(method="PATCH", kind=kind)

    def is_status(request: Request) -> bool:
        return patches(request) and request.path.endswith("/status")

    return stage.cluster.faults.answer(403, when=is_status, times=None)


async def suspend(stage: Stage, value: str | None = "true") -> None:
    body = {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: value}}}
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", body)
    await stage.settle()


async def last_run(stage: Stage, name: str = "tidy") -> dict[str, Any]:
    return (await conditions(stage, name))["LastRunSucceeded"]


def gone_of(count: int, stage: Stage) -> int:
    return count - len(stage.found())


@story()
async def test_a_status_that_may_be_written_again_is_within_two_minutes(stage: Stage) -> None:
    await bring_policies(stage)
    refusal = refuse_statuses(stage)
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await cleanup(stage, "other", schedule=HOURLY)
    await stage.later(10 * MINUTE)
    assert 8 <= refusal.hits <= 11, "one try a minute for the kind"
    (said,) = play.engine.outlook.degraded
    assert f"no permission to patch {CLUSTER_CLEANUP_POLICIES.qualified}/status" in said
    stage.cluster.faults.remove(refusal)
    await cleanup(stage, "third", schedule=HOURLY)
    await stage.later(100)
    for name in ("tidy", "other", "third"):
        assert (await conditions(stage, name))["Ready"]["status"] == "True"
    assert not play.engine.outlook.degraded


@story()
async def test_the_next_run_is_noted_when_the_right_to_do_so_comes_back(stage: Stage) -> None:
    await bring_without_room(stage)
    stage.cluster.allow_only("sweeper", (NO_PATCHES, STATUS_ALONE))
    play = await stage.play(user="sweeper")
    await cleanup(stage, schedule="30 * * * *")
    await stage.until(HOUR)
    assert mark(await read(stage)) is None
    patches = [one for _, one in play.sent("PATCH") if one.path.endswith("clustercleanuppolicies/tidy")]
    assert len(patches) == 1, "the right is asked for, not the patch tried"
    assert any("whose definition has no nextExecutionTime" in said for said in play.engine.outlook.degraded)
    stage.cluster.allow_only("sweeper", (EVERYTHING,))
    await stage.later(2 * MINUTE)
    assert mark(await read(stage)) == stage.time(28 * MINUTE)
    assert not [said for said in play.engine.outlook.degraded if "nextExecutionTime" in said]


@story()
async def test_the_status_of_shared_context_is_written_when_it_may_be_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    refusal = refuse_statuses(stage, GLOBAL_CONTEXT_ENTRIES.qualified)
    play = await stage.play()
    kind = GLOBAL_CONTEXT_ENTRIES
    spec = {"kubernetesResource": {"version": "v1", "resource": "configmaps", "namespace": SHOP}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "maps"}, "spec": spec}
    await stage.people.create(kind, body)
    await deleting(stage, "size(globalContext.Get('maps', '')) == 40", schedule="0 1 * * *")
    await stage.until(HOUR + 5 * MINUTE)
    assert 2 <= refusal.hits <= 6
    stage.cluster.faults.remove(refusal)
    await stage.later(2 * MINUTE)
    assert (await stage.people.get(kind, "maps", view=WHOLE))["status"]["ready"]
    assert not play.engine.outlook.degraded


@story(policies={"observeNew": "90s"})
async def test_that_a_policy_only_reports_is_told_until_that_is_over_and_no_longer(stage: Stage) -> None:
    await bring_policies(stage)
    await stage.play()
    await cleanup(stage, schedule="0 0 1 * *")
    await stage.later(MINUTE)
    ready = (await conditions(stage))["Ready"]
    assert ready["reason"] == "Observing"
    assert "it only reports until" in ready["message"]
    await stage.later(45)
    ready = (await conditions(stage))["Ready"]
    assert ready["reason"] == "Scheduled"
    assert "only reports" not in ready["message"]


@story(policies={"observeNew": "2h"})
async def test_a_run_that_only_reported_says_so_and_what_it_would_delete(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.make("web-kept", keep="true")
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 4
    said = await last_run(stage)
    assert (said["status"], said["reason"]) == ("True", "OnlyReported")
    assert said["message"].startswith(
        "matched 4, deleted 0, held 1, failed 0; only reported: would delete 3; 1 held: "
    )


@story(rate={"deletionsPerSecond": 2}, brakes=WIDE)
async def test_a_run_that_is_suspended_in_the_middle_tells_how_far_it_came_and_why_the_rest_stays(
    stage: Stage,
) -> None:
    await bring_policies(stage)
    stage.old(many(14))
    play = await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 3)
    assert 0 < gone_of(14, stage) < 10
    await suspend(stage)
    await stage.later(MINUTE)
    gone = gone_of(14, stage)
    rest = 14 - gone
    assert len(play.told("deleted")) == gone
    status = (await read(stage))["status"]
    assert status["lastRun"] == {"matched": 14, "deleted": gone, "held": rest, "failed": 0}
    assert status["lastExecutionTime"] == "2026-01-01T01:00:00Z"
    said = await last_run(stage)
    assert (said["status"], said["reason"]) == ("True", "Stopped")
    assert said["message"] == (
        f"matched 14, deleted {gone}, held {rest}, failed 0; {rest} stay, for the policy was suspended meanwhile"
    )
    (line,) = play.told("policy ran")
    assert (line["deleted"], line["stays"]) == (
        str(gone),
        f"{rest} stay, for the policy was suspended meanwhile",
    )
    await suspend(stage, None)
    await stage.until(2 * HOUR + MINUTE)
    assert not stage.found()
    assert (await read(stage))["status"]["lastRun"]["deleted"] == rest
    assert len(play.told("policy ran")) == 2


@story(rate={"deletionsPerSecond": 2}, brakes=WIDE)
async def test_a_delete_that_is_on_its_way_when_its_run_stops_is_counted(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(14))
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    stage.cluster.faults.delay(5, when=DELETES, times=None)
    await stage.until(HOUR + 3)
    assert gone_of(14, stage) == 0
    await suspend(stage)
    await stage.later(MINUTE)
    gone = gone_of(14, stage)
    assert gone > 0
    counts = {"matched": 14, "deleted": gone, "held": 14 - gone, "failed": 0}
    assert (await read(stage))["status"]["lastRun"] == counts
    told = " ".join(event["note"] for event in stage.events("SkoupaPolicyDeleted", "tidy"))
    assert sum(name in told for name in many(14)) >= gone


@story()
async def test_what_a_brake_held_of_a_run_whose_policy_changed_is_told_as_held_still(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await pull(stage, "wait", namespace=SHOP)
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    before = await last_run(stage)
    await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, "tidy", {"spec": {"schedule": "30 * * * *"}})
    await stage.later(MINUTE)
    after = await last_run(stage)
    assert (after["reason"], after["message"]) == (before["reason"], before["message"])
    assert after["observedGeneration"] == 1, "it is about what the policy was then"


@story()
async def test_what_others_delete_is_told_and_no_run_leaves_a_gap_in_its_numbers(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    for name in many(2):
        keep = {"metadata": {"finalizers": ["example.org/slow"]}}
        found = await stage.people.merge_patch(CONFIG_MAPS, name, keep, namespace=SHOP)
        await stage.people.delete(
            CONFIG_MAPS, name, namespace=SHOP, uid=found["metadata"]["uid"], propagation="Background"
        )
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    said = await last_run(stage)
    assert said["message"] == (
        "matched 3, deleted 1, held 0, failed 0; 2 are being deleted already, or went by something else"
    )
    await stage.until(2 * HOUR + MINUTE)
    said = await last_run(stage)
    assert said["message"].startswith("matched 2, deleted 0, held 0, failed 0; 2 are being deleted already")
    assert said["reason"] == "Succeeded"


@story()
async def test_of_two_policies_that_mean_the_same_each_tells_what_became_of_it(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await cleanup(stage, "twin", schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    told = {(await last_run(stage, name))["message"] for name in ("tidy", "twin")}
    assert told == {
        "matched 3, deleted 3, held 0, failed 0",
        "matched 3, deleted 0, held 0, failed 0; 3 are being deleted already, or went by something else",
    }


@story()
async def test_a_delete_that_fails_is_told_with_its_cause(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(4))
    await stage.play()
    refusal = stage.cluster.faults.answer(422, when=DELETES, times=None, message="no deletes today")
    await cleanup(stage, schedule="*/10 * * * *")
    for minutes in (12, 22):
        await stage.until(minutes * MINUTE)
        said = await last_run(stage)
        assert (said["status"], said["reason"]) == ("False", "NotAllDeleted")
        assert (
            "4 objects could not be deleted so far; they are tried again: no deletes today" in said["message"]
        )
    assert any("no deletes today" in event["note"] for event in stage.events("SkoupaPolicyFailed", "tidy"))
    stage.cluster.faults.remove(refusal)
    await stage.later(2 * MINUTE)
    assert (await last_run(stage))["status"] == "True"
    assert "no deletes" not in (await last_run(stage))["message"]


@story()
async def test_what_was_left_of_a_run_before_a_restart_is_told_as_that(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(5))
    play = await stage.play()
    refused = asking(verb="delete", kind="configmaps")

    def is_refused(request: Request) -> bool:
        return refused(request) and not request.path.endswith("/web-0")

    refusal = stage.cluster.faults.answer(422, when=is_refused, times=None, message="ask first")
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + 5 * MINUTE)
    assert (await read(stage))["status"]["lastRun"] == {"matched": 5, "deleted": 1, "held": 0, "failed": 4}
    await play.kill()
    stage.cluster.faults.remove(refusal)
    play = await stage.play()
    await stage.later(MINUTE)
    assert not stage.found()
    said = await last_run(stage)
    assert said["message"] == (
        "what was left of the run of 2026-01-01T01:00:00Z: matched 4, deleted 4, held 0, failed 0"
    )
    assert (await read(stage))["status"]["lastExecutionTime"] == "2026-01-01T01:00:00Z"
    await stage.until(2 * HOUR + MINUTE)
    assert (await last_run(stage))["message"] == "matched 0, deleted 0, held 0, failed 0"
    assert (await read(stage))["status"]["lastExecutionTime"] == "2026-01-01T02:00:00Z"


@story(brakes=WIDE)
async def test_a_run_that_was_thrown_away_leaves_what_is_told_of_the_last_one(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=HOURLY)
    await stage.until(HOUR + MINUTE)
    before = (await read(stage))["status"]
    assert before["lastRun"]["deleted"] == 3
    stage.cluster.faults.delay(
        20, when=asking(verb="list", path=f"/api/v1/namespaces/{SHOP}/configmaps"), times=None
    )
    await stage.until(2 * HOUR + 6)
    await suspend(stage)
    await stage.later(MINUTE)
    after = (await read(stage))["status"]
    assert "was thrown away" in (await last_run(stage))["message"]
    for told in ("lastExecutionTime", "lastRun"):
        assert after[told] == before[told]


@story()
async def test_a_policy_whose_status_alone_is_refused_keeps_no_other_from_its_own(stage: Stage) -> None:
    await bring_policies(stage)
    patches = asking(method="PATCH", kind=CLUSTER_CLEANUP_POLICIES.qualified)

    def of_the_first(request: Request) -> bool:
        return patches(request) and request.path.endswith("/a-first/status")

    stage.cluster.faults.answer(403, when=of_the_first, times=None)
    await stage.play()
    await cleanup(stage, "a-first", schedule=HOURLY)
    await cleanup(stage, "tidy", schedule=HOURLY)
    for value, ready in (("true", "False"), (None, "True")) * 3:
        for name in ("a-first", "tidy"):
            body = {"metadata": {"annotations": {names.SUSPEND_ANNOTATION: value}}}
            await stage.people.merge_patch(CLUSTER_CLEANUP_POLICIES, name, body)
        await stage.later(2 * MINUTE)
        assert (await conditions(stage))["Ready"]["status"] == ready
