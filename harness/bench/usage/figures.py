"""What knowing who uses what costs: how long the graph takes to build, what it keeps, what a change costs, and how that grows.

As `harness.bench.figures`, one function each.
"""

from __future__ import annotations

import asyncio
import math
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any, Final

import msgspec

from harness.bench import installed
from harness.bench.arena import HOME, Arena, arena, send_each
from harness.bench.course import Course, Figure
from harness.bench.subject import words_of
from harness.bench.usage import templates
from harness.bench.usage.building import Measured
from harness.bench.usage.growing import Grown
from harness.controlplane import ControlPlane, Options
from skoupa.kube.resources import CONFIG_MAPS, PODS

TEMPLATES: Final = 100_000
PODS_ON_SERVER: Final = 20_000
CONFIG_MAPS_ON_SERVER: Final = 50_000
_GROWTH: Final = (10_000, 100_000, 1_000_000)
_NAMESPACES: Final = 100
_CONFIG_MAP: Final = "settings-"
_UNUSED: Final = ("unused", "configmaps", "-A", "-o", "name")


async def embedded(course: Course, *, times: int = 3) -> tuple[Figure, ...]:
    """On the embedded cluster, against the same list once made into plain objects, and once only read page by page."""
    namespaces = course.scaled(TEMPLATES) // templates.TEMPLATES_EACH
    arguments = ("--namespaces", str(namespaces))
    plain = await _turned(*arguments, "--times", str(times), "--plain")
    bytes_alone = await _turned(*arguments, "--times", "1")
    counts = (
        f"{namespaces * templates.TEMPLATES_EACH} templates and {namespaces * templates.CONFIGS_EACH} ConfigMaps and Secrets, "
        f"{namespaces * templates.TEMPLATES_EACH * templates.REFERENCES} references to these, {plain.edges} edges"
    )
    return (
        Figure(
            name="graph build / LIST of the same objects into plain ones, on the embedded cluster",
            value=plain.ratio,
            unit="x",
            bar=2,
            counts=f"{counts}; seconds: {plain.told}; bytes put together and not decoded, "
            f"without a server: {bytes_alone.ratio:.1f}x, {bytes_alone.told}",
        ),
        _memory(bytes_alone, where="on the embedded cluster", counts=counts),
    )


async def on_server(course: Course, *, times: int = 3) -> tuple[Figure, ...]:
    """On a control plane of its own, so that what is counted is what is there. A peer is asked what `skoupa unused` is."""
    pods, maps = course.scaled(PODS_ON_SERVER), course.scaled(CONFIG_MAPS_ON_SERVER)
    counts = f"{pods} Pods, {maps} ConfigMaps"
    with ControlPlane(Options(audit=False, service_account_admission=False)) as plane:
        async with arena(plane.access) as place:
            await _fill(place, pods=pods, maps=maps)
            path = str(plane.access.kubeconfig)
            if not course.subject.own:
                return (await _asked(words_of_peer(course, path), path, counts=counts, log=course.log),)
            found = await _turned("--kubeconfig", path, "--times", str(times))
            counts = f"{counts}, {found.objects} objects in all, {found.edges} edges"
            words = [sys.executable, "-m", "skoupa", *_UNUSED]
            bare = min(min(turn.before.wall, turn.after.wall) for turn in found.turns)
            told = f"{counts}; the raw LIST of what the graph reads takes {bare:.2f} s"
            return (
                Figure(
                    name="graph build / raw LIST of the same objects",
                    value=found.ratio,
                    unit="x",
                    bar=2,
                    counts=f"{counts}; {found.listed} listed; seconds: {found.told}",
                ),
                _memory(found, where="on a server", counts=counts),
                await _asked(words, path, counts=told, log=course.log),
            )


def words_of_peer(course: Course, kubeconfig: str) -> list[str]:
    environment = installed.environment(KUBECONFIG=kubeconfig)
    return words_of(course.subject.command, port=0, environment=environment)


async def growth(course: Course) -> tuple[Figure, ...]:
    """A process for each size: CPU and allocations, and another that counts the calls of functions."""
    sizes = [max(1, round(course.scaled(size) / templates.OBJECTS_EACH)) for size in _GROWTH]
    found = [await _grown(str(size)) for size in sizes]
    called = [await _grown(str(size), "--calls") for size in sizes]
    first, last = found[0], found[-1]
    sized = ", ".join(str(one.objects) for one in found)
    return (
        Figure(
            name="growth of the graph: exponent of CPU over objects",
            value=_exponent(first.cpu, last.cpu, first, last),
            unit="",
            bar=1.15,
            counts=f"{sized} objects; {', '.join(str(one.edges) for one in found)} edges; microseconds of CPU an object: "
            f"{', '.join(f'{one.cpu / one.objects * 1e6:.0f}' for one in found)}",
        ),
        Figure(
            name="growth of the graph: exponent of allocations over objects",
            value=_exponent(first.blocks, last.blocks, first, last),
            unit="",
            bar=1.05,
            counts=f"{sized} objects; blocks kept for each: {', '.join(f'{one.blocks / one.objects:.1f}' for one in found)}; "
            f"bytes for each edge, with its objects: {', '.join(f'{one.bytes / one.edges:.0f}' for one in found)}",
        ),
        Figure(
            name="growth of the graph: exponent of calls of functions over objects",
            value=_exponent(called[0].calls, called[-1].calls, called[0], called[-1]),
            unit="",
            bar=1.05,
            counts=f"{', '.join(str(one.objects) for one in called)} objects; calls for each: "
            f"{', '.join(f'{one.calls / one.objects:.1f}' for one in called)}",
        ),
        Figure(
            name="CPU of one change in the graph, at the largest size",
            value=last.change * 1e6,
            unit=" µs",
            counts=f"a workload that names another ConfigMap; {sized} objects: "
            f"{', '.join(f'{one.change * 1e6:.0f}' for one in found)} µs",
        ),
    )


def _exponent(first: float, last: float, small: Grown, large: Grown) -> float:
    return math.log(last / first) / math.log(large.objects / small.objects)


def _memory(found: Measured, *, where: str, counts: str) -> Figure:
    return Figure(
        name=f"memory of the graph for each edge, with its objects and all that it remembers of them, {where}",
        value=found.grown / found.edges,
        unit=" bytes",
        counts=f"{counts}; {found.grown / 1e6:.0f} MB, {found.grown / found.objects:.0f} bytes an object",
    )


async def _asked(words: list[str], kubeconfig: str, *, counts: str, log: Path) -> Figure:
    """A command that answers once: the seconds from its start to its end, and the CPU of it and its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    with log.open("ab") as errors:
        process = await asyncio.create_subprocess_exec(
            *words,
            env=installed.environment(KUBECONFIG=kubeconfig),
            stdout=asyncio.subprocess.PIPE,
            stderr=errors,
        )
        out, _ = await process.communicate()
    took = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise RuntimeError(f"{words} ended with {process.returncode}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Figure(
        name="seconds until it is told which ConfigMaps nobody uses",
        value=took,
        unit=" s",
        counts=f"{counts}; CPU {cpu:.2f} s; {told_in(out)} ConfigMaps told",
    )


def told_in(out: bytes) -> int:
    """How many of the ConfigMaps that `_fill` makes, however it is written: a table has lines that tell none."""
    return len(re.findall(rf"(?<![-\w]){_CONFIG_MAP}\d{{3,}}(?![-\w])".encode(), out))


async def _turned(*arguments: str) -> Measured:
    return msgspec.json.decode(await _run("turning", *arguments), type=Measured)


async def _grown(*arguments: str) -> Grown:
    return msgspec.json.decode(await _run("growing", *arguments), type=Grown)


async def _run(module: str, *arguments: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        f"harness.bench.usage.{module}",
        *arguments,
        env=installed.environment(),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"{module} ended with {process.returncode}")
    return out


async def _fill(place: Arena, *, pods: int, maps: int) -> None:
    """Each Pod names ConfigMaps and Secrets of its namespace; most ConfigMaps are named by nobody, as those of old rollouts."""
    names = [templates.namespace_name(index) for index in range(_NAMESPACES)]
    for name in (HOME, *names):
        await place.namespace(name)

    async def pod(index: int) -> None:
        namespace, number = names[index % _NAMESPACES], index // _NAMESPACES
        body = _pod(number)
        await place.client.create(PODS, body, namespace=namespace)

    async def config_map(index: int) -> None:
        namespace, number = names[index % _NAMESPACES], index // _NAMESPACES
        data = {"settings.yaml": f"level: info\nnumber: {number}\n" + "x" * 400}
        body = {"metadata": {"name": f"{_CONFIG_MAP}{number:03d}", "labels": {"app": "bench"}}, "data": data}
        await place.client.create(CONFIG_MAPS, body, namespace=namespace)

    await send_each(range(maps), config_map)
    await send_each(range(pods), pod)


def _pod(number: int) -> dict[str, Any]:
    template = templates.pod_template(f"main-{number:04d}", number)
    return {**template, "metadata": {**template["metadata"], "name": f"main-{number:04d}"}}
