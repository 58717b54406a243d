"""The command: raises the curtain, lets the engine work, and ends with a summary."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

from skoupa.cli.demo.customer import leave
from skoupa.cli.demo.farewell import Farewell
from skoupa.cli.demo.journal import Journal, Line
from skoupa.cli.demo.rollouts import Rollouts
from skoupa.cli.demo.rules import HOUR, hurry
from skoupa.cli.demo.story import Life, opening
from skoupa.cli.terminal.termination import was_terminated
from skoupa.controller.engine import Engine
from skoupa.errors import UsageError
from skoupa.kube.client import Client
from skoupa.kube.flow import Flow
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Features, Settings
from skoupa.sim.clock import VirtualClock
from skoupa.sim.clock import run as run_virtual
from skoupa.sim.cluster import EmbeddedCluster
from skoupa.sim.content import manifests

HOURS_WITHOUT_TERMINAL: Final = 24.0
FRAMES_PER_SECOND: Final = 8
# Just often enough that a quiet watch does not count as dead; most of an idle cluster's work is bookmarks.
BOOKMARK_SECONDS: Final = 110.0


def run(*, source: str | None, hours: float | None, speed: float, seed: int) -> None:
    terminal = sys.stdout.isatty()
    if hours is None and not terminal:
        hours = HOURS_WITHOUT_TERMINAL
    # Not inside the event loop, where an interrupt would wait for a slow file.
    given = _given(source) if source is not None else None

    async def main(clock: VirtualClock) -> None:
        await _play(clock, given=given, hours=hours, speed=speed, seed=seed, terminal=terminal)

    try:
        # Without a terminal nobody watches the hours go by: time jumps from event to event.
        run_virtual(main, speed=speed if terminal else None, seed=seed)
    except KeyboardInterrupt:
        # On a terminal Ctrl-C is how it ends.
        if not terminal or was_terminated():
            raise


async def _play(
    clock: VirtualClock,
    *,
    given: list[manifests.Manifest] | None,
    hours: float | None,
    speed: float,
    seed: int,
    terminal: bool,
) -> None:
    started = clock.now()
    journal = Journal(clock, on_line=(lambda _: None) if terminal else _print)
    async with EmbeddedCluster(clock=clock, seed=seed, bookmark_seconds=BOOKMARK_SECONDS) as cluster:
        objects = cluster.load(opening(started) if given is None else given)
        if not terminal:
            sys.stdout.write(
                f"A cluster in memory with {objects} objects; its time starts at {whole_seconds(started)}.\n"
            )
        client = Client(Flow(cluster, clock), clock)
        settings = Settings(
            mode="enforce",
            address="",
            features=Features(retention=True, alive=given is None, tenants=given is None),
        )
        engine = Engine(client, settings=settings, report=journal)
        async with asyncio.TaskGroup() as group:
            work = [group.create_task(engine.run())]
            await engine.ready.wait()
            if given is None:
                life = Life(client, seed=seed, tell=journal.tell)
                work.append(group.create_task(life.live()))
                work.append(group.create_task(hurry(client, clock, journal.tell)))
                rollouts = Rollouts(client, seed=seed, tell=journal.tell)
                work.append(group.create_task(rollouts.live()))
                work.append(group.create_task(leave(client, journal.tell)))
                farewell = Farewell(client, tell=journal.tell)
                work.append(group.create_task(farewell.play()))
            try:
                await _watch(engine, journal, clock, hours=hours, speed=speed, terminal=terminal)
            finally:
                for task in work:
                    task.cancel()
                sys.stdout.write(
                    _summary(journal, cluster.statistics(), hours=(clock.now() - started) / HOUR)
                )


async def _watch(
    engine: Engine,
    journal: Journal,
    clock: VirtualClock,
    *,
    hours: float | None,
    speed: float,
    terminal: bool,
) -> None:
    if not terminal:
        assert hours is not None
        await clock.sleep(hours * HOUR)
        # What falls due in that very moment still happens, however the two timers are ordered.
        await clock.idle()
        return
    from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
    from rich.live import Live  # noqa: PLC0415

    from skoupa.cli.demo.screen import Screen  # noqa: PLC0415

    console = Console()
    screen = Screen(engine.knowledge, journal, now=clock.now, speed=speed)
    end = clock.now() + hours * HOUR if hours is not None else float("inf")
    with Live(screen, console=console, auto_refresh=False, screen=True) as live:
        while clock.now() < end:
            screen.width, screen.height = console.size
            live.refresh()
            await clock.sleep(min(speed / FRAMES_PER_SECOND, end - clock.now()))


def _given(source: str) -> list[manifests.Manifest]:
    found = manifests.load(Path(source))
    if not found:
        raise UsageError(f"there are no objects in {source}", advice="check --from")
    return found


def _print(line: Line) -> None:
    sys.stdout.write(f"{whole_seconds(line.at)}  {line.text}\n")


def _summary(journal: Journal, statistics: dict[str, Any], *, hours: float) -> str:
    counts = journal.counts
    kinds = ", ".join(f"{count} {kind}" for kind, count in journal.deleted_kinds.most_common())
    left = sum(statistics["objects"].values())
    lines = [
        "",
        f"{hours:.1f} hours of the cluster's time have passed.",
        f"deleted {counts['deleted']}" + (f" ({kinds})" if kinds else ""),
        f"held {counts['held']}, warned {counts['warned']}, stuck on finalizers {counts['stuck']}",
        f"left in the cluster {left}",
        "",
    ]
    return "\n".join(lines)
