"""What the first sweep waits for: kinds that can't be read are waited for a little, and told; then it begins."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.resources import PODS
from skoupa.sim.faults import asking
from tests.unit.controller.replicas import Replica, replicas
from tests.unit.controller.stage import DAY, HOUR, MINUTE, PRIORITIES, SECRETS, Stage, story
from tests.unit.controller.test_backlog import many, restart, state

pytestmark = pytest.mark.unit

JANITOR: dict[str, Any] = {"compat": {"janitor": True}}


def told(replica: Replica) -> list[dict[str, str]]:
    return [line for line in replica.lines if line["event"] == "nothing goes yet"]


def broken(stage: Stage, kind: str, **how: Any) -> None:
    stage.cluster.faults.answer(500, when=asking(kind=kind), times=None, **how)


@story(also=(PRIORITIES,))
async def test_a_kind_that_never_answers_does_not_make_a_cluster_count_as_never_swept(stage: Stage) -> None:
    broken(stage, PRIORITIES.qualified)
    play = await stage.play()
    await stage.make("x", "1m")
    await stage.later(5 * MINUTE)
    assert not stage.there("x")
    assert "firstSweep" in state(stage)
    for name in many(150):
        await stage.make(name, "30m")
    await play.stop()
    await stage.later(3 * HOUR)
    play = await stage.play()
    await stage.make("y", "1s")
    await stage.later(10)
    assert not stage.there("y"), "who swept before waits for nothing"
    await stage.later(5 * MINUTE)
    assert not stage.found()


@story(also=(SECRETS,))
async def test_a_kind_that_is_waived_is_not_waited_for(stage: Stage) -> None:
    broken(stage, "secrets")
    await stage.make("early", "1s")
    play = await stage.play(cascade={"ignoreKinds": ["secrets"]})
    await stage.later(10)
    assert not stage.there("early")
    assert "firstSweep" in state(stage)
    stage.old(many(150), "1h", age=DAY, resource=SECRETS)
    stage.cluster.faults.clear()
    await stage.later(10 * MINUTE)
    assert len(stage.found(SECRETS)) == 150, "what comes later is counted when it comes"
    assert play.overdue == {"first-start-backlog": 150}


@story(also=(PRIORITIES,))
async def test_waiting_for_a_kind_at_the_first_start_is_told_and_ends_after_a_minute(stage: Stage) -> None:
    broken(stage, PRIORITIES.qualified)
    await stage.make("early", "1s")
    async with replicas(stage, 1) as (replica,):
        await stage.later(5)
        assert told(replica) == []
        await stage.later(15)
        (line,) = told(replica)
        assert line["level"] == "warning"
        assert line["why"].endswith("these can't be read: priorityclasses.scheduling.k8s.io")
        assert line["next"].startswith("goes on without them in 4")
        assert stage.there("early")
        await stage.later(MINUTE)
        assert not stage.there("early")
        assert len(told(replica)) == 1


@story()
async def test_a_backlog_is_not_over_while_the_kind_of_what_is_left_can_not_be_read(stage: Stage) -> None:
    """Also where that is waived: a waiver speaks of what is kept, not of what is held."""
    stage.old(many(60), "1h", age=DAY)
    stage.old(many(60), "1h", age=DAY, resource=PODS)
    waiving: dict[str, Any] = {"cascade": {"ignoreKinds": ["pods"]}}
    play = await stage.play(**waiving)
    await stage.later(10)
    assert play.overdue == {"first-start-backlog": 120}
    await play.stop()
    for name in many(60):
        await stage.label(name, ttl=None)
    broken(stage, "pods", seconds=10 * MINUTE)
    play = await stage.play(**waiving)
    await stage.later(HOUR)
    assert len(stage.found(PODS)) == 60
    assert play.overdue == {"first-start-backlog": 60}
    assert "firstSweep" not in state(stage)


@story()
async def test_a_held_backlog_of_which_something_is_seen_waits_for_nothing(stage: Stage) -> None:
    stage.old(many(150), "1h", age=DAY)
    play = await stage.play()
    await stage.later(10)
    await play.stop()
    broken(stage, "pods")
    await stage.make("new", "1s")
    await stage.play(cascade={"ignoreKinds": ["pods"]})
    await stage.later(10)
    assert stage.found() == set(many(150))


@story()
async def test_accepting_a_backlog_accepts_none_that_a_setting_makes_later(stage: Stage) -> None:
    play = await stage.play(acceptBacklog=True)
    await stage.later(10)
    stage.old(many(150), age=DAY, annotations={"janitor/ttl": "1h"})
    for _ in range(3):
        play = await restart(stage, play, **JANITOR)
        await stage.later(2 * HOUR)
        assert len(stage.found()) == 150, "also over a restart"
    play = await restart(stage, play, acceptBacklog=True, **JANITOR)
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_a_setting_that_makes_much_due_waits_longer_for_kinds_that_fail(stage: Stage) -> None:
    """What is there is counted together."""
    play = await stage.play()
    await stage.later(10)
    stage.old(many(150), age=DAY, annotations={"janitor/ttl": "1h"})
    await play.stop()
    broken(stage, "configmaps", seconds=3 * MINUTE)
    play = await stage.play(cascade={"ignoreKinds": ["configmaps"]}, **JANITOR)
    await stage.later(HOUR)
    assert len(stage.found()) == 150
    assert play.overdue == {"first-start-backlog": 150}


@pytest.mark.parametrize("again", [False, True], ids=["same process", "after a restart"])
@story()
async def test_a_kind_that_fails_for_long_when_a_setting_is_switched_on_is_counted_when_it_comes(
    stage: Stage, *, again: bool
) -> None:
    """It was read before, but with settings that gave nothing of it a time."""
    play = await stage.play()
    await stage.later(10)
    stage.old(many(150), age=DAY, resource=PODS, annotations={"janitor/ttl": "1h"})
    broken(stage, "pods")
    settings = {"cascade": {"ignoreKinds": ["pods"]}, **JANITOR}
    play = await restart(stage, play, **settings)
    await stage.make("web", "1s")
    await stage.later(20 * MINUTE)
    assert not stage.there("web"), "nothing else is held for it"
    if again:
        play = await restart(stage, play, **settings)
        await stage.make("web", "1s")
        await stage.later(10)
        assert not stage.there("web"), "who counted before waits for nothing"
    stage.cluster.faults.clear()
    await stage.later(HOUR)
    assert len(stage.found(PODS)) == 150
    assert play.overdue == {"first-start-backlog": 150}
    assert state(stage)["kindsCounted"] == "null", "by now all was read"
    await stage.make("late", resource=PODS, annotations={"janitor/ttl": "1m"})
    await stage.later(5 * MINUTE)
    assert not stage.there("late", PODS)


@story()
async def test_a_kind_that_could_not_be_read_for_want_of_a_right_when_a_setting_was_switched_on_is_counted_too(
    stage: Stage,
) -> None:
    play = await stage.play(user="sweeper")
    await stage.later(10)
    stage.old(many(150), age=DAY, resource=PODS, annotations={"janitor/ttl": "1h"})
    stage.cluster.deny(user="sweeper", verbs=("list", "watch"), resources=("pods",))
    play = await restart(stage, play, user="sweeper", **JANITOR)
    await stage.later(10 * MINUTE)
    stage.cluster.plane.access.clear()
    await stage.later(HOUR)
    assert len(stage.found(PODS)) == 150
    assert play.overdue == {"first-start-backlog": 150}


@story()
async def test_few_of_a_kind_that_comes_after_a_setting_was_switched_on_go(stage: Stage) -> None:
    play = await stage.play()
    await stage.later(10)
    stage.old(many(60), age=DAY, resource=PODS, annotations={"janitor/ttl": "1h"})
    broken(stage, "pods", seconds=20 * MINUTE)
    await restart(stage, play, cascade={"ignoreKinds": ["pods"]}, **JANITOR)
    await stage.later(HOUR)
    assert not stage.found(PODS)
