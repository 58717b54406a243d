"""Brakes on the stage: the kind, Brakes that people make and delete, and what is told of them."""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa import names
from skoupa.errors import NotFound
from skoupa.kinds.brake import BRAKE, BRAKES, BrakeSpec, Scope, manifest
from skoupa.kinds.definition import document
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS
from tests.unit.controller.stage import HOME, Stage

DEFINITION = f"{BRAKES.plural}.{BRAKES.group}"


async def bring_kind(stage: Stage) -> None:
    """As `skoupa install` does it."""
    await stage.people.create(CUSTOM_RESOURCE_DEFINITIONS, document(BRAKE))
    await stage.later(2)


async def take_kind_away(stage: Stage) -> None:
    found = await stage.people.get(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, view=METADATA)
    await stage.people.delete(
        CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, uid=found.metadata.uid, propagation="Background"
    )


async def pull(stage: Stage, name: str, *, reason: str = "", **spec: Any) -> dict[str, Any]:
    """`scope` parts and `until` or `schedule` as they stand in a Brake."""
    timing = {key: spec.pop(key) for key in ("until", "schedule") if key in spec}
    body = manifest(name, BrakeSpec(scope=Scope(**spec), reason=reason or None))
    body["spec"] |= timing
    made = await stage.people.create(BRAKES, body)
    await stage.settle()
    return made


async def release(stage: Stage, name: str, *, by: str = "") -> None:
    if by:
        patch = {"metadata": {"annotations": {names.RELEASED_BY_ANNOTATION: by}}}
        await stage.people.merge_patch(BRAKES, name, patch)
    found = await stage.people.get(BRAKES, name, view=METADATA)
    await stage.people.delete(BRAKES, name, uid=found.metadata.uid, propagation="Background")
    await stage.settle()


async def brake(stage: Stage, name: str) -> dict[str, Any]:
    return await stage.people.get(BRAKES, name, view=WHOLE)


async def brakes(stage: Stage) -> set[str]:
    try:
        return {found["metadata"]["name"] for found in stage.cluster.objects(BRAKES)}
    except (NotFound, KeyError):
        return set()


def state(stage: Stage) -> dict[str, Any]:
    found = stage.cluster.objects(CONFIG_MAPS, namespace=HOME)
    data: dict[str, str] = next(
        (one["data"] for one in found if one["metadata"]["name"] == names.STATE_CONFIG_MAP), {}
    )
    return {key: msgspec.json.decode(text) for key, text in data.items()}


def many(count: int, what: str = "web") -> list[str]:
    return [f"{what}-{number}" for number in range(count)]
