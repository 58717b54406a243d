"""A Brake as it is told to people, on the command line and in the dashboard: the same words in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from skoupa.kinds.brake import BrakeStatus
from skoupa.kinds.brake_effect import active, missing_kind, next_change, scope_text
from skoupa.kinds.brake_reading import Brake, read_brake, read_status
from skoupa.kube.kinds import Discovery

BrakeState = Literal["holds", "over", "waits", "is released"]


class ToldBrake(msgspec.Struct, frozen=True, kw_only=True):
    """`held` None: nobody has counted yet. `since` is told while it holds, `until` where time alone ends that.

    `remarks` say what of it is not understood, and that what it names is not there.
    """

    name: str
    scope: str
    state: BrakeState
    holds: bool
    held: int | None
    since: float | None
    until: float | None
    reason: str
    remarks: tuple[str, ...] = ()


def told_brake(found: Mapping[str, Any], *, now: float, kinds: Discovery) -> ToldBrake:
    told = _told(read_brake(found), read_status(found), now=now, kinds=kinds)
    if found["metadata"].get("deletionTimestamp"):
        return msgspec.structs.replace(told, state="is released")
    return told


def told_pulled(brake: Brake, *, now: float, kinds: Discovery, remark: str) -> ToldBrake:
    """One that counts and is no object; `remark` says why not."""
    told = _told(brake, BrakeStatus(), now=now, kinds=kinds)
    return msgspec.structs.replace(told, remarks=(remark, *told.remarks))


def _told(brake: Brake, status: BrakeStatus, *, now: float, kinds: Discovery) -> ToldBrake:
    holds = active(brake, now)
    over = brake.until is not None and now >= brake.until
    state: BrakeState = "holds" if holds else "over" if over else "waits"
    remarks = [f"not understood: {problem}" for problem in brake.problems]
    if missing := missing_kind(brake.scope, kinds):
        remarks.append(f"holds nothing now: {missing}")
    return ToldBrake(
        name=brake.name,
        scope=scope_text(brake.scope),
        state=state,
        holds=holds,
        held=status.held,
        since=status.since.timestamp() if holds and status.since is not None else None,
        until=brake.until if over else next_change(brake, now) if holds else None,
        reason=brake.reason or status.tripped_by or "",
        remarks=tuple(remarks),
    )
