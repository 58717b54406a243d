"""A change freeze that begins while a sweep goes on: what waits for the server then stays."""

from __future__ import annotations

import asyncio

import pytest

from skoupa.cli.acting.sweep import Sweeping
from skoupa.cli.worlds import World
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow
from skoupa.settings import Settings, decode
from skoupa.sim.faults import asking
from tests.unit.controller.braking import bring_kind, pull
from tests.unit.controller.stage import MINUTE, SHOP, Stage, story

pytestmark = pytest.mark.unit

SETTINGS = decode({"ledger": {"dsn": "none"}}, source="the test")
FREEZE = {"from": "5 0 * * *", "to": "0 12 * * *", "timeZone": "UTC"}
BEGINS = 5 * MINUTE


async def guards(_: World) -> Settings:
    return SETTINGS


@pytest.mark.parametrize("patience", [0, 20], ids=["before it begins", "after it began"])
def test_what_waits_its_turn_while_a_freeze_begins_stays(patience: int) -> None:
    @story()
    async def told(stage: Stage) -> None:
        await bring_kind(stage)
        await pull(stage, "freeze", all=True, schedule=FREEZE)
        await stage.make("web-1", "60s")
        await stage.until(BEGINS - 10)
        client = Client(Flow(stage.cluster, stage.clock), stage.clock)
        world = World(client=client, namespace=SHOP, skew=lambda: 0.0)
        sweeping = Sweeping(guards, kinds=("configmaps",), all_namespaces=False)
        plan, _ = await sweeping.look(world)
        due = plan.going()
        assert [found.row.name for found in due] == ["web-1"]
        if patience:
            busy = asking(method="DELETE", kind="configmaps")
            stage.cluster.faults.answer(429, when=busy, times=1, seconds=12, retry_after=patience)
        await stage.until(BEGINS - 3)
        acting = asyncio.create_task(sweeping.act(world, due))
        await stage.later(MINUTE)
        await acting
        assert stage.there("web-1") == bool(patience)

    told()
