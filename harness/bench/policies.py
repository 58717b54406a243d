"""What policies cost: one run over many objects of which few match, and a thousand policies that are due together.

As `figures`, one function each.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.bench import installed
from harness.bench.arena import IN_FLIGHT, Arena
from harness.bench.consumption import children, consumed, reset_peak
from harness.bench.course import Course, Figure
from harness.bench.relay import Relay, relay
from skoupa.errors import AlreadyExists, NotFound
from skoupa.kinds.policies import policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES
from skoupa.kube import watch, watched
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource

MARK: Final = "bench.example/round"
# A tick is never nearer than this, so that what is due then is written and known before.
_AHEAD_SECONDS: Final = 20
_SETTLED_SECONDS: Final = 5.0
_RUN_SECONDS: Final = 180.0


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
    objects = namespaces * each
    await _fill(course, namespaces=namespaces, each=each, matching=matching)
    with tempfile.TemporaryDirectory() as folder:
        async with (
            _definitions(course.arena),
            relay(course.arena.access, path := Path(folder) / "kubeconfig") as between,
        ):
            plain = await _naive(between, path)
            found = {
                policy.name: await _measured(course, policy, between, path, namespaces * matching)
                for policy in _MEASURED
            }
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


async def together(course: Course, *, policies: int = 1000, namespaces: int = 50) -> Figure:
    """Each policy has an object of its own; a watcher of its own sees them go."""
    places = [await course.namespace("together") for _ in range(namespaces)]
    numbers = [(places[index % namespaces], f"one-{index:04d}") for index in range(policies)]
    await _each(
        numbers,
        lambda one: course.arena.client.create(
            CONFIG_MAPS,
            {"metadata": {"name": one[1], "labels": {"bench": "together", "policy": one[1]}}},
            namespace=one[0],
        ),
    )
    late: list[float] = []
    async with _definitions(course.arena), course.running() as subject:
        await subject.until_ready()
        # A thousand policies take a while to be written.
        tick = _tick(_AHEAD_SECONDS + policies // 50)
        await _each(
            numbers,
            lambda one: course.arena.client.create(
                CLEANUP_POLICIES, _own_policy(one[1], _schedule(tick)), namespace=one[0]
            ),
        )
        written = tick - time.time()
        async with asyncio.timeout(max(0.0, written) + _RUN_SECONDS):
            await _gone(course.arena, "bench=together", policies, tick, late)
    if written < _SETTLED_SECONDS:
        raise RuntimeError(f"the policies were written {written:.0f} s before their tick: too late to tell")
    late.sort()
    return Figure(
        name="p99 from the tick of a policy to its object gone, as a separate watcher sees it",
        value=late[int(len(late) * 0.99)],
        unit=" s",
        bar=5,
        counts=f"{policies} policies due in the same minute; p50 {late[len(late) // 2]:.2f} s, most {late[-1]:.2f} s",
    )


def _own_policy(name: str, schedule: str) -> dict[str, Any]:
    resources = {"kinds": ["ConfigMap"], "selector": {"matchLabels": {"policy": name}}}
    spec = {"schedule": schedule, "match": {"any": [{"resources": resources}]}}
    return _manifest(CLEANUP_POLICIES, name, spec)


def _manifest(resource: Resource, name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name},
        "spec": spec,
    }


async def _measured(course: Course, policy: _Policy, between: Relay, kubeconfig: Path, matching: int) -> _Run:
    async with course.running(kubeconfig=kubeconfig) as subject:
        await subject.until_ready()
        tick = _tick(_AHEAD_SECONDS)
        spec = policy.spec | {"schedule": _schedule(tick)}
        made = await course.arena.client.create(
            policy.resource, _manifest(policy.resource, policy.name, spec)
        )
        await asyncio.sleep(max(0.0, tick - time.time() - 2))
        child_cpu = sum(consumed(child).cpu for child in children(subject.pid))
        resident = reset_peak(subject.pid)
        before, received = consumed(subject.pid), between.received
        late: list[float] = []
        async with asyncio.timeout(_RUN_SECONDS):
            await _gone(course.arena, f"round={policy.name}", matching, tick, late)
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


async def _fill(course: Course, *, namespaces: int, each: int, matching: int) -> None:
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

    await _each([(place, index) for place in places for index in range(each)], create)


async def _each(items: Iterable[Any], send: Callable[[Any], Awaitable[Any]]) -> None:
    ahead = iter(items)

    async def work() -> None:
        for item in ahead:
            await send(item)

    async with asyncio.TaskGroup() as group:
        for _ in range(IN_FLIGHT):
            group.create_task(work())


async def _gone(arena: Arena, labels: str, number: int, tick: float, late: list[float]) -> None:
    """Returns when that many have gone; how late each was."""
    gone: set[str] = set()
    async with aclosing(
        watch.watch(arena.client, CONFIG_MAPS, METADATA, scope=Scope(labels=labels))
    ) as events:
        async for event in events:
            now = time.time()
            if not isinstance(event, watched.Changed):
                continue
            for change in event.changes:
                meta = change.object.metadata
                if (change.deleted or meta.deletion_timestamp) and meta.uid not in gone:
                    gone.add(meta.uid)
                    late.append(now - tick)
            if len(gone) == number:
                return


def _tick(ahead: float) -> float:
    """The next full minute that is at least so far ahead."""
    return (int(time.time() + ahead) // 60 + 1) * 60.0


def _schedule(tick: float) -> str:
    moment = time.gmtime(tick)
    return f"{moment.tm_min} {moment.tm_hour} * * *"


@asynccontextmanager
async def _definitions(arena: Arena) -> AsyncIterator[None]:
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
