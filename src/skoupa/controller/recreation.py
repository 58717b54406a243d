"""Objects that come back: a controller or a GitOps tool creates anew what a label lets go.

A label that is copied from a template can start a loop of deleting and re-creating. After a few rounds the next try
waits, each time twice as long up to an hour, and the wait is shown as a Hold. An object comes back under its name, or
as another of the same controller that was made after one was deleted: siblings that go together are one round. A
controller is known by its name, since one that goes with them comes back as well. Rounds are remembered here for as long
as the process lives; what is backed off can be taken out and put in again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec

from skoupa.facts.rows import Owner, Row, Uid, pack_uid, uid_text
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

FREE_ROUNDS: Final = 3
FIRST_WAIT_SECONDS: Final = 60
LONGEST_WAIT_SECONDS: Final = 3600
# A round that takes longer than this is no loop.
_ROUND_SECONDS: Final = 2 * LONGEST_WAIT_SECONDS
REMEMBERED: Final = 20_000
# Those that replace what is deleted. A CronJob, a Job with work left or a controller that nobody knows makes the next
# one in its own time, deleted or not.
_REPLACING: Final = frozenset(
    {
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("", "ReplicationController"),
    }
)

# Kind, namespace and name of the object, or kind and namespace of the object with kind and name of its controller.
_Key = tuple[str, ...]


class _Rounds(msgspec.Struct):
    """`began_at`: when the first of this round was deleted; `made_at`: when that one was made; `uid`: the last one."""

    count: int
    began_at: float
    made_at: int
    deleted_at: float
    uid: Uid


class BackedOff(msgspec.Struct, frozen=True, kw_only=True):
    """One loop whose next try waits; the times are seconds since the epoch."""

    of: _Key
    count: int
    began: float
    made: int
    deleted: float
    uid: str


class Recreations:
    """`news`: a loop that is backed off has come round again."""

    def __init__(self) -> None:
        self._rounds: OrderedDict[_Key, _Rounds] = OrderedDict()
        self.news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._rounds)

    def deleted(self, row: Row, now: float) -> None:
        for key in _keys(row):
            known = self._rounds.pop(key, None)
            if known is None or now - known.deleted_at >= _ROUND_SECONDS:
                rounds = _Rounds(1, now, row.created, now, row.uid)
            elif _came_after(row, known, key):
                rounds = _Rounds(known.count + 1, now, row.created, now, row.uid)
            else:
                rounds = _Rounds(known.count, known.began_at, known.made_at, now, row.uid)
            self._rounds[key] = rounds
            if rounds.count >= FREE_ROUNDS:
                self.news.set()
        while len(self._rounds) > REMEMBERED:
            self._rounds.popitem(last=False)

    def backed_off(self, now: float, *, most: int) -> list[BackedOff]:
        """The last ones, the oldest first."""
        found = [
            BackedOff(
                of=key,
                count=known.count,
                began=known.began_at,
                made=known.made_at,
                deleted=known.deleted_at,
                uid=uid_text(known.uid),
            )
            for key, known in self._rounds.items()
            if known.count >= FREE_ROUNDS and now - known.deleted_at < _ROUND_SECONDS
        ]
        return found[-most:]

    def recall(self, kept: Iterable[BackedOff], now: float) -> None:
        """What others have seen; what was seen here later stays."""
        for one in kept:
            known = self._rounds.get(one.of)
            if now - one.deleted < _ROUND_SECONDS and (known is None or known.deleted_at < one.deleted):
                uid = pack_uid(one.uid)
                self._rounds[one.of] = _Rounds(one.count, one.began, one.made, one.deleted, uid)

    def hold(self, row: Row, now: float) -> Hold | None:
        longest: Hold | None = None
        for key in _keys(row):
            hold = self._hold(row, key, now)
            if hold is not None and (longest is None or (hold.until or 0.0) > (longest.until or 0.0)):
                longest = hold
        return longest

    def _hold(self, row: Row, key: _Key, now: float) -> Hold | None:
        known = self._rounds.get(key)
        if known is None or known.count < FREE_ROUNDS or not _came_after(row, known, key):
            return None
        wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(known.count - FREE_ROUNDS, 20))
        until = known.deleted_at + wait
        if until <= now:
            return None
        owner, at = _replacing(row), whole_seconds(until)
        if owner is not None and len(key) == 4:
            who = f"{owner.kind} {owner.name}"
            return Hold(
                reason=reason("re-created-by", controller=who, count=known.count, until=at), until=until
            )
        return Hold(reason=reason("re-created", count=known.count, until=at), until=until)


def _keys(row: Row) -> tuple[_Key, ...]:
    by_name = (row.resource.qualified, row.namespace, row.name)
    owner = _replacing(row)
    if owner is None:
        return (by_name,)
    return by_name, (row.resource.qualified, row.namespace, owner.kind, owner.name)


def _replacing(row: Row) -> Owner | None:
    """The controller that makes another one as soon as this one is gone."""
    for owner in row.owners:
        if owner.controller and (owner.api_version.rpartition("/")[0], owner.kind) in _REPLACING:
            return owner
    return None


def _came_after(row: Row, known: _Rounds, key: _Key) -> bool:
    """Whether it was made after the deletions that are remembered began.

    Two objects of one name are never there at once. Siblings are, and times of creation are whole seconds: who was made
    in the very second is a sibling where the first one was made in it too (it went at once), unless the loop is beyond
    doubt. Else it is a replacement, since these are made within a moment.
    """
    if len(key) == 3:
        return row.uid != known.uid
    began = int(known.began_at)
    if row.created == began:
        return known.made_at < began or known.count >= FREE_ROUNDS
    return row.created > began
