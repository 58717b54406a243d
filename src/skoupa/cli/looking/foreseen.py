"""What is known of runs that are still to come: why some of what they match stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import Run
from skoupa.judge.policies import NAME, Chosen, PolicyGuard
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold

if TYPE_CHECKING:
    from skoupa.controller.survey import Survey
    from skoupa.policy.policies import Policy
    from skoupa.settings import Settings


class Foreseen:
    """A guard: what no other can know of a run before it begins. All by the name of the policy."""

    def __init__(self) -> None:
        self.reasons: dict[tuple[str, Uid], Reason] = {}
        self.brakes: dict[str, str] = {}
        # Until when each only reports, and when it acts for the first time after that.
        self.observing: dict[str, tuple[float, float | None]] = {}

    def join(self, survey: Survey, settings: Settings) -> None:
        """What policies choose is held by this from now on, and by a TTL that is still to come."""
        ttl = TtlMechanism(settings) if settings.policies.respect_ttl else None
        survey.knowledge.judge.join(PolicyGuard(ttl, doubt=lambda _: ""))
        survey.knowledge.judge.join(self)

    def observes(self, policy: Policy, moment: float, until: float | None) -> bool:
        """Whether a policy that only reports `until` then does so at that run; if so it is kept in mind."""
        if until is None or until <= moment:
            return False
        # The first tick that is not before the end.
        self.observing[policy.called] = (until, policy.schedule.following(until - 1))
        return True

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


def run_ahead(policy: Policy, moment: float) -> Run:
    return Run(
        mechanism=NAME,
        rule=policy.called,
        name=f"{policy.called}@{whole_seconds(moment)}",
        generation=policy.generation,
        most=policy.options.max_deletions or None,
    )


def chosen_ahead(policy: Policy, moment: float, rows: Iterable[Row], *, observed: bool) -> Chosen:
    """What a run that is still to come chooses, with what stays for a reason of the policy's own."""
    return Chosen(
        run=run_ahead(policy, moment),
        due=moment,
        propagation=policy.propagation,
        observed=observed,
        foreseen=True,
        versions={row.uid: row.version for row in rows},
    )
