"""What being able to look back costs: the ledger, the trash, reading history, bringing things back.

As `figures`, one function each.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import msgspec

from harness.bench import installed, past
from harness.bench.course import Course, Figure
from harness.bench.cpu import python_cpu
from harness.bench.rates import (
    Contender,
    backlog,
    bare,
    best_in_flight,
    chosen,
    compared,
    raw_rate,
    subject_rate,
    unexpired,
    until_left,
)
from harness.bench.subject import skoupa
from harness.postgres import PostgresServer
from skoupa import names

# As a ConfigMap usually has.
_KILOBYTE: Final = "".join(f"key-{index:02d}: value of it\n" for index in range(48))
_TRASH_OFF: Final = {"trash.enabled": "false"}
# What people ask; the worst of them counts. In some many rows fit one filter, and few or none fit both.
_QUESTIONS: Final = (
    ("-n", "namespace-7", "--since", "30d"),
    ("-n", past.BUSY, "--since", "1h"),
    ("jobs", "-n", "namespace-7", "--since", "30d"),
    ("cronjobs", "-n", past.BUSY),
    ("-n", past.BUSY, "--outcome", "failed", "--since", "30d"),
    ("-n", "namespace-7", "--by-policy", f"{names.TTL_LABEL}=24h"),
    ("configmaps/object-0000001-000", "-n", past.BUSY),
)


async def ledger(course: Course, *, objects: int = 10_000, rounds: int = 3) -> tuple[Figure, Figure]:
    """Rounds of three: without a ledger, with SQLite, with PostgreSQL."""
    rates: list[Mapping[str, float]] = []
    with PostgresServer() as server:
        for _ in range(rounds):
            with tempfile.TemporaryDirectory(prefix="skoupa-bench-") as folder:
                places = {"none": "none", "SQLite": f"{folder}/ledger.db", "PostgreSQL": server.dsn}
                rates.append(
                    {
                        name: await subject_rate(
                            course,
                            await backlog(course, objects),
                            objects,
                            subject=skoupa(ledger=place, settings={**_TRASH_OFF, "clusterName": "bench"}),
                        )
                        for name, place in places.items()
                    }
                )
    return _share("SQLite", rates, objects=objects), _share("PostgreSQL", rates, objects=objects)


def _share(name: str, rates: list[Mapping[str, float]], *, objects: int) -> Figure:
    notes = ", ".join(f"{one[name]:.0f}/{one['none']:.0f}" for one in rates)
    return Figure(
        name=f"deletions a second with a ledger in {name} / without one",
        value=statistics.median(one[name] / one["none"] for one in rates),
        unit="",
        bar=0.8,
        at_least=True,
        counts=f"{objects} objects, {len(rates)} rounds, trash off, deletions a second: {notes}",
    )


async def trash(course: Course, *, objects: int = 10_000, pairs: int = 3) -> Figure:
    """In turns: the bare client reads and deletes each object, the subject keeps and deletes them."""
    few = objects // 5

    async def ceiling_of_few(in_flight: int) -> float:
        namespace = await unexpired(course, few, data=_KILOBYTE)
        return await raw_rate(course, namespace, few, in_flight, read=True)

    async def ours(namespace: str) -> float:
        with tempfile.TemporaryDirectory(prefix="skoupa-bench-") as folder:
            subject = skoupa(ledger=f"{folder}/ledger.db", settings={"trash.enabled": "true"})
            return await subject_rate(course, namespace, objects, subject=subject)

    best = await best_in_flight(ceiling_of_few)
    found = await compared(
        Contender(fill=lambda: backlog(course, objects, data=_KILOBYTE), rate=ours),
        Contender(
            fill=lambda: unexpired(course, objects, data=_KILOBYTE),
            rate=lambda namespace: raw_rate(course, namespace, objects, best, read=True),
        ),
        times=pairs,
    )
    return Figure(
        name="deletions a second with ledger (SQLite) and trash / GET and DELETE of the bare client",
        value=found.ratio,
        unit="",
        bar=0.8,
        at_least=True,
        counts=f"{objects} objects with {len(_KILOBYTE)} bytes of data, {pairs} pairs, deletions a second: "
        f"{found.notes}; {chosen(best)}",
    )


async def history(_course: Course, *, rows: int = 1_000_000, rounds: int = 5) -> tuple[Figure, Figure]:
    """`skoupa history` with filters, on a long history."""
    with tempfile.TemporaryDirectory(prefix="skoupa-bench-") as folder:
        by_file = await _asked("SQLite", f"{folder}/ledger.db", rows=rows, rounds=rounds)
    with PostgresServer() as server:
        by_server = await _asked("PostgreSQL", server.dsn, rows=rows, rounds=rounds)
    return by_file, by_server


async def _asked(name: str, where: str, *, rows: int, rounds: int) -> Figure:
    made = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "harness.bench.past", where, str(rows), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await made.communicate()
    if made.returncode:
        raise RuntimeError(f"the history could not be made up: {made.returncode}")
    filled = msgspec.json.decode(out, type=past.Filled)
    size = f"{rows} rows of {filled.row:.0f} bytes with their indexes"
    if filled.untidied:
        size += f" ({filled.untidied:.0f} before a vacuum: each is written as intended, as ended and as told)"
    empty = python_cpu("-c", "pass", rounds=rounds)
    helping = python_cpu("-m", "skoupa", "--help", rounds=rounds)
    took = {
        " ".join(question): python_cpu(
            "-m", "skoupa", "history", *question, "--ledger", where, "--tz", "UTC", rounds=rounds
        )
        for question in _QUESTIONS
    }
    each = ", ".join(f"`{question}` {seconds * 1000:.0f}" for question, seconds in took.items())
    return Figure(
        name=f"CPU of `skoupa history` with filters, on a ledger in {name}",
        value=max(took.values()) * 1000,
        unit=" ms",
        bar=300,
        counts=f"{size}; ms, best of {rounds}, the worst counts: {each}; "
        f"`python -c pass` {empty * 1000:.0f}, `skoupa --help` {helping * 1000:.0f}"
        + ("; the CPU of its server is not in it" if name == "PostgreSQL" else ""),
    )


async def restore(course: Course, *, objects: int = 1000, pairs: int = 3) -> Figure:
    """Interleaved pairs: the command brings a namespace back, then the bare client creates the same in another one."""
    ratios: list[float] = []
    notes: list[str] = []
    best = 0
    for _ in range(pairs):
        async with _brought_back(course, objects) as (namespace, seconds):
            if not best:
                best = await best_in_flight(
                    lambda in_flight: _copy_rate(course, namespace, objects, in_flight)
                )
            raw = await _copy_rate(course, namespace, objects, best)
        ours = objects / seconds
        ratios.append(ours / raw)
        notes.append(f"{ours:.0f}/{raw:.0f}")
    return Figure(
        name="objects a second of `skoupa restore` / creates of the bare client",
        value=statistics.median(ratios),
        unit="",
        at_least=True,
        counts=f"{objects} objects with {len(_KILOBYTE)} bytes of data, {pairs} pairs, objects a second: "
        f"{', '.join(notes)}; start of the command, reading of the trash and a dry run of each object included; "
        f"{chosen(best)}",
    )


@asynccontextmanager
async def _brought_back(course: Course, objects: int) -> AsyncIterator[tuple[str, float]]:
    """A namespace whose objects went and came back, and the seconds that this took; they go again at the end."""
    namespace = await course.namespace("restore")
    with tempfile.TemporaryDirectory(prefix="skoupa-bench-") as folder:
        place = f"{folder}/ledger.db"
        await course.arena.fill(namespace, objects, ttl=lambda _: "1s", data=_KILOBYTE)
        async with course.running(skoupa(ledger=place, settings={"trash.enabled": "true"})):
            await until_left(course, namespace, 0)
        seconds = await _restore(course, namespace, place)
    found = await course.arena.left(namespace)
    if found != objects:
        raise RuntimeError(f"{found} of {objects} objects came back")
    try:
        yield namespace, seconds
    finally:
        await bare(course, namespace, 64)


async def _restore(course: Course, namespace: str, place: str) -> float:
    command = [sys.executable, "-m", "skoupa", "restore", "configmaps", "-n", namespace, "--since", "1d"]
    environment = installed.environment(KUBECONFIG=str(course.arena.access.kubeconfig))
    command += ["--yes", "--limit", "0", "--ledger", place]
    with course.log.open("ab") as log:
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *command, env=environment, stdout=asyncio.subprocess.DEVNULL, stderr=log
        )
        code = await process.wait()
    seconds = time.monotonic() - started
    if code:
        raise RuntimeError(f"restore ended with {code}")
    return seconds


async def _copy_rate(course: Course, namespace: str, objects: int, in_flight: int) -> float:
    target = await course.namespace("copy")
    seconds = await bare(course, namespace, in_flight, "--copy-to", target)
    await bare(course, target, 64)
    return objects / seconds
