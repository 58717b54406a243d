"""Which texts of an object may say the name of another: annotations, what containers and drivers are told, all of a custom object.

What no table knows may go by its own name: the Secret of a DynaKube is called as that is, and a SecretExport as what it exports. Left out is what an object says of itself, what a policy is about or a report has found out, and what deployers list, which is read by
rules. What is not as a server would have it counts whole: this can only keep more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import chain
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.facts.rows import Row
from skoupa.kube.objects import Metadata
from skoupa.usage import tracking
from skoupa.usage.graph import kind_name
from skoupa.usage.silent import REPORTS

# Texts by where they stand.
Texts = Iterator[tuple[str, list[str]]]
# What these say is about the object itself, or is a copy of what it has in its fields.
_ABOUT_ITSELF: Final = (
    "kubernetes.io/description",
    "kubectl.kubernetes.io/",
    "deployment.kubernetes.io/",
    "meta.helm.sh/",
    "skoupa.dev/",
    "argocd.argoproj.io/tracking-id",
    "config.kubernetes.io/",
    "config.k8s.io/",
)
# But for this one, by which it waits for others: `/namespaces/shop/ConfigMap/settings`.
_DEPENDS_ON: Final = "config.kubernetes.io/depends-on"
_NOT_WALKED: Final = frozenset({"apiVersion", "kind", "metadata"})
_MADE_PODS: Final = re.compile(rb'"(?:args|command|env|annotations|volumeAttributes|flexVolume)"')
# What a policy that deletes, or a Brake, is about and has done is no use of it: by that a policy would keep what it was to delete.
# What a policy asks for in its context or its conditions is.
_ABOUT_OTHERS: Final = ("status", "match", "exclude", "matchConstraints")
_POLICY_GROUPS: Final = frozenset({"kyverno.io", "policies.kyverno.io"})
# Fields of built-in kinds that hold whatever a driver likes.
_OPEN: Final = {"PersistentVolume": ("spec",), "storage.k8s.io/StorageClass": ("parameters",)}
# Balancers and drivers are told names of any kind by these, though their fields point at few; and by annotations of what people
# write themselves any program may be told them. Of other kinds only those count that a table says may point at what is named.
TELLING: Final = frozenset(
    {
        *_OPEN,
        "ConfigMap",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
        "networking.k8s.io/NetworkPolicy",
        "policy/PodDisruptionBudget",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/ResourceClaimTemplate",
    }
)


class _Variable(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    value: str | None = None


class _Exec(msgspec.Struct, frozen=True, gc=False):
    command: list[str] | None = None


class _Action(msgspec.Struct, frozen=True, gc=False):
    """What is done when a container starts or stops, or to see whether it is well; here a command."""

    exec: _Exec | None = None


class _Lifecycle(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    post_start: _Action | None = None
    pre_stop: _Action | None = None


class _Container(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    args: list[str] | None = None
    command: list[str] | None = None
    env: list[_Variable] | None = None
    lifecycle: _Lifecycle | None = None
    liveness_probe: _Action | None = None
    readiness_probe: _Action | None = None
    startup_probe: _Action | None = None


class _Driven(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What a driver is told: `volumeAttributes` of a csi volume, `options` of a flexVolume."""

    volume_attributes: dict[str, str] | None = None
    options: dict[str, str] | None = None


class _Volume(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    csi: _Driven | None = None
    flex_volume: _Driven | None = None


class _PodSpec(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None


class _Marks(msgspec.Struct, frozen=True, gc=False):
    annotations: dict[str, str] | None = None


class _Template(msgspec.Struct, frozen=True, gc=False):
    metadata: _Marks | None = None
    spec: _PodSpec | None = None


class _Job(msgspec.Struct, frozen=True, gc=False):
    template: _Template | None = None


class _JobTemplate(msgspec.Struct, frozen=True, gc=False):
    spec: _Job | None = None


class _Spec(_PodSpec, frozen=True, gc=False, rename="camel"):
    """That of a Pod, or of what makes Pods."""

    template: _Template | None = None
    job_template: _JobTemplate | None = None


_UNREADABLE: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_SPEC: Final = msgspec.json.Decoder(_Spec | None)


def texts_of(row: Row, item: Any, metadata: Metadata, *, custom: bool, walked: bool) -> Texts:
    """`custom`: all of it counts; `walked`: no table knows its kind."""
    kind = kind_name(row.resource)
    if metadata.annotations:
        yield "metadata.annotations", _in_annotations(metadata.annotations)
    if row.resource.group == names.SKOUPA_GROUP or kind in REPORTS:
        return
    fields = item if isinstance(item, Mapping) else _listed(item)
    if row.resource.group in _POLICY_GROUPS:
        fields = _without_subjects(fields)
    elif custom and walked and row.namespace:
        yield "metadata.name", [row.name]
    for field, value in fields.items():
        if field in _NOT_WALKED or (field == "status" and kind in tracking.KINDS):
            # What a deployer lists there is read by rules: it names what it is about to prune as well.
            continue
        if custom or field in _OPEN.get(kind, ()):
            yield str(field), _in_everything(_decoded(value))
        elif field == "spec":
            yield from _in_pods(value)
        elif field == "template" and kind == "PodTemplate":
            yield from _in_pods({"template": _decoded(value)})


def _without_subjects(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = {field: _decoded(value) for field, value in fields.items() if field not in _ABOUT_OTHERS}
    if isinstance(spec := kept.get("spec"), Mapping):
        kept["spec"] = {field: value for field, value in spec.items() if field not in _ABOUT_OTHERS}
    return kept


def _in_annotations(marks: Mapping[str, str]) -> list[str]:
    return [
        value
        for key, value in marks.items()
        if (key == _DEPENDS_ON or not key.startswith(_ABOUT_ITSELF)) and isinstance(value, str)
    ]


def _in_container(one: _Container) -> Iterator[str]:
    values = (variable.value for variable in one.env or ())
    return chain(one.command or (), one.args or (), filter(None, values))


def _in_hooks(one: _Container) -> Iterator[str]:
    actions = [one.liveness_probe, one.readiness_probe, one.startup_probe]
    if one.lifecycle:
        actions += (one.lifecycle.post_start, one.lifecycle.pre_stop)
    return chain.from_iterable(action.exec.command or () for action in actions if action and action.exec)


def _in_volume(one: _Volume) -> Iterator[str]:
    told = [driven for driven in (one.csi, one.flex_volume) if driven]
    return chain.from_iterable(
        (*(each.volume_attributes or {}).values(), *(each.options or {}).values()) for each in told
    )


def _in_everything(value: Any) -> list[str]:
    """Every text, and the keys of maps; without recursion, for nobody knows how deep it goes."""
    found: list[str] = []
    left = [value]
    while left:
        here = left.pop()
        if isinstance(here, str):
            found.append(here)
        elif isinstance(here, Mapping):
            found += map(str, here)
            left += here.values()
        elif isinstance(here, list):
            left += here
    return found


def _listed(item: Any) -> dict[str, Any]:
    return {field: getattr(item, attribute) for field, attribute in _attributes(item.__class__)}


@cache
def _attributes(kind: type) -> tuple[tuple[str, str], ...]:
    fields = msgspec.structs.fields(kind)
    return tuple((one.encode_name, one.name) for one in fields if one.encode_name not in _NOT_WALKED)


def _decoded(value: Any) -> Any:
    if not isinstance(value, msgspec.Raw):
        return value
    try:
        return msgspec.json.decode(value) if bytes(value) else None
    except _UNREADABLE:
        # Whoever reads the object by its table says so.
        return None


def _in_pods(value: Any) -> Texts:
    """The containers of a Pod, or of the template of one."""
    if isinstance(value, msgspec.Raw):
        raw = bytes(value)
        if not _MADE_PODS.search(raw):
            return
    elif isinstance(value, Mapping):
        raw = b""
    else:
        return
    try:
        spec = _SPEC.decode(raw or msgspec.json.encode(value))
    except _UNREADABLE:
        # Not as a server would have it, or no Pods at all: then whatever it says counts.
        yield "spec", _in_everything(_decoded(value))
        return
    if spec is None:
        return
    job = spec.job_template.spec if spec.job_template else None
    template = spec.template or (job.template if job else None)
    if template and template.metadata and template.metadata.annotations:
        yield "the annotations of the template", _in_annotations(template.metadata.annotations)
    for pods in (spec, template.spec if template else None):
        if pods is not None:
            groups = (pods.containers, pods.init_containers, pods.ephemeral_containers)
            containers = [one for group in groups for one in group or ()]
            told = [text for one in containers for text in _in_container(one)]
            yield "the arguments or the environment of a container", told
            yield "a hook or a probe of a container", [text for one in containers for text in _in_hooks(one)]
            if pods.volumes:
                yield (
                    "what the driver of a volume is told",
                    [text for one in pods.volumes for text in _in_volume(one)],
                )
