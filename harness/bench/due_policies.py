"""Policies in the arena: their kinds, and how one is written that is due at a full minute to come."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from harness.bench.arena import Arena
from skoupa.errors import AlreadyExists, NotFound
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource

# A tick is never nearer than this, so that what is due then is written and known before.
AHEAD_SECONDS: Final = 20
RUN_SECONDS: Final = 180.0


def next_tick(ahead: float) -> float:
    """The next full minute that is at least so far ahead."""
    return (int(time.time() + ahead) // 60 + 1) * 60.0


def schedule(tick: float) -> str:
    moment = time.gmtime(tick)
    return f"{moment.tm_min} {moment.tm_hour} * * *"


def manifest(resource: Resource, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


@asynccontextmanager
async def definitions(arena: Arena) -> AsyncIterator[None]:
    """The kinds of policies; they go again with all policies at the end, and the other figures do without."""
    made = []
    for definition in policy_definitions():
        with suppress(AlreadyExists):
            made.append(await arena.client.create(CUSTOM_RESOURCE_DEFINITIONS, definition))
    async with asyncio.timeout(60):
        for kind in (CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES, DELETING_POLICIES):
            await _until_served(arena, kind, served=True)
    try:
        yield
    finally:
        for found in made:
            meta = found["metadata"]
            await arena.client.delete(
                CUSTOM_RESOURCE_DEFINITIONS, meta["name"], uid=meta["uid"], propagation="Background"
            )
        async with asyncio.timeout(120):
            if made:
                await _until_served(arena, CLEANUP_POLICIES, served=False)


async def _until_served(arena: Arena, kind: Resource, *, served: bool) -> None:
    while True:
        try:
            await everything(arena.client, kind, METADATA)
        except NotFound:
            found = False
        else:
            found = True
        if found is served:
            return
        await asyncio.sleep(0.2)
