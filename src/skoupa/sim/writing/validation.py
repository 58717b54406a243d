"""What an object's metadata must look like before it is kept, in the server's own words.

Names, labels, annotations, finalizers and owner references are checked as a real server does. Bodies of
custom kinds are held against their schemas, of built-in ones only the few in `bodies`.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from skoupa.kube.resources import Resource
from skoupa.kube.selectors import label_key_faults, label_value_faults
from skoupa.sim.state import kinds
from skoupa.sim.state.catalogue import Served
from skoupa.sim.state.refusals import Cause, Refusal, bad_request, invalid
from skoupa.sim.writing.bodies import EVENT, definition_faults, event_faults, lease_faults
from skoupa.sim.writing.schemas import faults as schema_faults

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")

_BAD_LABEL_NAME = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_BAD_SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_STANDARD_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_OWNER_FIELDS = {
    "apiVersion": "version must not be empty",
    "kind": "must not be empty",
    "name": "must not be empty",
    "uid": "must not be empty",
}
_LONGEST_ANNOTATIONS = 256 * 1024


def check(served: Served, obj: dict[str, Any]) -> None:
    """Raises the 422 that names everything wrong with an object that is about to be kept."""
    resource = served.resource
    metadata = obj["metadata"]
    causes = [
        *_name(resource, metadata),
        *_labels(metadata.get("labels") or {}),
        *_annotations(metadata.get("annotations") or {}),
        *_finalizers(metadata.get("finalizers") or (), strict=_is_strict(served)),
        *_owners(metadata.get("ownerReferences") or ()),
        *definition_faults(resource, obj),
        *event_faults(resource, obj),
        *lease_faults(resource, obj),
        *(schema_faults(served.schema, obj) if served.schema is not None else ()),
    ]
    if causes:
        # Both APIs of Events are checked as the old one.
        named = EVENT if resource.plural == EVENT.plural and not served.custom else resource
        raise invalid(named, metadata.get("name") or "", causes)


def _is_strict(served: Served) -> bool:
    """Kinds of Kubernetes itself want finalizers with a slash; custom kinds and their definitions do not."""
    return not served.custom and served.resource.group not in {
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
    }


def check_types(resource: Resource, obj: dict[str, Any]) -> None:
    """Raises the 400 of a body that the server could not have decoded."""
    metadata = obj.setdefault("metadata", {})
    if metadata is None:
        metadata = obj["metadata"] = {}
    if not isinstance(metadata, dict):
        raise _undecodable(resource, metadata, "metadata", "ObjectMeta")
    for field in ("name", "generateName", "namespace", "uid", "resourceVersion"):
        if not isinstance(metadata.get(field, ""), str | None):
            raise _undecodable(resource, metadata[field], f"metadata.{field}", "string")
    for field in ("labels", "annotations"):
        _check_texts(resource, metadata.get(field), f"metadata.{field}")
    for field, type_ in (("finalizers", str), ("ownerReferences", dict)):
        found = metadata.get(field)
        if found is not None and not (
            isinstance(found, list) and all(isinstance(entry, type_) for entry in found)
        ):
            raise _undecodable(resource, found, f"metadata.{field}", f"[]{type_.__name__}")


def _check_texts(resource: Resource, found: object, field: str) -> None:
    if found is None:
        return
    if not isinstance(found, dict):
        raise _undecodable(resource, found, field, "map[string]string")
    for value in found.values():
        if not isinstance(value, str):
            raise _undecodable(resource, value, field, "string")


def _undecodable(resource: Resource, value: object, field: str, wanted: str) -> Refusal:
    kind = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return bad_request(
        f'{resource.kind} in version "{resource.version}" cannot be handled as a {resource.kind}: json: cannot '
        f"unmarshal {kind.get(type(value), 'null')} into Go struct field ObjectMeta.{field} of type {wanted}"
    )


def _bad(field: str, value: str, why: str) -> Cause:
    return Cause(field=field, message=f'Invalid value: "{value}": {why}')


def _name(resource: Resource, metadata: dict[str, Any]) -> list[Cause]:
    name = metadata.get("name") or ""
    field = "metadata.name"
    if not name:
        return [
            Cause(
                reason="FieldValueRequired",
                field=field,
                message="Required value: name or generateName is required",
            )
        ]
    row = (resource.group, resource.plural)
    if row in kinds.FREELY_NAMED:
        if name in {".", ".."}:
            return [_bad(field, name, f"may not be '{name}'")]
        return [_bad(field, name, f"may not contain '{mark}'") for mark in "/%" if mark in name]
    by_label = row in kinds.NAMED_BY_LABEL
    causes = []
    if len(name) > (63 if by_label else 253):
        causes.append(_bad(field, name, f"must be no more than {63 if by_label else 253} characters"))
    if row == ("", "namespaces") and "." in name:
        causes.append(_bad(field, name, "must not contain dots"))
    elif not (_LABEL if by_label else _SUBDOMAIN).fullmatch(name):
        causes.append(_bad(field, name, _BAD_LABEL_NAME if by_label else _BAD_SUBDOMAIN))
    return causes


def _labels(labels: dict[str, str]) -> list[Cause]:
    causes: list[Cause] = []
    for key, value in labels.items():
        causes += [_bad("metadata.labels", key, fault) for fault in label_key_faults(key)]
        causes += [_bad("metadata.labels", value, fault) for fault in label_value_faults(value)]
    return causes


def _annotations(annotations: dict[str, str]) -> list[Cause]:
    causes: list[Cause] = []
    size = 0
    for key, value in annotations.items():
        causes += [_bad("metadata.annotations", key, fault) for fault in label_key_faults(key.lower())]
        size += len(key.encode()) + len(value.encode())
    if size > _LONGEST_ANNOTATIONS:
        causes.append(
            Cause(
                reason="FieldValueTooLong",
                field="metadata.annotations",
                message=f"Too long: may not be more than {_LONGEST_ANNOTATIONS} bytes",
            )
        )
    return causes


def _finalizers(finalizers: list[str] | tuple[()], *, strict: bool) -> list[Cause]:
    causes: list[Cause] = []
    for finalizer in finalizers:
        causes += [_bad("metadata.finalizers", finalizer, fault) for fault in label_key_faults(finalizer)]
    for index, finalizer in enumerate(finalizers):
        if strict and "/" not in finalizer and finalizer not in _STANDARD_FINALIZERS:
            why = "name is neither a standard finalizer name nor is it fully qualified"
            causes.append(_bad(f"metadata.finalizers[{index}]", finalizer, why))
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        why = "finalizer orphan and foregroundDeletion cannot be both set"
        shown = msgspec.json.encode(finalizers).decode()
        causes.append(Cause(field="metadata.finalizers", message=f"Invalid value: {shown}: {why}"))
    return causes


def _owners(owners: list[dict[str, Any]] | tuple[()]) -> list[Cause]:
    causes: list[Cause] = []
    for owner in owners:
        causes += [
            _bad(f"metadata.ownerReferences.{field}", "", said)
            for field, said in _OWNER_FIELDS.items()
            if not owner.get(field)
        ]
    for owner in owners:
        if (owner.get("apiVersion"), owner.get("kind")) == ("v1", "Event"):
            shown = msgspec.json.encode(owner).decode()
            why = "/v1, Kind=Event is disallowed from being an owner"
            causes.append(Cause(field="metadata.ownerReferences", message=f"Invalid value: {shown}: {why}"))
    controllers = [owner for owner in owners if owner.get("controller")]
    if len(controllers) > 1:
        names = " and ".join(f"{owner.get('kind')}/{owner.get('name')}" for owner in controllers[:2])
        why = f'Only one reference can have Controller set to true. Found "true" in references for {names}'
        shown = msgspec.json.encode(owners).decode()
        causes.append(Cause(field="metadata.ownerReferences", message=f"Invalid value: {shown}: {why}"))
    return causes
