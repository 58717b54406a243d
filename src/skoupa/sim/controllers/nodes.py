"""What the nodes of a cluster would do, as far as deletion is concerned: a Pod is gone when its grace period is over.

No Pod is scheduled, started or finished here; a Pod that was never bound to a node goes at once anyway.
"""

from __future__ import annotations

from skoupa.sim.controllers.work import Work
from skoupa.sim.state.access import User
from skoupa.sim.state.plane import Author, Plane, seconds_of
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Change, Shelf
from skoupa.sim.writing import deletion

RETRY = 10.0


class Nodes:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[tuple[str, str, str]] = Work(plane.clock)
        self._pods = plane.served(group="", version="v1", plural="pods")
        self._author = Author(
            user=User("system:node:embedded", ("system:nodes", "system:authenticated")), manager="kubelet"
        )
        plane.store.listeners.append(self._hear)

    async def run(self) -> None:
        while True:
            namespace, name, uid = await self._work.next()
            row = self._pods.shelf.get(namespace, name)
            if row is None or row.uid != uid:
                continue
            try:
                deletion.delete(
                    self._plane,
                    self._pods,
                    namespace=namespace,
                    name=name,
                    options=deletion.Options(uid=uid, grace=0, policy="Background"),
                    author=self._author,
                )
            except Refusal:
                self._work.add_later((namespace, name, uid), RETRY)

    def _hear(self, shelf: Shelf, change: Change) -> None:
        row = change.row
        if shelf is not self._pods.shelf or not row.deleting or change.event == "DELETED":
            return
        metadata = row.metadata()
        if metadata.get("deletionGracePeriodSeconds"):
            left = seconds_of(metadata["deletionTimestamp"]) - self._plane.clock.now()
            self._work.add_later((row.namespace, row.name, row.uid), max(0.0, left))
