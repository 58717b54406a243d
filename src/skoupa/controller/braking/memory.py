"""Which Brakes there are, written down, so that none is forgotten that goes along with its definition.

A Brake ends when somebody deletes it. One that vanished otherwise goes on holding, also over a restart, and is made again
as soon as its kind is back; from then on it is released like any other. Only who leads and enforces writes.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.clock import Clock
from skoupa.controller.braking.brakes import Brakes
from skoupa.controller.braking.feed import Found
from skoupa.controller.state import BRAKES_KNOWN, BRAKES_SEEN, State
from skoupa.errors import AlreadyExists, Forbidden
from skoupa.kinds.brake import BRAKES
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.sweep.reporting import Report

# A ConfigMap holds a megabyte, and not all of it is ours.
_MOST: Final = 300
_WHY: Final = "its kind was deleted and came back; nobody had released this Brake, so it was made again"


class Known(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What it takes to make a Brake again, and to tell whether somebody deleted it."""

    name: str
    uid: str
    created: str
    labels: dict[str, str] = {}
    spec: Any = None

    def found(self) -> Found:
        metadata = {
            "name": self.name,
            "uid": self.uid,
            "creationTimestamp": self.created,
            "labels": self.labels,
        }
        return {"metadata": metadata, "spec": self.spec}


class BrakeMemory:
    def __init__(self, brakes: Brakes, state: State, *, clock: Clock) -> None:
        self._brakes = brakes
        self._state = state
        self._clock = clock
        self._seen_written = False
        self._written: list[Known] = []

    def remember(self) -> None:
        """What the state says; it has to be read."""
        self._seen_written = self._state.get(BRAKES_SEEN, int) is not None
        self._written = self._state.get(BRAKES_KNOWN, list[Known]) or []
        self._brakes.remember(seen=self._seen_written, known=[known.found() for known in self._written])

    async def write_down(self) -> None:
        if self._brakes.seen and not self._seen_written:
            await self._put(BRAKES_SEEN, int(self._clock.now()))
            self._seen_written = True
        feed = self._brakes.feed
        if not feed.synced:
            return
        known = [_known(found) for found in (*feed, *feed.leaving, *feed.lost)]
        known = sorted(known, key=lambda one: (one.name, one.uid))[:_MOST]
        if known != self._written:
            await self._put(BRAKES_KNOWN, known)
            self._written = known

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

    async def _put(self, key: str, value: Any) -> None:
        try:
            await self._state.put(key, value)
        except Forbidden:
            # Who may write no state has none after a restart either.
            return


def _known(found: Found) -> Known:
    metadata = found["metadata"]
    return Known(
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        created=str(metadata.get("creationTimestamp", "")),
        labels=dict(metadata.get("labels") or {}),
        spec=found.get("spec"),
    )
