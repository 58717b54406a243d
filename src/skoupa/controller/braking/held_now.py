"""What a Brake holds at this moment, as its status tells it and as its end lets go.

One that stands for a backlog holds what that does, and nothing by its scope. Events are counted apart: nobody keeps rows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from skoupa.controller.backlogs.brakes import BacklogBrakes
from skoupa.controller.braking.held_events import HeldEvents
from skoupa.facts.rows import Uid
from skoupa.kinds.brake_reading import Brake
from skoupa.sweep.memory import Memory
from skoupa.sweep.weighing import stops_a_run

_SAMPLED: Final = 20


class Told(NamedTuple):
    """How many, and the names of some."""

    number: int
    sample: tuple[str, ...] = ()


NOTHING: Final = Told(0)


class HeldNow:
    """`place` gives the words for a held object."""

    def __init__(
        self, memory: Memory, *, handles: BacklogBrakes, events: HeldEvents, place: Callable[[Uid], str]
    ) -> None:
        self._memory = memory
        self._handles = handles
        self._events = events
        self._place = place

    def told(self, brake: Brake) -> Told:
        found = list(self._uids(brake.name))
        events = self.events(brake)
        named = self._events.sample(brake.name) if events else []
        places = [*map(self._place, found[:_SAMPLED]), *named]
        return Told(len(found) + events, tuple(places[:_SAMPLED]))

    def itself(self, brake: Brake) -> set[Uid] | None:
        """One that stands for other Holds holds nothing, and ends none of them when its time is over."""
        return None if self._handles.code(brake.name) else set(self._uids(brake.name))

    def events(self, brake: Brake) -> int:
        """A run is weighed without its Events, and so is what stops it."""
        return 0 if stops_a_run(brake) else self._events.number(brake.name)

    def _uids(self, name: str) -> Iterator[Uid]:
        code = self._handles.code(name)
        if code:
            held = (uid for uid, (_, why) in self._memory.overdue.items() if why == code)
            yield from (uid for uid in held if self._handles.stands_for(name, uid))
            return
        yield from (uid for uid, brakes in self._memory.braked.items() if name in brakes)
