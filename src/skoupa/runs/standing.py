"""How a run stands: what of its objects is held, what fails, and what still waits for its turn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable

import msgspec

from skoupa.facts.rows import Row, Uid
from skoupa.kinds.policies.status import LastRun
from skoupa.model.reasons import REASONS
from skoupa.model.verdicts import Verdict
from skoupa.runs.run import Findings


class Standing(msgspec.Struct, frozen=True, kw_only=True):
    """`reported` would go if it was not only told of."""

    held: int = 0
    failing: int = 0
    waiting: int = 0
    reported: int = 0

    @property
    def there(self) -> int:
        """All that nobody has deleted so far."""
        return self.held + self.failing + self.waiting + self.reported

    def counts(self, found: Findings, *, deleted: int) -> LastRun:
        """As the status has it; what the policy itself could not judge has failed, what an exception spares is held."""
        return LastRun(
            matched=len(found.claimed) + len(found.spared) + len(found.unclear),
            deleted=deleted,
            held=self.held + len(found.spared),
            failed=self.failing + len(found.unclear),
        )


def standing(
    rows: Iterable[Row], *, verdict: Callable[[Row], Verdict], failing: Container[Uid], observing: bool
) -> Standing:
    """Of what a run chose and is still there; `observing`: nothing is deleted, so nothing waits."""
    held = failed = waiting = reported = 0
    for row in rows:
        if row.deleted_at:
            continue
        said = verdict(row)
        if any(not REASONS[hold.reason.code].passing for hold in said.holds):
            held += 1
        elif row.uid in failing:
            failed += 1
        elif observing or (said.claims and said.claims[0].observed):
            reported += 1
        else:
            waiting += 1
    return Standing(held=held, failing=failed, waiting=waiting, reported=reported)
