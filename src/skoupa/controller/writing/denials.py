"""Where something may not be written onto policies: told once for each kind, and tried again after a while, for rights come back.

What is refused in one namespace says nothing of the others. However many refuse, only some are tried a minute; where one of them lets
it be written again the others of its kind are tried at once. Whoever tries several takes those first that were not refused before: a
single one may be refused for itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.runs.book import Entry

DENIED_SECONDS: Final = 60.0
_TRIED_A_MINUTE: Final = 10

# A kind by its name, in a namespace, which is empty for what is in none.
Place = tuple[str, str]


def place_of(entry: Entry) -> Place:
    return entry.kind.qualified, entry.namespace


class Denials:
    """`words` says what is missing, of a kind and where; `told` hears that, and `untold` the same when it is over."""

    def __init__(
        self,
        clock: Clock,
        *,
        words: Callable[[str, str], str],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._clock = clock
        self._words = words
        self._told = told
        self._untold = untold
        self._until: dict[Place, float] = {}
        # Of those: may be tried again.
        self._on_trial: set[Place] = set()
        # Whoever was refused last, by a name of its own.
        self._refused: dict[str, Place] = {}
        self._said: dict[str, str] = {}

    def stands(self, place: Place) -> bool:
        return place in self._until and place not in self._on_trial

    @property
    def standing(self) -> bool:
        """Anywhere."""
        return any(map(self.stands, self._until))

    def was_refused(self, who: str) -> bool:
        return who in self._refused

    def due(self) -> set[Place]:
        """Where it may be tried again, each told once."""
        now = self._clock.monotonic()
        found = {place for place, until in self._until.items() if until <= now and self.stands(place)}
        self._on_trial |= found
        return found

    def refuse(self, place: Place, who: str, *, alone: bool = False) -> None:
        """`alone`: others in that place are not refused for it."""
        self._refused[who] = place
        if not alone:
            alike = sum(kind == place[0] for kind, _ in self._until)
            self._until[place] = self._clock.monotonic() + DENIED_SECONDS * (1 + alike // _TRIED_A_MINUTE)
            self._on_trial.discard(place)
        self._tell(place[0])

    def allow(self, place: Place, who: str) -> None:
        """It was written, or may be."""
        if place in self._on_trial:
            for other in self._until:
                if other[0] == place[0]:
                    self._until[other] = self._clock.monotonic()
        self._until.pop(place, None)
        self._on_trial.discard(place)
        self.forget(who)

    def forget(self, who: str) -> None:
        """It is gone."""
        place = self._refused.pop(who, None)
        if place is not None:
            self._tell(place[0])

    def clear(self) -> None:
        """Rights may be others."""
        self._until.clear()
        self._on_trial.clear()
        self._refused.clear()
        for kind in list(self._said):
            self._tell(kind)

    def _tell(self, kind: str) -> None:
        places = sorted({place[1] for place in self._refused.values() if place[0] == kind})
        more = " and other namespaces" if len(places) > 1 else ""
        where = f" in {places[0]}{more}" if any(places) else ""
        said = self._words(kind, where) if places else ""
        before = self._said.pop(kind, "")
        if said:
            self._said[kind] = said
        if before != said:
            if before:
                self._untold(before)
            if said:
                self._told(said)
