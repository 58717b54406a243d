"""How single deeds of operators end: backups and restores of Velero, requests of cert-manager."""

from __future__ import annotations

from typing import Final

from skoupa.usage.finishing.rules import (
    Caution,
    Condition,
    Count,
    Field,
    FinishRule,
    OwnTtl,
    TimeAt,
    TimeOf,
    failed,
    succeeded,
)

_VELERO: Final = (
    succeeded(Field("status.phase", ("Completed",))),
    failed(Field("status.phase", ("PartiallyFailed", "Failed", "FailedValidation"))),
)

BACKUP: Final = FinishRule(
    kind="velero.io/Backup",
    signs=_VELERO,
    times=(TimeAt(at="status.completionTimestamp"),),
    started=("status.startTimestamp",),
    own_ttl=(
        OwnTtl(at="status.expiration", count=Count.TIME),
        OwnTtl(at="spec.ttl", count=Count.GO_DURATION),
    ),
    cautions=(
        Caution(
            why="deleting it would leave its data behind, and Velero would bring it back: use `velero backup delete` "
            "(a DeleteBackupRequest)"
        ),
    ),
)

RESTORE: Final = FinishRule(
    kind="velero.io/Restore",
    signs=_VELERO,
    times=(TimeAt(at="status.completionTimestamp"),),
    started=("status.startTimestamp",),
)

_OF_A_CERTIFICATE: Final = Caution(
    holds=False, why="it belongs to a Certificate, whose spec.revisionHistoryLimit may be earlier"
)

ORDER: Final = FinishRule(
    kind="acme.cert-manager.io/Order",
    signs=(
        succeeded(Field("status.state", ("valid",))),
        failed(Field("status.state", ("invalid", "expired", "errored"))),
    ),
    # Of a valid one nothing says since when.
    times=(TimeAt(at="status.failureTime"),),
    cautions=(_OF_A_CERTIFICATE,),
)

CERTIFICATE_REQUEST: Final = FinishRule(
    kind="cert-manager.io/CertificateRequest",
    signs=(
        succeeded(Condition("Ready")),
        failed(Condition("Ready", "False", ("Failed", "Denied"))),
    ),
    times=(TimeAt(at="status.failureTime"), TimeOf()),
    cautions=(_OF_A_CERTIFICATE,),
)

RULES: Final = (BACKUP, RESTORE, ORDER, CERTIFICATE_REQUEST)
