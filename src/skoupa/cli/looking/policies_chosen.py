"""What runs that are still to come would choose, put where verdicts come from, with what is known to hold it.

So a judge tells of it as of all else. What stays for a reason of the policy's own is chosen too and held by that reason; a run that a
Brake would stop is weighed here, as far as its objects are known.
"""

from __future__ import annotations

from collections.abc import Sequence

from skoupa.cli.looking.foreseen import Foreseen, chosen_ahead, run_ahead
from skoupa.cli.looking.policies_weighed import ScalesAhead
from skoupa.cli.worlds import World
from skoupa.controller.survey import Survey
from skoupa.facts.rows import Row
from skoupa.judge.policies import PolicyMechanism
from skoupa.model.reasons import Reason
from skoupa.policy.policies import Policy
from skoupa.settings import Settings


class ChosenAhead:
    """For one survey, whose judge knows of it from now on. `doubts` say what could not be weighed."""

    def __init__(
        self, world: World, survey: Survey, settings: Settings, *, mechanism: PolicyMechanism
    ) -> None:
        self._mechanism = mechanism
        self._foreseen = Foreseen()
        self._foreseen.join(survey, settings)
        self._scales = ScalesAhead(world.client, survey, settings)
        self.doubts: list[str] = []

    def stays(self, policy: Policy, row: Row, why: Reason) -> None:
        """It matches, but the policy itself spares it or can't tell."""
        self._foreseen.reasons[policy.called, row.uid] = why

    async def put(
        self,
        policy: Policy,
        moment: float,
        *,
        observed_until: float | None,
        going: Sequence[Row],
        others: Sequence[Row],
        now: float,
    ) -> tuple[str, ...]:
        """`going` are what a run would delete, `others` what stays; why a Brake would stop it."""
        observed = self._foreseen.observes(policy, moment, observed_until)
        self._mechanism.put(chosen_ahead(policy, moment, (*going, *others), observed=observed))
        if observed or not going:
            return ()
        return await self._scales.foretold(
            run_ahead(policy, moment), going, now, foreseen=self._foreseen, doubts=self.doubts
        )
