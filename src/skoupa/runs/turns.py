"""Work that holds the event loop makes room for others now and then: watches and what goes by a label come first."""

from __future__ import annotations

from typing import Final

from skoupa.clock import Clock

SECONDS: Final = 0.01


class Turns:
    """For one piece of work; a turn begins when it is made."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._began = clock.monotonic()

    async def pause(self) -> None:
        """Lets others go first where this turn has lasted long enough."""
        if self._clock.monotonic() - self._began > SECONDS:
            await self._clock.sleep(0)
            self._began = self._clock.monotonic()
