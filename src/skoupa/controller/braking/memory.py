"""Which Brakes there are, written down, so that none is forgotten that goes along with its definition.

A Brake ends when somebody deletes it. One that vanished otherwise goes on holding, also over a restart, and is made again
as soon as its kind is back; from then on it is released like any other. What is not written down of them, because they are
too many, is `unlisted`. Only who leads and enforces writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.brakes import Brakes
from skoupa.controller.braking.unlisted import Known, known_of, listed, read_known
from skoupa.controller.state import BRAKES_KNOWN, BRAKES_SEEN, BRAKES_UNLISTED, State
from skoupa.errors import AlreadyExists, Forbidden
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.sweep.reporting import Report

_WHY: Final = "its kind was deleted and came back; nobody had released this Brake, so it was made again"


class BrakeMemory:
    def __init__(self, brakes: Brakes, state: State, *, clock: Clock) -> None:
        self._brakes = brakes
        self._state = state
        self._clock = clock
        self._seen_written = False
        self._written: list[Known] = []
        self._unlisted: list[int] = []

    def remember(self) -> None:
        """What the state says; it has to be read."""
        self._seen_written = self._state.get(BRAKES_SEEN, int) is not None
        self._written, unlisted = read_known(self._state)
        self._unlisted = self._state.get(BRAKES_UNLISTED, list[int]) or []
        known = [known.found() for known in self._written]
        self._brakes.remember(seen=self._seen_written, known=known, unlisted=unlisted)

    async def write_down(self) -> None:
        if self._brakes.seen and not self._seen_written:
            await self._put({BRAKES_SEEN: int(self._clock.now())})
            self._seen_written = True
        feed = self._brakes.feed
        if not feed.synced:
            return
        known, left_out = listed([known_of(found) for found in (*feed, *feed.leaving, *feed.lost)])
        # Who has lost some must not forget that because there are fewer by now.
        unlisted = list(feed.unlisted or left_out or ())
        if known != self._written or unlisted != self._unlisted:
            await self._put({BRAKES_KNOWN: known, BRAKES_UNLISTED: unlisted})
            self._written, self._unlisted = known, unlisted

    async def bring_back(self, client: Client, kind: Resource, *, report: Report) -> None:
        for name, found in self._brakes.lost():
            body = {
                "apiVersion": BRAKES.api_version,
                "kind": BRAKES.kind,
                "metadata": {
                    "name": name,
                    "labels": found["metadata"].get("labels") or {},
                    "finalizers": [names.BRAKE_FINALIZER],
                },
                "spec": found.get("spec"),
            }
            try:
                made = await client.create(kind, body)
            except AlreadyExists:
                # Another took the name a moment ago: the feed tells, and then there is a free one.
                continue
            report.brake_made(name, str(made["metadata"]["uid"]), why=_WHY, at=self._clock.now())

    async def _put(self, values: Mapping[str, Any]) -> None:
        try:
            await self._state.put_together(values)
        except Forbidden:
            # Who may write no state has none after a restart either.
            return
