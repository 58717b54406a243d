"""Velero: backups, where they are kept and what they are made by. A backup is never deleted by us (`usage/never.py`)."""

from __future__ import annotations

from typing import Final

from skoupa.usage.custom.words import inside, of, said, secrets, shape, to
from skoupa.usage.rules import Means

_GROUP: Final = "velero.io"
_LOCATION: Final = f"{_GROUP}/BackupStorageLocation"
_BACKUP_KIND: Final = f"{_GROUP}/Backup"

_BACKUP: Final = shape(
    "backup",
    to(_LOCATION, "storageLocation"),
    to(f"{_GROUP}/VolumeSnapshotLocation", "volumeSnapshotLocations[]"),
    said("resourcePolicy", otherwise="ConfigMap", group_at="apiGroup"),
)

RULES: Final = (
    of(_LOCATION, secrets("spec.credential.name", "spec.objectStorage.caCertRef.name")),
    of(f"{_GROUP}/VolumeSnapshotLocation", secrets("spec.credential.name")),
    of(_BACKUP_KIND, inside(_BACKUP, "spec")),
    of(f"{_GROUP}/Schedule", inside(_BACKUP, "spec.template")),
    of(
        f"{_GROUP}/Restore",
        to(_BACKUP_KIND, "spec.backupName"),
        to(f"{_GROUP}/Schedule", "spec.scheduleName"),
        said("spec.resourceModifier", otherwise="ConfigMap", group_at="apiGroup"),
    ),
    of(f"{_GROUP}/DeleteBackupRequest", to(_BACKUP_KIND, "spec.backupName")),
    of(
        f"{_GROUP}/BackupRepository",
        to(_LOCATION, "spec.backupStorageLocation"),
        to("Namespace", "spec.volumeNamespace"),
    ),
    of(
        f"{_GROUP}/PodVolumeBackup",
        to("Pod", "spec.pod.name", namespace_at="namespace", means=Means.MENTIONS),
        to(_LOCATION, "spec.backupStorageLocation"),
    ),
    of(
        f"{_GROUP}/PodVolumeRestore",
        to("Pod", "spec.pod.name", namespace_at="namespace", means=Means.MENTIONS),
        to(_LOCATION, "spec.backupStorageLocation"),
    ),
)
