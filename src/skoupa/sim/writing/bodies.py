"""The few built-in kinds whose content is checked: Events, Leases and CustomResourceDefinitions.

Other bodies are kept as they come: a real server would check them against its schemas, and a client that depends on being
refused is better tested there.
"""

from __future__ import annotations

from typing import Any

from skoupa.kube.resources import Resource
from skoupa.kube.selectors import label_key_faults
from skoupa.sim.state.refusals import Cause

Body = dict[str, Any]

EVENT = Resource(version="v1", plural="events", kind="Event", namespaced=True)
_LONGEST_NOTE = 1024
_LONGEST_WORD = 128


def definition_faults(resource: Resource, obj: Body) -> list[Cause]:
    if (resource.group, resource.plural) != ("apiextensions.k8s.io", "customresourcedefinitions"):
        return []
    spec = obj.get("spec") or {}
    given = spec.get("names") or {}
    causes = []
    wanted = f"{given.get('plural') or ''}.{spec.get('group') or ''}"
    if obj["metadata"].get("name") != wanted:
        why = 'must be spec.names.plural+"."+spec.group'
        causes.append(_bad("metadata.name", obj["metadata"].get("name") or "", why))
    causes += [_required(f"spec.names.{field}") for field in ("plural", "kind") if not given.get(field)]
    if spec.get("scope") not in {"Namespaced", "Cluster"}:
        causes.append(_required("spec.scope"))
    versions = spec.get("versions") or ()
    if len([version for version in versions if version.get("storage")]) != 1:
        why = "must have exactly one version marked as storage version"
        causes.append(Cause(field="spec.versions", message=f"Invalid value: {why}"))
    return causes


def lease_faults(resource: Resource, obj: Body) -> list[Cause]:
    if (resource.group, resource.plural) != ("coordination.k8s.io", "leases"):
        return []
    spec = obj.get("spec") or {}
    causes = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        seconds = spec["leaseDurationSeconds"]
        said = f"Invalid value: {seconds}: must be greater than 0"
        causes.append(Cause(field="spec.leaseDurationSeconds", message=said))
    if spec.get("leaseTransitions", 0) < 0:
        said = f"Invalid value: {spec['leaseTransitions']}: must be greater than or equal to 0"
        causes.append(Cause(field="spec.leaseTransitions", message=said))
    return causes


def event_faults(resource: Resource, obj: Body) -> list[Cause]:
    """The old API lets pass what has no eventTime; the new one insists on it."""
    if resource.plural != EVENT.plural or resource.group not in {"", "events.k8s.io"}:
        return []
    new = resource.group != ""
    causes = _event_with_time(obj, new=new) if obj.get("eventTime") else _event_without_time(obj, new=new)
    if not new:
        return causes
    if not obj.get("eventTime"):
        causes.append(_required("eventTime"))
    if obj.get("type") not in {"Normal", "Warning"}:
        causes.append(_bad("type", obj.get("type") or "", f"has invalid value: {obj.get('type') or ''}"))
    return causes


def _event_without_time(obj: Body, *, new: bool) -> list[Cause]:
    about = (obj.get("regarding" if new else "involvedObject") or {}).get("namespace") or ""
    home = obj["metadata"].get("namespace") or ""
    fits = about == home if about else home in {"", "default"}
    return [] if fits else [_bad("involvedObject.namespace", about, "does not match event.namespace")]


def _event_with_time(obj: Body, *, new: bool) -> list[Cause]:
    about = (obj.get("regarding" if new else "involvedObject") or {}).get("namespace") or ""
    causes = []
    if not about and obj["metadata"].get("namespace") not in {"default", "kube-system"}:
        causes.append(_bad("involvedObject.namespace", about, "does not match event.namespace"))
    controller = obj.get("reportingController" if new else "reportingComponent") or ""
    field = "reportingController" if new else "reportingComponent"
    if not controller:
        causes.append(_required(field))
    causes += [_bad(field, controller, fault) for fault in label_key_faults(controller)]
    for field in ("reportingInstance", "action", "reason"):
        word = obj.get(field) or ""
        if not word:
            causes.append(_required(field))
        elif len(word) > _LONGEST_WORD:
            causes.append(_bad(field, "", f"can have at most {_LONGEST_WORD} characters"))
    if len((obj.get("note" if new else "message") or "").encode()) > _LONGEST_NOTE:
        causes.append(_bad("message", "", f"can have at most {_LONGEST_NOTE} characters"))
    return causes


def _bad(field: str, value: str, why: str) -> Cause:
    return Cause(field=field, message=f'Invalid value: "{value}": {why}')


def _required(field: str) -> Cause:
    return Cause(reason="FieldValueRequired", field=field, message="Required value")
