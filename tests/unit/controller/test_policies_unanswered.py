"""What conditions ask for and get no answer to, around a tick that comes once a week: the run is read again, and nothing waits a week."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kinds.policies.global_context import GLOBAL_CONTEXT_ENTRIES
from skoupa.kube.resources import CONFIG_MAPS, PODS
from skoupa.kube.transport import Request
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many
from tests.unit.controller.policies import bring_policies, cleanup, conditions, deleting, read
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Play, Stage, story

pytestmark = pytest.mark.unit

# The story begins on a Thursday.
WEEKLY = "0 1 * * 4"
WIDE = {"share": 100}
PODS_THERE = PODS.path(namespace=SHOP)
NONE = {"all": [{"key": "{{ pods }}", "operator": "Equals", "value": 0}]}


def counting(path: str) -> list[dict[str, Any]]:
    return [{"name": "pods", "apiCall": {"urlPath": path, "jmesPath": "items | length(@)"}}]


def about_pod(name: str) -> Callable[[Request], bool]:
    """One is asked for by a list on its name."""
    return lambda request: request.path == PODS_THERE and name in dict(request.query).get("fieldSelector", "")


def lists(play: Play) -> int:
    """Of what the policy is about."""
    path = CONFIG_MAPS.path(namespace=SHOP)
    return sum(one.path == path and not dict(one.query).get("watch") for _, one in play.sent("GET"))


async def fail_around_the_tick(stage: Stage, when: Callable[[Request], bool], code: int) -> None:
    """For a minute."""
    await stage.until(HOUR - 10)
    stage.cluster.faults.answer(code, when=when, times=None, seconds=MINUTE)
    await stage.until(HOUR + 30)


async def went_in_the_end(stage: Stage, name: str = "tidy", **about: Any) -> None:
    assert len(stage.found()) == 3
    assert (await conditions(stage, name, **about))["LastRunSucceeded"]["reason"] in {
        "NotAllJudged",
        "NotEvaluated",
    }
    await stage.until(HOUR + 3 * MINUTE)
    assert not stage.found()
    assert (await conditions(stage, name, **about))["LastRunSucceeded"]["status"] == "True"


@pytest.mark.parametrize("code", [429, 500, 503])
@story(brakes=WIDE)
async def test_an_api_call_that_fails_for_a_minute_costs_minutes(stage: Stage, code: int) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=WEEKLY, context=counting(PODS_THERE), conditions=NONE)
    await fail_around_the_tick(stage, asking(path=PODS_THERE), code)
    await went_in_the_end(stage)
    assert (await read(stage))["status"]["lastRun"]["deleted"] == 3


@story(brakes=WIDE)
async def test_a_run_that_is_read_again_for_its_tick_keeps_the_time_at_which_it_ran(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=WEEKLY, context=counting(PODS_THERE), conditions=NONE)
    await fail_around_the_tick(stage, asking(path=PODS_THERE), 500)
    first = (await read(stage))["status"]["lastExecutionTime"]
    assert first.endswith(":00:00Z")
    await went_in_the_end(stage)
    assert (await read(stage))["status"]["lastExecutionTime"] == first


@story(brakes=WIDE)
async def test_an_api_call_that_gets_no_answer_is_made_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=WEEKLY, context=counting(PODS_THERE), conditions=NONE)
    fault = stage.cluster.faults.delay(1000, when=asking(path=PODS_THERE), times=None)
    await stage.until(HOUR + MINUTE)
    assert len(stage.found()) == 3
    stage.cluster.faults.remove(fault)
    await stage.until(HOUR + 5 * MINUTE)
    assert not stage.found()


@story(brakes=WIDE)
async def test_what_cel_asks_for_is_asked_for_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await deleting(stage, f"resource.List('v1', 'pods', '{SHOP}').items.size() == 0", schedule=WEEKLY)
    await fail_around_the_tick(stage, asking(path=PODS_THERE), 503)
    await went_in_the_end(stage, "cel", kind=DELETING_POLICIES)


@story(brakes=WIDE)
async def test_a_namespace_that_cel_looks_at_is_read_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await deleting(stage, f"namespaceObject.metadata.name == '{SHOP}'", schedule=WEEKLY)
    by_name = asking(kind="namespaces", verb="list")
    await fail_around_the_tick(
        stage, lambda request: by_name(request) and "fieldSelector" in dict(request.query), 503
    )
    await went_in_the_end(stage, "cel", kind=DELETING_POLICIES)


def children() -> list[int]:
    """Those of this process in which CEL is worked out."""
    mine = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split()
    return [int(pid) for pid in mine if b"skoupa.expr.cel.child" in Path(f"/proc/{pid}/cmdline").read_bytes()]


@story(brakes=WIDE)
async def test_a_machine_with_no_room_for_cel_at_the_tick_costs_minutes(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    await deleting(stage, "object.metadata.name.startsWith('web')", schedule=WEEKLY)
    await stage.until(HOUR - 10)
    room, began = subprocess.Popen, stage.now

    def crowded(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        if stage.now < began + MINUTE:
            raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")
        return room(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(subprocess, "Popen", crowded)
        for child in children():
            os.kill(child, signal.SIGKILL)
        await stage.until(HOUR + 30)
        await went_in_the_end(stage, "cel", kind=DELETING_POLICIES)


@story(brakes=WIDE)
async def test_shared_context_that_was_not_ready_is_asked_for_again(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.play()
    kind = GLOBAL_CONTEXT_ENTRIES
    spec = {"kubernetesResource": {"version": "v1", "resource": "pods", "namespace": SHOP}}
    body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": "pods"}, "spec": spec}
    await stage.people.create(kind, body)
    context = [{"name": "pods", "globalReference": {"name": "pods", "jmesPath": "length(@)"}}]
    await cleanup(stage, schedule=WEEKLY, context=context, conditions=NONE)
    await fail_around_the_tick(stage, asking(path=PODS_THERE), 503)
    await went_in_the_end(stage)


@story(brakes=WIDE)
async def test_what_is_clear_goes_at_once_and_the_rest_when_it_is(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    context = [
        {"name": "pods", "apiCall": {"urlPath": f"{PODS_THERE}/{{{{ target.metadata.name }}}}", "default": 0}}
    ]
    await cleanup(stage, schedule=WEEKLY, context=context, conditions=NONE)
    await fail_around_the_tick(
        stage, lambda one: "web-1" in str((one.path, one.query)) and "pods" in one.path, 503
    )
    assert stage.found() == {"web-1"}
    await stage.until(HOUR + 3 * MINUTE)
    assert not stage.found()
    assert len(play.sent("DELETE", path="configmaps")) == 3


@story(brakes=WIDE)
async def test_a_tick_that_is_read_again_never_takes_the_place_of_a_newer_run(stage: Stage) -> None:
    """It hangs when the next tick comes, and is through while deletes of that one fail."""
    await bring_policies(stage)
    stage.old([*many(3), "web-odd"])
    await stage.play()
    path = f"{PODS_THERE}/{{{{ target.metadata.name }}}}"
    context = [{"name": "pod", "apiCall": {"urlPath": path, "jmesPath": "metadata.name", "default": "none"}}]
    none = {"all": [{"key": "{{ pod }}", "operator": "Equals", "value": "none"}]}
    await cleanup(stage, schedule="0,1 1 * * *", context=context, conditions=none)
    odd = about_pod("web-odd")
    stage.cluster.faults.answer(500, when=lambda one: odd(one) and stage.now < HOUR + 59, times=None)
    listing = asking(path=CONFIG_MAPS.path(namespace=SHOP))
    hanging = stage.cluster.faults.delay(
        40, when=lambda one: listing(one) and HOUR + 20 < stage.now < HOUR + 59, times=None
    )
    await stage.until(HOUR + 10)
    assert stage.found() == {"web-odd"}
    stage.old(["web-new"])
    stage.cluster.faults.answer(
        500, when=lambda one: one.method == "DELETE" and HOUR + 50 < stage.now < HOUR + 100, times=None
    )
    await stage.until(HOUR + 65)
    assert hanging.hits
    assert stage.found() == {"web-odd", "web-new"}
    await stage.until(HOUR + 4 * MINUTE)
    assert not stage.found(), "the run of 01:01 has chosen both"
    assert (await read(stage))["status"]["lastExecutionTime"].endswith("01:01:00Z")


@pytest.mark.parametrize("code", [403, 404])
@story(brakes=WIDE)
async def test_a_refusal_is_an_answer_and_is_not_asked_for_again(stage: Stage, code: int) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=WEEKLY, context=counting(PODS_THERE), conditions=NONE)
    stage.cluster.faults.answer(code, when=asking(path=PODS_THERE), times=None)
    await stage.until(HOUR - 10)
    before = lists(play)
    await stage.until(4 * HOUR)
    assert len(stage.found()) == 3
    assert lists(play) == before + 1


@story(brakes=WIDE)
async def test_a_call_that_fails_for_hours_is_made_seldom(stage: Stage) -> None:
    await bring_policies(stage)
    stage.old(many(3))
    play = await stage.play()
    await cleanup(stage, schedule=WEEKLY, context=counting(PODS_THERE), conditions=NONE)
    await stage.until(HOUR - 10)
    before = lists(play)
    stage.cluster.faults.answer(503, when=asking(path=PODS_THERE), times=None)
    await stage.until(7 * HOUR)
    assert 60 < lists(play) - before < 160, "every five minutes, at most"
    stage.cluster.faults.clear()
    await stage.later(6 * MINUTE)
    assert not stage.found()


@story(brakes=WIDE)
async def test_a_call_that_fails_for_one_object_all_day_does_not_make_the_run_one_of_all_day(
    stage: Stage,
) -> None:
    """What is made, or first matches, after the tick waits for the next one, also over a restart."""
    await bring_policies(stage)
    stage.old([*many(3), "web-late"])
    stage.old(["web-odd"])
    play = await stage.play()
    path = f"{PODS_THERE}/{{{{ target.metadata.name }}}}"
    context = [{"name": "pod", "apiCall": {"urlPath": path, "jmesPath": "metadata.name", "default": "none"}}]
    none = {
        "all": [
            {"key": "{{ pod }}", "operator": "Equals", "value": "none"},
            {"key": "{{ target.metadata.labels.stays || '' }}", "operator": "Equals", "value": ""},
        ]
    }
    await stage.label("web-late", stays="true")
    await cleanup(stage, schedule=WEEKLY, context=context, conditions=none)
    stage.cluster.faults.answer(500, when=about_pod("web-odd"), times=None)
    await stage.until(HOUR + 10 * MINUTE)
    assert stage.found() == {"web-odd", "web-late"}
    await stage.label("web-late", stays=None)
    await stage.make("web-new")
    await stage.until(3 * HOUR)
    assert stage.found() == {"web-odd", "web-late", "web-new"}
    await play.stop()
    await stage.play()
    await stage.until(6 * HOUR)
    assert stage.found() == {"web-odd", "web-late", "web-new"}
