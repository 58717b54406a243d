"""The owner-reference collector: dependents go when all their owners are gone, in the background, first or not at all.

It follows the native garbage collector: an owner is dangling (absent, or another uid), waiting (being deleted in the
foreground) or solid (anything else); one solid owner keeps the object and sheds the other references. Whatever can't be
resolved keeps it too: an unknown kind, or a namespaced owner of a cluster-scoped object. A namespaced owner is looked for
in the dependent's namespace only. Events are neither owners nor owned.
"""

from __future__ import annotations

from typing import Any, Literal

from skoupa import names
from skoupa.sim.controllers.work import Work
from skoupa.sim.state.access import User
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane
from skoupa.sim.state.refusals import Refusal
from skoupa.sim.state.storage import Change, Row, Shelf
from skoupa.sim.writing import deletion, writes

Node = tuple[Shelf, str]
Standing = Literal["dangling", "waiting", "solid", "unknown"]

RETRY = 10.0
_AT_ONCE = 100


class Collector:
    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._work: Work[Node] = Work(plane.clock)
        self._dependents: dict[str, dict[Node, None]] = {}
        self._waiting: set[str] = set()
        self._unresolved: dict[Node, None] = {}
        self._ignored = plane.store.shelf(group="events.k8s.io", plural="events")
        self._author = Author(
            user=User(
                "system:serviceaccount:kube-system:generic-garbage-collector",
                ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"),
            ),
            manager="kube-controller-manager",
        )
        plane.store.listeners.append(self._hear)
        plane.catalogue.listeners.append(self._kinds_changed)

    async def run(self) -> None:
        while True:
            self.judge(await self._work.next())
            for _ in range(_AT_ONCE):
                node = self._work.take()
                if node is None:
                    break
                self.judge(node)
            await self._plane.clock.sleep(0)

    def judge(self, node: Node) -> None:
        """Does with one object what its owners and its finalizers demand."""
        shelf, key = node
        row = shelf.rows.get(key)
        if row is None:
            return
        metadata = row.metadata()
        try:
            if row.deleting:
                self._continue_deletion(shelf, row, metadata)
            elif row.owners:
                self._judge_owned(node, row, metadata)
        except Refusal:
            # An admission hook said no; the native collector tries again too.
            self._work.add_later(node, RETRY)

    def _judge_owned(self, node: Node, row: Row, metadata: dict[str, Any]) -> None:
        served = self._plane.catalogue.find_of_shelf(node[0])
        if served is None:
            # Its definition serves no version: the native collector does not see it either, until one is served.
            self._unresolved[node] = None
            return
        references = metadata["ownerReferences"]
        standings = [self._standing(row, reference) for reference in references]
        if "unknown" in standings:
            self._unresolved[node] = None
            return
        if "solid" in standings:
            kept = [ref for ref, standing in zip(references, standings, strict=True) if standing == "solid"]
            if len(kept) < len(references):
                self._write(served, row, ownerReferences=kept)
            return
        dependents = self._dependents_of(row.uid)
        finalizers = metadata.get("finalizers") or ()
        if "waiting" in standings and dependents:
            if any(dependent.uid in self._waiting for _, dependent in dependents):
                # A circle of owners: whoever is waited for must not wait in turn.
                unblocked = [{**reference, "blockOwnerDeletion": False} for reference in references]
                row = self._write(served, row, ownerReferences=unblocked)
            policy = "Foreground"
        elif names.ORPHAN_FINALIZER in finalizers:
            policy = "Orphan"
        elif names.FOREGROUND_FINALIZER in finalizers:
            policy = "Foreground"
        else:
            policy = "Background"
        options = deletion.Options(uid=row.uid, version=str(row.version), policy=policy)
        deletion.delete(
            self._plane,
            served,
            namespace=row.namespace,
            name=row.name,
            options=options,
            author=self._author,
        )

    def _standing(self, row: Row, reference: dict[str, Any]) -> Standing:
        served = self._plane.catalogue.of_kind(
            api_version=reference.get("apiVersion", ""), kind=reference.get("kind", "")
        )
        if served is None or (served.resource.namespaced and not row.namespace):
            return "unknown"
        owner = served.shelf.get(row.namespace if served.resource.namespaced else "", reference["name"])
        if owner is None or owner.uid != reference["uid"]:
            return "dangling"
        return "waiting" if owner.uid in self._waiting else "solid"

    def _continue_deletion(self, shelf: Shelf, row: Row, metadata: dict[str, Any]) -> None:
        finalizers = metadata.get("finalizers") or ()
        served = self._plane.catalogue.of_shelf(shelf)
        if names.FOREGROUND_FINALIZER in finalizers:
            blocking = [
                (node, dependent)
                for node, dependent in self._dependents_of(row.uid)
                if _blocks(dependent.metadata(), row.uid)
            ]
            if not blocking:
                self._drop_finalizer(served, row, names.FOREGROUND_FINALIZER)
                return
            for node, dependent in blocking:
                if dependent.uid not in self._waiting:
                    self._work.add(node)
        elif names.ORPHAN_FINALIZER in finalizers:
            for node, dependent in self._dependents_of(row.uid):
                kept = [ref for ref in dependent.metadata()["ownerReferences"] if ref["uid"] != row.uid]
                self._write(self._plane.catalogue.of_shelf(node[0]), dependent, ownerReferences=kept)
            self._drop_finalizer(served, row, names.ORPHAN_FINALIZER)

    def _dependents_of(self, uid: str) -> list[tuple[Node, Row]]:
        return [(node, node[0].rows[node[1]]) for node in self._dependents.get(uid, ())]

    def _drop_finalizer(self, served: Served, row: Row, finalizer: str) -> None:
        kept = [entry for entry in row.metadata().get("finalizers") or () if entry != finalizer]
        self._write(served, row, finalizers=kept)

    def _write(self, served: Served, row: Row, **fields: list[Any]) -> Row:
        after = row.decode()
        for field, value in fields.items():
            if value:
                after["metadata"][field] = value
            else:
                after["metadata"].pop(field, None)
        return writes.change(self._plane, served, row, after=after, author=self._author)

    def _hear(self, shelf: Shelf, change: Change) -> None:
        if shelf is self._ignored:
            return
        row, previous = change.row, change.previous
        if not row.owners and not row.deleting and (previous is None or not previous.owners):
            if change.event == "DELETED":
                self._queue_dependents(row.uid)
            return
        node = (shelf, row.key)
        if change.event == "DELETED":
            self._index(node, before=row.owners, now=())
            self._waiting.discard(row.uid)
            self._unresolved.pop(node, None)
            self._queue_dependents(row.uid)
            self._queue_owners(row)
            return
        before = previous.owners if previous is not None and previous.uid == row.uid else ()
        if before != row.owners:
            self._index(node, before=before, now=row.owners)
        if row.deleting:
            self._hear_deleting(row)
            self._work.add(node)
        elif before != row.owners or change.event == "ADDED":
            self._work.add(node)
        if not self._waiting.isdisjoint((*before, *row.owners)):
            self._queue_owners(previous or row)

    def _hear_deleting(self, row: Row) -> None:
        waiting = names.FOREGROUND_FINALIZER in (row.metadata().get("finalizers") or ())
        if waiting and row.uid not in self._waiting:
            self._waiting.add(row.uid)
            self._queue_dependents(row.uid)
        elif not waiting:
            self._waiting.discard(row.uid)

    def _index(self, node: Node, *, before: tuple[str, ...], now: tuple[str, ...]) -> None:
        for uid in before:
            found = self._dependents.get(uid)
            if found is not None:
                found.pop(node, None)
                if not found:
                    del self._dependents[uid]
        for uid in now:
            self._dependents.setdefault(uid, {})[node] = None

    def _queue_dependents(self, uid: str) -> None:
        for node in self._dependents.get(uid, ()):
            self._work.add(node)

    def _queue_owners(self, row: Row) -> None:
        """Owners in foreground deletion look again when one of their dependents changed or went."""
        for reference in row.metadata().get("ownerReferences") or () if row.owners else ():
            if reference["uid"] in self._waiting:
                served = self._plane.catalogue.of_kind(
                    api_version=reference["apiVersion"], kind=reference["kind"]
                )
                if served is not None:
                    namespace = row.namespace if served.resource.namespaced else ""
                    owner = served.shelf.get(namespace, reference["name"])
                    if owner is not None:
                        self._work.add((served.shelf, owner.key))

    def _kinds_changed(self) -> None:
        unresolved, self._unresolved = self._unresolved, {}
        for node in unresolved:
            self._work.add(node)


def _blocks(metadata: dict[str, Any], owner: str) -> bool:
    return any(
        reference["uid"] == owner and reference.get("blockOwnerDeletion")
        for reference in metadata.get("ownerReferences") or ()
    )
