"""The one place where it is decided whether an object goes: all Claims on one side, all Holds on the other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from skoupa.facts.rows import Row
from skoupa.judge.mechanism import Guard, LastGuard, Mechanism
from skoupa.model.reasons import Reason
from skoupa.model.verdicts import NOTHING, Beside, Claim, Hold, Question, Verdict

_Against = tuple[list[Hold], tuple[Question, ...]]


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
        claims, shared, notes = self._answers(row, now)
        if not claims:
            return Verdict(notes=notes) if notes else NOTHING
        holds, questions = self._against(row, claims[0], now, shared)
        if len(claims) > 1 and (holds or claims[0].observed or claims[0].due > now):
            return self._of_several(row, now, claims, shared, notes)
        return Verdict(claims=tuple(claims), holds=tuple(holds), notes=notes, questions=questions)

    def _answers(self, row: Row, now: float) -> tuple[list[Claim], list[Hold], tuple[Reason, ...]]:
        """All Claims by their time, the Holds against any of them, and what is to be said."""
        claims: list[Claim] = []
        holds: list[Hold] = []
        notes: tuple[Reason, ...] = ()
        for mechanism in self.mechanisms:
            answer = mechanism.answer(row, now)
            claims += answer.claims
            holds += answer.holds
            notes += answer.notes
        claims.sort(key=_due)
        return claims, holds, notes

    def _of_several(
        self, row: Row, now: float, claims: list[Claim], shared: list[Hold], notes: tuple[Reason, ...]
    ) -> Verdict:
        """What holds one rule does not hold another: the first Claim that is due and free decides.

        One that only reports decides where no other is due: what another would take and may not is held, whatever this one says.
        """
        due = [claim for claim in claims if claim.due <= now]
        acting = [claim for claim in due if not claim.observed]
        held: dict[Claim, _Against] = {}
        for claim in (*acting, *(claim for claim in due if claim.observed)):
            held[claim] = self._against(row, claim, now, shared)
            if not held[claim][0] and not (claim.observed and acting):
                return _deciding(claim, claims, held, notes)
        first = min(claims, key=lambda claim: claim.observed)
        if first not in held:
            held[first] = self._against(row, first, now, shared)
        return _deciding(first, claims, held, notes)

    def foresee(self, row: Row, now: float) -> Verdict:
        """As `verdict`, for who asks about the future: where one Claim is held, it may go by one that is still to come."""
        found = self.verdict(row, now)
        to_come = [claim for claim in found.claims[1:] if claim.due > now and not claim.observed]
        if not found.holds or not to_come:
            return found
        _, shared, _ = self._answers(row, now)
        ahead = [
            _deciding(claim, [claim], {claim: self._against(row, claim, now, shared)}, ())
            for claim in to_come
        ]
        first = min((found, *ahead), key=_goes)
        if first is found:
            return found
        claim, held = first.claims[0], Beside(claim=found.claims[0], holds=found.holds)
        return Verdict(
            claims=(claim, *(other for other in found.claims if other is not claim)),
            holds=first.holds,
            notes=found.notes,
            questions=(*found.questions, *first.questions),
            beside=(held, *found.beside),
        )

    def each(self, row: Row, now: float) -> list[tuple[Claim, list[Hold]]]:
        """All Claims by which it would go now, each with what stands against it."""
        claims, shared, _ = self._answers(row, now)
        acting = [claim for claim in claims if claim.due <= now and not claim.observed]
        return [(claim, self._against(row, claim, now, shared)[0]) for claim in acting]

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        """What the guards say against a Claim, be it made or only supposed."""
        return self._against(row, claim, now, [])[0]

    def _against(self, row: Row, claim: Claim, now: float, shared: list[Hold]) -> _Against:
        found = shared.copy()
        for guard in self._guards:
            found += guard.holds(row, claim, now)
        questions: tuple[Question, ...] = ()
        for last in self._last:
            word = last.last_word(row, claim, now, others=found)
            found += word.holds
            questions += word.questions
        return found, questions

    def due(self, row: Row, now: float) -> float | None:
        """When the first Claim is due; cheap, for planning when to look."""
        dues = (mechanism.due(row, now) for mechanism in self.mechanisms)
        return min((due for due in dues if due is not None), default=None)


def _due(claim: Claim) -> float:
    return claim.due


def _goes(verdict: Verdict) -> float:
    return math.inf if verdict.goes is None else verdict.goes


def _deciding(
    claim: Claim, claims: list[Claim], held: Mapping[Claim, _Against], notes: tuple[Reason, ...]
) -> Verdict:
    """What has to be asked is so for each Claim, whichever decides."""
    holds = tuple(held[claim][0])
    beside = (Beside(claim=one, holds=tuple(found)) for one, (found, _) in held.items() if one is not claim)
    return Verdict(
        claims=(claim, *(other for other in claims if other is not claim)),
        holds=holds,
        notes=notes,
        questions=tuple(question for _, asked in held.values() for question in asked),
        beside=tuple(beside) if holds else (),
    )
