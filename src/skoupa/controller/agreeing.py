"""Clocks that came together again: what was judged while they were apart has to be looked at again.

Nobody tells when that happens, so it is asked for every few seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.judge.circumstances import SKEW_SECONDS

LOOK_SECONDS: Final = 5.0


class Agreeing:
    """`skew` is the distance of the two clocks as it is known now."""

    def __init__(self, clock: Clock, *, skew: Callable[[], float], look_again: Callable[[], None]) -> None:
        self._clock = clock
        self._skew = skew
        self._look_again = look_again
        self._judged_apart = False

    def judged(self) -> float:
        """The distance, for who judges by it, however short they are apart."""
        skew = self._skew()
        self._judged_apart = self._judged_apart or abs(skew) >= SKEW_SECONDS
        return skew

    async def follow(self) -> None:
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if self._judged_apart and abs(self._skew()) < SKEW_SECONDS:
                self._judged_apart = False
                self._look_again()
