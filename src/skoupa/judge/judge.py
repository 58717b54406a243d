"""The one place where it is decided whether an object goes: all Claims on one side, all Holds on the other."""

from __future__ import annotations

from collections.abc import Sequence

from skoupa.facts.rows import Row
from skoupa.judge.mechanism import Guard, Mechanism
from skoupa.model.verdicts import NOTHING, Claim, Hold, Verdict


class Judge:
    def __init__(self, mechanisms: Sequence[Mechanism], guards: Sequence[Guard]) -> None:
        self.mechanisms = tuple(mechanisms)
        self._guards = tuple(guards)

    def verdict(self, row: Row, now: float) -> Verdict:
        answers = [mechanism.answer(row, now) for mechanism in self.mechanisms]
        claims = sorted((claim for answer in answers for claim in answer.claims), key=lambda claim: claim.due)
        notes = tuple(note for answer in answers for note in answer.notes)
        if not claims:
            return Verdict(notes=notes) if notes else NOTHING
        holds = [hold for answer in answers for hold in answer.holds]
        holds += self.holds(row, claims[0], now)
        return Verdict(claims=tuple(claims), holds=tuple(holds), notes=notes)

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        """What the guards say against a Claim, be it made or only supposed."""
        return [hold for guard in self._guards for hold in guard.holds(row, claim, now)]

    def due(self, row: Row, now: float) -> float | None:
        """When the first Claim is due; cheap, for planning when to look."""
        dues = (mechanism.due(row, now) for mechanism in self.mechanisms)
        return min((due for due in dues if due is not None), default=None)
