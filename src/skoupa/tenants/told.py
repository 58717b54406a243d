"""How the deletion of a tenant stands, put into the status of its Tenant. Pure: what is known comes in, words come out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from skoupa.kinds.conditions import READY, Condition, updated
from skoupa.kinds.tenant import SAMPLE_SIZE, Phase, Remaining, TenantStatus, Volume
from skoupa.tenants.census import Belonging, Kept
from skoupa.tenants.tenant import Tenant

DELETING: Final = "Deleting"
_LONGEST: Final = 2000
_MOST_KINDS: Final = 200
_NOTHING: Final = {field.encode_name: None for field in msgspec.structs.fields(TenantStatus)}


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """`why` is what it waits for, in a sentence, and `reason` the same in one word that programs may compare.

    `held` says by uid what holds an object that has to go, `inside` what a Namespace waits for; `kept` are those that stay, `owned` those that
    stay and have the Tenant as an owner; `looked_at` 0: nobody has looked.
    """

    phase: Phase
    reason: str
    why: str
    left: Sequence[Belonging] = ()
    held: Mapping[str, str] = {}
    inside: Mapping[str, str] = {}
    kept: Sequence[Kept] = ()
    owned: Sequence[str] = ()
    volumes: Sequence[Volume] = ()
    looked_at: float = 0.0


def status_of(tenant: Tenant, standing: Standing, now: float) -> dict[str, Any]:
    """As a merge patch of the status: what it does not say any more is taken off."""
    before = _read(tenant.status)
    counted = Counter(one.resource.qualified for one in standing.left)
    status = TenantStatus(
        phase=standing.phase,
        remaining_objects=len(standing.left) if standing.looked_at else None,
        remaining=tuple(
            Remaining(kind=kind, count=number) for kind, number in sorted(counted.items())[:_MOST_KINDS]
        ),
        blockers=tuple(blockers(standing, now))[:SAMPLE_SIZE],
        kept=tuple(f"{one.called}: {one.why}"[:_LONGEST] for one in standing.kept[:SAMPLE_SIZE]),
        kept_objects=len(standing.kept) if standing.looked_at else None,
        volumes=tuple(standing.volumes[:SAMPLE_SIZE]),
        observed_generation=tenant.generation,
        looked_at=_time(standing.looked_at) if standing.looked_at else None,
        conditions=_conditions(tenant, standing, before, now),
    )
    return {**_NOTHING, **msgspec.to_builtins(status)}


def volumes_told(tenant: Tenant) -> tuple[Volume, ...]:
    """What its status has of data that stays."""
    return _read(tenant.status).volumes


def blockers(standing: Standing, now: float) -> Iterable[str]:
    """The oldest first: what is on its way out and stays, then what could not be sent on its way."""
    leaving = [one for one in standing.left if one.is_leaving]
    for one in sorted(leaving, key=_since):
        seconds = max(0, int(now - _since(one)))
        finalizers = ", ".join(one.metadata.finalizers or ())
        waits = standing.inside.get(one.uid) or finalizers or "what is inside it"
        yield f"{one.called} waits for {waits} since {_span(seconds)}"[:_LONGEST]
    for one in standing.left:
        why = standing.held.get(one.uid)
        if why and not one.is_leaving:
            yield f"{one.called}: {why}"[:_LONGEST]
    for called in standing.owned:
        yield (
            f"{called}: the Tenant is among its owners, and it is not the tenant's to go: the server might delete it along with the "
            "Tenant. Take that owner reference off"
        )[:_LONGEST]


def _conditions(
    tenant: Tenant, standing: Standing, before: TenantStatus, now: float
) -> tuple[Condition, ...]:
    active = standing.phase == "Active"
    moment = _time(now)
    said = before.conditions
    for kind, is_so in ((READY, active and standing.reason != "Refused"), (DELETING, not active)):
        said = updated(
            said,
            Condition(
                type=kind,
                status="True" if is_so else "False",
                reason=standing.reason,
                message=standing.why[:_LONGEST],
                last_transition_time=moment,
                observed_generation=tenant.generation,
            ),
        )
    return said


def _read(status: Any) -> TenantStatus:
    try:
        return msgspec.convert(status, TenantStatus)
    except msgspec.ValidationError:
        return TenantStatus()


def _since(one: Belonging) -> float:
    moment = one.metadata.deletion_timestamp
    return moment.timestamp() if moment is not None else 0.0


def _span(seconds: int) -> str:
    """Coarse, so that a status is not written anew each second."""
    if seconds < 60:
        return "less than a minute"
    if seconds < 3600:
        return f"{seconds // 60} min"
    return f"{seconds // 3600} h" if seconds < 2 * 86400 else f"{seconds // 86400} days"


def _time(moment: float) -> datetime:
    return datetime.fromtimestamp(int(moment), UTC)
