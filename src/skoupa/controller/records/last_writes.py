"""What is known only here is written down at an orderly end, while the Lease is still held and after the last delete.

Each part writes by itself every few seconds, and this is the same once more: whoever leads next would else let go again what was
let go already, run what ran, or not know what is held. One that can't be written does not keep the others from being;
a server that does not answer is not waited for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.backlogs.first_look import FirstLook
from skoupa.controller.holding import Holding
from skoupa.controller.policies.running import Policies
from skoupa.errors import SkoupaError, TimedOut

LAST_WRITES_SECONDS: Final = 5.0

Write = Callable[[], Awaitable[SkoupaError | None]]


async def end_and_write(
    tasks: Sequence[asyncio.Task[None]], writes: Iterable[Write], *, clock: Clock
) -> SkoupaError | None:
    """Ends the tasks first, so that none of them writes something older afterwards. What kept one from being written."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    first: SkoupaError | None = None
    try:
        async with clock.timeout(LAST_WRITES_SECONDS):
            for write in writes:
                try:
                    first = await write() or first
                except SkoupaError as error:
                    first = first or error
    except TimeoutError:
        first = first or TimedOut(f"no answer within {LAST_WRITES_SECONDS:.0f} s")
    return first


def last_writes(holding: Holding, first_look: FirstLook, policies: Policies | None) -> list[Write]:
    """What lets the most go, where it is not known, comes first; nothing, where another leads or nothing was read."""
    if not holding.acting():
        return []
    runs: list[Write] = [holding.weighing.write_down]
    if policies is not None:
        runs.append(policies.memory.write_down)
    return [holding.braking.write_down, first_look.write_masses, *runs, holding.recreation_memory.write_down]
