"""A machine's clock that jumps, on the stage."""

from __future__ import annotations

from skoupa.sim.clock import VirtualClock


class Jumping:
    """The machine's clock, set to another time by somebody."""

    def __init__(self, clock: VirtualClock) -> None:
        self._now = clock.now
        self.by = 0.0
        clock.now = self.now  # type: ignore[method-assign]

    def now(self) -> float:
        return self._now() + self.by
