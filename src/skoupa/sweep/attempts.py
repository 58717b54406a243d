"""One attempt to delete an object: what is known about it while it is on its way, and what came of it.

Nothing here decides; `deleter` does.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from skoupa.facts.rows import Row
from skoupa.kube.deleted import Deleted
from skoupa.model.verdicts import Claim, Verdict


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`row` is the state that was acted on; `verdict` is set where a fresh look found that it stays.

    Not `answered`: it is gone, after a delete to which no answer came.
    """

    what: Literal["deleted", "terminating", "gone", "stays"]
    row: Row
    claim: Claim
    verdict: Verdict | None = None
    answered: bool = True


class Attempt:
    """One delete on its way: what is to go, and how old what is known about it is."""

    __slots__ = (
        "by_uid_alone",
        "claim",
        "equal",
        "intended",
        "judged",
        "keeps_looked_at",
        "looked_at",
        "row",
        "too_old",
        "too_slow",
        "unanswered",
    )

    def __init__(self, row: Row, claim: Claim, *, judged: tuple[float, int, int]) -> None:
        self.row = row
        self.claim = claim
        self.judged = judged
        self.looked_at = 0.0
        self.keeps_looked_at = 0
        self.equal = 1
        self.by_uid_alone = False
        self.intended: tuple[Claim, str] | None = None
        self.too_old = self.too_slow = self.unanswered = False

    def ended(self, what: Literal["gone", "stays"], verdict: Verdict | None = None) -> Outcome:
        answered = what != "gone" or not self.unanswered
        return Outcome(what=what, row=self.row, claim=self.claim, verdict=verdict, answered=answered)

    def sent(self, deleted: Deleted) -> Outcome:
        """The server took it."""
        if not deleted.answered:
            return Outcome(what="gone", row=self.row, claim=self.claim, answered=False)
        what: Literal["deleted", "terminating"] = "deleted" if deleted.gone else "terminating"
        return Outcome(what=what, row=self.row, claim=self.claim)
