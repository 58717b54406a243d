"""What a participant writes on its Lease: that it lives, and how far it is.

The counterpart of `signs`, which reads it; for `sdk`, so only the wire is needed. What is empty is left out, so that the next beat takes
it off again.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.kube.resources import LEASES
from skoupa.kube.timestamps import micro_time

BEAT_SECONDS: Final = 10.0
# Three beats may be lost before anybody is called silent.
LEASE_SECONDS: Final = 40
LONGEST_MESSAGE: Final = 1024


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """What was reported last."""

    remaining: int | None = None
    message: str = ""
    failed: bool = False
    preserved: tuple[str, ...] = ()


def beat_of(said: Said, *, finalizer: str, name: str, now: float) -> dict[str, Any]:
    """The Lease to apply."""
    annotations = {
        names.STATE_ANNOTATION: "failed" if said.failed else "",
        names.MESSAGE_ANNOTATION: said.message,
        names.PRESERVED_ANNOTATION: "\n".join(said.preserved),
    }
    if said.remaining is not None:
        annotations[names.REMAINING_ANNOTATION] = str(said.remaining)
    return {
        "apiVersion": LEASES.api_version,
        "kind": LEASES.kind,
        "metadata": {
            "name": name,
            "labels": {names.PARTICIPANT_LABEL: "true"},
            "annotations": {key: value for key, value in annotations.items() if value},
        },
        "spec": {
            "holderIdentity": finalizer,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": micro_time(now),
        },
    }
