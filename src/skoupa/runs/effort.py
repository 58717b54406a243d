"""What the conditions of a run cost that are worked out in this process: they leave room for others, and come to an end.

Counted are the steps of JMESPath, or the CPU time that comparing took where that is more. Watches, the lease and what goes by a
label wait while something is worked out, so that what was costly is followed by a rest as long as it took.
"""

from __future__ import annotations

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


class Effort:
    """Of one run."""

    def __init__(
        self, clock: Clock, *, steps: int = RUN_STEPS, cpu: Callable[[], float] = time.thread_time
    ) -> None:
        self._clock = clock
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
        taken = self._rested - self.budget.left
        if taken > _TIRING:
            self._rested = self.budget.left
            await self._clock.sleep(taken / STEPS_A_SECOND)
