"""The status of a Brake: what Skoupa makes of it, from what it says and what it holds. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.kinds.brake import BrakeStatus
from skoupa.kinds.brake_reading import Brake
from skoupa.kinds.conditions import READY, Condition, updated

_NOTHING: Final = {field.encode_name: None for field in msgspec.structs.fields(BrakeStatus)}


def status_of(
    brake: Brake,
    before: BrakeStatus,
    *,
    now: float,
    active: bool,
    held: int,
    sample: tuple[str, ...],
    tripped_by: str,
    missing: str = "",
) -> BrakeStatus:
    """`before` is what was said of it last: since when it holds is taken over from there.

    `missing` says that its scope names a kind that there is not.
    """
    moment = datetime.fromtimestamp(int(now), UTC)
    since = (before.since or moment) if before.active and active else moment
    return BrakeStatus(
        active=active,
        held=held,
        since=since if active else None,
        tripped_by=tripped_by or before.tripped_by,
        sample=sample,
        observed_generation=brake.generation,
        conditions=updated(before.conditions, _ready(brake, moment, active=active, missing=missing)),
    )


def in_full(status: BrakeStatus) -> dict[str, Any]:
    """As a patch: what it does not say any more goes."""
    return {**_NOTHING, **msgspec.to_builtins(status)}


def _ready(brake: Brake, moment: datetime, *, active: bool, missing: str) -> Condition:
    """Whether it does what its writer meant."""
    reason = "Holding" if active else "Waiting"
    if brake.problems or missing:
        reason = "NotUnderstood" if brake.problems else "NoSuchKind"
    message = {
        "NotUnderstood": f"it holds all that it could mean: {'; '.join(brake.problems)}",
        "NoSuchKind": f"it holds nothing now: {missing}",
        "Holding": "nothing of its scope is deleted",
        "Waiting": "its time is over, or its window is not open",
    }[reason]
    return Condition(
        type=READY,
        status="False" if brake.problems or missing else "True",
        reason=reason,
        message=message,
        last_transition_time=moment,
        observed_generation=brake.generation,
    )
