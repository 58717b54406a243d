"""Where deletes take longer than a moment: somebody, mostly a webhook, is asked about each of them.

What is written to an object meanwhile is noticed by the server only where the delete names the state that was judged. So an
object never goes by its uid alone where a delete was slow: one of its own, or of its kind in its namespace. Only a delete
that was carried out quickly takes the mark of a place away, since a refusal may come before anybody was asked; else it ends
after ten minutes, so that what can't go otherwise gets another chance.
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import Conflict
from skoupa.facts.rows import Row
from skoupa.kube.resources import Resource

# A busy server takes less, and an object that is written to all the time must not escape on one.
SLOW_SECONDS: Final = 1.0
_REMEMBERED_SECONDS: Final = 600.0
# The oldest are forgotten first.
_MOST_PLACES: Final = 1000

_Place = tuple[Resource, str]


class Slowness:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        # How long the last slow one took, and when that was; the newest is at the end.
        self._places: dict[_Place, tuple[float, float]] = {}

    def note(self, row: Row, seconds: float, *, carried_out: bool) -> None:
        place = (row.resource, row.namespace)
        if seconds > SLOW_SECONDS:
            self._places.pop(place, None)
            self._places[place] = (seconds, self._clock.monotonic())
            if len(self._places) > _MOST_PLACES:
                del self._places[next(iter(self._places))]
        elif carried_out and self._places:
            self._places.pop(place, None)

    def seconds(self, row: Row) -> float:
        """How long a delete takes there; 0: a moment, as far as is known."""
        known = self._places.get((row.resource, row.namespace))
        if known is None or self._clock.monotonic() - known[1] > _REMEMBERED_SECONDS:
            return 0.0
        return known[0]


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
