"""The end of a change freeze on a real server: what it held goes, Namespaces with all that is in them, and it is told."""

from __future__ import annotations

import asyncio
import secrets

import pytest

from skoupa import names
from skoupa.kinds.brake import BRAKES
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES
from skoupa.kube.timestamps import whole_seconds
from tests.cluster.controller.braking import held, pull
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

# From when on all is held.
FREEZE_SECONDS = 7


async def test_the_end_of_a_freeze_lets_full_namespaces_go_over_a_ceiling(
    people: People, running: Yard
) -> None:
    client, mark = people.client, secrets.token_hex(3)
    process = await running.started(brakes__perMinute="60")
    freeze = f"freeze-{mark}"
    await pull(people, freeze, all=True)
    full = [f"full-{mark}-{number}" for number in range(5)]
    for name in full:
        await client.create(NAMESPACES, {"metadata": {"name": name}})
        bodies = ({"metadata": {"name": f"web-{one}"}} for one in range(18))
        await asyncio.gather(*(client.create(CONFIG_MAPS, body, namespace=name) for body in bodies))
        await client.merge_patch(NAMESPACES, name, {"metadata": {"labels": {names.TTL_LABEL: "1s"}}})
    await held(process, "brake", 5)
    end = {"spec": {"until": whole_seconds(client.clock.now() + FREEZE_SECONDS)}}
    await client.merge_patch(BRAKES, freeze, end)

    async def all_going() -> bool:
        found = (await everything(client, NAMESPACES, METADATA)).items
        return not any(one.metadata.name in full and one.metadata.deletion_timestamp is None for one in found)

    await eventually(all_going, what="the Namespaces to go", seconds=60)
    await process.says("brake ended", name=freeze, held="5")
    assert not process.said("brake pulled")
