"""Which fields of a kind a field selector may name, and how each is read from an object.

Every kind has its name and namespace; some built-in kinds have more, listed below as the 1.35 server has them, and
custom kinds have what their definition lists under `selectableFields`. Values are compared as text, as the server
prints them: `true`, `3`, and nothing for what is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from skoupa.kube.resources import Resource
from skoupa.kube.selectors import quoted
from skoupa.sim.state.kinds import BUILT_IN_GROUPS

Reader = Callable[[Mapping[str, Any]], str]


def readers(resource: Resource, selectable: Sequence[str] = ()) -> Mapping[str, Reader]:
    """The fields that may be named for this kind; `selectable` are JSON paths of its definition (`.spec.color`)."""
    known = _KINDS.get((resource.group, resource.plural))
    if known is not None:
        return known
    if resource.group in BUILT_IN_GROUPS:
        return _METADATA
    fields = dict(_METADATA) if resource.namespaced else {"metadata.name": _NAME}
    fields.update((path.lstrip("."), _at(path.lstrip("."))) for path in selectable)
    return fields


def refusal(field: str, resource: Resource) -> str:
    """The server's words for a field that can't be selected; they differ from kind to kind."""
    key = (resource.group, resource.plural)
    if key == ("batch", "jobs"):
        return f"field label {quoted(field)} not supported for Job"
    if key == ("resource.k8s.io", "resourceslices"):
        return f"field label not supported for {resource.api_version}, Kind={resource.kind}: {field}"
    if key in _KINDS or resource.group not in BUILT_IN_GROUPS:
        return f"field label not supported: {field}"
    return f'{quoted(field)} is not a known field selector: only "metadata.name", "metadata.namespace"'


def _at(path: str, default: str = "") -> Reader:
    steps = tuple(path.split("."))

    def read(obj: Mapping[str, Any]) -> str:
        value: Any = obj
        for step in steps:
            value = value.get(step) if isinstance(value, Mapping) else None
        return _text(value) or default

    return read


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


def _first(*paths: str) -> Reader:
    """The first of several places that has a value: one field under the names of several API versions."""
    options = tuple(_at(path) for path in paths)
    return lambda obj: next((text for option in options if (text := option(obj))), "")


def _pod_ip(obj: Mapping[str, Any]) -> str:
    status = obj.get("status") or {}
    addresses = status.get("podIPs") or [{"ip": status.get("podIP")}]
    return _text(addresses[0].get("ip"))


_NAME: Final = _at("metadata.name")
_METADATA: Final[Mapping[str, Reader]] = {
    "metadata.name": _NAME,
    "metadata.namespace": _at("metadata.namespace"),
}
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_REASON_AND_TYPE: Final[Mapping[str, Reader]] = {"reason": _at("reason"), "type": _at("type")}
_REPORTER: Final = _first("reportingComponent", "reportingController")

_KINDS: Final[Mapping[tuple[str, str], Mapping[str, Reader]]] = {
    ("", "pods"): {
        **_METADATA,
        "spec.nodeName": _at("spec.nodeName"),
        "spec.host": _at("spec.nodeName"),
        "spec.restartPolicy": _at("spec.restartPolicy", "Always"),
        "spec.schedulerName": _at("spec.schedulerName", "default-scheduler"),
        "spec.serviceAccountName": _at("spec.serviceAccountName"),
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "status.phase": _at("status.phase", "Pending"),
        "status.podIP": _pod_ip,
        "status.podIPs": lambda _: "",  # accepted by the server, and never filled
        "status.nominatedNodeName": _at("status.nominatedNodeName"),
    },
    ("", "nodes"): {"metadata.name": _NAME, "spec.unschedulable": _at("spec.unschedulable", "false")},
    ("", "namespaces"): {"metadata.name": _NAME, "status.phase": _at("status.phase", "Active")},
    ("", "replicationcontrollers"): {**_METADATA, "status.replicas": _at("status.replicas", "0")},
    ("", "secrets"): {**_METADATA, "type": _at("type", "Opaque")},
    ("", "services"): {
        **_METADATA,
        "spec.clusterIP": _at("spec.clusterIP"),
        "spec.type": _at("spec.type", "ClusterIP"),
    },
    ("", "events"): {
        **_METADATA,
        **_REASON_AND_TYPE,
        **{
            f"involvedObject.{part}": _first(f"involvedObject.{part}", f"regarding.{part}")
            for part in _INVOLVED
        },
        "reportingComponent": _REPORTER,
        "source": _first(
            "source.component", "deprecatedSource.component", "reportingComponent", "reportingController"
        ),
    },
    ("events.k8s.io", "events"): {
        **_METADATA,
        **_REASON_AND_TYPE,
        **{f"regarding.{part}": _first(f"regarding.{part}", f"involvedObject.{part}") for part in _INVOLVED},
        "reportingController": _REPORTER,
    },
    ("batch", "jobs"): {**_METADATA, "status.successful": _at("status.succeeded", "0")},
    ("certificates.k8s.io", "certificatesigningrequests"): {
        "metadata.name": _NAME,
        "spec.signerName": _at("spec.signerName"),
    },
    ("certificates.k8s.io", "clustertrustbundles"): {
        "metadata.name": _NAME,
        "spec.signerName": _at("spec.signerName"),
    },
    ("resource.k8s.io", "resourceslices"): {
        "metadata.name": _NAME,
        "spec.nodeName": _at("spec.nodeName"),
        "spec.driver": _at("spec.driver"),
    },
}
