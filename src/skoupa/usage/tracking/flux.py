"""Flux: a Kustomization has an inventory of what it deployed; a HelmRelease leaves that to Helm (`usage/tracking/helm.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.kube.objects import Metadata
from skoupa.usage.found import Found, Target, Use
from skoupa.usage.rules import Means
from skoupa.usage.tracking.values import Mark, Tracks, at, text, tracked

KUSTOMIZATION: Final = "kustomize.toolkit.fluxcd.io/Kustomization"
HELM_RELEASE: Final = "helm.toolkit.fluxcd.io/HelmRelease"
_LABELS: Final = (("kustomize.toolkit.fluxcd.io", KUSTOMIZATION), ("helm.toolkit.fluxcd.io", HELM_RELEASE))
_PATH: Final = "status.inventory.entries[].id"


def tracks(kustomization: Mapping[str, Any]) -> Tracks:
    entries = at(kustomization, "status", "inventory", "entries")
    if not isinstance(entries, list):
        return Tracks(untold="it has no inventory yet")
    # Deployed with another cluster's credentials, the same names are meant there.
    elsewhere = at(kustomization, "spec", "kubeConfig") is not None
    uses: list[Use] = []
    unread = 0
    for entry in entries:
        kind, namespace, name = object_of(text(entry, "id"))
        unread += not name
        if name:
            means = Means.MENTIONS if elsewhere else Means.MANAGES
            uses += tracked(kind, namespace, name, at=_PATH, means=means)
    untold = f"{unread} entries of its inventory can't be read" if unread else ""
    return Tracks(found=Found(uses=tuple(uses)), untold=untold)


def object_of(entry: str) -> tuple[str, str, str]:
    """Kind, namespace and name out of `<namespace>_<name>_<group>_<kind>`; the name is empty where it is nothing of that sort."""
    # The names of roles may have an underscore, or a colon, which is written as two of them.
    before, _, kind = entry.rpartition("_")
    before, _, group = before.rpartition("_")
    namespace, found, name = before.partition("_")
    if not found or not kind or not name:
        return "", "", ""
    return f"{group}/{kind}" if group else kind, namespace, name.replace("__", ":")


def marks(metadata: Metadata) -> Iterator[Mark]:
    labels = metadata.labels or {}
    for group, kind in _LABELS:
        name, namespace = labels.get(f"{group}/name"), labels.get(f"{group}/namespace")
        if name:
            yield Mark(by=Target(kind, namespace or "*", name), at=f"label {group}/name")
