"""Deleting: preconditions, propagation policies, grace periods, and what finalizers hold back.

A delete either removes the object at once or marks it (deletionTimestamp) and leaves the removal to whoever holds the
last finalizer, or to the end of a Pod's grace period. Namespaces and CustomResourceDefinitions are always only
marked: their controllers empty them first. Nothing here follows owner references; that is the collector's work.
"""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa import names
from skoupa.sim.state import kinds
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Author, Plane, seconds_of, timestamp
from skoupa.sim.state.refusals import conflict, forbidden, not_found
from skoupa.sim.state.storage import Row, row_of
from skoupa.sim.writing.conditions import set_condition

Body = dict[str, Any]

_NEVER_DELETED = frozenset({"default", "kube-system", "kube-public"})


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """metav1.DeleteOptions as far as the server acts on them; None is "not given"."""

    uid: str | None = None
    version: str | None = None
    policy: str | None = None
    orphan: bool | None = None
    grace: int | None = None
    dry_run: bool = False


class Deleted(msgspec.Struct, frozen=True, kw_only=True):
    """What became of it: `row` is its last state, `removed` whether it is gone."""

    row: Row
    removed: bool
    returned: bool


def delete(
    plane: Plane, served: Served, *, namespace: str, name: str, options: Options, author: Author
) -> Deleted:
    row = served.shelf.get(namespace, name)
    if row is None:
        raise not_found(served.resource, name)
    place = (served.resource.group, served.resource.plural)
    _guard(plane, served, row, options=options, author=author)
    body = row.decode()
    if place in _EMPTIED_FIRST and not row.deleting:
        _EMPTIED_FIRST[place](plane, body, options)
        return _marked(plane, served, row, body=body, options=options)
    if place == ("", "namespaces") and (body.get("spec") or {}).get("finalizers"):
        return Deleted(row=row, removed=False, returned=True)
    graceful = place == ("", "pods") and _begin_grace(plane, body, options)
    if graceful is None:
        return Deleted(row=row, removed=False, returned=True)
    metadata = body["metadata"]
    metadata["finalizers"] = _finalizers(place, metadata.get("finalizers") or [], options)
    if metadata["finalizers"] or graceful:
        if not graceful:
            _mark(plane, metadata)
        marked = _marked(plane, served, row, body=body, options=options)
        if metadata["finalizers"] or metadata["deletionGracePeriodSeconds"]:
            return marked
        # A server writes the end of the grace period down before it removes the Pod: watches see both.
        row = marked.row
    returned = place in kinds.RETURNED_WHEN_DELETED
    if options.dry_run:
        return Deleted(row=row, removed=True, returned=returned)
    return Deleted(row=plane.store.remove(served.shelf, row), removed=True, returned=returned)


def _guard(plane: Plane, served: Served, row: Row, *, options: Options, author: Author) -> None:
    """Raises if this deleter may not delete this object now; warns where the server would."""
    resource = served.resource
    place = (resource.group, resource.plural)
    if place == ("", "namespaces") and row.name in _NEVER_DELETED:
        raise forbidden(resource, row.name, "this namespace may not be deleted")
    _check_preconditions(served, row, options, as_kind=place not in _EMPTIED_FIRST)
    _ask(plane, served, row, author)
    if place == ("batch", "jobs") and options.policy is None and options.orphan is None:
        author.warnings.append(
            "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
            "them or set propagationPolicy=Orphan to suppress this warning"
        )


def removal_status(served: Served, row: Row) -> Body:
    """The Status that answers a removal."""
    resource = served.resource
    details: Body = {"name": row.name}
    if resource.group:
        details["group"] = resource.group
    details |= {"kind": resource.plural, "uid": row.uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _check_preconditions(served: Served, row: Row, options: Options, *, as_kind: bool) -> None:
    uid_differs = options.uid is not None and options.uid != row.uid
    version_differs = options.version is not None and options.version != str(row.version)
    if not uid_differs and not version_differs:
        return
    if not as_kind:
        field, asked, found = (
            ("UID", options.uid, row.uid)
            if uid_differs
            else ("ResourceVersion", options.version, row.version)
        )
        said = f"Precondition failed: {field} in precondition: {asked}, {field} in object meta: {found}"
        raise conflict(served.resource, row.name, said)
    # The server names the kind here where it names the plural elsewhere.
    named = msgspec.structs.replace(served.resource, plural=served.resource.kind)
    if uid_differs:
        said = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({row.uid}). "
            "The object might have been deleted and then recreated"
        )
    else:
        said = (
            f"the ResourceVersion in the precondition ({options.version}) does not match the ResourceVersion in "
            f"record ({row.version}). The object might have been modified"
        )
    raise conflict(named, row.name, said)


def _ask(plane: Plane, served: Served, row: Row, author: Author) -> None:
    if plane.admission:
        old = {"apiVersion": served.resource.api_version, "kind": served.resource.kind, **row.decode()}
        plane.admission.ask(
            "DELETE",
            resource=served.resource,
            obj=None,
            old=old,
            user=author.user,
            warnings=author.warnings,
        )


def _mark(plane: Plane, metadata: Body) -> None:
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = plane.now()
        if metadata.get("generation"):
            metadata["generation"] += 1
    metadata["deletionGracePeriodSeconds"] = 0


def _marked(plane: Plane, served: Served, row: Row, *, body: Body, options: Options) -> Deleted:
    kept = row_of(body, row.version)
    if kept.meta != row.meta or kept.rest != row.rest:
        kept = kept if options.dry_run else plane.store.put(served.shelf, body)
    return Deleted(row=kept, removed=False, returned=True)


def _begin_grace(plane: Plane, body: Body, options: Options) -> bool | None:
    """Sets the end of a Pod's grace period; None if a deletion that can't be shortened is under way."""
    metadata, spec = body["metadata"], body.get("spec") or {}
    under_way = metadata.get("deletionGracePeriodSeconds")
    if metadata.get("deletionTimestamp"):
        if not under_way:
            return False
        if options.grace is None or options.grace >= under_way:
            return None
        began = seconds_of(metadata["deletionTimestamp"]) - under_way
        metadata["deletionTimestamp"] = timestamp(began + options.grace)
        metadata["deletionGracePeriodSeconds"] = options.grace
        return True
    grace = options.grace
    if grace is None:
        grace = spec.get("terminationGracePeriodSeconds", 30)
    if not spec.get("nodeName") or (body.get("status") or {}).get("phase") in {"Succeeded", "Failed"}:
        grace = 0
    metadata["deletionTimestamp"] = timestamp(plane.clock.now() + grace)
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    return True


def _finalizers(place: tuple[str, str], held: list[str], options: Options) -> list[str]:
    """The finalizers that the propagation policy leaves on the object."""
    if place[1] == "events" and place[0] in {"", "events.k8s.io"}:
        return held
    policy = options.policy
    if options.orphan is not None:
        policy = "Orphan" if options.orphan else "Background"
    if policy is None:
        if names.ORPHAN_FINALIZER in held or place in kinds.ORPHANING:
            policy = "Orphan"
        elif names.FOREGROUND_FINALIZER in held:
            policy = "Foreground"
    kept = [entry for entry in held if entry not in {names.ORPHAN_FINALIZER, names.FOREGROUND_FINALIZER}]
    if policy == "Orphan":
        kept.append(names.ORPHAN_FINALIZER)
    elif policy == "Foreground":
        kept.append(names.FOREGROUND_FINALIZER)
    return kept


def _begin_namespace(plane: Plane, body: Body, options: Options) -> None:
    metadata = body["metadata"]
    metadata["deletionTimestamp"] = plane.now()
    body["status"] = {**(body.get("status") or {}), "phase": "Terminating"}
    if options.policy is not None or options.orphan is not None:
        finalizers = _finalizers(("", "namespaces"), metadata.get("finalizers") or [], options)
        metadata["finalizers"] = finalizers
        if not finalizers:
            del metadata["finalizers"]


def _begin_definition(plane: Plane, body: Body, options: Options) -> None:
    del options
    metadata = body["metadata"]
    metadata["deletionTimestamp"] = plane.now()
    finalizers = metadata.setdefault("finalizers", [])
    if names.CUSTOM_RESOURCE_CLEANUP_FINALIZER not in finalizers:
        finalizers.append(names.CUSTOM_RESOURCE_CLEANUP_FINALIZER)
    set_condition(
        plane,
        body,
        type_="Terminating",
        status="True",
        reason="InstanceDeletionPending",
        message="CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    )


_EMPTIED_FIRST = {
    ("", "namespaces"): _begin_namespace,
    ("apiextensions.k8s.io", "customresourcedefinitions"): _begin_definition,
}
