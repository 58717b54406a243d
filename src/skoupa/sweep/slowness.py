"""Where deletes take longer than a moment: somebody, mostly a webhook, is asked about each of them.

What is written to an object meanwhile is noticed by the server only where the delete names the state that was judged. So an
object never goes by its uid alone where a delete was slow: one of its own, or of its kind in its namespace. A conflict that
comes quickly shows nothing, since it may come before anybody was asked. So the next that would go by its uid is tried out
first: on a dry run the server asks everybody and does nothing. One that passes quickly takes the mark of the place away, as
does a delete that was carried out quickly; where neither is possible it ends after ten minutes.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import Conflict, SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.resources import Resource

# A busy server takes less, and an object that is written to all the time must not escape on one.
SLOW_SECONDS: Final = 1.0
# With the wait for its turn; who hangs is not waited for.
_TRIAL_SECONDS: Final = 2.0
_REMEMBERED_SECONDS: Final = 600.0
# The oldest are forgotten first.
_MOST_PLACES: Final = 1000

_Place = tuple[Resource, str]
_Trial = Callable[[Callable[[], bool]], Awaitable[object]]


class Slowness:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # When the last slow one was; the newest is at the end.
        self._places: dict[_Place, float] = {}

    def note(self, row: Row, seconds: float, *, carried_out: bool) -> None:
        place = (row.resource, row.namespace)
        if seconds > SLOW_SECONDS:
            self._places.pop(place, None)
            self._places[place] = self._clock.monotonic()
            if len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
        elif carried_out and self._places:
            self._places.pop(place, None)

    async def passes(self, row: Row, trial: _Trial) -> bool:
        """Whether a delete there takes a moment, as far as is known; where one did not, it is tried out.

        `trial` sends a dry run, and calls what it is given as that leaves.
        """
        if not self._is_marked(row):
            return True
        left_at, passed = math.inf, False

        def leaves() -> bool:
            nonlocal left_at
            left_at = self._clock.monotonic()
            return True

        try:
            async with self._clock.timeout(_TRIAL_SECONDS):
                await trial(leaves)
                passed = True
        except (TimeoutError, SkoupaError):
            # Whoever can't be tried out (a webhook that knows no dry run) is as slow as before.
            pass
        self.note(row, self._clock.monotonic() - left_at, carried_out=passed)
        return not self._is_marked(row)

    def _is_marked(self, row: Row) -> bool:
        at = self._places.get((row.resource, row.namespace))
        return at is not None and self._clock.monotonic() - at <= _REMEMBERED_SECONDS


def withheld(error: Conflict) -> Conflict:
    """The last conflict of an object that could have gone by its uid alone elsewhere, with why it does not here."""
    why = (
        "it is written to all the time, and does not go by its uid alone, since deletes here take longer than "
        f"{SLOW_SECONDS:g} s and a keep label written meanwhile would come too late: look for a slow admission webhook"
    )
    status = msgspec.structs.replace(error.status, message=f"{error.status.message}; {why}")
    told = Conflict(f"{error.message}; {why}", status=status, retry_after=error.retry_after)
    told.after_silence = error.after_silence
    return told
