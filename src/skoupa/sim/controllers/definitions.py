"""CustomResourceDefinitions: a definition makes its kinds served, its deletion takes them away, instances first.

Names are accepted without looking for clashes, and conversion between versions changes nothing but apiVersion. Schemas
are kept with the kinds; `writing.schemas` says what they do.
"""

from __future__ import annotations

from typing import Any

from skoupa import names
from skoupa.kube.resources import Resource
from skoupa.sim.controllers.work import Work
from skoupa.sim.state import kinds
from skoupa.sim.state.access import MASTERS, User
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Change, Row, Shelf
from skoupa.sim.writing import deletion, writes
from skoupa.sim.writing.conditions import set_condition

Body = dict[str, Any]

RETRY = 5.0


class Definitions:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[str] = Work(plane.clock)
        self._served = plane.served(
            group="apiextensions.k8s.io", version="v1", plural="customresourcedefinitions"
        )
        # Which definition each shelf of instances belongs to while its instances are being deleted.
        self._emptying: dict[Shelf, str] = {}
        self._author = Author(user=User("system:apiserver", (MASTERS,)), manager="kube-apiserver")
        plane.store.listeners.append(self._hear)

    async def run(self) -> None:
        while True:
            name = await self._work.next()
            row = self._served.shelf.get("", name)
            if row is None:
                continue
            try:
                if row.deleting:
                    self._dismantle(row)
                else:
                    self._establish(row)
            except Refusal:
                self._work.add_later(name, RETRY)
            await self._plane.clock.sleep(0)

    def _hear(self, shelf: Shelf, change: Change) -> None:
        if shelf is self._served.shelf:
            if change.event == "DELETED":
                self._forget(change.row)
            else:
                self._work.add(change.row.name)
        elif change.event == "DELETED" and shelf in self._emptying:
            self._work.add(self._emptying[shelf])

    def _establish(self, row: Row) -> None:
        body = row.decode()
        announce(self._plane, body)
        spec, status = body["spec"], body.setdefault("status", {})
        status["acceptedNames"] = spec["names"]
        stored = [version["name"] for version in spec["versions"] if version.get("storage")]
        known = status.get("storedVersions") or []
        status["storedVersions"] = known + [name for name in stored if name not in known]
        set_condition(
            self._plane,
            body,
            type_="NamesAccepted",
            status="True",
            reason="NoConflicts",
            message="no conflicts found",
        )
        set_condition(
            self._plane,
            body,
            type_="Established",
            status="True",
            reason="InitialNamesAccepted",
            message="the initial names have been accepted",
        )
        writes.change(self._plane, self._served, row, after=body, author=self._author, subresource="status")

    def _dismantle(self, row: Row) -> None:
        """Deletes the instances, and lets the definition go when none is left."""
        body = row.decode()
        metadata = body["metadata"]
        if names.CUSTOM_RESOURCE_CLEANUP_FINALIZER not in (metadata.get("finalizers") or ()):
            return
        served = self._instances(body)
        if served is not None and served.shelf.rows:
            self._emptying[served.shelf] = row.name
            self._plane.catalogue.closing.add((served.resource.group, served.resource.plural))
            for instance in [found for found in served.shelf.in_namespace("") if not found.deleting]:
                deletion.delete(
                    self._plane,
                    served,
                    namespace=instance.namespace,
                    name=instance.name,
                    options=deletion.Options(policy="Background"),
                    author=self._author,
                )
            if served.shelf.rows:
                self._tell(
                    row, "True", "InstanceDeletionInProgress", "CustomResource deletion is in progress"
                )
                return
        row = self._tell(row, "False", "InstanceDeletionCompleted", "removed all instances")
        after = row.decode()
        after["metadata"]["finalizers"] = [
            entry
            for entry in after["metadata"]["finalizers"]
            if entry != names.CUSTOM_RESOURCE_CLEANUP_FINALIZER
        ]
        writes.change(self._plane, self._served, row, after=after, author=self._author)

    def _tell(self, row: Row, status: str, reason: str, message: str) -> Row:
        after = row.decode()
        set_condition(self._plane, after, type_="Terminating", status=status, reason=reason, message=message)
        return writes.change(
            self._plane, self._served, row, after=after, author=self._author, subresource="status"
        )

    def _instances(self, body: Body) -> Served | None:
        spec = body["spec"]
        for version in spec["versions"]:
            served = self._plane.catalogue.find(
                group=spec["group"], version=version["name"], plural=spec["names"]["plural"]
            )
            if served is not None:
                return served
        return None

    def _forget(self, row: Row) -> None:
        spec = row.decode()["spec"]
        group, plural = spec["group"], spec["names"]["plural"]
        shelf = self._plane.store.shelf(group=group, plural=plural)
        self._emptying.pop(shelf, None)
        self._plane.catalogue.closing.discard((group, plural))
        self._plane.catalogue.remove(group=group, plural=plural)
        for watch in tuple(self._plane.watches.pop(shelf, ())):
            watch.end()


def announce(plane: Plane, body: Body) -> None:
    """Serves the kinds of a definition; versions that it serves no longer go."""
    spec = body["spec"]
    given, group = spec["names"], spec["group"]
    served_versions = [version for version in spec["versions"] if version.get("served")]
    for version in served_versions:
        subresources = version.get("subresources") or {}
        resource = Resource(
            group=group,
            version=version["name"],
            plural=given["plural"],
            kind=given["kind"],
            namespaced=spec["scope"] == "Namespaced",
            singular=given.get("singular") or given["kind"].lower(),
            short_names=tuple(given.get("shortNames") or ()),
            categories=tuple(given.get("categories") or ()),
            verbs=kinds.CUSTOM_VERBS,
            subresources=tuple(name for name in ("status", "scale") if name in subresources),
        )
        known = plane.catalogue.find(group=group, version=version["name"], plural=given["plural"])
        if known is None or known.resource != resource:
            plane.catalogue.add(
                resource,
                custom=True,
                list_kind=given.get("listKind") or f"{given['kind']}List",
                selectable=tuple(
                    field["jsonPath"].lstrip(".") for field in version.get("selectableFields") or ()
                ),
                schema=(version.get("schema") or {}).get("openAPIV3Schema"),
            )
    plane.catalogue.keep_versions(
        group=group, plural=given["plural"], versions=[version["name"] for version in served_versions]
    )
