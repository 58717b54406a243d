"""Protection of storage in use: a claim stays while a Pod on a node uses it, a volume while it is bound.

New claims and volumes get a finalizer (`writing.defaults`); here it is taken away once a deleted one is not in use any more.
"""

from __future__ import annotations

from skoupa.sim.controllers.work import Work
from skoupa.sim.state.access import User
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Change, Row, Shelf
from skoupa.sim.writing import writes

RETRY = 10.0
CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class Protection:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[tuple[Shelf, str]] = Work(plane.clock)
        self._pods = plane.served(group="", version="v1", plural="pods")
        claims = plane.served(group="", version="v1", plural="persistentvolumeclaims")
        volumes = plane.served(group="", version="v1", plural="persistentvolumes")
        self._protected = {
            claims.shelf: (claims, CLAIM_FINALIZER),
            volumes.shelf: (volumes, VOLUME_FINALIZER),
        }
        # Claims that wait for their users to go, by namespace.
        self._waiting: dict[str, dict[tuple[Shelf, str], None]] = {}
        self._author = Author(
            user=User("system:kube-controller-manager", ("system:authenticated",)),
            manager="kube-controller-manager",
        )
        plane.store.listeners.append(self._hear)

    async def run(self) -> None:
        while True:
            node = await self._work.next()
            try:
                self._release(node)
            except Refusal:
                self._work.add_later(node, RETRY)

    def _hear(self, shelf: Shelf, change: Change) -> None:
        row = change.row
        if shelf in self._protected:
            if row.deleting and change.event != "DELETED":
                self._work.add((shelf, row.key))
        elif shelf is self._pods.shelf and row.namespace in self._waiting and change.event == "DELETED":
            for node in self._waiting.pop(row.namespace):
                self._work.add(node)

    def _release(self, node: tuple[Shelf, str]) -> None:
        shelf, key = node
        row = shelf.rows.get(key)
        if row is None or not row.deleting:
            return
        served, finalizer = self._protected[shelf]
        held = row.metadata().get("finalizers") or []
        if finalizer not in held:
            return
        if _in_use(served, row, pods=self._pods.shelf):
            if row.namespace:
                self._waiting.setdefault(row.namespace, {})[node] = None
            return
        after = row.decode()
        after["metadata"]["finalizers"] = [entry for entry in held if entry != finalizer]
        writes.change(self._plane, served, row, after=after, author=self._author)


def _in_use(served: Served, row: Row, *, pods: Shelf) -> bool:
    if not served.resource.namespaced:
        return bool((row.decode().get("status") or {}).get("phase") == "Bound")
    return any(_uses(pod, row.name) for pod in pods.in_namespace(row.namespace))


def _uses(pod: Row, claim: str) -> bool:
    """A Pod that is not yet on a node will never start with a claim that is being deleted."""
    spec = pod.decode().get("spec") or {}
    return bool(spec.get("nodeName")) and any(
        (volume.get("persistentVolumeClaim") or {}).get("claimName") == claim
        for volume in spec.get("volumes") or ()
    )
