"""What every namespace is furnished with: the ServiceAccount "default" and the ConfigMap with the cluster's root CA.

Both come a moment after the namespace, and come back when somebody deletes them while the namespace lives.
"""

from __future__ import annotations

from typing import Any

from skoupa.sim.controllers.work import Work
from skoupa.sim.state.access import User
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Change, Shelf
from skoupa.sim.writing import writes

RETRY = 10.0
_CERTIFICATE = "-----BEGIN CERTIFICATE-----\nembedded\n-----END CERTIFICATE-----\n"
_FURNITURE: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("serviceaccounts", "default", {"metadata": {"name": "default"}}),
    (
        "configmaps",
        "kube-root-ca.crt",
        {
            "metadata": {
                "name": "kube-root-ca.crt",
                "annotations": {
                    "kubernetes.io/description": "Contains a CA bundle that can be used to verify the kube-apiserver "
                    "when using internal endpoints such as the internal service IP or "
                    "kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters."
                },
            },
            "data": {"ca.crt": _CERTIFICATE},
        },
    ),
)


class Furnishing:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[str] = Work(plane.clock)
        self._namespaces = plane.store.shelf(group="", plural="namespaces")
        self._names = {plane.store.shelf(group="", plural=plural): name for plural, name, _ in _FURNITURE}
        self._author = Author(
            user=User("system:kube-controller-manager", ("system:authenticated",)),
            manager="kube-controller-manager",
        )
        plane.store.listeners.append(self._hear)

    async def run(self) -> None:
        while True:
            self._furnish(await self._work.next())
            self.work()
            await self._plane.clock.sleep(0)

    def work(self) -> None:
        """Furnishes all namespaces that wait for it."""
        name = self._work.take()
        while name is not None:
            self._furnish(name)
            name = self._work.take()

    def _hear(self, shelf: Shelf, change: Change) -> None:
        if shelf is self._namespaces and change.event == "ADDED":
            self._work.add(change.row.name)
        elif change.event == "DELETED" and self._names.get(shelf) == change.row.name:
            self._work.add(change.row.namespace)

    def _furnish(self, namespace: str) -> None:
        row = self._namespaces.get("", namespace)
        if row is None or row.deleting:
            return
        for plural, name, body in _FURNITURE:
            served = self._plane.served(group="", version="v1", plural=plural)
            if served.shelf.get(namespace, name) is None:
                fresh = {**body, "metadata": dict(body["metadata"])}
                try:
                    writes.create(self._plane, served, namespace=namespace, obj=fresh, author=self._author)
                except Refusal:
                    self._work.add_later(namespace, RETRY)
