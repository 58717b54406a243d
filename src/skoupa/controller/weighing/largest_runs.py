"""The largest run of each rule so far, kept across restarts, so that a surge is seen.

Counted anew for each generation of the rule, and for a rule that was made anew. Written once for all runs that were weighed
together: a thousand policies may be due in one minute.
"""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec

from skoupa.controller.state import LARGEST_RUNS, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.judge.mechanism import Run

# A ConfigMap holds a megabyte, and not all of it is ours.
_MOST_RULES: Final = 4000


class _Largest(msgspec.Struct, frozen=True, array_like=True):
    """Of the runs while the rule was this one, and its spec of this generation."""

    generation: int
    weight: int
    uid: str = ""


class LargestRuns:
    """`writes`: whether anything is written at all; an observer leaves no trace."""

    def __init__(self, state: State, *, writes: bool) -> None:
        self._state = state
        self._writes = writes
        self._known: dict[str, _Largest] = {}
        self.unwritten = False

    def read(self) -> None:
        """As the one wrote it who led before."""
        self._known = self._state.get(LARGEST_RUNS, dict[str, _Largest]) or {}
        self.unwritten = False

    def of(self, run: Run) -> int | None:
        """What the largest weighed; None: there was none of this rule in this generation."""
        known = self._known.get(run.rule)
        if known is None or (known.generation, known.uid) != (run.generation, run.uid):
            return None
        return known.weight

    def remember(self, run: Run, weight: int) -> None:
        before = self.of(run)
        if before is not None and weight <= before:
            return
        self._known.pop(run.rule, None)
        self._known[run.rule] = _Largest(run.generation, weight, run.uid)
        for rule in list(self._known)[: max(0, len(self._known) - _MOST_RULES)]:
            del self._known[rule]
        self.unwritten = self._writes

    async def write(self) -> SkoupaError | None:
        """What kept it from being written; it is tried again with the next."""
        if not self.unwritten:
            return None
        self.unwritten = False
        try:
            await self._state.put(LARGEST_RUNS, self._known)
        except Forbidden:
            # Who may write no state has none after a restart either.
            return None
        except SkoupaError as error:
            self.unwritten = True
            return error
        except asyncio.CancelledError:
            self.unwritten = True
            raise
        return None
