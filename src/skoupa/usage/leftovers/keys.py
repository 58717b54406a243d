"""Which keys of ConfigMaps and Secrets somebody reads, and which keys these have.

Pods and templates say which keys they read, unless they take all of them. Whoever points at the object in any other way is
taken to read all. Of the objects themselves only the names of keys are kept; values are dropped as they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.kube.objects import View
from skoupa.usage.found import Target
from skoupa.usage.graph import kind_name, target_of
from skoupa.usage.leftovers.looked import Looked
from skoupa.usage.leftovers.particulars import extended
from skoupa.usage.needs import Unknown
from skoupa.usage.rules import Means

# Keys by what they are read from; None is all of them.
KeyUses = Mapping[Target, frozenset[str] | None]

_HOLDERS: Final = {"ConfigMap": ("data", "binaryData"), "Secret": ("data",)}
_READERS: Final = (
    "Pod",
    "ReplicationController",
    "apps/Deployment",
    "apps/ReplicaSet",
    "apps/StatefulSet",
    "apps/DaemonSet",
    "batch/Job",
    "batch/CronJob",
)
HAVING_KEYS: Final = frozenset((*_HOLDERS, *_READERS))
# Paths at which a Pod says which keys it reads, or that it takes all.
_SAID: Final = (
    "configMapKeyRef.name",
    "secretKeyRef.name",
    "envFrom[].configMapRef.name",
    "envFrom[].secretRef.name",
    "volumes[].configMap.name",
    "volumes[].secret.secretName",
    "projected.sources[].configMap.name",
    "projected.sources[].secret.name",
)


class _Item(msgspec.Struct, frozen=True):
    key: str = ""


class _Key(msgspec.Struct, frozen=True):
    name: str = ""
    key: str = ""


class _ValueFrom(msgspec.Struct, frozen=True, rename="camel"):
    config_map_key_ref: _Key | None = None
    secret_key_ref: _Key | None = None


class _Env(msgspec.Struct, frozen=True, rename="camel"):
    value_from: _ValueFrom | None = None


class _EnvFrom(msgspec.Struct, frozen=True, rename="camel"):
    config_map_ref: _Key | None = None
    secret_ref: _Key | None = None


class _Source(msgspec.Struct, frozen=True, rename="camel"):
    name: str = ""
    secret_name: str = ""
    items: list[_Item] | None = None


class _Projected(msgspec.Struct, frozen=True, rename="camel"):
    config_map: _Source | None = None
    secret: _Source | None = None


class _Projection(msgspec.Struct, frozen=True):
    sources: list[_Projected] | None = None


class _Volume(msgspec.Struct, frozen=True, rename="camel"):
    config_map: _Source | None = None
    secret: _Source | None = None
    projected: _Projection | None = None


class _Container(msgspec.Struct, frozen=True, rename="camel"):
    env: list[_Env] | None = None
    env_from: list[_EnvFrom] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    """A Pod's, and that of whatever has a template of one."""

    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    ephemeral_containers: list[_Container] | None = None
    volumes: list[_Volume] | None = None
    template: _Holder | None = None
    job_template: _Holder | None = None


class _Holder(msgspec.Struct, frozen=True):
    spec: _Spec | None = None


class KeyReading:
    """How to list a kind so that keys come along, on top of another view."""

    def __init__(self, kind: str, view: View[Any]) -> None:
        self._kind = kind
        self.view, self._attributes = extended(view, _HOLDERS.get(kind, ("spec",)))

    def keys(self, found: Any) -> tuple[str, ...]:
        """Those that a ConfigMap or Secret has."""
        if self._kind not in _HOLDERS:
            return ()
        keys: list[str] = []
        for name in self._attributes.values():
            raw = getattr(found, name)
            try:
                keys += (msgspec.json.decode(raw, type=dict[str, msgspec.Raw] | None) or {}) if raw else ()
            except (msgspec.DecodeError, UnicodeDecodeError):
                return ()
        return tuple(sorted(keys))

    def uses(self, found: Any, namespace: str) -> KeyUses | None:
        """What a Pod or template reads; None where it can't be understood."""
        raw = getattr(found, self._attributes["spec"]) if "spec" in self._attributes else b""
        if not raw:
            return {}
        try:
            spec: _Spec | None = msgspec.json.decode(raw, type=_Spec | None)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None
        uses: dict[Target, frozenset[str] | None] = {}
        for kind, name, keys in _read(_innermost(spec)):
            target = Target(kind, namespace, name)
            before = uses.get(target, frozenset())
            uses[target] = None if keys is None or before is None else before | keys
        return uses


def unread_keys(
    looked: Looked, row: Row, keys: tuple[str, ...], read_by: Mapping[Uid, KeyUses]
) -> tuple[str, ...]:
    """Those that nothing reads, of an object that something uses; none where this can't be told."""
    target, read = target_of(row), set[str]()
    if looked.needs.stays_anyway(row) is not None or isinstance(looked.needs.of_nobody(row), Unknown):
        return ()
    used = False
    for user in looked.graph.users(target):
        if user.means in {Means.CONCERNS, Means.MANAGES}:
            continue
        used = True
        said = kind_name(user.row.resource) in _READERS and user.at.endswith(_SAID)
        some = read_by.get(user.row.uid, {}).get(target) if said else None
        if some is None:
            return ()
        read |= some
    if not used or next(looked.graph.choosers(row, looked.needs.namespace_labels), None) is not None:
        return ()
    return tuple(key for key in keys if key not in read)


def _innermost(spec: _Spec | None) -> _Spec | None:
    while spec is not None and (inner := spec.template or spec.job_template) is not None:
        spec = inner.spec
    return spec


def _read(spec: _Spec | None) -> Iterator[tuple[str, str, frozenset[str] | None]]:
    if spec is None:
        return
    for containers in (spec.containers, spec.init_containers, spec.ephemeral_containers):
        for container in containers or ():
            yield from _of_container(container)
    for volume in spec.volumes or ():
        yield from _of_source("ConfigMap", volume.config_map)
        yield from _of_source("Secret", volume.secret)
        for source in (volume.projected.sources if volume.projected else None) or ():
            yield from _of_source("ConfigMap", source.config_map)
            yield from _of_source("Secret", source.secret)


def _of_container(container: _Container) -> Iterator[tuple[str, str, frozenset[str] | None]]:
    for env in container.env or ():
        if env.value_from is not None:
            for kind, ref in (
                ("ConfigMap", env.value_from.config_map_key_ref),
                ("Secret", env.value_from.secret_key_ref),
            ):
                if ref is not None:
                    yield kind, ref.name, frozenset({ref.key})
    for whole in container.env_from or ():
        for kind, ref in (("ConfigMap", whole.config_map_ref), ("Secret", whole.secret_ref)):
            if ref is not None:
                yield kind, ref.name, None


def _of_source(kind: str, source: _Source | None) -> Iterator[tuple[str, str, frozenset[str] | None]]:
    if source is not None:
        items = frozenset(item.key for item in source.items) if source.items else None
        yield kind, source.secret_name or source.name, items
