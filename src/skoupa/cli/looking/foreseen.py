"""What is known of runs that are still to come: why some of what they match stays."""

from __future__ import annotations

from collections.abc import Iterator

from skoupa.facts.rows import Row, Uid
from skoupa.judge.policies import NAME
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold


class Foreseen:
    """A guard: what no other can know of a run before it begins. All by the name of the policy."""

    def __init__(self) -> None:
        self.reasons: dict[tuple[str, Uid], Reason] = {}
        self.brakes: dict[str, str] = {}
        # Until when each only reports, and when it acts for the first time after that.
        self.observing: dict[str, tuple[float, float | None]] = {}

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:  # noqa: ARG002 - known for that run
        if claim.mechanism != NAME:
            return
        own = self.reasons.get((claim.rule, row.uid))
        if own is not None:
            yield Hold(reason=own)
        if claim.rule in self.observing:
            until, first = self.observing[claim.rule]
            told = reason("policy-observes", policy=claim.rule, until=whole_seconds(until))
            yield Hold(reason=told, until=first)
        elif claim.rule in self.brakes and own is None:
            yield Hold(reason=reason("run-would-brake", why=self.brakes[claim.rule]))
