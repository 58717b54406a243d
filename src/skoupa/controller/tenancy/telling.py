"""What people hear of a deleted tenant as a whole: that it has begun, what it waits for, and that it is gone with what stays.

Each once: what goes on from moment to moment stands in the status alone, and what hangs is told when it has hung for a while, and
again when it is something else. Who only observes tells nothing of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.tenancy.deletion import Deletion
from skoupa.runs.overhearing import Overhearing
from skoupa.tenants.tenant import Tenant
from skoupa.tenants.told import Standing

# What hangs for so long is told: before that most of it is only on its way out.
HANGS_SECONDS: Final = 60.0
_HANGING: Final = frozenset({"Blocked", "Deleting"})
# These say nothing that anybody would wait for.
_CALM: Final = frozenset({"Active", "Counting", "Verifying", "LetGo"})
_NAMED: Final = 5
_NUMBERS: Final = re.compile(r"[0-9]+")


class TenantTelling:
    def __init__(self, clock: Clock, overhearing: Overhearing, *, acting: Callable[[], bool]) -> None:
        self._clock = clock
        self._overhearing = overhearing
        self._acting = acting
        self._begun: set[str] = set()
        # By uid: what it was last said to wait for.
        self._waits: dict[str, tuple[str, ...]] = {}
        # By uid: what it hangs on, and since when.
        self._hangs: dict[str, tuple[tuple[str, ...], float]] = {}

    def forget(self, uid: str) -> None:
        self._begun.discard(uid)
        self._waits.pop(uid, None)
        self._hangs.pop(uid, None)

    def begun(self, deletion: Deletion) -> None:
        """Once something of it may go."""
        tenant = deletion.tenant
        if tenant.uid in self._begun or deletion.census is None:
            return
        self._begun.add(tenant.uid)
        # In words that whoever takes over would say too: then that is the same Event.
        note = (
            "what belongs to it goes from now on, and then it goes itself; how far that is: "
            f"skoupa tenant status {tenant.name}"
        )
        self._say("SkoupaTenantDeleting", tenant, note)

    def stands(self, tenant: Tenant, standing: Standing) -> None:
        """How it stands, as often as somebody looks."""
        if not tenant.is_leaving or standing.reason in _CALM:
            return
        if standing.reason in _HANGING:
            hanging = sorted(_hanging(standing))
            # Numbers of what is inside a Namespace change all the time.
            names = tuple(_NUMBERS.sub("", one) for one in hanging)
            known, since = self._hangs.get(tenant.uid, ((), 0.0))
            if names != known:
                self._hangs[tenant.uid] = names, self._clock.monotonic()
                return
            if not names or self._clock.monotonic() - since < HANGS_SECONDS:
                return
            key, note = names, "; ".join(hanging[:_NAMED]) + _and_more(len(hanging))
        else:
            key, note = (standing.reason, standing.why), standing.why
        if self._waits.get(tenant.uid) == key:
            return
        if self._say("SkoupaTenantWaiting", tenant, note, key="\n".join(key)):
            self._waits[tenant.uid] = key

    def gone(self, deletion: Deletion) -> None:
        """Its finalizers are off."""
        said = ["nothing of it is left"]
        if deletion.kept:
            more = _and_more(len(deletion.kept))
            told = "; ".join(f"{one.called} ({one.why})" for one in deletion.kept[:_NAMED])
            number = len(deletion.kept)
            said.append(f"{f'{number} objects stay' if number != 1 else '1 object stays'}: {told}{more}")
        if deletion.volumes:
            more = _and_more(len(deletion.volumes))
            told = ", ".join(
                f"{one.name} at {one.handle}" for one in list(deletion.volumes.values())[:_NAMED]
            )
            said.append(f"data stays where it is: {told}{more}")
        self._say("SkoupaTenantGone", deletion.tenant, ". ".join(said))

    def _say(self, what: str, tenant: Tenant, note: str, *, key: str = "") -> bool:
        if not self._acting():
            return False
        at = self._clock.now()
        self._overhearing.of_tenant(what, note, name=tenant.name, uid=tenant.uid, key=key, at=at)
        return True


def _hanging(standing: Standing) -> Iterator[str]:
    """Without since when, for that is no news; nothing where something else is still on its way."""
    if any(not one.is_leaving and one.uid not in standing.held for one in standing.left):
        return
    for one in standing.left:
        if one.is_leaving:
            finalizers = ", ".join(one.metadata.finalizers or ())
            yield f"{one.called} waits for {standing.inside.get(one.uid) or finalizers or 'what is inside it'}"
        else:
            yield f"{one.called}: {standing.held[one.uid]}"
    for called in standing.owned:
        yield f"{called} stays, and the Tenant is among its owners"


def _and_more(number: int) -> str:
    return f" and {number - _NAMED} more" if number > _NAMED else ""
