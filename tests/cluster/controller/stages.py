"""Where stories about policies are told: a control plane with somebody who may do everything, and a yard for processes.

Stories that want other settings than each other, or another time to be down, have a stage each, and so wait for the same ticks.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from harness.controlplane import ControlPlane
from skoupa.kube.client import Client
from skoupa.kube.resources import NAMESPACES
from tests.cluster.controller.braking import bring_kind
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Yard
from tests.cluster.controller.shop import Shop, bring_kinds
from tests.cluster.reaching import connected


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    plane: ControlPlane
    client: Client
    yard: Yard
    folder: Path

    async def shop(self) -> Shop:
        """In a namespace of its own, for one story."""
        return Shop(People(self.client, await _namespace(self.client, "shop")))


async def _namespace(client: Client, what: str) -> str:
    name = f"{what}-{secrets.token_hex(4)}"
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    return name


@asynccontextmanager
async def spare_stage(folder: Path) -> AsyncIterator[Stage]:
    """On a control plane that nobody else uses, with all kinds; it goes with them. Its processes' last words are in a failure."""
    await asyncio.to_thread(folder.mkdir)
    plane = ControlPlane()
    try:
        await asyncio.to_thread(plane.start)
        async with connected(plane.kubeconfig) as client:
            await asyncio.gather(bring_kind(client), bring_kinds(client))
            home = await _namespace(client, "home")
            yard = Yard(folder, kubeconfig=plane.kubeconfig, home=home)
            try:
                yield Stage(plane=plane, client=client, yard=yard, folder=folder)
            except BaseException as error:
                error.add_note(yard.last_words)
                raise
            finally:
                # Not in the way of the other stages.
                await asyncio.to_thread(yard.close)
    finally:
        await asyncio.to_thread(plane.stop)
