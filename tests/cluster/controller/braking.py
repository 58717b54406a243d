"""Brakes on a real server: the kind, which comes and goes, and what people and the process do with Brakes."""

from __future__ import annotations

import asyncio
from typing import Any

from skoupa.errors import NotFound, SkoupaError
from skoupa.kinds.brake import BRAKE, BRAKES, BrakeSpec, Scope, manifest
from skoupa.kinds.definition import document
from skoupa.kube.client import Client
from skoupa.kube.lists import count, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from tests.cluster.controller.objects import People
from tests.cluster.controller.running import Skoupa
from tests.cluster.reaching import DEADLINE_SECONDS, eventually

DEFINITION = f"{BRAKES.plural}.{BRAKES.group}"


async def bring_kind(client: Client) -> None:
    await client.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))

    async def served() -> bool:
        try:
            await everything(client, BRAKES, METADATA)
        except NotFound:
            return False
        return True

    await eventually(served, what="the kind Brake to be served")


async def take_kind_away(client: Client) -> None:
    """Waits until it is gone, whoever still has a finalizer on a Brake."""
    try:
        found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, view=METADATA)
    except NotFound:
        return
    await client.delete(
        CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, uid=found.metadata.uid, propagation="Background"
    )

    async def gone() -> bool:
        try:
            await client.get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, view=METADATA)
        except NotFound:
            return True
        return False

    await eventually(gone, what="the kind Brake to be gone", seconds=60)


async def free_all(client: Client) -> None:
    """No controller runs any more that could."""
    try:
        found = await everything(client, BRAKES, METADATA)
    except SkoupaError:
        return
    for one in found.items:
        await client.merge_patch(BRAKES, one.metadata.name, {"metadata": {"finalizers": None}})


async def pull(people: People, name: str, **scope: Any) -> dict[str, Any]:
    return await people.client.create(BRAKES, manifest(name, BrakeSpec(scope=Scope(**scope))))


async def release(people: People, name: str) -> None:
    found = await people.client.get(BRAKES, name, view=METADATA)
    await people.client.delete(BRAKES, name, uid=found.metadata.uid, propagation="Background")


async def brake(people: People, name: str) -> dict[str, Any]:
    async def found() -> dict[str, Any]:
        try:
            return await people.client.get(BRAKES, name, view=WHOLE)
        except NotFound:
            return {}

    return await eventually(found, what=f"a Brake {name}")


async def left(people: People) -> int:
    # One is in every namespace.
    return await count(people.client, CONFIG_MAPS, namespace=people.namespace) - 1


async def make_all(people: People, number: int, ttl: str, *, what: str = "web") -> None:
    await asyncio.gather(*(people.make(f"{what}-{one}", ttl) for one in range(number)))


async def held(process: Skoupa, reason: str, number: int, *, seconds: float = DEADLINE_SECONDS) -> None:
    async def all_held() -> bool:
        return await process.metric(f'skoupa_holds{{reason="{reason}"}}') == number

    await eventually(all_held, what=f"{number} to be held by {reason}", seconds=seconds, patiently=True)


async def all_gone(people: People, *, seconds: float = DEADLINE_SECONDS) -> None:
    async def nothing_left() -> bool:
        return await left(people) == 0

    await eventually(nothing_left, what="all to go", seconds=seconds, patiently=True)
