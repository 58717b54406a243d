"""How the lists and maps of a kind merge: which list items have a key, and what is owned as a whole.

Server-side apply needs three answers about a place in an object: the key fields of a list's items (none: a set of
values; no answer: the list is one value), whether a map is one value, and whether a field is named by the schema or is
just a key of a map. Built-in kinds answer from the tables below, which hold what the 1.35 API declares; custom kinds
from their schema; kinds without a schema merge maps and replace lists.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Protocol

import msgspec

from skoupa.sim.state.kinds import BUILT_IN_GROUPS

Path = tuple[str, ...]


class Structure(Protocol):
    """Asked with paths in the form of managedFields: `("f:spec", "f:containers", 'k:{"name":"web"}')`."""

    def keys(self, path: Path) -> Mapping[str, Any] | None:
        """Key fields of the items of the list at `path` with their defaults; empty for a set; None if it is one value."""

    def whole(self, path: Path) -> bool:
        """Whether the map at `path` is one value."""

    def named(self, path: Path) -> bool:
        """Whether the schema has a field of this name, rather than a map that may hold any."""

    def always(self, path: Path) -> bool:
        """Whether the server's own form of the object has this place even when nothing is written there."""

    def apart(self, path: Path) -> bool:
        """Whether this is the status of a kind that has it written through a subresource of its own."""


def structure_of(obj: Mapping[str, Any], *, schema: Mapping[str, Any] | None = None) -> Structure:
    """`schema` is the openAPIV3Schema of a custom kind's version."""
    group, _, version = str(obj.get("apiVersion", "")).rpartition("/")
    if group in BUILT_IN_GROUPS:
        return _BuiltIn(group, version, str(obj.get("kind", "")))
    return _Custom(schema or {"x-kubernetes-preserve-unknown-fields": True})


_NAME: Final = {"name": ""}
_TYPE: Final = {"type": ""}
_SET: Final[Mapping[str, Any]] = {}

# Lists by the end of their path; "" is the root of the object. All others are one value. Keys come with the value that
# the API has for an item without them.
_LISTS: Final[Mapping[tuple[str, ...], Mapping[str, Any]]] = {
    ("metadata", "finalizers"): _SET,
    ("metadata", "ownerReferences"): {"uid": ""},
    ("status", "conditions"): _TYPE,
    ("", "secrets"): {"name": None},
    ("", "webhooks"): _NAME,
    ("containers",): _NAME,
    ("initContainers",): _NAME,
    ("ephemeralContainers",): _NAME,
    ("env",): _NAME,
    ("volumes",): _NAME,
    ("volumeMounts",): {"mountPath": ""},
    ("volumeDevices",): {"devicePath": ""},
    ("containers", "ports"): {"containerPort": 0, "protocol": "TCP"},
    ("initContainers", "ports"): {"containerPort": 0, "protocol": "TCP"},
    ("ephemeralContainers", "ports"): {"containerPort": 0, "protocol": "TCP"},
    ("resources", "claims"): _NAME,
    ("spec", "imagePullSecrets"): _NAME,
    ("spec", "hostAliases"): {"ip": ""},
    ("spec", "schedulingGates"): _NAME,
    ("spec", "resourceClaims"): _NAME,
    ("spec", "topologySpreadConstraints"): {"topologyKey": "", "whenUnsatisfiable": ""},
    ("status", "podIPs"): {"ip": ""},
    ("status", "resourceClaimStatuses"): _NAME,
    ("status", "reservedFor"): {"uid": ""},
    ("status", "devices"): {"driver": "", "device": "", "pool": "", "shareID": None},
    ("spec", "podCIDRs"): _SET,
    ("spec", "drivers"): _NAME,
    ("spec", "volumeLifecycleModes"): _SET,
    ("spec", "validationActions"): _SET,
    ("spec", "variables"): _NAME,
    ("spec", "matchConditions"): _NAME,
    ("webhooks", "matchConditions"): _NAME,
    ("uncountedTerminatedPods", "failed"): _SET,
    ("uncountedTerminatedPods", "succeeded"): _SET,
}

# The same, for kinds where a general rule does not hold.
_KIND_LISTS: Final[Mapping[tuple[str, str], Mapping[str, Any] | None]] = {
    ("Service", "spec.ports"): {"port": 0, "protocol": "TCP"},
    ("Node", "status.addresses"): _TYPE,
    ("Job", "status.conditions"): None,
}

# Maps that are one value, by the name of the field that holds them.
_WHOLE: Final = frozenset(
    [
        "selector",
        "podSelector",
        "namespaceSelector",
        "objectSelector",
        "labelSelector",
        "metricSelector",
        "nodeSelector",
        "nodeTopology",
        "scopeSelector",
        "preference",
        "required",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "configMapKeyRef",
        "secretKeyRef",
        "fieldRef",
        "resourceFieldRef",
        "fileKeyRef",
        "secretRef",
        "controllerExpandSecretRef",
        "controllerPublishSecretRef",
        "nodeExpandSecretRef",
        "nodePublishSecretRef",
        "nodeStageSecretRef",
        "dataSource",
        "involvedObject",
        "regarding",
        "related",
        "targetRef",
        "roleRef",
        "paramKind",
        "paramRef",
        "matchConstraints",
        "matchResources",
    ]
)
_WHOLE_PLACES: Final = frozenset(
    (("service", "port"), ("backend", "resource"), ("defaultBackend", "resource"))
)
_WHOLE_ITEMS: Final = frozenset(("ownerReferences", "imagePullSecrets", "secrets", "variables"))

# Structs that Go always writes out, so that nobody owns the place itself, only what is in it.
_POD_TEMPLATE: Final = ("template", "template.metadata", "template.spec", "template.spec.containers")
_ALWAYS: Final = frozenset(
    (
        "metadata",
        "spec",
        "status",
        "spec.containers",
        "spec.strategy",
        "spec.updateStrategy",
        "spec.resources",
        "spec.names",
        "spec.scaleTargetRef",
        "spec.jobTemplate",
        "spec.jobTemplate.metadata",
        "spec.jobTemplate.spec",
        *(f"spec.{place}" for place in _POD_TEMPLATE),
        *(f"spec.jobTemplate.spec.{place}" for place in _POD_TEMPLATE),
    )
)


@cache
def _list_keys(names: tuple[str, ...]) -> Mapping[str, Any] | None:
    for length in (2, 1):
        found = _LISTS.get(names[-length:])
        if found is not None:
            return found
    return None


class _BuiltIn(msgspec.Struct, frozen=True):
    group: str
    version: str
    kind: str

    def keys(self, path: Path) -> Mapping[str, Any] | None:
        names = _names(path)
        special = (self.kind, ".".join(names))
        return _KIND_LISTS[special] if special in _KIND_LISTS else _list_keys(("", *names))

    def whole(self, path: Path) -> bool:
        names = _names(path)
        if not path[-1].startswith("f:"):
            return names[-1] in _WHOLE_ITEMS
        if names[-1] == "scaleTargetRef":
            return self.version == "v1"
        if names == ("data",):
            return self.kind == "ControllerRevision"
        return names[-1] in _WHOLE or names[-2:] in _WHOLE_PLACES

    def named(self, path: Path) -> bool:
        return path[-1].startswith("f:")

    def always(self, path: Path) -> bool:
        return path[-1].startswith("f:") and ".".join(_names(path)) in _ALWAYS

    def apart(self, path: Path) -> bool:
        return path[0] == "f:status"


_METADATA: Final = _BuiltIn("", "v1", "")


class _Custom(msgspec.Struct, frozen=True):
    """Metadata is the same for every kind; the rest is what the schema says."""

    schema: Mapping[str, Any]

    def keys(self, path: Path) -> Mapping[str, Any] | None:
        if path[0] == "f:metadata":
            return _METADATA.keys(path)
        here = self.at(path)
        match here.get("x-kubernetes-list-type"):
            case "map":
                fields = (here.get("items") or {}).get("properties") or {}
                names = here.get("x-kubernetes-list-map-keys") or ()
                return {name: (fields.get(name) or {}).get("default") for name in names}
            case "set":
                return _SET
            case _:
                return None

    def whole(self, path: Path) -> bool:
        if path[0] == "f:metadata":
            return _METADATA.whole(path)
        return self.at(path).get("x-kubernetes-map-type") == "atomic"

    def named(self, path: Path) -> bool:
        if path[0] == "f:metadata":
            return _METADATA.named(path)
        return path[-1][2:] in (self.at(path[:-1]).get("properties") or {})

    def always(self, path: Path) -> bool:
        return path == ("f:metadata",)

    def apart(self, path: Path) -> bool:  # noqa: ARG002 - asked of every structure; the schema does not say
        return False

    def at(self, path: Path) -> Mapping[str, Any]:
        here = self.schema
        for step in path:
            if step.startswith("f:"):
                here = (here.get("properties") or {}).get(step[2:]) or here.get("additionalProperties") or {}
            else:
                here = here.get("items") or {}
            if not isinstance(here, Mapping):
                return {}
        return here


def _names(path: Path) -> tuple[str, ...]:
    return tuple(step[2:] for step in path if step.startswith("f:"))
