"""What is told of Alive: one log line and one Event on it for each thing that happens to it. There is one, so nothing is bundled."""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.kinds.alive import ALIVES
from skoupa.kube.events import Event, EventWriter, Regarding
from skoupa.report.log import Log

ALIVE_EVENT_REASONS: Final[dict[str, str]] = {
    "SkoupaAliveMade": "On Alive: it was made, since there was none.",
    "SkoupaAliveVanished": "On Alive: it had vanished without a deletion having been asked for, and was made anew.",
    "SkoupaSignalled": "On Alive: its deletion was asked for; who takes part cleans up now.",
    "SkoupaTimedOut": "On Alive: the time of its participants is over; the note says who has something left.",
    "SkoupaForced": "On Alive: a finalizer is about to be taken off for who has it; the note says how far that was.",
    "SkoupaUnprotected": "On Alive: an admission policy of its guard is missing, is not what was installed, or is not enforced.",
}
# As it should be.
_CALM: Final = frozenset({"SkoupaAliveMade"})
_LONGEST_NOTE: Final = 1000


class AliveReporting:
    def __init__(self, *, log: Log, events: EventWriter | None) -> None:
        self._log = log
        self._events = events

    def tell(self, what: str, note: str, *, uid: str, at: float) -> None:
        calm = what in _CALM
        self._log("alive", level="info" if calm else "warning", what=what, note=note)
        if self._events is None:
            return
        about = Regarding(api_version=ALIVES.api_version, kind=ALIVES.kind, name=names.ALIVE_NAME, uid=uid)
        self._events.tell(
            Event(
                regarding=about,
                reason=what,
                action="Alive",
                note=note[:_LONGEST_NOTE],
                type="Normal" if calm else "Warning",
                at=at,
            )
        )
