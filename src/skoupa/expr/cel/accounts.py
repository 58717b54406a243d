"""What runs have taken of the children, and which expressions turned out slow.

A run has one Account: its batches take turns among themselves, and when it is used up the rest of the run has no
answer, so that every run ends. Slowness is remembered by the expressions: who mends a policy begins anew.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Final

from skoupa.expr.cel.messages import Source

_MOST_REMEMBERED: Final = 1024


class Account:
    """Of one run. `spent` is in seconds; `closed` says why nothing more is judged for it, empty while something is.

    `interrupted`: something had no answer because somebody else ended a child.
    """

    def __init__(self) -> None:
        self.spent = 0.0
        self.closed = ""
        self.interrupted = False
        # However many lists it reads at once, a run stands in line with one batch.
        self.turn = asyncio.Lock()


class _Pace:
    def __init__(self, account: Account) -> None:
        self.account = account
        self.seconds = 0.0
        self.before = 0.0


class Paces:
    """How long the runs of expressions take a child: the present one, and those before it, less and less."""

    def __init__(self, *, slow_seconds: float) -> None:
        self._slow_seconds = slow_seconds
        self._known: OrderedDict[Source, _Pace] = OrderedDict()

    def slow(self, source: Source, account: Account) -> bool:
        pace = self._of(source, account)
        return max(pace.seconds, pace.before) >= self._slow_seconds

    def took(self, source: Source, account: Account, *, seconds: float) -> None:
        self._of(source, account).seconds += seconds

    def _of(self, source: Source, account: Account) -> _Pace:
        pace = self._known.setdefault(source, _Pace(account))
        if pace.account is not account:
            # Another look at a single object says little of the next run.
            pace.before = max(pace.seconds, pace.before / 2)
            pace.account, pace.seconds = account, 0.0
        self._known.move_to_end(source)
        if len(self._known) > _MOST_REMEMBERED:
            self._known.popitem(last=False)
        return pace
