"""The runs of rules that were weighed: what was admitted of each, what of it went, and the Brake that stopped it.

A run that was interrupted comes again under its name, after a restart as within one process. What went of it by then counts until
another run of its rule has begun, or for an hour: so long it is known from the ledger too.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from skoupa.clock import Clock
from skoupa.facts.rows import Uid
from skoupa.ledger.rows import Tally
from skoupa.sweep.ceilings import HOUR
from skoupa.sweep.weighing import Part

Key = tuple[str, str]


class Weighed(msgspec.Struct):
    """One run. `before` went before this process led; `left_at` is since when it claims nothing."""

    admitted: dict[Uid, Part] = msgspec.field(default_factory=dict)
    before: list[Part] = msgspec.field(default_factory=list)
    weighed: bool = False
    stopped_by: str = ""
    # Why it could not be weighed.
    trouble: str = ""
    left_at: float | None = None


class WeighedRuns:
    """By rule and name of the run."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._runs: dict[Key, Weighed] = {}

    def get(self, key: Key) -> Weighed | None:
        return self._runs.get(key)

    def of(self, key: Key) -> Weighed:
        return self._runs.setdefault(key, Weighed())

    @property
    def any_stopped(self) -> bool:
        return any(known.stopped_by for known in self._runs.values())

    def take_over(self, tallies: Iterable[Tally]) -> None:
        """Nothing is known but what the ledger says went."""
        self._runs = {}
        # Very many are alike.
        parts: dict[Part, Part] = {}
        for tally in tallies:
            if tally.run:
                part = Part(kind=tally.resource, namespace=tally.namespace, unnamed=max(0, tally.weight - 1))
                known = self.of((tally.rule, tally.run))
                known.before.append(parts.setdefault(part, part))
                known.left_at = self._clock.monotonic()

    def begun(self, keys: set[Key]) -> set[str]:
        """These may claim something now; which rules were stopped and claim nothing any more."""
        rules = {rule for rule, _ in keys}
        ended: set[str] = set()
        for key, known in list(self._runs.items()):
            if key in keys:
                known.left_at = None
                continue
            if known.stopped_by and key[0] not in rules:
                ended.add(key[0])
            if key[0] in rules or not self._may_come_again(known):
                del self._runs[key]
        return ended

    def _may_come_again(self, known: Weighed) -> bool:
        now = self._clock.monotonic()
        known.weighed, known.stopped_by = False, ""
        known.left_at = now if known.left_at is None else known.left_at
        return bool(known.admitted or known.before) and now < known.left_at + HOUR
