"""What one run of a policy costs over many objects of which few match, next to reading all of them at once.

As `figures`, one function each.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.bench import installed
from harness.bench.arena import send_each
from harness.bench.consumption import children, consumed, reset_peak
from harness.bench.course import Course, Figure
from harness.bench.due_policies import AHEAD_SECONDS, RUN_SECONDS, definitions, manifest, next_tick, schedule
from harness.bench.lateness import until_gone
from harness.bench.relay import Relay, relay
from skoupa.kinds.policies.cleanup import CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kube.lists import Scope
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource

# Nobody knows how long another controller takes for a run.
_PEER_SECONDS: Final = 900.0
# What a run of Kyverno 1.19.1 with a condition costs grows with the square of the objects that it judges.
_LESS_FOR_PEERS: Final = 10
MARK: Final = "bench.example/round"


class _Policy(msgspec.Struct, frozen=True, kw_only=True):
    """One to measure: it takes what is marked with its name."""

    name: str
    about: str
    resource: Resource
    spec: dict[str, Any]


_EVERY_CONFIG_MAP: Final = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
_MEASURED: Final = (
    _Policy(
        name="by-metadata",
        about="JMESPath over metadata",
        resource=CLUSTER_CLEANUP_POLICIES,
        spec={
            "match": _EVERY_CONFIG_MAP,
            "conditions": {
                "all": [
                    {
                        "key": f"{{{{ target.metadata.annotations.\"{MARK}\" || '' }}}}",
                        "operator": "Equals",
                        "value": "by-metadata",
                    }
                ]
            },
        },
    ),
    _Policy(
        name="by-data",
        about="JMESPath over data",
        resource=CLUSTER_CLEANUP_POLICIES,
        spec={
            "match": _EVERY_CONFIG_MAP,
            "conditions": {
                "all": [{"key": "{{ target.data.round || '' }}", "operator": "Equals", "value": "by-data"}]
            },
        },
    ),
    _Policy(
        name="by-cel",
        about="CEL over data",
        resource=DELETING_POLICIES,
        spec={
            "matchConstraints": {
                "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
            },
            "conditions": [
                {
                    "name": "marked",
                    "expression": "has(object.data) && object.data[?'round'] == optional.of('by-cel')",
                }
            ],
        },
    ),
)


class _Run(msgspec.Struct, frozen=True, kw_only=True):
    received: int
    cpu: float
    growth: int
    child_cpu: float
    child_peak: int


async def one_run(
    course: Course, *, namespaces: int = 50, each: int = 1000, matching: int = 10
) -> tuple[Figure, ...]:
    """Each policy once over all ConfigMaps, through a relay that counts; and what reading all of them at once takes."""
    namespaces = course.scaled(namespaces if course.subject.own else namespaces // _LESS_FOR_PEERS)
    objects = namespaces * each
    places = await _fill(course, namespaces=namespaces, each=each, matching=matching)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            definitions(course.arena),
            relay(course.arena.access, path := Path(folder) / "kubeconfig") as between,
        ):
            plain = await _naive(between, path)
            found = {
                policy.name: await _measured(course, policy, between, path, namespaces * matching)
                for policy in _MEASURED
            }
    await _empty(course, places)
    return _figures(plain, found, objects=objects, matching=namespaces * matching)


def _figures(plain: _Run, found: dict[str, _Run], *, objects: int, matching: int) -> tuple[Figure, ...]:
    counts = f"{objects} ConfigMaps of 1 KB, {matching} match and go"
    naive = f"one unpaged list of all, gzip: {plain.received / 1e6:.1f} MB, {plain.cpu:.1f} s of CPU, {plain.growth / 1e6:.0f} MB peak"
    told = "; ".join(f"{policy.about} {found[policy.name].received / 1e6:.1f} MB" for policy in _MEASURED)
    processor = "; ".join(
        f"{policy.about} {_cpu(found[policy.name]):.2f} s, {_cpu(found[policy.name]) / objects * 1e6:.0f} ms per 1,000 judged"
        for policy in _MEASURED
    )
    memory = "; ".join(f"{policy.about} {found[policy.name].growth / 1e6:.1f} MB" for policy in _MEASURED)
    child = found["by-cel"]
    return (
        Figure(
            name="bytes that a run of a policy over metadata reads / one list of all",
            value=found["by-metadata"].received / plain.received,
            unit="",
            bar=0.2,
            counts=f"{counts}; {told}; {naive}",
        ),
        Figure(
            name="CPU of one run of a policy, with its deletions, its CEL child included; the dearest counts",
            value=max(_cpu(one) for one in found.values()),
            unit=" s",
            bar=4,
            counts=f"{counts}; {processor}; {naive}",
        ),
        Figure(
            name="memory that the controller grows by in a run of a policy, at its peak; the most counts",
            value=max(one.growth for one in found.values()) / 1e6,
            unit=" MB",
            bar=30,
            counts=f"{counts}; {memory}; the CEL child {child.child_peak / 1e6:.0f} MB, {child.child_cpu:.2f} s of CPU; {naive}",
        ),
    )


def _cpu(run: _Run) -> float:
    return run.cpu + run.child_cpu


async def _measured(course: Course, policy: _Policy, between: Relay, kubeconfig: Path, matching: int) -> _Run:
    async with course.running(kubeconfig=kubeconfig) as subject:
        await subject.until_ready()
        tick = next_tick(AHEAD_SECONDS)
        spec = policy.spec | {"schedule": schedule(tick)}
        made = await course.arena.client.create(policy.resource, manifest(policy.resource, policy.name, spec))
        await asyncio.sleep(max(0.0, tick - time.time() - 2))
        child_cpu = sum(consumed(child).cpu for child in children(subject.pid))
        resident = reset_peak(subject.pid)
        before, received = consumed(subject.pid), between.received
        late: list[float] = []
        async with asyncio.timeout(RUN_SECONDS if course.subject.own else _PEER_SECONDS):
            await until_gone(
                course.arena, Scope(labels=f"round={policy.name}"), matching, due=lambda _: tick, late=late
            )
        after = consumed(subject.pid)
        below = [consumed(child) for child in children(subject.pid)]
        await course.arena.client.delete(
            policy.resource, policy.name, uid=made["metadata"]["uid"], propagation="Background"
        )
    return _Run(
        received=between.received - received,
        cpu=after.cpu - before.cpu,
        growth=after.peak - resident,
        child_cpu=sum(one.cpu for one in below) - child_cpu,
        child_peak=max((one.peak for one in below), default=0),
    )


async def _naive(between: Relay, kubeconfig: Path) -> _Run:
    received = between.received
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "harness.bench.naive",
        str(kubeconfig),
        env=installed.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the naive list ended with {process.returncode}")
    cpu, peak = (float(word) for word in out.split())
    return _Run(received=between.received - received, cpu=cpu, growth=int(peak), child_cpu=0.0, child_peak=0)


async def _fill(course: Course, *, namespaces: int, each: int, matching: int) -> list[str]:
    """Every so many of each namespace are for one of the policies; the data is text of which half is noise, as usual."""
    noise = random.Random(14)
    places = [await course.namespace("policy") for _ in range(namespaces)]
    rounds = [policy.name for policy in _MEASURED for _ in range(matching)]

    async def create(one: tuple[str, int]) -> None:
        place, index = one
        metadata: dict[str, Any] = {"name": f"cm-{index:05d}", "labels": {"app": f"app-{index % 20}"}}
        data = {"text": noise.randbytes(480).hex(), "round": ""}
        if index < len(rounds):
            metadata["labels"]["round"] = data["round"] = rounds[index]
            metadata["annotations"] = {MARK: rounds[index]}
        await course.arena.client.create(CONFIG_MAPS, {"metadata": metadata, "data": data}, namespace=place)

    await send_each([(place, index) for place in places for index in range(each)], create)
    return places


async def _empty(course: Course, places: Iterable[str]) -> None:
    """Whoever is measured next is to find no more than this one did."""
    for place in places:
        found = await course.arena.client.get(NAMESPACES, place, view=METADATA)
        await course.arena.client.delete(NAMESPACES, place, uid=found.metadata.uid, propagation="Background")
    async with asyncio.timeout(_PEER_SECONDS):
        for place in places:
            while await course.arena.left(place):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(1)
