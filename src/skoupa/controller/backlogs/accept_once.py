"""`acceptBacklog` counts once, and anew for processes that are started after one without it has led.

A setting that is forgotten, or a flag in a Deployment, is given again at every restart, and must not let go what was found
since. A start without it makes it count anew, from a moment that is written down: a replica of before still has it, and may
take over while a rollout takes it out. Who runs by the settings of an installation has not taken it out there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.backlogs.started import Started
from skoupa.controller.state import ACCEPT_USED, ACCEPTED, State

# Two processes know the server's clock to a second or two, and several servers need not agree better.
APART_SECONDS: Final = 5.0
ACCEPTING: Final = "`skoupa run --enforce --accept-backlog`"
NO_EFFECT: Final = (
    "acceptBacklog (--accept-backlog) has no effect any more: it accepted what was overdue when an enforcing start first had it, "
    "and nothing that was found since. Take it out. What is held now is let go by releasing its Brake (`skoupa brakes` names it), "
    f"or by one enforcing start without acceptBacklog and a later one with it, such as {ACCEPTING} (a run from outside that takes "
    "the settings of the installation is no start without it)"
)
TAKEN_OUT: Final = (
    "acceptBacklog (--accept-backlog) has no effect: a process without it has led since this one was started, or a moment before, "
    "so it may have been taken out. What is held now is let go by releasing its Brake (`skoupa brakes` names it), or where "
    "acceptBacklog is still meant by starting this process again"
)


class AcceptOnce:
    """`skew` says how far the server's clock is ahead of ours."""

    def __init__(self, state: State, *, clock: Clock, started: Started, skew: Callable[[], float]) -> None:
        self._state = state
        self._clock = clock
        self._started = started
        self._skew = skew

    def doubt(self) -> str:
        """Why it accepts nothing at a start that has it; empty: it counts. The state has to be read."""
        anew_from = self._anew_from()
        if anew_from is None:
            return NO_EFFECT
        return "" if self._started_at() >= anew_from + APART_SECONDS else TAKEN_OUT

    def anew(self) -> int | None:
        """What a start without it has to write down: from when it counts anew. None: nothing."""
        anew_from = self._anew_from()
        if self._started.borrowed or anew_from == -math.inf:
            return None
        # Whoever runs while it is used may have it. Once it counts anew, who got it after this process was started may use it.
        known = math.inf if anew_from is None else anew_from
        moment = math.ceil(min(self._clock.now() + self._skew(), max(known, self._started_at())))
        return moment if moment != anew_from else None

    def _started_at(self) -> float:
        return self._started.at(self._clock, skew=self._skew())

    def _anew_from(self) -> float | None:
        """Minus infinity: it never counted. None: it did, and so far does not count anew."""
        used = self._state.get(ACCEPT_USED, bool | int)
        if used is None:
            # Who accepted without writing down how may have been told to in the same way.
            return -math.inf if self._state.get(ACCEPTED, int) is None else None
        # An earlier version wrote false, and not from when; a start without it tells that now.
        return None if isinstance(used, bool) else float(used)
