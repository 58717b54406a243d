"""What the conditions of a run cost that are worked out in this process: they leave room for others, and come to an end.

Counted are the steps of JMESPath, or the CPU time that comparing took where that is more. Watches, the lease and what goes by a
label wait while something is worked out, so that what was costly is followed by a rest as long as it took: of all runs together, since
many that begin at the same tick would hold up the lease one after the other.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from skoupa.clock import Clock
from skoupa.expr.jmespath import Budget

# Some 40 seconds: one CPU makes about eight million in a second.
RUN_STEPS: Final = 300_000_000
STEPS_A_SECOND: Final = 8_000_000
# Below that nobody notices.
_TIRING: Final = 400_000


class Pace:
    """Of all runs of a process: while one rests from what was costly, no other begins what may be."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._rested_at = -math.inf

    def tired(self, seconds: float) -> None:
        self._rested_at = max(self._rested_at, self._clock.monotonic()) + seconds

    async def rest(self) -> None:
        """Others that wait too may come first, and be costly again."""
        while (left := self._rested_at - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)


class Effort:
    """Of one run. What was cheap last is taken for cheap, and waits for nobody."""

    def __init__(
        self, pace: Pace, *, steps: int = RUN_STEPS, cpu: Callable[[], float] = time.thread_time
    ) -> None:
        self._pace = pace
        self._tiring = True
        self._cpu = cpu
        self._most = steps
        self._rested = steps
        self.budget = Budget(steps)

    @property
    def closed(self) -> str:
        """Why nothing more is worked out; empty while something is."""
        if self.budget.left > 0:
            return ""
        return (
            f"the conditions of this run took more than {self._most:,} steps together: make them cheaper "
            "(look at fewer and smaller values), or match fewer objects"
        )

    async def turn(self) -> None:
        """Before something is worked out."""
        if self._tiring:
            await self._pace.rest()

    @contextmanager
    def work(self) -> Iterator[None]:
        """Around what nothing else can run beside."""
        left, began = self.budget.left, self._cpu()
        try:
            yield
        finally:
            taken = round((self._cpu() - began) * STEPS_A_SECOND)
            self.budget.left = min(self.budget.left, left - taken)

    async def rest(self) -> None:
        """After it."""
        taken = self._rested - self.budget.left
        self._tiring = taken > _TIRING
        if self._tiring:
            self._rested = self.budget.left
            self._pace.tired(taken / STEPS_A_SECOND)
            await self._pace.rest()
