"""When a process was started, and by whose settings: what it was told then, somebody may have taken back since.

A replica that stands by has the settings of its start for as long as it lives. So where it matters who was told last, the
moment counts at which the settings were read, by the server's clock and rather too early than too late.
"""

from __future__ import annotations

import msgspec

from skoupa.clock import Clock


class Started(msgspec.Struct, frozen=True, kw_only=True):
    """Both clocks of the machine, as they were before the settings were read.

    `borrowed`: the settings are those of an installation, but for what belongs to its own Pod. Of that the process knows nothing.
    """

    now: float
    monotonic: float
    borrowed: bool = False

    def at(self, clock: Clock, *, skew: float) -> float:
        """By the server's clock, which is `skew` ahead of ours now."""
        # One stands still while the machine sleeps, and the other may be set.
        return min(self.now, clock.now() - (clock.monotonic() - self.monotonic)) + skew


def started_now(clock: Clock) -> Started:
    return Started(now=clock.now(), monotonic=clock.monotonic())
