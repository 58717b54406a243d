"""The end of a namespace: its Pods go first, then everything else, and the namespace when it is empty.

Some seconds after a namespace was deleted its content is deleted in the background. While something remains (grace
periods, finalizers, refusals) conditions say what; each removal inside makes the controller look again.
"""

from __future__ import annotations

from collections import Counter

from skoupa import names
from skoupa.sim.controllers.work import Work
from skoupa.sim.state.access import User
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Change, Row, Shelf
from skoupa.sim.writing import deletion, writes
from skoupa.sim.writing.conditions import set_condition

# The namespace controller lets caches see the deletion before it acts.
GRACE = 5.0
RETRY = 8.0
_AT_ONCE = 200
_PODS = ("", "pods")


class Namespaces:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[str] = Work(plane.clock)
        self._served = plane.served(group="", version="v1", plural="namespaces")
        self._begun: set[str] = set()
        self._author = Author(
            user=User(
                "system:serviceaccount:kube-system:namespace-controller",
                ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
            ),
            manager="kube-controller-manager",
        )
        plane.store.listeners.append(self._hear)

    async def run(self) -> None:
        while True:
            name = await self._work.next()
            row = self._served.shelf.get("", name)
            if row is not None and row.deleting:
                self._begun.add(name)
                await self._empty(name)
            else:
                self._begun.discard(name)

    def _hear(self, shelf: Shelf, change: Change) -> None:
        row = change.row
        if shelf is self._served.shelf:
            if change.event == "DELETED":
                self._begun.discard(row.name)
            elif row.deleting and not (change.previous and change.previous.deleting):
                self._work.add_later(row.name, GRACE)
            elif row.deleting and row.name in self._begun:
                self._work.add(row.name)
        elif change.event == "DELETED" and row.namespace in self._begun:
            self._work.add(row.namespace)

    async def _empty(self, name: str) -> None:
        kinds = self._kinds()
        failures: list[str] = []
        for pods in (True, False):
            for served in kinds:
                if (_place(served) == _PODS) is pods:
                    failures += await self._delete_all(served, name)
            if any(
                True for served in kinds if _place(served) == _PODS for _ in served.shelf.in_namespace(name)
            ):
                break
        remaining = [(served, count) for served in kinds if (count := _count(served, name))]
        row = self._served.shelf.get("", name)
        if row is None:
            return
        try:
            row = self._tell(row, remaining, failures)
            if not remaining:
                self._finalize(row)
        except Refusal as refusal:
            failures.append(str(refusal))
        if failures:
            self._work.add_later(name, RETRY)

    def _kinds(self) -> list[Served]:
        found: dict[Shelf, Served] = {}
        for served in self._plane.catalogue.preferred():
            if served.resource.namespaced and served.resource.may("delete"):
                found.setdefault(served.shelf, served)
        return list(found.values())

    async def _delete_all(self, served: Served, namespace: str) -> list[str]:
        failures: list[str] = []
        rows = [row for row in served.shelf.in_namespace(namespace) if not row.deleting]
        for index, row in enumerate(rows):
            if index % _AT_ONCE == _AT_ONCE - 1:
                await self._plane.clock.sleep(0)
            try:
                deletion.delete(
                    self._plane,
                    served,
                    namespace=namespace,
                    name=row.name,
                    options=deletion.Options(policy="Background"),
                    author=self._author,
                )
            except Refusal as refusal:
                if refusal.code != 404:
                    failures.append(str(refusal))
        return failures

    def _tell(self, row: Row, remaining: list[tuple[Served, int]], failures: list[str]) -> Row:
        after = row.decode()
        for type_, (status, reason, message) in _conditions(row.name, remaining, failures).items():
            set_condition(self._plane, after, type_=type_, status=status, reason=reason, message=message)
        return writes.change(
            self._plane, self._served, row, after=after, author=self._author, subresource="status"
        )

    def _finalize(self, row: Row) -> None:
        after = row.decode()
        finalizers = [
            entry for entry in after["spec"].get("finalizers") or () if entry != names.NAMESPACE_FINALIZER
        ]
        after["spec"] = {"finalizers": finalizers} if finalizers else {}
        writes.change(
            self._plane, self._served, row, after=after, author=self._author, subresource="finalize"
        )


def _place(served: Served) -> tuple[str, str]:
    return (served.resource.group, served.resource.plural)


def _count(served: Served, namespace: str) -> int:
    start, end = served.shelf.span(namespace)
    return end - start


def _conditions(
    namespace: str, remaining: list[tuple[Served, int]], failures: list[str]
) -> dict[str, tuple[str, str, str]]:
    finalizers: Counter[str] = Counter()
    for served, _ in remaining:
        for row in served.shelf.in_namespace(namespace):
            finalizers.update(row.metadata().get("finalizers") or ())
    found: dict[str, tuple[str, str, str]] = {
        "NamespaceDeletionDiscoveryFailure": (
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        "NamespaceContentRemaining": ("False", "ContentRemoved", "All content successfully removed"),
        "NamespaceFinalizersRemaining": (
            "False",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    }
    if failures:
        said = f"Failed to delete all resource types, {len(failures)} remaining: {', '.join(failures)}"
        found["NamespaceDeletionContentFailure"] = ("True", "ContentDeletionFailed", said)
    if remaining:
        # A core kind is shown with the dot that would stand before its group.
        parts = sorted(
            f"{served.resource.plural}.{served.resource.group} has {count} resource instances"
            for served, count in remaining
        )
        said = "Some resources are remaining: " + ", ".join(parts)
        found["NamespaceContentRemaining"] = ("True", "SomeResourcesRemain", said)
    if finalizers:
        parts = sorted(f"{name} in {count} resource instances" for name, count in finalizers.items())
        said = "Some content in the namespace has finalizers remaining: " + ", ".join(parts)
        found["NamespaceFinalizersRemaining"] = ("True", "SomeFinalizersRemain", said)
    return found
