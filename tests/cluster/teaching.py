"""KindProfile and a kind that one may teach, on a real server for a while."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from skoupa.errors import NotFound
from skoupa.kinds.definition import document
from skoupa.kinds.retention.profile import KIND_PROFILE, KIND_PROFILES
from skoupa.kube.client import Client
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.cluster.reaching import eventually
from tests.unit.controller.stage import definition

TRAININGS = Resource(group="example.com", version="v1", plural="trainings", kind="Training", namespaced=True)


@asynccontextmanager
async def kinds_brought(client: Client) -> AsyncIterator[None]:
    """Both are served within, and gone afterwards."""
    kinds = (document(KIND_PROFILE), definition(TRAININGS))
    for one in kinds:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, one)

    async def served() -> bool:
        try:
            for kind in (KIND_PROFILES, TRAININGS):
                await everything(client, kind, METADATA)
        except NotFound:
            return False
        return True

    await eventually(served, what="the kinds to be served")
    yield
    for one in kinds:
        await _take_away(client, one["metadata"]["name"])

    async def gone() -> bool:
        left = await everything(client, CUSTOM_RESOURCE_DEFINITIONS, METADATA)
        return not {one["metadata"]["name"] for one in kinds} & {one.metadata.name for one in left.items}

    await eventually(gone, what="the kinds to go", seconds=60)


async def _take_away(client: Client, name: str) -> None:
    found = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, view=METADATA)
    await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name, uid=found.metadata.uid, propagation="Background")
