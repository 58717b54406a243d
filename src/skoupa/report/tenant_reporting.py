"""What is told of a deleted tenant as a whole: a log line, an Event on the Tenant and a notice, each once for each thing that happens.

Objects that go with it are told as all others are. Of what it waits for nothing is told but what has changed.
"""

from __future__ import annotations

import hashlib
from typing import Final

from skoupa.kinds.tenant import TENANTS
from skoupa.kube.events import Event, EventWriter, Regarding, shortened
from skoupa.report.log import Log
from skoupa.report.notices.notice import Notice
from skoupa.report.notices.notifier import Notifier
from skoupa.settings.notices import What

TENANT_EVENT_REASONS: Final[dict[str, str]] = {
    "SkoupaTenantDeleting": "On a Tenant: it was deleted, and what belongs to it goes from now on.",
    "SkoupaTenantWaiting": "On a Tenant: its deletion waits for what the note says. Told once, and again when that changes.",
    "SkoupaTenantGone": "On a Tenant: nothing of it is left, and it goes; the note says what stays, and where data is that stays.",
}
# How they are told outside of the cluster.
_NOTICES: Final[dict[str, What]] = {
    "SkoupaTenantDeleting": "notice",
    "SkoupaTenantWaiting": "held",
    "SkoupaTenantGone": "deleted",
}
_LONGEST_NOTE: Final = 1000
_WORRYING: Final = "SkoupaTenantWaiting"


class TenantReporting:
    def __init__(self, *, log: Log, events: EventWriter | None, notices: Notifier | None) -> None:
        self._log = log
        self._events = events
        self._notices = notices

    def tell(self, what: str, note: str, *, name: str, uid: str, key: str, at: float) -> None:
        worrying = what == _WORRYING
        self._log("tenant", level="warning" if worrying else "info", what=what, name=name, note=note)
        if self._notices:
            self._notices.tell(
                Notice(what=_NOTICES[what], kind=TENANTS.qualified, name=name, uid=uid, why=note, at=at)
            )
        if self._events is None:
            return
        self._events.tell(
            Event(
                regarding=Regarding(api_version=TENANTS.api_version, kind=TENANTS.kind, name=name, uid=uid),
                reason=what,
                action="Tenant",
                note=shortened(note, limit=_LONGEST_NOTE),
                type="Warning" if worrying else "Normal",
                at=at,
                # Who takes over tells the same once more, and it is the same.
                identity=hashlib.sha256(key.encode()).hexdigest()[:16] if key else "once",
            )
        )
