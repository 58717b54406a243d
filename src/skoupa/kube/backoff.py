"""How long to wait before trying again: doubling, with jitter, never more than the cap.

The cap of 45 s is a promise to users: whatever failed goes on within a minute of its cause being removed.
"""

from __future__ import annotations

from typing import Final

from skoupa.clock import Clock

CAP_SECONDS: Final = 45.0


class Backoff:
    def __init__(self, clock: Clock, *, first: float = 0.5, cap: float = CAP_SECONDS) -> None:
        self._clock = clock
        self._first = first
        self._cap = cap
        self.failures = 0

    def next(self) -> float:
        # 2**64 overflows nothing, 2**200 failures of a broken webhook would.
        wait = min(self._cap, self._first * 2.0 ** min(self.failures, 64))
        self.failures += 1
        return self._clock.jitter(wait)

    def reset(self) -> None:
        self.failures = 0
