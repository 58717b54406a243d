"""How many objects a second: the subject on a backlog, and the bare client as the ceiling next to it."""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from harness.bench.course import Course
from harness.bench.subject import Subject

SMALL: Final = "x" * 100
IN_FLIGHT: Final = (16, 32, 64, 128)


async def backlog(course: Course, objects: int, *, data: str = SMALL) -> str:
    """The namespace of so many that are expired as soon as they are there."""
    namespace = await course.namespace("backlog")
    await course.arena.fill(namespace, objects, ttl=lambda _: "1s", data=data)
    return namespace


async def subject_rate(
    course: Course, namespace: str, objects: int, *, subject: Subject | None = None
) -> float:
    """On a backlog: from a fiftieth gone to all gone, as the server's own count shows it."""
    async with course.running(subject):
        started = await until_left(course, namespace, objects * 49 // 50)
        left = await course.arena.left(namespace)
        ended = await until_left(course, namespace, 0)
    return left / (ended - started)


async def unexpired(course: Course, objects: int, *, data: str = SMALL) -> str:
    """The namespace of as many that are the bare client's."""
    namespace = await course.namespace("raw")
    await course.arena.fill(namespace, objects, ttl=lambda _: "30d", data=data)
    return namespace


async def raw_rate(
    course: Course, namespace: str, objects: int, in_flight: int, *, read: bool = False
) -> float:
    """Of deletes by the bare client; `read`: each object is read whole before."""
    return objects / await bare(course, namespace, in_flight, *(["--read"] if read else []))


async def bare(course: Course, namespace: str, in_flight: int, *options: str) -> float:
    """The seconds that the bare client took, as it says them itself."""
    command = [sys.executable, "-m", "harness.bench.raw", str(course.arena.access.kubeconfig), namespace]
    process = await asyncio.create_subprocess_exec(
        *command, str(in_flight), *options, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError(f"the bare client ended with {process.returncode}")
    return float(out)


class Compared(msgspec.Struct, frozen=True):
    """`ratio` is the median of all; `notes` has both rates of each."""

    ratio: float
    notes: str


class Contender(msgspec.Struct, frozen=True):
    """`fill` makes a namespace of objects, and `rate` is how quickly those go."""

    fill: Callable[[], Awaitable[str]]
    rate: Callable[[str], Awaitable[float]]


async def compared(ours: Contender, ceiling: Contender, *, times: int) -> Compared:
    """In turns: ours against the mean of the ceiling before and after it.

    The machine is quicker in one minute than in the next, for both: so the three follow each other at once, and all that
    they need is made before.
    """
    ratios: list[float] = []
    notes: list[str] = []
    for _ in range(times):
        first, second, last = await ceiling.fill(), await ours.fill(), await ceiling.fill()
        before, rate, after = await ceiling.rate(first), await ours.rate(second), await ceiling.rate(last)
        around = statistics.mean((before, after))
        ratios.append(rate / around)
        notes.append(f"{rate:.0f}/{around:.0f} ({before:.0f}, {after:.0f})")
    return Compared(statistics.median(ratios), ", ".join(notes))


async def best_in_flight(rate: Callable[[int], Awaitable[float]]) -> int:
    """With how many requests at a time the ceiling is highest."""
    rates = {in_flight: await rate(in_flight) for in_flight in IN_FLIGHT}
    return max(rates, key=lambda in_flight: rates[in_flight])


def chosen(in_flight: int) -> str:
    return (
        f"the bare client with {in_flight} requests in flight, the best of {', '.join(map(str, IN_FLIGHT))}"
    )


async def until_left(course: Course, namespace: str, number: int, *, patience: float = 900) -> float:
    """Counting costs the server work that the bare client does not have to wait for: seldom while many are left."""
    async with asyncio.timeout(patience):
        while (surplus := await course.arena.left(namespace) - number) > 0:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.5 if surplus > 2000 else 0.05)
    return time.monotonic()
