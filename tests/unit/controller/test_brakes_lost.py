"""Brakes that went along with their definition: nobody has released them, so they hold, and come back with the kind."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa import names
from skoupa.errors import AlreadyExists
from skoupa.kinds.brake import BRAKE, BRAKES
from skoupa.kinds.definition import document
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS
from tests.unit.controller.braking import (
    brake,
    brakes,
    bring_kind,
    many,
    pull,
    release,
    state,
    take_kind_away,
)
from tests.unit.controller.stage import HOUR, MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit


async def replace_kind(stage: Stage) -> None:
    """Deleted and created at once, as `kubectl replace --force` does it."""
    await take_kind_away(stage)
    for _ in range(50):
        try:
            await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))
        except AlreadyExists:
            await stage.later(0.1)
        else:
            return
    raise AssertionError("the definition did not go")


@story()
async def test_a_brake_whose_definition_is_replaced_goes_on_holding_and_comes_back(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    play = await stage.play()
    before = await pull(stage, "hand", all=True, reason="the storage is down")
    await stage.later(10 * MINUTE)
    await replace_kind(stage)
    await stage.later(HOUR)
    assert stage.there("web")
    again = await brake(stage, "hand")
    assert again["spec"] == before["spec"]
    assert again["metadata"]["uid"] != before["metadata"]["uid"]
    assert again["metadata"]["finalizers"] == [names.BRAKE_FINALIZER]
    assert not play.told("brake released")
    await release(stage, "hand")
    await stage.later(10)
    assert not stage.there("web")
    assert not await brakes(stage)


@story()
async def test_bringing_the_kind_back_releases_nobodys_pause(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    await stage.namespace("other")
    await stage.make("web", "5m", namespace="other")
    await stage.play()
    await pull(stage, "hand", namespace=SHOP)
    await take_kind_away(stage)
    await stage.later(HOUR)
    await bring_kind(stage)
    await stage.later(20)
    assert stage.there("web")
    assert not stage.there("web", namespace="other"), "everything else goes on"
    assert await brakes(stage) == {"hand"}


@story()
async def test_a_pause_that_went_along_with_its_definition_is_not_forgotten_by_a_restart(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    play = await stage.play()
    schedule = {"from": "0 0 * * *", "to": "59 23 * * *"}
    before = await pull(stage, "hand", namespace=SHOP, reason="the audit", schedule=schedule)
    await stage.later(10)
    await take_kind_away(stage)
    await stage.later(MINUTE)
    await play.kill()
    await stage.later(MINUTE)
    play = await stage.play()
    await stage.later(HOUR)
    assert stage.there("web")
    await bring_kind(stage)
    await stage.later(20)
    assert (await brake(stage, "hand"))["spec"] == before["spec"]
    await stage.later(HOUR)
    assert stage.there("web")


@story()
async def test_a_brake_that_somebody_let_go_by_hand_while_nobody_ran_does_not_come_back(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    play = await stage.play()
    await pull(stage, "hand", all=True)
    await stage.later(10)
    assert [known["name"] for known in state(stage)["brakesKnown"]] == ["hand"]
    await play.kill()
    await stage.people.merge_patch(BRAKES, "hand", {"metadata": {"finalizers": None}})
    await release(stage, "hand")
    await stage.play()
    await stage.later(10 * MINUTE)
    assert not stage.there("web")
    assert not await brakes(stage)
    assert state(stage)["brakesKnown"] == []


@story()
async def test_a_lost_brake_whose_name_is_taken_holds_beside_the_other(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    await stage.play()
    await pull(stage, "hand", namespace=SHOP)
    await stage.later(MINUTE)
    await replace_kind(stage)
    await pull(stage, "hand", namespace="elsewhere")
    await stage.later(HOUR)
    assert stage.there("web")
    scopes = {name: (await brake(stage, name))["spec"]["scope"] for name in await brakes(stage)}
    assert scopes == {"hand": {"namespace": "elsewhere"}, "hand-2": {"namespace": SHOP}}


@story(mode="observe")
async def test_an_observer_holds_what_was_lost_and_writes_nothing(stage: Stage) -> None:
    await bring_kind(stage)
    await pull(stage, "hand", namespace=SHOP)
    await stage.make("web", "5m")
    play = await stage.play()
    await stage.later(MINUTE)
    await replace_kind(stage)
    await stage.later(HOUR)
    assert not play.told("would delete")
    assert not await brakes(stage)


@story()
async def test_a_brake_that_was_lost_twice_still_holds(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "5m")
    await stage.play()
    await pull(stage, "hand", all=True)
    for _ in range(2):
        await stage.later(10 * MINUTE)
        await replace_kind(stage)
    await stage.later(HOUR)
    assert stage.there("web")
    assert await brakes(stage) == {"hand"}


@story(brakes={"namespacePerMinute": 20, "namespacePerHour": 1000})
async def test_a_ceiling_that_trips_does_not_take_the_name_of_a_brake_that_holds_something_else(
    stage: Stage,
) -> None:
    await bring_kind(stage)
    await stage.namespace("other")
    for one in many(30):
        await stage.make(one, "1m")
    play = await stage.play()
    await stage.later(2 * MINUTE)
    name = "ceiling-namespace-shop-per-minute"
    # Somebody points it at another namespace instead.
    await stage.people.merge_patch(BRAKES, name, {"spec": {"scope": {"namespace": "other"}}})
    await stage.make("precious", "1m", namespace="other")
    await stage.later(2 * MINUTE)
    for one in many(40, "more"):
        await stage.make(one, "10s")
    await stage.later(2 * MINUTE)
    assert stage.there("precious", namespace="other")
    scopes: dict[str, Any] = {one: (await brake(stage, one))["spec"]["scope"] for one in await brakes(stage)}
    assert scopes == {name: {"namespace": "other"}, f"{name}-2": {"namespace": SHOP}}
    assert play.told("brake pulled")[-1]["release"] == f"skoupa brakes release {name}-2"
    held = len(stage.found())
    assert held > 0
    await stage.later(HOUR)
    assert len(stage.found()) == held
    await release(stage, f"{name}-2")
    await stage.later(10)
    assert not stage.found()
    assert stage.there("precious", namespace="other")
