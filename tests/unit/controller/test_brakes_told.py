"""What the status of a Brake says: how much would go without it, and whether it does what its writer meant."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES
from tests.unit.controller.braking import brake, bring_kind, many, pull, release
from tests.unit.controller.stage import DAY, MINUTE, SHOP, WIDGETS, Stage, definition, story
from tests.unit.controller.test_trash import ledger

pytestmark = pytest.mark.unit


async def status(stage: Stage, name: str) -> dict[str, Any]:
    found: dict[str, Any] = (await brake(stage, name))["status"]
    return found


async def ready(stage: Stage, name: str) -> dict[str, Any]:
    (condition,) = (await status(stage, name))["conditions"]
    assert condition["type"] == "Ready"
    found: dict[str, Any] = condition
    return found


@story()
async def test_what_is_kept_does_not_count_as_held_by_a_brake_nor_is_it_recorded_as_braked(
    stage: Stage, tmp_path: Path
) -> None:
    await bring_kind(stage)
    async with ledger(stage, tmp_path / "l.db") as book:
        await stage.play(record=book.record)
        await pull(stage, "stop", namespace=SHOP)
        for name in many(3):
            await stage.make(name, "1m", keep="true")
        await stage.make("free", "1m")
        await stage.later(10 * MINUTE)
        told = await status(stage, "stop")
        assert (told["held"], told["sample"]) == (1, [f"ConfigMap/{SHOP}/free"])
        rows = await book.record.store.find()
        assert [(row.name, row.outcome) for row in rows] == [("free", "braked")]

        await stage.label("web-0", keep=None)
        await stage.later(MINUTE)
        assert (await status(stage, "stop"))["held"] == 2
        await stage.label("free", keep="true")
        await stage.later(MINUTE)
        assert (await status(stage, "stop"))["sample"] == [f"ConfigMap/{SHOP}/web-0"]


@story()
async def test_what_two_brakes_hold_counts_for_both(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("web", "1m")
    await stage.play()
    await pull(stage, "one", namespace=SHOP)
    await pull(stage, "other", kind="configmaps")
    await stage.later(5 * MINUTE)
    assert [(await status(stage, name))["held"] for name in ("one", "other")] == [1, 1]


@story()
async def test_what_waits_in_a_backlog_too_counts_for_a_brake(stage: Stage) -> None:
    await bring_kind(stage)
    stage.old(many(101), "1h", age=DAY)
    await stage.play()
    await pull(stage, "stop", namespace=SHOP)
    await stage.later(MINUTE)
    assert (await status(stage, "stop"))["held"] == 101


@story()
async def test_a_namespace_counts_as_held_by_a_brake_on_a_kind_in_it_from_try_to_try(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("inside")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    play = await stage.play()
    await pull(stage, "stop", reason="the audit", kind="configmaps")
    await stage.later(2 * MINUTE)
    assert play.overdue == {"brake-inside": 1}
    assert "ConfigMap shop/" in play.why_held(SHOP)
    assert play.why_held(SHOP).endswith("which stays: brake stop: the audit")
    for _ in range(30):
        told = await status(stage, "stop")
        assert (told["held"], told["sample"]) == (1, [f"Namespace/{SHOP}"])
        await stage.later(7)

    await release(stage, "stop")
    await stage.later(2 * MINUTE)
    assert not stage.there(SHOP, NAMESPACES)


@story()
async def test_a_namespace_that_also_has_something_kept_in_it_is_not_held_by_a_brake(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.make("inside", keep="true")
    await stage.make("other")
    await stage.label(SHOP, resource=NAMESPACES, ttl="1m")
    await stage.play()
    await pull(stage, "stop", kind="configmaps")
    await stage.later(2 * MINUTE)
    assert (await status(stage, "stop"))["held"] == 0


@story()
async def test_a_brake_on_a_kind_that_there_is_not_says_so_with_the_nearest(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.play()
    await pull(stage, "typo", kind="ConfigMpa")
    await pull(stage, "right", kind="ConfigMap")
    await pull(stage, "wild", kind="config*")
    await stage.later(10)
    told = await ready(stage, "typo")
    assert (told["status"], told["reason"]) == ("False", "NoSuchKind")
    assert told["message"].startswith("it holds nothing now: there is no kind ConfigMpa in this cluster")
    assert "did you mean configmap" in told["message"]
    for name in ("right", "wild"):
        assert (await ready(stage, name))["status"] == "True"


@story()
async def test_a_brake_on_a_kind_that_comes_later_is_ready_then(stage: Stage) -> None:
    await bring_kind(stage)
    await stage.play()
    await pull(stage, "stop", kind=WIDGETS.qualified)
    await stage.later(10)
    assert (await ready(stage, "stop"))["reason"] == "NoSuchKind"
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, definition(WIDGETS))
    await stage.later(2 * MINUTE)
    assert (await ready(stage, "stop"))["reason"] == "Holding"
