"""What a deleted tenant costs: bytes that are listed and requests beside, and how long it takes next to the server's own controllers.

As `harness.bench.figures`, one function each.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from harness.bench import installed
from harness.bench.arena import HOME, Arena, arena
from harness.bench.course import Course, Figure
from harness.bench.subject import skoupa
from harness.bench.tenants import town
from harness.bench.tenants.going import Gone
from harness.controlplane import ControlPlane, Options
from skoupa.controller.tenancy.labelling import ROUND_SECONDS
from skoupa.kinds.definition import document
from skoupa.kinds.tenant import TENANT, TENANTS
from skoupa.kube.lists import everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Resource

TENANTS_IN_ALL: Final = 100
AT_ONCE: Final = 50
NAMESPACES_EACH: Final = 20
OBJECTS_ON_SERVER: Final = 5_000
_PATIENCE_SECONDS: Final = 1800
_OURS, _THEIRS = "111111", "bare"


async def embedded(course: Course) -> tuple[Figure, ...]:
    """On the embedded cluster, in virtual time: one tenant of many, and half of them at once."""
    tenants = course.scaled(TENANTS_IN_ALL)
    many = course.scaled(AT_ONCE)
    one, several = await _gone(tenants, 1), await _gone(tenants, many)
    labelled = await _gone(tenants, 1, "--label")
    kept, several_kept = await _gone(tenants, 1, "--trash"), await _gone(tenants, many, "--trash")
    left = [found.left for found in (one, several, labelled, kept, several_kept)]
    if any(left):
        raise RuntimeError(f"of each {left} objects were left, or more went than had to")
    all_of_it = f"{tenants * town.OBJECTS_EACH} objects of {tenants} tenants"
    return (
        Figure(
            name="one tenant deleted: bytes of all LISTs / one metadata LIST of everything in no namespace",
            value=one.list_bytes / one.once_bytes,
            unit="x",
            bar=2.2,
            counts=f"{all_of_it}; {one.list_bytes / 1e6:.1f} MB / {one.once_bytes / 1e6:.1f} MB; {one.seconds:.0f} s of virtual time",
        ),
        Figure(
            name="one tenant deleted: requests that are no LIST, for each object that goes",
            value=one.requests_each,
            unit="",
            bar=1.1,
            counts=f"{one.objects} objects and the Tenant itself; {_by_verb(one)}; beside these {one.inside} LISTs of what is inside its Namespaces",
        ),
        Figure(
            name=f"{many} tenants deleted at once: LIST requests / those of one",
            value=several.all_lists / one.all_lists,
            unit="x",
            bar=2,
            counts=f"{all_of_it}; {several.all_lists} / {one.all_lists}, of these {several.inside} / {one.inside} looks into Namespaces before they go; "
            f"bytes {several.list_bytes / one.once_bytes:.1f}x of one LIST of everything; "
            f"{several.requests_each:.2f} other requests for each object; {several.seconds:.0f} s of virtual time; "
            f"what the trash reads of all that goes is not in it: {several_kept.all_lists - several.all_lists} / {kept.all_lists - one.all_lists} more, by kind and Namespace",
        ),
        Figure(
            name="one tenant deleted where tenants.label is set: bytes of all LISTs / one metadata LIST of everything in no namespace",
            value=labelled.list_bytes / labelled.once_bytes,
            unit="x",
            counts=f"{all_of_it}; {labelled.list_bytes / 1e6:.1f} MB / {labelled.once_bytes / 1e6:.1f} MB; {_by_label(labelled)}",
        ),
    )


def _by_label(found: Gone) -> str:
    told = found.labelling
    assert told is not None, "it was written"
    each = ROUND_SECONDS / 60
    return (
        f"written before with {told.patches} patches after {told.list_bytes / found.once_bytes:.2f}x of one LIST of everything, "
        f"and {told.round_bytes / found.once_bytes:.2f}x of one every {each:.0f} min from then on"
    )


def _by_verb(found: Gone) -> str:
    counted: dict[str, int] = {}
    for what, number in found.others.items():
        verb = what.partition(" ")[0]
        counted[verb] = counted.get(verb, 0) + number
    return ", ".join(f"{number} {verb}" for verb, number in sorted(counted.items()))


async def _gone(tenants: int, deleted: int, *more: str) -> Gone:
    words = ("--tenants", str(tenants), "--deleted", str(deleted), *more)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "harness.bench.tenants.going", *words),
        env=installed.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"going ended with {process.returncode}")
    return msgspec.json.decode(out, type=Gone)


async def on_server(course: Course) -> Figure:
    """On a control plane of its own: the same Namespaces deleted by hand, and then with their Tenant."""
    each = course.scaled(OBJECTS_ON_SERVER) // NAMESPACES_EACH
    with ControlPlane(Options(audit=False)) as plane:
        async with arena(plane.access) as place:
            await place.namespace(HOME)
            await place.client.create(CUSTOM_RESOURCE_DEFINITIONS, document(TENANT))
            theirs, ours = await _fill(place, _THEIRS, each), await _fill(place, _OURS, each)
            started = time.monotonic()
            await _delete(place, NAMESPACES, theirs)
            await _until_gone(place, NAMESPACES, theirs)
            alone = time.monotonic() - started
            subject = skoupa(settings={"features.tenants": "true"})
            there = Course(place, subject, log=course.log)
            async with there.running() as running:
                await running.until_ready()
                await _held_tenant(place)
                started = time.monotonic()
                await _delete(place, TENANTS, [_OURS])
                await _until_gone(place, NAMESPACES, ours)
                namespaces = time.monotonic() - started
                await _until_gone(place, TENANTS, [_OURS])
                took = time.monotonic() - started
    return Figure(
        name="a tenant deleted / its Namespaces deleted by the namespace controller alone, wall",
        value=took / alone,
        unit="x",
        counts=f"{each * NAMESPACES_EACH} objects in {NAMESPACES_EACH} Namespaces; {took:.1f} s / {alone:.1f} s; "
        f"until its Namespaces were gone {namespaces:.1f} s",
    )


async def _fill(place: Arena, tenant: str, each: int) -> list[str]:
    names = [f"{tenant}-{index:02d}" for index in range(NAMESPACES_EACH)]
    for name in names:
        await place.namespace(name)
        await place.fill(name, each, ttl=lambda _: "30d")
    return names


async def _held_tenant(place: Arena) -> None:
    body = {"apiVersion": TENANTS.api_version, "kind": TENANTS.kind, "metadata": {"name": _OURS}}
    await place.client.create(TENANTS, body)
    async with asyncio.timeout(60):
        while not (await place.client.get(TENANTS, _OURS, view=METADATA)).metadata.finalizers:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.1)


async def _delete(place: Arena, kind: Resource, names: Sequence[str]) -> None:
    for name in names:
        found = await place.client.get(kind, name, view=METADATA)
        await place.client.delete(kind, name, uid=found.metadata.uid, propagation="Background")


async def _until_gone(place: Arena, kind: Resource, names: Sequence[str]) -> None:
    wanted = set(names)
    async with asyncio.timeout(_PATIENCE_SECONDS):
        while wanted & await _names(place, kind):  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.2)


async def _names(place: Arena, kind: Resource) -> set[str]:
    return {one.metadata.name for one in (await everything(place.client, kind, METADATA)).items}
