"""Volume snapshots: what they were taken of, what holds them, and the Secrets of their driver."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import of, said, to
from skoupa.usage.rules import ANY_NAMESPACE, Annotated, Form, Means, Part, Reference

_GROUP: Final = "snapshot.storage.k8s.io"
_CONTENT: Final = f"{_GROUP}/VolumeSnapshotContent"
_CLASS: Final = f"{_GROUP}/VolumeSnapshotClass"
_KEYS: Final = "csi.storage.k8s.io/"


def _driver_secrets(*stems: str) -> tuple[Part, ...]:
    """Names with `${…}` in them, which become those of a snapshot or of its content."""
    return tuple(
        Reference(
            at=f'parameters."{stem}-name"',
            to="Secret",
            namespace_at=f'"{stem}-namespace"',
            form=Form.TEMPLATE,
        )
        for stem in stems
    )


_STEMS: Final = (f"{_KEYS}snapshotter-secret", f"{_KEYS}snapshotter-list-secret")

RULES: Final = (
    of(
        f"{_GROUP}/VolumeSnapshot",
        to("PersistentVolumeClaim", "spec.source.persistentVolumeClaimName"),
        to(_CONTENT, "spec.source.volumeSnapshotContentName", "status.boundVolumeSnapshotContentName"),
        to(_CLASS, "spec.volumeSnapshotClassName"),
        walked=(),
    ),
    of(
        _CONTENT,
        said("spec.volumeSnapshotRef", otherwise=f"{_GROUP}/VolumeSnapshot", namespace_at="namespace"),
        to(_CLASS, "spec.volumeSnapshotClassName"),
        to("storage.k8s.io/CSIDriver", "spec.driver", means=Means.MENTIONS),
        cluster=True,
        walked=(),
    ),
    of(
        _CLASS,
        _driver_secrets(*_STEMS, f"{_KEYS}group-snapshotter-secret"),
        to("storage.k8s.io/CSIDriver", "driver", means=Means.MENTIONS),
        cluster=True,
        walked=(),
    ),
)

# What the snapshotter remembers of the above for the day on which the snapshot goes.
ANNOTATED: Final = (
    Annotated(
        key="snapshot.storage.kubernetes.io/deletion-secret-name",
        to="Secret",
        of=(_CONTENT,),
        form=Form.NAME,
        namespace=ANY_NAMESPACE,
    ),
)
