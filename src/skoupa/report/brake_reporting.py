"""What is told of Brakes: that Skoupa pulled one, and why; that it is in the cluster, was released, or that its time is over.

Pulling one is a log line, a counter and a notice with the command that releases it, at once; Events are on the Brake itself, which
comes later.
"""

from __future__ import annotations

from typing import Final

from skoupa.kinds.brake import BRAKES
from skoupa.kinds.brake_effect import scope_text
from skoupa.kube.events import Event, EventWriter, Regarding
from skoupa.report.log import Log
from skoupa.report.metrics import Metrics
from skoupa.report.notices.notice import Notice
from skoupa.report.notices.notifier import Notifier
from skoupa.sweep.tripping import Tripped

BRAKE_EVENT_REASONS: Final[dict[str, str]] = {
    "SkoupaBraked": "On a Brake: Skoupa pulled it, because a ceiling was full or a backlog was found; the note says which.",
    "SkoupaReleased": "On a Brake: it was released, or its time is over; the note says by whom, where that is known, and how much it "
    "held.",
}


class BrakeReporting:
    def __init__(
        self, *, log: Log, metrics: Metrics, events: EventWriter | None, notices: Notifier | None
    ) -> None:
        self._log = log
        self._metrics = metrics
        self._events = events
        self._notices = notices

    def tripped(self, tripped: Tripped, *, at: float) -> None:
        release = "" if tripped.supposed else f"skoupa brakes release {tripped.name}"
        self._metrics.count("skoupa_trips_total", tripped.span)
        self._log(
            "brake pulled",
            level="warning",
            name=tripped.name,
            scope=scope_text(tripped.spec.scope),
            why=tripped.by,
            **({"release": release} if release else {}),
        )
        if self._notices:
            notice = Notice(
                what="braked",
                kind=BRAKES.qualified,
                name=tripped.name,
                namespace=tripped.spec.scope.namespace or "",
                why=tripped.by,
                at=at,
                count=tripped.count,
                release=release,
            )
            self._notices.tell(notice)

    def made(self, name: str, uid: str, *, why: str, at: float) -> None:
        self._log("brake made", name=name, why=why)
        self._tell(name, uid, "SkoupaBraked", "Brake", why, at=at)

    def released(self, name: str, uid: str, *, by: str, held: int, at: float) -> None:
        who = by or "somebody unknown"
        self._metrics.count("skoupa_brakes_released_total", "known" if by else "unknown")
        self._log("brake released", level="warning", name=name, by=who, held=held)
        note = f"released by {who}; the {held} objects that it held are judged anew"
        self._tell(name, uid, "SkoupaReleased", "Release", note, at=at)

    def ended(self, name: str, uid: str, *, held: int, at: float) -> None:
        self._log("brake ended", name=name, held=held)
        note = f"its time is over; the {held} objects that it held are judged anew"
        self._tell(name, uid, "SkoupaReleased", "Release", note, at=at)

    def _tell(self, name: str, uid: str, reason: str, action: str, note: str, *, at: float) -> None:
        if self._events is not None:
            about = Regarding(api_version=BRAKES.api_version, kind=BRAKES.kind, name=name, uid=uid)
            self._events.tell(
                Event(regarding=about, reason=reason, action=action, note=note, type="Warning", at=at)
            )
