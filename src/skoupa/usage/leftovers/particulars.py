"""What a report wants to know of some kinds beside what they point at: a phase, the labels of a template, how large it is.

Read from the same list, and only for the kinds that a report asks about. Values of ConfigMaps are counted and dropped, those of
Secrets are not asked for at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from skoupa.kube.objects import Metadata, View
from skoupa.usage.leftovers.templates import Labels

_NOT_THERE: Final = msgspec.Raw(b"")
_WORKLOADS: Final = (
    "ReplicationController",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "apps/DaemonSet",
    "batch/Job",
    "batch/CronJob",
)


_ANSWERS: Final = re.compile(
    r"redirect|/actions\.|snippet|default-backend|response|respond|konghq\.com/plugins|plugins\.konghq|/return|app-root|mock",
    re.IGNORECASE,
)


class Particulars(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Each is what it says only for the kinds that have it; None or empty otherwise.

    `alive` is for EndpointSlices: whether one of its addresses is ready; for bindings: whether it names somebody who is no
    ServiceAccount; for an Ingress: whether it answers by itself; for a PriorityClass: whether it counts where none is named. `selects` is whether a Service has a selector, `phase` that of a Pod or volume, or the type of a Service.
    """

    size: int | None = None
    capacity: str = ""
    phase: str = ""
    templates: tuple[Labels, ...] = ()
    alive: bool = False
    selects: bool = True
    renewed: float | None = None
    duration: int = 0
    # A field that is not as the server would have it: nothing is concluded from it.
    unclear: bool = False


class _Storage(msgspec.Struct, frozen=True):
    storage: str = ""


class _Requests(msgspec.Struct, frozen=True):
    requests: _Storage | None = None


class _Claim(msgspec.Struct, frozen=True):
    resources: _Requests | None = None


class _Volume(msgspec.Struct, frozen=True):
    capacity: _Storage | None = None


class _Phase(msgspec.Struct, frozen=True):
    phase: str = ""


class _Template(msgspec.Struct, frozen=True):
    metadata: Metadata | None = None


class _Templated(msgspec.Struct, frozen=True):
    template: _Template | None = None


class _Job(msgspec.Struct, frozen=True):
    spec: _Templated | None = None


class _Workload(msgspec.Struct, frozen=True, rename="camel"):
    template: _Template | None = None
    job_template: _Job | None = None


class _Conditions(msgspec.Struct, frozen=True):
    ready: bool | None = None


class _Endpoint(msgspec.Struct, frozen=True):
    conditions: _Conditions | None = None


class _Service(msgspec.Struct, frozen=True):
    type: str = ""
    selector: dict[str, str] | None = None


class _Subject(msgspec.Struct, frozen=True):
    kind: str = ""


class _Lease(msgspec.Struct, frozen=True, rename="camel"):
    renew_time: datetime | None = None
    lease_duration_seconds: int | None = None


Fields = Mapping[str, msgspec.Raw]


def _of(fields: Fields, name: str, kind: Any) -> Any:
    raw = fields[name]
    return msgspec.json.decode(raw, type=kind | None) if bytes(raw) else None


def _config_map(fields: Fields) -> Particulars:
    return Particulars(size=sum(map(len, fields.values())))


def _claim(fields: Fields) -> Particulars:
    spec: _Claim | None = _of(fields, "spec", _Claim)
    requests = spec.resources.requests if spec and spec.resources else None
    return Particulars(capacity=requests.storage if requests else "")


def _volume(fields: Fields) -> Particulars:
    spec: _Volume | None = _of(fields, "spec", _Volume)
    status: _Phase | None = _of(fields, "status", _Phase)
    capacity = spec.capacity.storage if spec and spec.capacity else ""
    return Particulars(capacity=capacity, phase=status.phase if status else "")


def _pod(fields: Fields) -> Particulars:
    status: _Phase | None = _of(fields, "status", _Phase)
    return Particulars(phase=status.phase if status else "")


def _workload(fields: Fields) -> Particulars:
    spec: _Workload | None = _of(fields, "spec", _Workload)
    template = spec.template if spec else None
    if spec and spec.job_template and spec.job_template.spec:
        template = spec.job_template.spec.template
    labels = template.metadata.labels if template and template.metadata else None
    return Particulars(templates=(tuple(sorted((labels or {}).items())),) if template else ())


def _pod_template(fields: Fields) -> Particulars:
    template: _Template | None = _of(fields, "template", _Template)
    labels = template.metadata.labels if template and template.metadata else None
    return Particulars(templates=(tuple(sorted((labels or {}).items())),) if template else ())


def _ingress(fields: Mapping[str, Any]) -> Particulars:
    """One that answers by itself, by an annotation of its controller, has backends for the sake of the form."""
    metadata: Metadata = fields["metadata"]
    return Particulars(alive=any(_ANSWERS.search(key) for key in metadata.annotations or ()))


def _slice(fields: Fields) -> Particulars:
    endpoints: list[_Endpoint] = _of(fields, "endpoints", list[_Endpoint]) or []
    # Nothing said means ready (discovery.k8s.io/v1).
    return Particulars(
        alive=any(not one.conditions or one.conditions.ready is not False for one in endpoints)
    )


def _service(fields: Fields) -> Particulars:
    spec: _Service | None = _of(fields, "spec", _Service)
    return Particulars(phase=spec.type if spec else "", selects=bool(spec and spec.selector))


def _binding(fields: Fields) -> Particulars:
    subjects: list[_Subject] = _of(fields, "subjects", list[_Subject]) or []
    return Particulars(alive=any(one.kind != "ServiceAccount" for one in subjects))


def _priority(fields: Fields) -> Particulars:
    return Particulars(alive=bool(_of(fields, "globalDefault", bool)))


def _lease(fields: Fields) -> Particulars:
    spec: _Lease | None = _of(fields, "spec", _Lease)
    renewed = spec.renew_time.timestamp() if spec and spec.renew_time else None
    return Particulars(renewed=renewed, duration=(spec.lease_duration_seconds or 0) if spec else 0)


_READ: Final[dict[str, tuple[tuple[str, ...], Callable[[Fields], Particulars]]]] = {
    "ConfigMap": (("data", "binaryData"), _config_map),
    "PersistentVolumeClaim": (("spec",), _claim),
    "PersistentVolume": (("spec", "status"), _volume),
    "Pod": (("status",), _pod),
    "discovery.k8s.io/EndpointSlice": (("endpoints",), _slice),
    "Service": (("spec",), _service),
    "PodTemplate": (("template",), _pod_template),
    "networking.k8s.io/Ingress": (("metadata",), _ingress),
    "rbac.authorization.k8s.io/RoleBinding": (("subjects",), _binding),
    "rbac.authorization.k8s.io/ClusterRoleBinding": (("subjects",), _binding),
    "coordination.k8s.io/Lease": (("spec",), _lease),
    "scheduling.k8s.io/PriorityClass": (("globalDefault",), _priority),
    **dict.fromkeys(_WORKLOADS, (("spec",), _workload)),
}
HAVING: Final = frozenset(_READ)


def extended(view: View[Any], wanted: Iterable[str]) -> tuple[View[Any], dict[str, str]]:
    """The view with these top-level fields as bytes, and the attribute that each is found under."""
    known = {field.encode_name: field.name for field in msgspec.structs.fields(view.type)}
    added = {field: f"seen_{field}" for field in wanted if field not in known}
    attributes = {field: known.get(field) or added[field] for field in wanted}
    fields = [
        (name, msgspec.Raw, msgspec.field(default=_NOT_THERE, name=field)) for field, name in added.items()
    ]
    kind = msgspec.defstruct("Seen", fields, bases=(view.type,), frozen=True, gc=False, kw_only=True)
    return View(type=kind), attributes


class Particular:
    """How to list a kind so that its particulars come along, on top of the view that its references are read with."""

    def __init__(self, kind: str, view: View[Any]) -> None:
        wanted, self._read = _READ[kind]
        self.view, self._attributes = extended(view, wanted)

    def of(self, found: Any) -> Particulars:
        fields = {field: getattr(found, name) for field, name in self._attributes.items()}
        try:
            return self._read(fields)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return Particulars(unclear=True)
