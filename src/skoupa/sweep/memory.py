"""What was said of objects that are still there, so that it is said once, and which of them are overdue and why.

Everything here is about objects that exist; who is gone is forgotten. Nothing here decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from skoupa.facts.rows import Uid
from skoupa.judge.brakes import holding
from skoupa.model.reasons import REASONS, Reason
from skoupa.model.verdicts import Claim, Hold, Verdict
from skoupa.sweep.failures import Failures

# In the place of a reason's code: nothing holds it, but its deletes fail.
FAILING: Final = "failing"
# Nor does anything hold this one: it waits for others that hang.
HANGING: Final = "hanging"
# Nor this one, but that nothing is deleted here.
OBSERVING: Final = "observing"
# Holds that a Brake in the cluster stands for.
BACKLOGS: Final = frozenset({"first-start-backlog", "retroactive-label"})


class Stuck(msgspec.Struct, frozen=True):
    """What was told to keep an object that was deleted, and when that is told again, the time after twice as long."""

    finalizers: tuple[str, ...]
    again: float
    distance: float


class Memory:
    def __init__(self) -> None:
        # Due objects that stay: since when they are due, and the code of what holds them.
        self.overdue: dict[Uid, tuple[float, str]] = {}
        # The names of the Brakes that hold them, where nothing else does.
        self.braked: dict[Uid, tuple[str, ...]] = {}
        # What holds those that only a try found to be held: no judgement knows it.
        self.found: dict[Uid, tuple[Reason, ...]] = {}
        # Their rows speak of a try that failed, or could not be written: what was told before has to be written again.
        self.tried_since: set[Uid] = set()
        # The due time that was announced ahead.
        self.noticed: dict[Uid, float] = {}
        # It was time to announce it, but something held it.
        self.unnoticed: set[Uid] = set()
        self.remarked: dict[Uid, tuple[Reason, ...]] = {}
        # Claims that only report and were told of, where another decides.
        self.beside: dict[Uid, tuple[Claim, ...]] = {}
        self.reconsidering: set[Uid] = set()
        # Those that finalizers keep for long after their delete.
        self.stuck: dict[Uid, Stuck] = {}
        self.failures = Failures()
        self._told: dict[Uid, object] = {}

    def stays(self, uid: Uid, verdict: Verdict) -> None:
        """It is overdue and held."""
        assert verdict.due is not None
        passing = all(REASONS[hold.reason.code].passing for hold in verdict.holds)
        if passing and self.overdue.get(uid, (0.0, ""))[1] == FAILING:
            # It is looked at in between two tries, and not known to go now.
            return
        self.overdue[uid] = (verdict.due, verdict.holds[0].reason.code)
        self.found.pop(uid, None)
        names = (holding(hold) for one in verdict.held() if waits_for_a_brake(one) for hold in one.holds)
        brakes = tuple(dict.fromkeys(name for name in names if name))
        if brakes:
            self.braked[uid] = brakes
        else:
            self.braked.pop(uid, None)

    def tried(self, uid: Uid, verdict: Verdict) -> None:
        """It stays, as a try found out."""
        if uid in self.overdue:
            reasons = tuple(hold.reason for hold in verdict.holds)
            # Often it is the same for very many.
            last = next(reversed(self.found.values()), ())
            self.found[uid] = last if reasons == last else reasons

    def waits(self, uid: Uid, due: float) -> None:
        """It is overdue, and may not be tried now because others hang; one that failed itself is still failing."""
        self.braked.pop(uid, None)
        if self.overdue.get(uid, (due, ""))[1] != FAILING:
            self.overdue[uid] = (due, HANGING)

    def failed(self, uid: Uid, due: float) -> None:
        """It is overdue, nothing holds it, and its delete failed."""
        self.overdue[uid] = (due, FAILING)
        self.found.pop(uid, None)
        self.braked.pop(uid, None)

    def would_go(self, uid: Uid, due: float) -> None:
        """It is overdue, and only not deleted because it is observed."""
        self.overdue[uid] = (due, OBSERVING)
        self.found.pop(uid, None)
        self.braked.pop(uid, None)

    def leaves(self, uid: Uid) -> None:
        """Its delete was sent, or it is gone: nothing holds it any more."""
        self.overdue.pop(uid, None)
        self.found.pop(uid, None)
        self.braked.pop(uid, None)
        self.failures.forget(uid)

    def fails(self) -> tuple[int, str]:
        """How many are overdue because their deletes fail, and what most of these are told."""
        return self.failures.most_frequent(lambda uid: self.overdue.get(uid, (0.0, ""))[1] == FAILING)

    def tell(self, uid: Uid, what: object) -> bool:
        """Whether this is news: what an overdue object was last said to be waiting for."""
        news = self._told.get(uid) != what
        self._told[uid] = what
        return news

    def last_told(self, uid: Uid) -> object:
        return self._told.get(uid)

    def tell_beside(self, uid: Uid, claim: Claim) -> None:
        """This is said of it too, though another Claim decides."""
        others = (one for one in self.beside.get(uid, ()) if one.rule != claim.rule)
        self.beside[uid] = (*others, claim)

    def remark(self, uid: Uid, said: tuple[Reason, ...]) -> bool:
        news = bool(said) and self.remarked.get(uid) != said
        if said:
            self.remarked[uid] = said
        else:
            self.remarked.pop(uid, None)
        return news

    def to_reconsider(self) -> Iterator[Uid]:
        """Objects that were held, but those that are going to be looked at anyway."""
        for uid in (*self.overdue, *self.unnoticed):
            if uid not in self.reconsidering:
                self.reconsidering.add(uid)
                yield uid
        self.unnoticed.clear()

    def not_overdue(self, uid: Uid) -> None:
        self.leaves(uid)
        self._told.pop(uid, None)
        self.beside.pop(uid, None)

    def forget(self, uid: Uid) -> None:
        self.not_overdue(uid)
        self.noticed.pop(uid, None)
        self.unnoticed.discard(uid)
        self.tried_since.discard(uid)
        self.remarked.pop(uid, None)
        self.reconsidering.discard(uid)
        self.stuck.pop(uid, None)


def waits_for_a_brake(verdict: Verdict) -> bool:
    """Whether the Claim that decides waits for one, and for nothing that is no Brake."""
    return any(map(holding, verdict.holds)) and all(map(_ends_with_a_brake, verdict.holds))


def is_braked(verdict: Verdict) -> bool:
    """Whether that is what the history says of it: a backlog is a Brake too, though it holds object by object."""
    held = any(holding(hold) or hold.reason.code in BACKLOGS for hold in verdict.holds)
    return held and all(map(_ends_with_a_brake, verdict.holds))


def _ends_with_a_brake(hold: Hold) -> bool:
    """Backlogs are shown as Brakes; what passes within moments holds nothing for long."""
    code = hold.reason.code
    return bool(holding(hold)) or code in BACKLOGS or REASONS[code].passing
