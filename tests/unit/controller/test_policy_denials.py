"""What may not be written onto one policy, or in one namespace, is told and tried again; all others are written as ever."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from skoupa.controller.policies.context import ContextStatuses
from skoupa.controller.writing.denials import Denials
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.objects import WHOLE
from skoupa.kube.transport import Request
from skoupa.runs.calls.shared import Refresh
from skoupa.sim.clock import VirtualClock, run
from skoupa.sim.state.access import Rule
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, read
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story
from tests.unit.controller.test_policy_marks import bring_without_room, mark
from tests.unit.controller.test_policy_status import EVERYTHING

pytestmark = pytest.mark.unit

KIND = CLEANUP_POLICIES.qualified


def patches(path: str, *, status: bool = True) -> Callable[[Request], bool]:
    def when(request: Request) -> bool:
        is_status = request.path.endswith("/status")
        return request.method == "PATCH" and path in request.path and is_status == status

    return when


async def next_run(stage: Stage, name: str, namespace: str = "") -> str | None:
    kind = CLEANUP_POLICIES if namespace else CLUSTER_CLEANUP_POLICIES
    found: str | None = (await read(stage, name, kind, namespace)).get("status", {}).get("nextExecutionTime")
    return found


@story()
async def test_a_status_that_may_not_be_written_in_one_namespace_is_written_in_others(stage: Stage) -> None:
    await bring_policies(stage)
    for place in "abc":
        await stage.namespace(place)
    play = await stage.play()
    await cleanup(stage, "first", namespace="a", schedule=HOURLY)
    await cleanup(stage, "second", namespace="b", schedule=HOURLY)
    await stage.later(30)
    refusal = stage.cluster.faults.answer(403, when=patches("/namespaces/a/"), times=None)
    await stage.until(5 * HOUR - MINUTE)
    assert await next_run(stage, "first", "a") == stage.time(MINUTE - 4 * HOUR)
    assert await next_run(stage, "second", "b") == stage.time(MINUTE)
    assert refusal.hits < 5 * 61, "one try a minute"
    await cleanup(stage, "third", namespace="b", schedule=HOURLY)
    await stage.later(5)
    assert await next_run(stage, "third", "b")
    assert play.engine.outlook.degraded == {
        f"no permission to patch {KIND}/status in a: how policies run stands in the log alone"
    }
    stage.cluster.faults.remove(refusal)
    await stage.later(2 * MINUTE)
    assert await next_run(stage, "first", "a") == stage.time(59 * MINUTE - 5)
    assert not play.engine.outlook.degraded


@story()
async def test_policies_that_are_refused_for_themselves_come_last(stage: Stage) -> None:
    """As an admission does it: the others are a minute late at most."""
    await bring_policies(stage)
    play = await stage.play()
    for number in range(3):
        await cleanup(stage, f"refused-{number}", schedule=HOURLY)
    await cleanup(stage, schedule=HOURLY)
    stage.cluster.faults.answer(403, when=patches("/refused-"), times=None)
    await stage.until(2 * HOUR + 5 * MINUTE)
    assert await next_run(stage, "tidy") == stage.time(55 * MINUTE)
    await cleanup(stage, "later", schedule=HOURLY)
    await stage.later(2 * MINUTE)
    assert await next_run(stage, "later")
    said = {one for one in play.engine.outlook.degraded if "/status" in one}
    for _ in range(30):
        await stage.later(7)
        assert {one for one in play.engine.outlook.degraded if "/status" in one} == said
    assert len(said) == 1


@story()
async def test_a_refused_policy_that_is_gone_is_told_no_more(stage: Stage) -> None:
    await bring_policies(stage)
    play = await stage.play()
    stage.cluster.faults.answer(403, when=patches("/tidy/"), times=None)
    made = await cleanup(stage, schedule=HOURLY)
    await stage.later(MINUTE)
    assert play.engine.outlook.degraded
    uid = made["metadata"]["uid"]
    await stage.people.delete(CLUSTER_CLEANUP_POLICIES, "tidy", uid=uid, propagation="Background")
    await stage.later(MINUTE)
    assert not play.engine.outlook.degraded


def may_patch_in(*namespaces: str) -> list[Rule]:
    reads = Rule(verbs=("create", "delete", "get", "list", "update", "watch"), resources=("*",))
    others = Rule(verbs=("patch",), resources=("configmaps", f"{KIND}/status"))
    return [
        reads,
        others,
        *(Rule(verbs=("patch",), resources=(KIND,), namespaces=(one,)) for one in namespaces),
    ]


def marks_told(play: Play) -> list[str]:
    return [said for said in play.engine.outlook.degraded if "nextExecutionTime" in said]


@story()
async def test_the_next_run_is_noted_where_it_may_be(stage: Stage) -> None:
    await bring_without_room(stage)
    for place in "ab":
        await stage.namespace(place)
    stage.cluster.allow_only("sweeper", may_patch_in("b"))
    play = await stage.play(user="sweeper")
    await cleanup(stage, "first", namespace="a", schedule=HOURLY)
    await cleanup(stage, "second", namespace="b", schedule=HOURLY)
    await stage.until(HOUR + 5 * MINUTE)
    assert mark(await read(stage, "first", CLEANUP_POLICIES, "a")) is None
    assert mark(await read(stage, "second", CLEANUP_POLICIES, "b")) == stage.time(55 * MINUTE)
    (said,) = marks_told(play)
    assert f"patch {KIND} in a, whose definition" in said
    stage.cluster.allow_only("sweeper", (EVERYTHING,))
    await stage.later(3 * MINUTE)
    assert mark(await read(stage, "first", CLEANUP_POLICIES, "a")) == stage.time(52 * MINUTE)
    assert not marks_told(play)


@story()
async def test_a_policy_that_an_admission_forbids_to_patch_keeps_up_no_other(stage: Stage) -> None:
    await bring_without_room(stage)
    refusal = stage.cluster.faults.answer(403, when=patches("/stubborn", status=False), times=None)
    play = await stage.play()
    await cleanup(stage, "stubborn", schedule=HOURLY)
    await cleanup(stage, schedule=HOURLY)
    await stage.until(2 * HOUR + 5 * MINUTE)
    assert mark(await read(stage)) == stage.time(55 * MINUTE)
    assert refusal.hits == 1
    assert len(marks_told(play)) == 1


async def shared(stage: Stage, name: str) -> Refresh:
    kind = GLOBAL_CONTEXT_ENTRIES
    spec = {"kubernetesResource": {"version": "v1", "resource": "configmaps", "namespace": SHOP}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}, "spec": spec}
    uid = (await stage.people.create(kind, body))["metadata"]["uid"]
    return Refresh(kind=kind, name=name, uid=uid, generation=1, status={}, at=stage.clock.now(), error="")


@story()
async def test_shared_context_that_is_refused_for_itself_keeps_up_no_other(stage: Stage) -> None:
    await bring_policies(stage)
    stage.cluster.faults.answer(403, when=patches("/refused-"), times=None)
    said: set[str] = set()
    statuses = ContextStatuses(stage.people, acting=lambda: True, told=said.add, untold=said.discard)
    for name in ("fine", "refused-1", "refused-2"):
        statuses.want(await shared(stage, name))
    following = asyncio.create_task(statuses.follow())
    await stage.later(3 * MINUTE)
    assert (await stage.people.get(GLOBAL_CONTEXT_ENTRIES, "fine", view=WHOLE))["status"]["ready"]
    statuses.want(await shared(stage, "later"))
    await stage.later(2 * MINUTE)
    assert (await stage.people.get(GLOBAL_CONTEXT_ENTRIES, "later", view=WHOLE))["status"]["ready"]
    assert len(said) == 1
    following.cancel()


def test_however_many_namespaces_refuse_only_some_are_tried_a_minute() -> None:
    async def main(clock: VirtualClock) -> None:
        said: set[str] = set()
        denials = Denials(
            clock, words=lambda kind, where: f"{kind}{where}", told=said.add, untold=said.discard
        )
        places = [(KIND, f"n-{number:03d}") for number in range(200)]
        for place in places:
            denials.refuse(place, place[1])
        assert said == {f"{KIND} in n-000 and other namespaces"}
        tried = 0
        for _ in range(60):
            await clock.sleep(MINUTE)
            for place in sorted(denials.due()):
                assert not denials.stands(place)
                denials.refuse(place, place[1])
                tried += 1
        assert 400 < tried < 15 * 60
        while not denials.due():
            await clock.sleep(MINUTE)
        allowed = next(place for place in places if not denials.stands(place))
        denials.allow(allowed, allowed[1])
        await clock.sleep(1)
        denials.due()
        assert not denials.standing, "maybe all of them may be written"
        for place in places:
            denials.allow(place, place[1])
        assert not said

    run(main)
