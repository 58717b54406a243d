"""The figures, one function each. Each returns what it measured, its bar, and the counts behind it."""

from __future__ import annotations

import asyncio
import sys
import time

from harness.bench.course import Course, Figure
from harness.bench.cpu import python_cpu
from harness.bench.lateness import until_gone
from harness.bench.rates import (
    Contender,
    backlog,
    best_in_flight,
    chosen,
    compared,
    raw_rate,
    subject_rate,
    unexpired,
    until_left,
)
from skoupa import names
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import CONFIG_MAPS


async def start_up(_course: Course, *, rounds: int = 15) -> Figure:
    """CPU of `skoupa --help` against an empty interpreter; the best of several rounds of each."""
    ours = python_cpu("-m", "skoupa", "--help", rounds=rounds)
    empty = python_cpu("-c", "pass", rounds=rounds)
    return Figure(
        name="CPU of `skoupa --help` / `python -c pass`",
        value=ours / empty,
        unit="x",
        bar=8,
        counts=f"{ours * 1000:.0f} ms / {empty * 1000:.0f} ms, best of {rounds}",
    )


async def idle_requests(course: Course, *, seconds: float = 180, custom_kinds: int = 12) -> Figure:
    async with course.arena.custom_kinds(custom_kinds), course.running() as subject:
        await subject.until_ready()
        await asyncio.sleep(10)
        before = await subject.metrics()
        await asyncio.sleep(seconds)
        after = await subject.metrics()
        connections = subject.connections()
    kinds = {name for name in after if name.startswith("skoupa_requests_total") and 'verb="watch"' in name}
    grown = {
        name: after[name] - before.get(name, 0.0)
        for name in after
        if name.startswith("skoupa_requests_total") and "leases.coordination" not in name
    }
    watches = sum(value for name, value in after.items() if name.startswith("skoupa_watches"))
    return Figure(
        name="requests a minute when nothing changes, lease renewals aside",
        value=sum(grown.values()) / (seconds / 60),
        unit="/min",
        bar=6,
        counts=f"{len(kinds)} kinds, {watches:.0f} watches, {connections} connections, {seconds:.0f} s",
    )


async def backlog_rate(course: Course, *, objects: int = 20_000, pairs: int = 3) -> Figure:
    """In turns: the bare client on one namespace, the subject on another."""
    few = objects // 5

    async def ceiling_of_few(in_flight: int) -> float:
        return await raw_rate(course, await unexpired(course, few), few, in_flight)

    best = await best_in_flight(ceiling_of_few)
    found = await compared(
        Contender(
            fill=lambda: backlog(course, objects),
            rate=lambda namespace: subject_rate(course, namespace, objects),
        ),
        Contender(
            fill=lambda: unexpired(course, objects),
            rate=lambda namespace: raw_rate(course, namespace, objects, best),
        ),
        times=pairs,
    )
    return Figure(
        name="deletions a second of a backlog of expired objects / bare client",
        value=found.ratio,
        unit="",
        bar=0.75,
        at_least=True,
        counts=f"{objects} objects, {pairs} pairs, deletions a second: {found.notes}; {chosen(best)}",
    )


async def punctuality(course: Course, *, objects: int = 2000, spread: int = 60) -> Figure:
    """A watcher of its own sees each object go (or begin to); due is creation plus its label."""
    namespace = await course.namespace("punctual")
    late: list[float] = []
    async with course.running() as subject:
        await subject.until_ready()
        scope = Scope(namespace=namespace, labels="app=bench")
        watcher = asyncio.create_task(until_gone(course.arena, scope, objects, due=_due, late=late))
        await course.arena.fill(namespace, objects, ttl=lambda index: f"{15 + index % spread}s")
        async with asyncio.timeout(spread + 120):
            await watcher
    late.sort()
    return Figure(
        name="p99 from due to gone, as a separate watcher sees it",
        value=late[int(len(late) * 0.99)],
        unit=" s",
        bar=0.1,
        counts=f"{objects} objects over {spread} s; p50 {late[len(late) // 2]:.3f} s, most {late[-1]:.3f} s",
    )


def _due(meta: Metadata) -> float:
    assert meta.creation_timestamp is not None
    assert meta.labels is not None
    return meta.creation_timestamp.timestamp() + int(meta.labels[names.TTL_LABEL].rstrip("s"))


async def memory(course: Course, *, objects: int = 100_000) -> tuple[Figure, Figure, Figure]:
    """Memory with many labelled objects, and how soon the first of them goes after a start."""
    async with course.running() as subject:
        await subject.until_ready()
        await asyncio.sleep(5)
        empty = subject.rss_bytes
    namespace = await course.namespace("memory")
    await course.arena.fill(namespace, objects, ttl=lambda _: "30d")
    async with course.running() as subject:
        await subject.until_ready()
        await asyncio.sleep(5)
        full = subject.rss_bytes
    first = await _first_deletion(course, namespace, objects)
    return (
        Figure(
            name="memory with labelled objects minus empty, per object",
            value=(full - empty) / objects,
            unit=" bytes",
            bar=700,
            counts=f"{objects} objects; empty {empty / 1e6:.0f} MB",
        ),
        Figure(
            name="memory with labelled objects, in all",
            value=full / 1e6,
            unit=" MB",
            bar=130,
            counts=f"{objects} objects",
        ),
        first,
    )


async def _first_deletion(course: Course, namespace: str, objects: int) -> Figure:
    scope = Scope(namespace=namespace, labels="app=bench")
    started = time.monotonic()
    await everything(course.arena.client, CONFIG_MAPS, METADATA, scope=scope)
    listed = time.monotonic() - started
    expired = await course.namespace("first")
    await course.arena.fill(expired, 1, ttl=lambda _: "1s")
    await asyncio.sleep(2)
    started = time.monotonic()
    async with course.running():
        gone = await until_left(course, expired, 0)
    return Figure(
        name="from process start to first deletion / raw LIST of the same objects",
        value=(gone - started) / listed,
        unit="x",
        bar=2,
        counts=f"{objects} objects; {gone - started:.2f} s / {listed:.2f} s",
    )


async def store_memory(_course: Course, *, objects: int = 1_000_000) -> Figure:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness.bench.store", str(objects), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return Figure(
        name="memory with objects in the store and on the agenda, fed by a generator",
        value=float(out) / 1e6,
        unit=" MB",
        bar=600,
        counts=f"{objects} objects",
    )
