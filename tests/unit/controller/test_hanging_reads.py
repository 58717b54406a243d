"""Reads that hang, of a kind that does not answer: what needs them stays, is told, and makes nothing else wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from skoupa.kube.resources import NAMESPACES, PODS
from skoupa.kube.transport import Request
from skoupa.sim.faults import Fault, asking
from tests.unit.controller.replicas import replicas
from tests.unit.controller.stage import (
    APPS,
    MINUTE,
    PRIORITIES,
    REPLICA_SETS,
    SECRETS,
    WIDGETS,
    Play,
    Stage,
    story,
)
from tests.unit.controller.test_carried import ACCOUNTS, CLAIMS, VOLUMES, a_claim, a_token

pytestmark = pytest.mark.unit

FEW: dict[str, Any] = {"rate": {"inFlight": 4}}
NO_ANSWER = "the server did not answer within 10 seconds"


def hang(stage: Stage, when: Callable[[Request], bool]) -> Fault:
    return stage.cluster.faults.delay(100_000.0, when=when, times=None)


async def others_go(stage: Stage, *, namespace: str = "shop", rounds: int = 30) -> None:
    """Once the first wave is over."""
    await stage.later(12)
    for number in range(rounds):
        await stage.make(f"later-{number}", "1s", namespace=namespace)
        await stage.later(4)
        assert not stage.there(f"later-{number}", namespace=namespace), stage.now


async def held_then_let_go(stage: Stage, play: Play, fault: Fault, *, name: str) -> None:
    assert NO_ANSWER in play.why_held(name)
    stage.cluster.faults.remove(fault)
    await stage.later(MINUTE)


@story(also=(SECRETS,))
async def test_service_accounts_whose_tokens_can_not_be_asked_for_make_nothing_else_wait(
    stage: Stage,
) -> None:
    play = await stage.play(**FEW)
    names = [f"robot-{number}" for number in range(20)]
    for name in names:
        await stage.make(name, "1m", resource=ACCOUNTS)
    await a_token(stage, "robot-7-token", account="robot-7", keep="true")
    await stage.later(MINUTE - 1)
    fault = hang(stage, asking(verb="list", kind="secrets"))
    await stage.later(1)
    await others_go(stage)
    assert stage.found(ACCOUNTS) >= set(names)
    await held_then_let_go(stage, play, fault, name="robot-3")
    assert stage.found(ACCOUNTS) - {"default"} == {"robot-7"}


@story(also=(CLAIMS, VOLUMES))
async def test_claims_whose_volumes_can_not_be_asked_for_make_nothing_else_wait(stage: Stage) -> None:
    play = await stage.play(**FEW)
    names = [f"data-{number}" for number in range(10)]
    for name in names:
        await a_claim(stage, name, policy="Delete")
        await stage.label(name, resource=CLAIMS, ttl="1m")
    await stage.later(MINUTE - 1)
    fault = hang(stage, asking(verb="list", kind="persistentvolumes"))
    await stage.later(1)
    await others_go(stage)
    assert stage.found(CLAIMS) == set(names)
    await held_then_let_go(stage, play, fault, name="data-3")
    assert not stage.found(CLAIMS)


@story(also=(PRIORITIES,))
async def test_objects_of_no_namespace_wait_for_namespaces_that_do_not_answer_and_keep_no_hands(
    stage: Stage,
) -> None:
    play = await stage.play(**FEW)
    names = {f"first-{number}" for number in range(10)}
    for name in names:
        await stage.make(name, "1m", resource=PRIORITIES)
    await stage.later(MINUTE - 1)
    # Not by its name: what is in a Namespace asks for it so.
    fault = hang(
        stage,
        lambda asked: (
            asking(verb="list", kind="namespaces")(asked) and "fieldSelector" not in dict(asked.query)
        ),
    )
    await stage.later(1)
    await others_go(stage)
    assert stage.found(PRIORITIES) >= names
    await held_then_let_go(stage, play, fault, name="first-3")
    assert not stage.found(PRIORITIES) & names


@story(also=APPS)
async def test_owners_of_kept_objects_that_do_not_answer_hold_what_may_be_above_them_and_keep_no_hands(
    stage: Stage,
) -> None:
    await stage.namespace("elsewhere")
    owner = await stage.make("middle", resource=REPLICA_SETS)
    await stage.make("deed", resource=PODS, keep="true", owner=owner)
    play = await stage.play(**FEW)
    names = {f"config-{number}" for number in range(20)}
    for name in names:
        await stage.make(name, "1m")
    await stage.later(MINUTE - 1)
    fault = hang(stage, asking(verb="get", kind=REPLICA_SETS.qualified))
    await stage.later(1)
    await others_go(stage, namespace="elsewhere")
    assert stage.found() == names
    await held_then_let_go(stage, play, fault, name="config-3")
    assert not stage.found()


@story()
async def test_a_namespace_that_does_not_answer_holds_what_is_in_it_and_keeps_no_hands(stage: Stage) -> None:
    # Its watch says nothing either.
    watches = asking(verb="watch", kind=NAMESPACES.qualified)
    stage.cluster.faults.silence_watch(when=watches, times=None, after=1)
    play = await stage.play(**FEW)
    names = {f"config-{number}" for number in range(20)}
    for name in names:
        await stage.make(name, "1m")
    await stage.later(MINUTE - 1)
    fault = hang(stage, asking(verb="list", kind=NAMESPACES.qualified))
    await stage.later(15)
    for _ in range(90):
        await stage.later(1)
        assert play.engine.sweeper.statistics()["under_way"] <= 1, stage.now
    assert stage.found() == names
    assert NO_ANSWER in play.why_held("config-3")
    stage.cluster.faults.remove(fault)
    await stage.later(MINUTE)
    assert not stage.found()


@story()
async def test_a_kind_that_hangs_in_many_namespaces_takes_no_hands_from_other_kinds(stage: Stage) -> None:
    stage.cluster.install(WIDGETS)
    places = [f"place-{number}" for number in range(40)]
    for place in places:
        await stage.namespace(place)
    hang(stage, asking(kind=WIDGETS.qualified))
    waived = {"ignoreKinds": [WIDGETS.qualified]}
    async with replicas(stage, 1, namespaces=places, cascade=waived) as (replica,):
        await stage.later(MINUTE)
        assert replica.process.engine.ready.is_set()
        for number in range(30):
            await stage.make(f"web-{number}", "1s", namespace=places[number])
            await stage.later(3)
            assert not stage.there(f"web-{number}", namespace=places[number]), stage.now
