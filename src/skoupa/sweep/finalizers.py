"""Takes a finalizer of somebody else off an object: the only other thing that destroys.

What it kept from going may be lost with it. So the intent is on record before anything is sent, with how far its owner was; the patch
names the very state of the object that was looked at (uid, resourceVersion, and this finalizer in its place), takes off this one and
no other, and what came of it is written down. Who decides that it has to be is elsewhere; whether something holds it is asked here once more.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from skoupa.errors import ApiError, Conflict, Invalid, NotFound, SkoupaError
from skoupa.facts.rows import Row, pack_uid, uid_text
from skoupa.kube.client import Client
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.record import Record

# What servers say where a test of a patch does not hold.
_NOT_SO: Final = "the server rejected our request due to an error in our request"


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
        try:
            found = await self._client.json_patch(
                row.resource,
                row.name,
                _without(row, finalizers.index(finalizer), finalizer),
                namespace=row.namespace,
                rule=claim.rule,
            )
        except NotFound:
            self._record.finished(told, "gone")
            return None
        except Invalid as error:
            self._record.failed(told, error.message)
            if error.status.message != _NOT_SO:
                raise
            said = f"{row.resource.kind} {row.name} is not any more as it was looked at"
            raise Conflict(said, status=error.status) from error
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


def _without(row: Row, place: int, finalizer: str) -> list[dict[str, Any]]:
    path = f"/metadata/finalizers/{place}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid_text(row.uid)},
        {"op": "test", "path": "/metadata/resourceVersion", "value": row.resource_version},
        {"op": "test", "path": path, "value": finalizer},
        {"op": "remove", "path": path},
    ]


def _standing_for(row: Row, finalizer: str) -> Row:
    """History has one row for each uid, and each finalizer is one decision."""
    own = uuid.uuid5(uuid.NAMESPACE_URL, f"{uid_text(row.uid)}/{finalizer}")
    return msgspec.structs.replace(row, uid=pack_uid(str(own)))
