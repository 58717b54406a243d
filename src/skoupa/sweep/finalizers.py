"""Takes a finalizer of somebody else off an object: the only other thing that destroys.

What it kept from going may be lost with it. So the intent is on record before anything is sent, with how far its owner was; the patch
names the very state of the object that was looked at (uid and resourceVersion), takes off this one finalizer and no other, and what
came of it is written down. Who decides that it has to be is elsewhere; whether something holds it is asked here once more.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from skoupa.errors import ApiError, NotFound, SkoupaError
from skoupa.facts.rows import Row, pack_uid, uid_text
from skoupa.kube.client import Client
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.record import Record


class FinalizerRemoval:
    """`holds` says what stands against it now: Brakes, a ledger that is away."""

    def __init__(
        self, client: Client, *, record: Record, holds: Callable[[Row, Claim], Sequence[Hold]]
    ) -> None:
        self._client = client
        self._record = record
        self._holds = holds

    async def take_off(
        self, row: Row, finalizers: Sequence[str], finalizer: str, claim: Claim
    ) -> dict[str, Any] | Hold | None:
        """The object afterwards; a Hold where it stays; None where the object is gone.

        Raises Conflict where it is not as it was looked at: whoever decided decides anew.
        """
        held = self._holds(row, claim)
        if held:
            return held[0]
        told = _standing_for(row, finalizer)
        await self._record.intend_release(told, claim)
        left = [one for one in finalizers if one != finalizer]
        metadata = {"uid": uid_text(row.uid), "resourceVersion": row.resource_version, "finalizers": left}
        try:
            found = await self._client.merge_patch(
                row.resource, row.name, {"metadata": metadata}, namespace=row.namespace, rule=claim.rule
            )
        except NotFound:
            self._record.finished(told, "gone")
            return None
        except ApiError as error:
            self._record.failed(told, error.message)
            raise
        except SkoupaError as error:
            # No answer came: it may be off all the same.
            self._record.unanswered(told, error.message)
            raise
        self._record.finished(told, "deleted")
        # It is told on the object itself: no Event of a deletion is owed to anybody.
        self._record.told([uid_text(told.uid)])
        return found


def _standing_for(row: Row, finalizer: str) -> Row:
    """History has one row for each uid, and each finalizer is one decision."""
    own = uuid.uuid5(uuid.NAMESPACE_URL, f"{uid_text(row.uid)}/{finalizer}")
    return msgspec.structs.replace(row, uid=pack_uid(str(own)))
