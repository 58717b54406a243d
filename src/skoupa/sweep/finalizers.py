"""Takes a finalizer of somebody else off an object: the only other thing that destroys.

What it kept from going may be lost with it. So the intent is on record before anything is sent, with how far its owner was; the patch
names the very state of the object that was looked at (uid, resourceVersion, and this finalizer in its place), takes off this one and
no other, and what came of it is written down. Who decides that it has to be is elsewhere; whether something holds it is asked here once more.

A row of history stands for object and finalizer together, with a uid that comes of both (`standing_for`): so that after a crash, or without
an answer, it can be asked of the object what became of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import Conflict, Invalid, NotFound, SkoupaError
from skoupa.facts.rows import Row, pack_uid, uid_text
from skoupa.kube.client import Client
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.failures import is_sure
from skoupa.sweep.record import Record

# What servers say where a test of a patch does not hold.
_NOT_SO: Final = "the server rejected our request due to an error in our request"


class FinalizerRemoval:
    """`holds` says what stands against it now: Brakes, a ledger that is away. `marking`: what is taken off is named on the object."""

    def __init__(
        self,
        client: Client,
        *,
        record: Record,
        holds: Callable[[Row, Claim], Sequence[Hold]],
        marking: bool = False,
    ) -> None:
        self._client = client
        self._record = record
        self._holds = holds
        self._marking = marking
        self._unanswered: tuple[Row, str, str] | None = None

    async def take_off(
        self,
        row: Row,
        finalizers: Sequence[str],
        finalizer: str,
        claim: Claim,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> dict[str, Any] | Hold | None:
        """The object afterwards; a Hold where it stays; None where the object is gone. `annotations` are what it has, for a mark.

        Raises Conflict where it is not as it was looked at: whoever decided decides anew.
        """
        held = self._holds(row, claim)
        if held:
            return held[0]
        told = msgspec.structs.replace(row, uid=pack_uid(standing_for(uid_text(row.uid), finalizer)))
        await self._record.intend_release(told, claim)
        self._unanswered = None
        try:
            found = await self._client.json_patch(
                row.resource,
                row.name,
                [
                    *_without(row, finalizers.index(finalizer), finalizer),
                    *(_marked(finalizer, annotations) if self._marking else ()),
                ],
                namespace=row.namespace,
                rule=claim.rule,
            )
        except NotFound:
            self._record.finished(told, "gone")
            return None
        except SkoupaError as error:
            if is_sure(error):
                self._record.failed(told, error.message)
            else:
                # No answer came, or from a server that failed: it may be off all the same.
                self._record.unanswered(told, error.message)
                self._unanswered = (told, uid_text(row.uid), finalizer)
            if isinstance(error, Invalid) and error.status.message == _NOT_SO:
                said = f"{row.resource.kind} {row.name} is not any more as it was looked at"
                raise Conflict(said, status=error.status) from error
            raise
        self._record.finished(told, "deleted")
        # It is told on the object itself: no Event of a deletion is owed to anybody.
        self._record.told([uid_text(told.uid)])
        return found

    def settle(self, uid: str, finalizers: Sequence[str], annotations: Mapping[str, str]) -> None:
        """What became of a patch without an answer, by the object as it is now. Where the finalizer is still on, it is for the next try."""
        if self._unanswered is None:
            return
        told, of, finalizer = self._unanswered
        if uid == of and finalizer in finalizers:
            return
        if uid == of and annotations.get(names.FORCED_ANNOTATION) == finalizer:
            self._record.finished(told, "deleted")
            self._record.told([uid_text(told.uid)])
        else:
            self._record.gone_unanswered(told)
        self._unanswered = None


def standing_for(uid: str, finalizer: str) -> str:
    """History has one row for each uid, and each finalizer is one decision."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{uid}/{finalizer}"))


def _without(row: Row, place: int, finalizer: str) -> list[dict[str, Any]]:
    path = f"/metadata/finalizers/{place}"
    return [
        {"op": "test", "path": "/metadata/uid", "value": uid_text(row.uid)},
        {"op": "test", "path": "/metadata/resourceVersion", "value": row.resource_version},
        {"op": "test", "path": path, "value": finalizer},
        {"op": "remove", "path": path},
    ]


def _marked(finalizer: str, annotations: Mapping[str, str] | None) -> list[dict[str, Any]]:
    path = "/metadata/annotations"
    if not annotations:
        return [{"op": "add", "path": path, "value": {names.FORCED_ANNOTATION: finalizer}}]
    key = names.FORCED_ANNOTATION.replace("/", "~1")
    return [{"op": "add", "path": f"{path}/{key}", "value": finalizer}]
