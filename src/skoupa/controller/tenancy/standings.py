"""How far a Tenant is: whether what it had may go yet, and what its status says of a deletion that is under way."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from skoupa import names
from skoupa.controller.tenancy.deletion import Deletion
from skoupa.kube.timestamps import whole_seconds
from skoupa.settings import Settings, seconds
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.order import STEPS
from skoupa.tenants.tenant import FINALIZERS, Tenant
from skoupa.tenants.told import Standing


class Readiness(msgspec.Struct, frozen=True, kw_only=True):
    """`why` it may not be taken yet, empty: it may; `due` is from when on, as far as time alone decides."""

    due: float
    why: str = ""
    reason: str = ""


def readiness(tenant: Tenant, *, settings: Settings, now: float) -> Readiness:
    tenants = settings.tenants
    due = tenant.deleted_at + (seconds(tenants.grace) if tenants.grace is not None else 0)
    if tenants.guard and not tenant.is_confirmed:
        why = (
            f"its deletion has to be confirmed (tenants.guard): `skoupa tenant delete {tenant.name}`, or kubectl annotate tenant "
            f"{tenant.name} {names.CONFIRM_DELETION_ANNOTATION}={tenant.uid}; to keep all of it take the finalizers "
            f"{' and '.join(FINALIZERS)} off"
        )
        return Readiness(due=due, why=why, reason="Unconfirmed")
    if now < due:
        why = (
            f"nothing goes before {whole_seconds(due)} (tenants.grace); to keep all of it take the finalizers "
            f"{' and '.join(FINALIZERS)} off until then"
        )
        return Readiness(due=due, why=why, reason="Grace")
    return Readiness(due=due)


def not_begun(tenant: Tenant, others: Ids, *, settings: Settings, now: float) -> Standing | None:
    """What a status says of one whose deletion does not go on; None: it does."""
    why = refusal(tenant, others, settings=settings.tenants, protect=settings.protect)
    if not tenant.is_leaving:
        if why:
            said = f"nothing would go with it: {why}"
            return Standing(phase="Active", reason="Refused", why=said)
        return Standing(phase="Active", reason="Active", why="what belongs to it goes when it is deleted")
    if why:
        said = f"nothing goes with it: {why}. To let it go alone take the finalizers {' and '.join(FINALIZERS)} off"
        return Standing(phase="Refused", reason="Refused", why=said)
    ready = readiness(tenant, settings=settings, now=now)
    return Standing(phase="Waiting", reason=ready.reason, why=ready.why) if ready.why else None


def let_go(tenant: Tenant) -> Standing | None:
    """Of a deleted one that has none of our finalizers any more; None: nothing of ours stands in its status."""
    said = tenant.status.get("phase") if isinstance(tenant.status, Mapping) else None
    if said is None:
        return None
    others = ", ".join(tenant.finalizers) or "the server"
    why = f"Skoupa's finalizers are off, so that nothing more of it goes; it waits for {others}"
    return Standing(phase="Waiting", reason="LetGo", why=why)


def in_words(deletion: Deletion, *, settings: Settings) -> Standing:
    """Of one that is under way."""
    census, left = deletion.census, deletion.left
    if census is None or (census.narrowed and not left):
        return Standing(phase="Deleting", reason="Counting", why="all kinds in no namespace are being read")
    blocked = deletion.blocked(settings.tenants)
    held = deletion.held()
    missing = census.missing()
    if blocked is not None:
        phase, reason, why = "Deleting", blocked[0], blocked[1]
    elif not left and deletion.owned():
        phase, reason = "Deleting", "Blocked"
        why = "nothing that has to go is left; some of what stays has the Tenant as an owner and might go with it (see blockers)"
    elif not left and missing:
        phase, reason = "Verifying", "Unread"
        why = f"nothing of it is left, as far as can be seen; not known: {'; '.join(missing)}"
    elif not left:
        phase, reason, why = "Verifying", "Verifying", "nothing of it is left; that is read once more"
    else:
        reason = "Blocked" if held or not deletion.to_send() else "Deleting"
        phase, why = "Deleting", _progress(deletion, len(held))
        if missing:
            why = f"{why}; not known: {'; '.join(missing)}"
    return Standing(
        phase=phase,  # type: ignore[arg-type] # one of the phases
        reason=reason,
        why=why,
        left=left,
        held=held,
        inside=deletion.inside,
        kept=deletion.kept,
        owned=deletion.owned(),
        volumes=tuple(deletion.volumes.values()),
        looked_at=deletion.looked_at,
    )


def _progress(deletion: Deletion, held: int) -> str:
    left = len(deletion.left)
    sending = len(deletion.to_send())
    leaving = sum(one.is_leaving or one.uid in deletion.sent for one in deletion.left)
    parts = [f"{left} objects in no namespace are left" if left != 1 else "1 object in no namespace is left"]
    if leaving:
        parts.append(
            f"{leaving} of them are on their way out" if leaving != 1 else "1 of them is on its way out"
        )
    if held:
        parts.append(f"{held} {'is' if held == 1 else 'are'} held (see blockers)")
    if sending > held and deletion.step >= 0:
        parts.append(f"now go {STEPS[deletion.step]}")
    return ", ".join(parts)
