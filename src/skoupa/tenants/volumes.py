"""Objects that stand for data: whose claim they are for, where the data is, and whether that stays or goes with the claim."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa.kinds.tenant import Volume
from skoupa.kube.objects import Metadata, View
from skoupa.tenants.ownership import StandsFor


class Data(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    metadata: Metadata
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


_VOLUME: Final = ("", "PersistentVolume")
_CONTENTS: Final = frozenset(
    {
        ("snapshot.storage.k8s.io", "VolumeSnapshotContent"),
        ("groupsnapshot.storage.k8s.io", "VolumeGroupSnapshotContent"),
    }
)
# Of these the whole object is read, since the claim is no metadata.
VIEWS: Final[Mapping[tuple[str, str], View[Data]]] = {kind: View(type=Data) for kind in (_VOLUME, *_CONTENTS)}
_REFERENCES: Final = ("claimRef", "volumeSnapshotRef", "volumeGroupSnapshotRef")
_POLICIES: Final = ("persistentVolumeReclaimPolicy", "deletionPolicy")
# Fields of a volume that are no driver.
_PLAIN: Final = frozenset({"capacity", "nodeAffinity", "claimRef"})


def stands_for(found: Data) -> StandsFor | None:
    for key in _REFERENCES:
        reference = found.spec.get(key)
        if isinstance(reference, dict) and reference.get("namespace"):
            return StandsFor(
                namespace=str(reference["namespace"]),
                name=str(reference.get("name", "")),
                bound=bool(reference.get("uid")),
                uid=str(reference.get("uid") or ""),
            )
    return None


def is_retained(found: Data) -> bool:
    return any(found.spec.get(key) == "Retain" for key in _POLICIES)


def data_that_stays(found: Data) -> Volume | None:
    """What a report has to name, since nobody would find it any more; None: it goes with the object."""
    return _data(found) if is_retained(found) else None


def data_that_goes(found: Data) -> Volume | None:
    """What its driver takes away, and the object after it, once the claim that it is bound to is gone; None: nobody does."""
    claim = stands_for(found)
    goes = any(found.spec.get(key) == "Delete" for key in _POLICIES)
    return _data(found) if goes and claim is not None and claim.bound else None


def failure(found: Data) -> str:
    """What whoever should take its data away says of why that fails; empty: nothing."""
    status = found.status
    if status.get("phase") == "Failed":
        return str(status.get("message") or status.get("reason") or "")
    error = status.get("error")
    return str(error.get("message") or "") if isinstance(error, dict) else ""


def _data(found: Data) -> Volume:
    claim = stands_for(found)
    return Volume(
        name=found.metadata.name,
        handle=_handle(found),
        claim=f"{claim.namespace}/{claim.name}" if claim is not None else None,
    )


def _handle(found: Data) -> str:
    for told in (found.status, found.spec.get("source") or {}):
        for key in ("snapshotHandle", "volumeGroupSnapshotHandle", "volumeHandle"):
            if told.get(key):
                return f"{found.spec.get('driver', 'its driver')} {told[key]}"
    csi = found.spec.get("csi")
    if isinstance(csi, dict):
        return f"{csi.get('driver', 'csi')} {csi.get('volumeHandle', '')}".strip()
    for key, value in sorted(found.spec.items()):
        if isinstance(value, dict) and key not in _PLAIN:
            where = " ".join(str(one) for one in value.values() if isinstance(one, str))
            return f"{key} {where}".strip()
    return "not told"
