"""In use because a deployer tracks it: what deployers name, and what says of itself that it is tracked.

`tracks` reads a deployer that is in the cluster: what it names is in use (`Means.MANAGES`). `Trackers` has the others: who says to be
tracked by one that is not among what was read, or that does not say all it tracks, has to stay, and `reason` says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from skoupa.kube.objects import Metadata
from skoupa.usage.found import Target
from skoupa.usage.tracking import apply_sets, argo_cd, flux, helm, kept
from skoupa.usage.tracking.values import Mark, Tracks, at, text

__all__ = ["KINDS", "Mark", "Trackers", "Tracks", "marks", "tracks"]

# Kinds that are to be read whole. Records of Helm are listed apart, by `helm.RECORDS`.
KINDS: Final = frozenset({argo_cd.APPLICATION, flux.KUSTOMIZATION})


def tracks(kind: str, manifest: Mapping[str, Any]) -> Tracks | None:
    """What this object tracks; None where it is no deployer."""
    if kind == argo_cd.APPLICATION:
        return argo_cd.tracks(manifest)
    if kind == flux.KUSTOMIZATION:
        return flux.tracks(manifest)
    metadata = _metadata(manifest)
    if helm.is_record(kind, metadata, str(manifest.get("type", ""))):
        return helm.tracks(kind, manifest)
    return apply_sets.parent(metadata)


def _metadata(manifest: Mapping[str, Any]) -> Metadata:
    """As much as is needed here; what is no text does not count."""
    written = at(manifest, "metadata", "labels")
    labels = written.items() if isinstance(written, Mapping) else ()
    return Metadata(
        name=text(manifest, "metadata", "name"),
        namespace=text(manifest, "metadata", "namespace"),
        labels={key: value for key, value in labels if isinstance(key, str) and isinstance(value, str)},
    )


def marks(kind: str, metadata: Metadata) -> Iterator[Mark]:
    """By whom an object says to be tracked."""
    yield from argo_cd.marks(kind, metadata)
    by_helm = tuple(helm.marks(metadata))
    yield from by_helm
    for mark in flux.marks(metadata):
        # What a HelmRelease deployed is in the record of Helm, which the object names too.
        if mark.by.kind != flux.HELM_RELEASE or not by_helm:
            yield mark
    yield from apply_sets.marks(metadata)


class Trackers:
    """The deployers that were read."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, dict[str, str]]] = {}

    def put(self, kind: str, metadata: Metadata, read: Tracks) -> None:
        """A deployer that was read by `tracks`."""
        if identity := (metadata.labels or {}).get(apply_sets.ID):
            self._note(f"{apply_sets.PARENT_OF}{apply_sets.PART_OF}", "", identity, "")
        if (metadata.labels or {}).get("owner") == "helm":
            name = (metadata.labels or {}).get("name", "")
            record = helm.record_of(metadata.namespace, name)
            self._note(record.kind, record.namespace, record.name, read.untold)
            self._note(helm.ANY_RELEASE.kind, metadata.namespace, helm.ANY_RELEASE.name, read.untold)
        else:
            self._note(kind, metadata.namespace, metadata.name, read.untold)

    def reason(self, kind: str, metadata: Metadata) -> str | None:
        """Why an object has to stay though nothing that was read tracks it, as a sentence; None: no deployer is in the way."""
        if asked := kept.reason(metadata):
            return asked
        for mark in marks(kind, metadata):
            untold = self._untold(mark.by)
            if untold is None and not mark.hint:
                return f"{_told(mark.by)} tracks it ({mark.at}), which is not among what could be read here"
            if untold:
                return f"{_told(mark.by)} tracks it ({mark.at}) and does not say all it tracks: {untold}"
        return None

    def _note(self, kind: str, namespace: str, name: str, untold: str) -> None:
        here = self._known.setdefault(kind, {}).setdefault(name, {})
        here[namespace] = untold or here.get(namespace, "")

    def _untold(self, by: Target) -> str | None:
        """What those that may be meant leave unsaid; None where there is none of them."""
        known = self._known.get(by.kind, {}).get(by.name, {})
        meant = (
            known.values() if by.namespace == "*" else [known[by.namespace]] if by.namespace in known else []
        )
        told = list(meant)
        return next((one for one in told if one), "") if told else None


def _told(by: Target) -> str:
    kind = by.kind.rpartition("/")[2]
    where = f"{by.namespace}/{by.name}" if by.namespace not in {"", "*"} else by.name
    if by.kind.startswith(apply_sets.PARENT_OF):
        return f"whoever has the other half of {by.kind.removeprefix(apply_sets.PARENT_OF)}={by.name}"
    if by == helm.ANY_RELEASE:
        return "a Helm release"
    if by.kind == "Secret":
        return f"the Helm release {where.removesuffix('.v#').replace('sh.helm.release.v1.', '')}"
    return f"{kind} {where}"
