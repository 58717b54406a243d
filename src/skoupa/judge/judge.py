"""The one place where it is decided whether an object goes: all Claims on one side, all Holds on the other."""

from __future__ import annotations

from collections.abc import Sequence

from skoupa.facts.rows import Row
from skoupa.judge.mechanism import Guard, LastGuard, Mechanism
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import NOTHING, Claim, Hold, Verdict


class Judge:
    def __init__(self, mechanisms: Sequence[Mechanism], guards: Sequence[Guard]) -> None:
        self.mechanisms = tuple(mechanisms)
        self._guards = tuple(guards)
        self._last: tuple[LastGuard, ...] = ()

    def join(self, guard: Guard) -> None:
        """One that has to know the others first."""
        self._guards = (*self._guards, guard)

    def join_last(self, guard: LastGuard) -> None:
        """One that is asked after all the others."""
        self._last = (*self._last, guard)

    def verdict(self, row: Row, now: float) -> Verdict:
        answers = [mechanism.answer(row, now) for mechanism in self.mechanisms]
        claims = sorted((claim for answer in answers for claim in answer.claims), key=lambda claim: claim.due)
        notes = tuple(note for answer in answers for note in answer.notes)
        if not claims:
            return Verdict(notes=notes) if notes else NOTHING
        shared = [hold for answer in answers for hold in answer.holds]
        holds = self._against(row, claims[0], now, shared)
        if len(claims) > 1 and (holds or claims[0].observed or claims[0].due > now):
            return self._of_several(row, now, claims, shared, notes)
        return Verdict(claims=tuple(claims), holds=tuple(holds), notes=notes)

    def _of_several(
        self, row: Row, now: float, claims: list[Claim], shared: list[Hold], notes: tuple[Reason, ...]
    ) -> Verdict:
        """What holds one rule does not hold another: the first Claim that is due and free decides.

        One that only reports decides where no other may act; where none is free, the earliest that would act.
        """
        ordered = sorted(claims, key=lambda claim: claim.observed)
        held = {}
        for claim in ordered:
            if claim.due <= now:
                held[claim] = self._against(row, claim, now, shared)
                if not held[claim]:
                    return _deciding(claim, claims, [], notes)
        first = ordered[0]
        holds = held[first] if first in held else self._against(row, first, now, shared)
        return _deciding(first, claims, holds, notes)

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        """What the guards say against a Claim, be it made or only supposed."""
        return self._against(row, claim, now, [])

    def _against(self, row: Row, claim: Claim, now: float, shared: list[Hold]) -> list[Hold]:
        found = [*shared, *(hold for guard in self._guards for hold in guard.holds(row, claim, now))]
        for guard in self._last:
            found += guard.holds_last(row, claim, now, others=found)
        return found

    def due(self, row: Row, now: float) -> float | None:
        """When the first Claim is due; cheap, for planning when to look."""
        dues = (mechanism.due(row, now) for mechanism in self.mechanisms)
        return min((due for due in dues if due is not None), default=None)


def _deciding(claim: Claim, claims: list[Claim], holds: Sequence[Hold], notes: tuple[Reason, ...]) -> Verdict:
    others = (other for other in claims if other is not claim)
    return Verdict(claims=(claim, *others), holds=tuple(holds), notes=notes)
