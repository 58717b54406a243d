"""Takes finalizers of somebody else off an object: the only other thing that destroys.

What they kept from going may be lost with it. So each intent is on record before anything is sent, with how far its owner was; the patch
names the very state of the object that was looked at (uid, resourceVersion, and each finalizer in its place), takes off those and
no other, all of them or none, and what came of it is written down. Who decides that it has to be is elsewhere; whether something holds it is
asked here once more.

A row of history stands for object and finalizer together, with a uid that comes of both (`standing_for`): so that after a crash, or without
an answer, it can be asked of the object what became of it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.errors import Conflict, Invalid, NotFound, SkoupaError, Withdrawn
from skoupa.facts.rows import Row, pack_uid, uid_text
from skoupa.kube.client import Client
from skoupa.model.reasons import render
from skoupa.model.verdicts import Claim, Hold
from skoupa.sweep.failures import is_sure
from skoupa.sweep.record import Record

# What servers say where a test of a patch does not hold.
_NOT_SO: Final = "the server rejected our request due to an error in our request"
# No finalizer has one in its name.
_BETWEEN: Final = ","


class Removal(msgspec.Struct, frozen=True):
    """One finalizer that is to be taken off, and why."""

    finalizer: str
    claim: Claim


class _Sent(msgspec.Struct, frozen=True):
    """Patches without an answer: whose they were, and the row of history for each finalizer."""

    uid: str = ""
    rows: Mapping[str, Row] = {}


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
        self._unanswered = _Sent()
        # By uid and name: what is off by a patch from here, as far as that is known.
        self.taken: set[tuple[str, str]] = set()

    def held(self, row: Row, removals: Iterable[Removal]) -> Hold | None:
        """What stands against them now."""
        return next((hold for one in removals for hold in self._holds(row, one.claim)), None)

    async def take_off(
        self,
        row: Row,
        finalizers: Sequence[str],
        removals: Sequence[Removal],
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> dict[str, Any] | Hold | None:
        """The object afterwards; a Hold where it stays; None where the object is gone. `annotations` are what it has, for a mark.

        Raises Conflict where it is not as it was looked at: whoever decided decides anew.
        """
        if held := self.held(row, removals):
            return held
        rows = {one.finalizer: _standing(row, one.finalizer) for one in removals}
        uid = uid_text(row.uid)
        # An earlier patch may still take effect: that this one does not says nothing of it.
        before = self._unanswered.rows.keys() & rows.keys() if uid == self._unanswered.uid else set()
        asked = [(rows[one.finalizer], one.claim) for one in removals]
        await self._record.intend_releases(asked, open_before={rows[one].uid for one in before})
        try:
            found = await self._client.json_patch(
                row.resource,
                row.name,
                [
                    *_without(row, finalizers, rows),
                    *(_marked(rows, annotations) if self._marking else ()),
                ],
                namespace=row.namespace,
                rule=removals[0].claim.rule,
                still_wanted=lambda: self.held(row, removals) is None,
            )
        except NotFound as error:
            for name, told in rows.items():
                if name in before or error.after_silence:
                    self._record.gone_unanswered(told)
                else:
                    self._record.finished(told, "gone")
            self._unanswered = _Sent()
            return None
        except SkoupaError as error:
            held = self.held(row, removals) if isinstance(error, Withdrawn) else None
            said = error.message if held is None else render(held.reason)
            # No answer came, or from a server that failed: they may be off all the same.
            self._failed(uid, rows, said, unsure=before if is_sure(error) else rows.keys())
            if held is not None:
                return held
            if isinstance(error, Invalid) and error.status.message == _NOT_SO:
                said = f"{row.resource.kind} {row.name} is not any more as it was looked at"
                raise Conflict(said, status=error.status) from error
            raise
        self._forget(rows)
        self._taken_off(uid, rows)
        return found

    def _failed(self, uid: str, rows: Mapping[str, Row], said: str, *, unsure: Collection[str]) -> None:
        for name, told in rows.items():
            if name in unsure:
                self._record.unanswered(told, said)
            else:
                self._record.failed(told, said)
        if unsure:
            earlier = self._unanswered.rows if self._unanswered.uid == uid else {}
            self._unanswered = _Sent(uid, {**earlier, **{name: rows[name] for name in unsure}})

    def _forget(self, settled: Collection[str]) -> None:
        left = {name: row for name, row in self._unanswered.rows.items() if name not in settled}
        self._unanswered = msgspec.structs.replace(self._unanswered, rows=left)

    def settle(self, uid: str, finalizers: Sequence[str], annotations: Mapping[str, str]) -> None:
        """What became of a patch without an answer, by the object as it is now. Those that are still on are for the next try."""
        sent = self._unanswered
        same = uid == sent.uid
        gone = {one: row for one, row in sent.rows.items() if not (same and one in finalizers)}
        # It is named there by the very patch that took it off.
        ours = forced(annotations) if same else set()
        self._taken_off(uid, {one: row for one, row in gone.items() if one in ours})
        for one, row in gone.items():
            if one not in ours:
                self._record.gone_unanswered(row)
        self._forget(gone)

    def _taken_off(self, uid: str, rows: Mapping[str, Row]) -> None:
        self.taken.update((uid, name) for name in rows)
        for told in rows.values():
            self._record.finished(told, "deleted")
        # It is told on the object itself: no Event of a deletion is owed to anybody.
        self._record.told([uid_text(told.uid) for told in rows.values()])


def forced(annotations: Mapping[str, str]) -> set[str]:
    """The finalizers that Skoupa took off last, by what stands on the object."""
    return set(filter(None, annotations.get(names.FORCED_ANNOTATION, "").split(_BETWEEN)))


def standing_for(uid: str, finalizer: str) -> str:
    """History has one row for each uid, and each finalizer is one decision."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"{uid}/{finalizer}"))


def _standing(row: Row, finalizer: str) -> Row:
    return msgspec.structs.replace(row, uid=pack_uid(standing_for(uid_text(row.uid), finalizer)))


def _without(row: Row, finalizers: Sequence[str], off: Collection[str]) -> Iterator[dict[str, Any]]:
    yield {"op": "test", "path": "/metadata/uid", "value": uid_text(row.uid)}
    yield {"op": "test", "path": "/metadata/resourceVersion", "value": row.resource_version}
    # From the end: places in front stay as they are. One may be there more than once.
    for place, finalizer in reversed(list(enumerate(finalizers))):
        if finalizer in off:
            path = f"/metadata/finalizers/{place}"
            yield {"op": "test", "path": path, "value": finalizer}
            yield {"op": "remove", "path": path}


def _marked(off: Iterable[str], annotations: Mapping[str, str] | None) -> list[dict[str, Any]]:
    path, value = "/metadata/annotations", _BETWEEN.join(off)
    if not annotations:
        return [{"op": "add", "path": path, "value": {names.FORCED_ANNOTATION: value}}]
    key = names.FORCED_ANNOTATION.replace("/", "~1")
    return [{"op": "add", "path": f"{path}/{key}", "value": value}]
