"""Events do not stay: an hour after its last write each one is gone, as etcd's lease makes it on a real server."""

from __future__ import annotations

from skoupa.sim.controllers.work import Work
from skoupa.sim.state.plane import Plane
from skoupa.sim.state.storage import Change, Shelf

EVENT_TTL = 3600.0


class Expiry:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[str] = Work(plane.clock)
        self._events = plane.store.shelf(group="events.k8s.io", plural="events")
        self._written: dict[str, float] = {}
        plane.store.listeners.append(self._hear)

    async def run(self) -> None:
        while True:
            key = await self._work.next()
            row = self._events.rows.get(key)
            if row is None:
                continue
            left = self._written.get(key, 0.0) + EVENT_TTL - self._plane.clock.monotonic()
            if left > 0:
                self._work.add_later(key, left)
            else:
                self._plane.store.remove(self._events, row)

    def _hear(self, shelf: Shelf, change: Change) -> None:
        if shelf is not self._events:
            return
        key = change.row.key
        if change.event == "DELETED":
            self._written.pop(key, None)
            return
        self._written[key] = self._plane.clock.monotonic()
        self._work.add_later(key, EVENT_TTL)
