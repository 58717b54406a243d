"""What stands between a request and a write: the right object, version and namespace.

Each function raises the server's refusal or does nothing. Metadata as such is checked in `validation`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from skoupa.kube.resources import Resource
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.plane import Plane
from skoupa.sim.state.refusals import (
    Cause,
    Refusal,
    bad_request,
    conflict,
    forbidden,
    invalid,
    modified,
    not_found,
)
from skoupa.sim.state.storage import Row

Body = dict[str, Any]


def _shown(value: object) -> str:
    return msgspec.json.encode(value).decode()


def check_version(served: Served, row: Row, *, version: str) -> None:
    """Raises the conflict of a writer that has seen another version."""
    if version and version != str(row.version):
        raise modified(served.resource, row.name)


def check_identity(served: Served, row: Row, *, uid: str) -> None:
    """Raises the conflict of a writer that means an earlier object of the same name."""
    if uid and uid != row.uid:
        group = f"{served.resource.group}/" if served.custom else ""
        raise conflict(
            served.resource,
            row.name,
            f"StorageError: invalid object, Code: 4, Key: /registry/{group}{served.resource.plural}/{row.key}, "
            f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
            f"UID in object meta: {row.uid}",
        )


def check_uid_of_absent(served: Served, *, name: str, uid: str) -> None:
    """Raises the conflict of an applier that means an object that is gone."""
    if uid:
        raise conflict(
            served.resource,
            name,
            f"uid mismatch: the provided object specified uid {uid}, and no existing object was found",
        )


def check_kind(served: Served, obj: Body) -> None:
    """Raises the 422 of a patch that makes something else of an object."""
    resource = served.resource
    if (obj.get("kind"), obj.get("apiVersion")) == (resource.kind, resource.api_version):
        return
    raise unreadable(obj, f"no kind {_shown(obj.get('kind'))} in {_shown(obj.get('apiVersion'))}")


def unreadable(patched: Body, why: str) -> Refusal:
    """The 422 of a patch that leaves something which can't be decoded as its kind."""
    said = f"Invalid value: {_shown(_shown(patched))}: {why}"
    nameless = Resource(version="", plural="", kind="", namespaced=False)
    return invalid(nameless, "", [Cause(field="patch", message=said)])


def check_place(metadata: Body, *, namespace: str, name: str) -> None:
    """Raises the 400 of a body that names another object than its path, or none."""
    said = metadata.get("name")
    if not said:
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be provided"
        )
    if said != name:
        raise bad_request(f"the name of the object ({said}) does not match the name on the URL ({name})")
    metadata["name"] = name
    if namespace:
        if (metadata.get("namespace") or namespace) != namespace:
            raise bad_request(
                "the namespace of the provided object does not match the namespace sent on the request"
            )
        metadata["namespace"] = namespace


def check_finalizers(served: Served, old: Body, new: Body) -> None:
    if not old.get("deletionTimestamp"):
        return
    added = [entry for entry in new.get("finalizers") or () if entry not in (old.get("finalizers") or ())]
    if added:
        shown = ", ".join(f'"{entry}"' for entry in added)
        said = f"Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{{{shown}}}"
        cause = Cause(reason="FieldValueForbidden", field="metadata.finalizers", message=said)
        raise invalid(served.resource, new["name"], [cause])


def check_kept(served: Served, old: Body, new: Body) -> None:
    """A writer may leave the mark of a deletion out but not make or move it."""
    causes = [
        Cause(field=f"metadata.{field}", message=f"Invalid value: {_shown(new[field])}: field is immutable")
        for field in ("deletionTimestamp", "deletionGracePeriodSeconds")
        if new.get(field) is not None and new[field] != old.get(field)
    ]
    if causes:
        raise invalid(served.resource, old["name"], causes)


def check_immutable(served: Served, before: Body, after: Body) -> None:
    """What a ConfigMap or Secret holds stays once it says so."""
    if (
        served.custom
        or served.resource.plural not in {"configmaps", "secrets"}
        or not before.get("immutable")
    ):
        return
    said = "Forbidden: field is immutable when `immutable` is set"
    causes = [
        Cause(reason="FieldValueForbidden", field=field, message=said)
        for field in ("immutable", "data", "binaryData")
        if before.get(field) != after.get(field)
    ]
    if causes:
        raise invalid(served.resource, before["metadata"]["name"], causes)


def namespace_exists(plane: Plane, namespace: str) -> Row:
    namespaces = plane.served(group="", version="v1", plural="namespaces")
    row = namespaces.shelf.get("", namespace)
    if row is None:
        raise not_found(namespaces.resource, namespace)
    return row


def namespace_is_open(plane: Plane, served: Served, *, namespace: str, name: str) -> None:
    """Nothing is created in a namespace that is absent or being deleted."""
    if namespace and namespace_exists(plane, namespace).deleting:
        raise forbidden(
            served.resource,
            name,
            f"unable to create new content in namespace {namespace} because it is being terminated",
            causes=[
                Cause(
                    reason="NamespaceTerminating",
                    message=f"namespace {namespace} is being terminated",
                    field="metadata.namespace",
                )
            ],
        )


def settle_namespace(served: Served, metadata: Body, namespace: str) -> None:
    if not served.resource.namespaced:
        metadata.pop("namespace", None)
        return
    if (metadata.get("namespace") or namespace) != namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    metadata["namespace"] = namespace
