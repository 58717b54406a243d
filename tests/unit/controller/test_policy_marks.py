"""When a policy runs next, in an annotation where its status has no room: written last, seldom, and by nobody who observes."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.braking import bring_kind
from tests.unit.controller.policies import HOURLY, cleanup, conditions, matching, read
from tests.unit.controller.stage import HOUR, MINUTE, Stage, story

pytestmark = pytest.mark.unit

MANY = 100


class Writes:
    """When policies themselves were patched, not their status."""

    def __init__(self, stage: Stage) -> None:
        self.times: list[float] = []
        self._stage = stage
        self._asks = asking(method="PATCH", kind=CLUSTER_CLEANUP_POLICIES.qualified)
        stage.cluster.faults.answer(500, when=self._seen, times=None)

    def _seen(self, request: Request) -> bool:
        if self._asks(request) and not request.path.endswith("/status"):
            self.times.append(self._stage.clock.now())
        return False

    def between(self, start: float, end: float) -> int:
        return sum(start <= one < end for one in self.times)


def mark(found: dict[str, Any]) -> str | None:
    told: str | None = (found["metadata"].get("annotations") or {}).get(names.NEXT_EXECUTION_ANNOTATION)
    return told


@story()
async def test_where_the_status_has_no_room_the_next_run_is_in_an_annotation(stage: Stage) -> None:
    await bring_without_room(stage)
    await stage.play()
    await cleanup(stage, schedule="30 * * * *")
    for hour in range(2):
        stage.old([f"web-{hour}"])
        await stage.until((hour + 0.5) * HOUR + MINUTE)
        assert not stage.found()
        found = await read(stage)
        assert "nextExecutionTime" not in found["status"]
        written = found["metadata"]["annotations"][names.NEXT_EXECUTION_ANNOTATION]
        assert written == stage.time(HOUR - MINUTE)
        assert (await conditions(stage))["Ready"]["status"] == "True", "it is no annotation that nobody knows"


@story()
async def test_where_policies_may_not_be_patched_that_is_told_once_and_the_rest_is_written(
    stage: Stage,
) -> None:
    await bring_without_room(stage)
    kind = CLUSTER_CLEANUP_POLICIES.qualified
    unmarked = asking(method="PATCH", kind=kind)
    refusal = stage.cluster.faults.answer(
        403, when=lambda one: unmarked(one) and not one.path.endswith("/status"), times=None
    )
    play = await stage.play()
    await cleanup(stage, schedule="30 * * * *")
    await stage.until(2 * HOUR)
    assert (await conditions(stage))["LastRunSucceeded"]["status"] == "True"
    (said,) = play.engine.outlook.degraded
    assert f"no permission to patch {kind}, whose definition has no nextExecutionTime" in said
    assert refusal.hits == 1, "and is not asked for again"


async def bring_without_room(stage: Stage) -> None:
    """The kinds of policies, with no more in the status than Kyverno's definitions have."""
    await bring_kind(stage)
    for definition in policy_definitions():
        for version in definition["spec"]["versions"]:
            properties = version["schema"]["openAPIV3Schema"]["properties"]
            for field in ("nextExecutionTime", "lastRun", "observedGeneration"):
                properties.get("status", {}).get("properties", {}).pop(field, None)
        await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition)
    await stage.later(10)


@story()
async def test_many_runs_of_one_minute_are_not_followed_by_as_many_writes_at_once(stage: Stage) -> None:
    await bring_without_room(stage)
    await stage.play()
    for number in range(MANY):
        await cleanup(stage, f"tidy-{number}", schedule=HOURLY, match=matching(names=[f"web-{number}"]))
    await stage.until(HOUR - 1)
    writes = Writes(stage)
    await stage.until(HOUR + 2 * MINUTE)
    tick = stage.clock.now() - 2 * MINUTE
    assert writes.between(tick, tick + 10) <= 10, "runs come first"
    for second in range(2 * int(MINUTE)):
        assert writes.between(tick + second, tick + second + 1) <= 21
    assert len(writes.times) == MANY, "each once"
    assert {mark(await read(stage, f"tidy-{number}")) for number in range(MANY)} == {stage.time(58 * MINUTE)}


@story()
async def test_the_annotation_is_no_news_of_the_policy_and_what_did_not_change_is_not_written(
    stage: Stage,
) -> None:
    await bring_without_room(stage)
    writes = Writes(stage)
    stage.old(["web-1"])
    play = await stage.play()
    await cleanup(stage, schedule="30 * * * *")
    await stage.until(45 * MINUTE)
    found = await read(stage)
    assert mark(found) == stage.time(45 * MINUTE)
    assert found["metadata"]["generation"] == 1
    assert len(writes.times) == 2, "when it came, and after its run"
    assert len(play.told("policy ran")) == 1
    await play.stop()
    await stage.play()
    await stage.later(5 * MINUTE)
    assert len(writes.times) == 2, "nor by who comes after"


@story()
async def test_who_applies_the_policy_again_neither_takes_the_annotation_off_nor_is_in_its_way(
    stage: Stage,
) -> None:
    await bring_without_room(stage)
    await stage.play()
    body = {
        "apiVersion": CLUSTER_CLEANUP_POLICIES.api_version,
        "kind": CLUSTER_CLEANUP_POLICIES.kind,
        "metadata": {"name": "tidy", "annotations": {"team": "shop"}},
        "spec": {"schedule": "30 * * * *", "match": matching(names=["web-*"])},
    }
    await stage.people.apply(CLUSTER_CLEANUP_POLICIES, body, manager="gitops")
    await stage.later(MINUTE)
    told = mark(await read(stage))
    assert told
    found = await stage.people.apply(CLUSTER_CLEANUP_POLICIES, body, manager="gitops")
    assert found["metadata"]["annotations"] == {"team": "shop", names.NEXT_EXECUTION_ANNOTATION: told}
    (owner,) = [
        one["manager"]
        for one in found["metadata"]["managedFields"]
        if f"f:{names.NEXT_EXECUTION_ANNOTATION}" in str(one["fieldsV1"])
    ]
    assert owner == names.COMPONENT


@story()
async def test_an_annotation_that_could_not_be_written_is_written_when_the_server_is_well_again(
    stage: Stage,
) -> None:
    await bring_without_room(stage)
    kind = asking(method="PATCH", kind=CLUSTER_CLEANUP_POLICIES.qualified)
    stage.cluster.faults.answer(
        500, when=lambda one: kind(one) and not one.path.endswith("/status"), times=None, seconds=5 * MINUTE
    )
    await stage.play()
    await cleanup(stage, schedule="30 * * * *")
    await stage.later(4 * MINUTE)
    assert mark(await read(stage)) is None
    await stage.until(20 * MINUTE)
    assert mark(await read(stage)) == stage.time(10 * MINUTE)


@story()
async def test_a_policy_that_a_webhook_lets_nobody_patch_is_told_once_and_keeps_up_no_other(
    stage: Stage,
) -> None:
    await bring_without_room(stage)
    kind = asking(method="PATCH", kind=CLUSTER_CLEANUP_POLICIES.qualified)
    refusal = stage.cluster.faults.answer(
        400, when=lambda one: kind(one) and one.path.endswith("/stubborn"), times=None
    )
    play = await stage.play()
    await cleanup(stage, "stubborn", schedule="30 * * * *")
    await cleanup(stage, schedule="30 * * * *")
    await stage.until(20 * MINUTE)
    assert mark(await read(stage)) == stage.time(10 * MINUTE)
    assert refusal.hits == 1
    (said,) = play.engine.outlook.degraded
    assert "ClusterCleanupPolicy/stubborn for one" in said


@story(mode="observe")
async def test_an_observer_writes_none(stage: Stage) -> None:
    await bring_without_room(stage)
    writes = Writes(stage)
    stage.old(["web-1"])
    play = await stage.play()
    await cleanup(stage, schedule="30 * * * *")
    await stage.until(HOUR)
    assert play.told("policy ran"), "it ran"
    assert not writes.times
    assert "status" not in await read(stage)
