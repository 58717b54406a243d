"""Objects that come back: a controller or a GitOps tool creates anew what a label lets go.

A label that is copied from a template can start a loop of deleting and re-creating. After a few rounds the next try
waits, each time twice as long up to an hour, and the wait is shown as a Hold.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

FREE_ROUNDS: Final = 3
FIRST_WAIT_SECONDS: Final = 60
LONGEST_WAIT_SECONDS: Final = 3600
# A round that takes longer than this is no loop.
_ROUND_SECONDS: Final = 2 * LONGEST_WAIT_SECONDS
_REMEMBERED: Final = 20_000


class _Rounds(msgspec.Struct):
    count: int
    deleted_at: float
    uid: Uid


class Recreations:
    def __init__(self) -> None:
        self._rounds: OrderedDict[tuple[str, str, str], _Rounds] = OrderedDict()

    def deleted(self, row: Row, now: float) -> None:
        key = (row.resource.qualified, row.namespace, row.name)
        known = self._rounds.pop(key, None)
        again = known is not None and known.uid != row.uid and now - known.deleted_at < _ROUND_SECONDS
        count = known.count + 1 if known is not None and again else 1
        self._rounds[key] = _Rounds(count, now, row.uid)
        if len(self._rounds) > _REMEMBERED:
            self._rounds.popitem(last=False)

    def hold(self, row: Row, now: float) -> Hold | None:
        known = self._rounds.get((row.resource.qualified, row.namespace, row.name))
        if known is None or known.uid == row.uid or known.count < FREE_ROUNDS:
            return None
        wait = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2 ** min(known.count - FREE_ROUNDS, 20))
        until = known.deleted_at + wait
        if until <= now:
            return None
        told = reason("re-created", count=known.count, until=whole_seconds(until))
        return Hold(reason=told, until=until)
