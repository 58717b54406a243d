"""Objects that come back: a controller or a GitOps tool creates anew what a label lets go.

A label that is copied from a template can start a loop of deleting and re-creating. After a few rounds the next try
waits, each time twice as long up to an hour on top of the time that it is given, and the wait is shown as a Hold that names
who makes it anew, where somebody found that out. An object comes back under its name, or as another of the same controller that
was made after one was deleted: siblings that go together are one round. A controller is known by its name, since one that goes
with them comes back as well. Rounds are remembered here for as long as the process lives; what is backed off can be taken out
and put in again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa.expr.ttl_after import TtlAfter
from skoupa.facts.rows import Owner, Row, Uid, pack_uid, uid_text
from skoupa.judge.retention import written
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

FREE_ROUNDS: Final = 3
FIRST_WAIT_SECONDS: Final = 60
LONGEST_WAIT_SECONDS: Final = 3600
# A round that takes longer than this, beside the time that the object is given, is no loop.
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
    """`began_at`: when the first of this round was deleted; `made_at`: when that one was made; `uid`: the last one.

    `given`: how long it stayed of the time that is written on it; `maker`: who made one anew, empty where nobody knows.
    """

    count: int
    began_at: float
    made_at: int
    deleted_at: float
    uid: Uid
    given: float
    maker: str = ""

    def is_over(self, now: float, given: float) -> bool:
        return now - self.deleted_at >= _ROUND_SECONDS + given


class BackedOff(msgspec.Struct, frozen=True, kw_only=True):
    """One loop whose next try waits; the times are seconds since the epoch."""

    of: _Key
    count: int
    began: float
    made: int
    deleted: float
    uid: str
    given: float = 0.0
    maker: str = ""


class Recreations:
    """`news`: a loop that is backed off has come round again. `given` says how long an object may stay by what is written on it."""

    def __init__(self, given: Callable[[Row], float] = lambda _: 0.0) -> None:
        self._rounds: OrderedDict[_Key, _Rounds] = OrderedDict()
        self._given = given
        self.news = asyncio.Event()

    def __len__(self) -> int:
        return len(self._rounds)

    def deleted(self, row: Row, now: float) -> None:
        # What held it beside its time says nothing about a loop.
        given = max(0.0, min(self._given(row), now - row.created))
        for key in _keys(row):
            known = self._rounds.pop(key, None)
            if known is None or known.is_over(now, given):
                rounds = _Rounds(1, now, row.created, now, row.uid, given)
            elif _came_after(row, known, key):
                rounds = _Rounds(known.count + 1, now, row.created, now, row.uid, given, known.maker)
            else:
                rounds = _Rounds(known.count, known.began_at, known.made_at, now, row.uid, given, known.maker)
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
                given=known.given,
                maker=known.maker,
            )
            for key, known in self._rounds.items()
            if known.count >= FREE_ROUNDS and not known.is_over(now, known.given)
        ]
        return found[-most:]

    def recall(self, kept: Iterable[BackedOff], now: float) -> None:
        """What others have seen; what was seen here later stays."""
        for one in kept:
            known = self._rounds.get(one.of)
            uid = pack_uid(one.uid)
            told = _Rounds(one.count, one.began, one.made, one.deleted, uid, one.given, one.maker)
            if not told.is_over(now, one.given) and (known is None or known.deleted_at < one.deleted):
                self._rounds[one.of] = told

    def is_back(self, row: Row) -> bool:
        """Whether it came back by its name often enough to ask who makes it."""
        known = self._rounds.get(_by_name(row))
        return known is not None and known.count >= FREE_ROUNDS and row.uid != known.uid

    def made(self, row: Row, maker: str) -> bool:
        """Whether that is news."""
        known = self._rounds.get(_by_name(row))
        if known is None or known.maker == maker:
            return False
        known.maker = maker
        return True

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
        until = known.deleted_at + min(known.given, self._given(row)) + wait
        if until <= now:
            return None
        owner, at = _replacing(row), whole_seconds(until)
        if owner is not None and len(key) == 4:
            who = f"{owner.kind} {owner.name}"
            return Hold(
                reason=reason("re-created-by", controller=who, count=known.count, until=at), until=until
            )
        if known.maker:
            told = reason("re-created-with", count=known.count, manager=known.maker, until=at)
            return Hold(reason=told, until=until)
        return Hold(reason=reason("re-created", count=known.count, until=at), until=until)


def given_time(ttl: TtlMechanism, row: Row) -> float:
    """How long it may stay by what is written on it: the longest of its TTL and of what `skoupa.dev/ttl-after` names."""
    after = written(row)
    times = [ttl.lifetime(row)]
    if isinstance(after, TtlAfter):
        times += [after.finished, after.succeeded, after.failed, after.unused]
    # A date may have been over when the object was made.
    return float(max(time or 0 for time in (*times, 0)))


def _by_name(row: Row) -> _Key:
    return (row.resource.qualified, row.namespace, row.name)


def _keys(row: Row) -> tuple[_Key, ...]:
    owner = _replacing(row)
    if owner is None:
        return (_by_name(row),)
    return _by_name(row), (row.resource.qualified, row.namespace, owner.kind, owner.name)


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
