"""A thousand policies that are due together: how long after their tick it is that what they choose has gone.

As `figures`, one function each.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from harness.bench.arena import send_each
from harness.bench.course import Course, Figure
from harness.bench.due_policies import AHEAD_SECONDS, RUN_SECONDS, definitions, manifest, next_tick, schedule
from harness.bench.lateness import until_gone
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES
from skoupa.kube.lists import Scope
from skoupa.kube.resources import CONFIG_MAPS

_SETTLED_SECONDS: Final = 5.0


async def together(course: Course, *, policies: int = 1000, namespaces: int = 50) -> Figure:
    """Each policy has an object of its own; a watcher of its own sees them go."""
    places = [await course.namespace("together") for _ in range(namespaces)]
    numbers = [(places[index % namespaces], f"one-{index:04d}") for index in range(policies)]
    await send_each(
        numbers,
        lambda one: course.arena.client.create(
            CONFIG_MAPS,
            {"metadata": {"name": one[1], "labels": {"bench": "together", "policy": one[1]}}},
            namespace=one[0],
        ),
    )
    late: list[float] = []
    async with definitions(course.arena), course.running() as subject:
        await subject.until_ready()
        # A thousand policies take a while to be written.
        tick = next_tick(AHEAD_SECONDS + policies // 50)
        await send_each(
            numbers,
            lambda one: course.arena.client.create(
                CLEANUP_POLICIES, _own_policy(one[1], schedule(tick)), namespace=one[0]
            ),
        )
        written = tick - time.time()
        async with asyncio.timeout(max(0.0, written) + RUN_SECONDS):
            await until_gone(
                course.arena, Scope(labels="bench=together"), policies, due=lambda _: tick, late=late
            )
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
    return manifest(CLEANUP_POLICIES, name, spec)
