"""When the guard of Alive is looked at, and what of it is told as an Event.

Once a minute where all is well; soon where it is not, or where somebody has just written on Alive: more and more seldom up to every ten
seconds, so that what was just installed, or put right, is seen at once and what stays wrong costs little. That the server does not do as
the policies say is told when it lasts: those of a moment ago are not in force yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.alive.reading import Alive
from skoupa.controller.living.protection import NOT_ENFORCED, NOT_LOOKED_AT, Protection, look
from skoupa.kube.client import Client
from skoupa.settings import Settings
from skoupa.sweep.reporting import Report

CALM_SECONDS: Final = 60.0
WRITTEN_SECONDS: Final = 5.0
SOON_SECONDS: Final = 1.0
DOUBT_SECONDS: Final = 10.0


class Guarding:
    def __init__(
        self, client: Client, *, settings: Settings, report: Report, server_now: Callable[[], float]
    ) -> None:
        self._client = client
        self._settings = settings
        self._report = report
        self._now = server_now
        self.protection: Protection = NOT_LOOKED_AT
        self._warned: Protection | None = None
        self._looked_at = float("-inf")
        self._looked_for: object = None
        self._doubt = SOON_SECONDS
        self._not_enforced_since: float | None = None

    @property
    def stands(self) -> bool:
        return self.protection.status == "True"

    def again(self) -> None:
        """At the next opportunity."""
        self._looked_at = float("-inf")

    def due_in(self, alive: Alive) -> float:
        """In how many seconds it is to be looked at."""
        if not self.stands:
            patience = self._doubt
        else:
            patience = CALM_SECONDS if self._looked_for == _written(alive) else WRITTEN_SECONDS
        return self._looked_at + patience - self._client.clock.monotonic()

    async def look(self, alive: Alive) -> None:
        """Where it is time to."""
        if self.due_in(alive) > 0:
            return
        found = await look(self._client, self._settings)
        self._looked_for = _written(alive)
        self._doubt = SOON_SECONDS if found != self.protection else min(2 * self._doubt, DOUBT_SECONDS)
        self.protection = found
        self._looked_at = moment = self._client.clock.monotonic()
        if found.reason != NOT_ENFORCED:
            self._not_enforced_since = None
        elif self._not_enforced_since is None:
            self._not_enforced_since = moment
        if found.status != "False":
            self._warned = None
        elif found != self._warned and self._lasts(moment):
            self._warned = found
            self._report.of_alive("SkoupaUnprotected", found.message, uid=alive.uid, at=self._now())

    def _lasts(self, moment: float) -> bool:
        since = self._not_enforced_since
        return since is None or moment - since >= DOUBT_SECONDS


def _written(alive: Alive) -> tuple[object, ...]:
    """What somebody wrote on it; the status is Skoupa's own."""
    return alive.uid, alive.generation, alive.finalizers, alive.confirmed
