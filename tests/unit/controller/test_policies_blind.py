"""Errors that pass cost no tick: labels of namespaces and kinds that can't be read around it are waited for until the next one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from skoupa.kube.resources import NAMESPACES
from skoupa.sim.faults import asking
from tests.unit.controller.braking import many
from tests.unit.controller.policies import HOURLY, bring_policies, cleanup, conditions, matching
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, WIDGETS, Play, Stage, story

pytestmark = pytest.mark.unit

# The first of January 2026 is one.
THURSDAYS = "0 1 * * 4"
DEV = matching(names=["web-*"], namespaceSelector={"matchLabels": {"env": "dev"}})
WIDGET = matching(kinds=["shop.example/v1/Widget"], names=["web-*"])


def lists_of(play: Play, kind: str) -> int:
    return sum(
        request.path.endswith(f"/{kind}") and not any(key == "watch" for key, _ in request.query)
        for _, request in play.sent("GET")
    )


def no_namespaces(stage: Stage, seconds: float) -> None:
    for verb in ("list", "watch"):
        when = asking(verb=verb, kind="namespaces")
        stage.cluster.faults.answer(500, when=when, times=None, seconds=seconds)


async def labelled(stage: Stage, *, schedule: str = THURSDAYS, **play: Any) -> Play:
    await bring_policies(stage)
    stage.old(many(3))
    await stage.label(SHOP, resource=NAMESPACES, env="dev")
    playing = await stage.play(**play)
    await cleanup(stage, schedule=schedule, match=DEV)
    return playing


@story(brakes={"share": 100})
async def test_a_tick_at_which_labels_of_namespaces_were_not_known_is_run_when_they_are(stage: Stage) -> None:
    play = await labelled(stage)
    await stage.until(HOUR - 20 * MINUTE)
    no_namespaces(stage, 40 * MINUTE)
    await stage.until(HOUR + 10 * MINUTE)
    assert len(stage.found()) == 3
    said = (await conditions(stage))["LastRunSucceeded"]
    assert said["reason"] == "NotEvaluated"
    read = lists_of(play, "configmaps")
    await stage.until(HOUR + 18 * MINUTE)
    assert lists_of(play, "configmaps") == read, "nothing is read while nothing more can be known"
    await stage.until(HOUR + 30 * MINUTE)
    assert not stage.found()
    assert (await conditions(stage))["LastRunSucceeded"]["reason"] == "Succeeded"
    stage.old(many(2))
    await stage.until(4 * HOUR)
    assert len(stage.found()) == 2, "it has run, and waits for the next Thursday"


@story(brakes={"share": 100})
async def test_a_tick_that_is_made_up_for_waits_for_labels_of_namespaces(stage: Stage) -> None:
    play = await labelled(stage)
    await stage.until(HOUR - 20 * MINUTE)
    await play.stop()
    await stage.until(HOUR + MINUTE)
    no_namespaces(stage, 30)
    starting = asyncio.create_task(stage.play())
    await stage.until(HOUR + 10 * MINUTE)
    await starting
    assert not stage.found()


@story(brakes={"share": 100})
async def test_it_is_waited_for_until_the_next_tick_and_no_longer(stage: Stage) -> None:
    play = await labelled(stage, schedule=HOURLY)
    await stage.until(HOUR - 20 * MINUTE)
    no_namespaces(stage, 100 * MINUTE)
    await stage.until(2 * HOUR + 30 * MINUTE)
    assert not stage.found()
    assert len(play.told("policy ran")) == 2, "the run of one, which found nothing, and that of two"


@story(brakes={"share": 100})
async def test_a_right_that_was_never_granted_is_told_and_not_waited_for(stage: Stage) -> None:
    stage.cluster.deny(user="skoupa", verbs=["list", "watch"], resources=["namespaces"])
    play = await labelled(stage, user="skoupa")
    await stage.until(HOUR + MINUTE)
    said = await conditions(stage)
    assert said["LastRunSucceeded"]["reason"] == "NotEvaluated"
    assert said["Ready"]["reason"] == "Scheduled"
    read = lists_of(play, "configmaps")
    await stage.until(3 * HOUR)
    assert len(stage.found()) == 3
    assert lists_of(play, "configmaps") == read


@story(brakes={"share": 100})
async def test_a_tick_at_which_a_kind_was_not_known_is_run_when_it_is(stage: Stage) -> None:
    await bring_policies(stage)
    stage.cluster.install(WIDGETS)
    stage.old(many(3), resource=WIDGETS)
    await stage.play()
    await cleanup(stage, schedule=THURSDAYS, match=WIDGET)
    await stage.until(HOUR - 20 * MINUTE)
    stage.cluster.discovery.stale.add(WIDGETS.group)
    await stage.until(HOUR + 10 * MINUTE)
    assert len(stage.found(resource=WIDGETS)) == 3
    assert (await conditions(stage))["LastRunSucceeded"]["reason"] == "KindsMissing"
    stage.cluster.discovery.stale.clear()
    await stage.until(HOUR + 30 * MINUTE)
    assert not stage.found(resource=WIDGETS)


@story(brakes={"share": 100})
async def test_a_wildcard_does_not_wait_for_an_api_service_that_is_broken(stage: Stage) -> None:
    await bring_policies(stage)
    stage.cluster.install(WIDGETS)
    stage.old(many(3))
    await stage.play()
    await cleanup(stage, schedule=THURSDAYS, match=matching(kinds=["*"], names=["web-*"], namespaces=[SHOP]))
    stage.cluster.discovery.stale.add(WIDGETS.group)
    await stage.until(HOUR + 5 * MINUTE)
    said = await conditions(stage)
    assert "all that" in said["LastRunSucceeded"]["message"], "it is told"
    assert said["Ready"]["reason"] == "Scheduled", "it is not under way any more"
    stage.old(many(2, "web-new"))
    stage.cluster.discovery.stale.clear()
    await stage.until(2 * HOUR)
    assert stage.found() == set(many(2, "web-new")), "what came after the tick waits for the next one"
