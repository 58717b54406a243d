"""How much a Brake holds, and what an allowance for that has to be like: counted at the moment at which it is released.

Only what waits for nothing but that Brake counts. An allowance for a rule lets a run of it pass all limits, so it is for the kinds
that were held and for the rule as it was then, and for nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row
from skoupa.facts.store import Store
from skoupa.judge.brakes import holding
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.judge.judge import Judge
from skoupa.kinds.brake import Scope
from skoupa.kinds.brake_reading import Brake
from skoupa.model.reasons import REASONS
from skoupa.model.verdicts import Claim, Verdict
from skoupa.sweep.allowances import Whose
from skoupa.sweep.ceilings import Ceilings, Going, is_for
from skoupa.sweep.gate import going, rule_of

# Judging very many at once would stop everything else for a while.
_ROWS_AT_ONCE: Final = 500


class HeldCounting:
    """`weigh` counts what is in a Namespace or definition; `editions` gives the rules by name, as they are now."""

    def __init__(
        self,
        clock: Clock,
        *,
        store: Store,
        judge: Judge,
        ceilings: Ceilings,
        weigh: Callable[[Row], Awaitable[int]],
        editions: Callable[[], Mapping[str, str]],
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._ceilings = ceilings
        self._weigh = weigh
        self._editions = editions

    async def count(self, brake: Brake, *, code: str, over: set[str]) -> tuple[int, Counter[Whose]]:
        """How many objects wait for nothing but this Brake, and how much is to be allowed, by what they are.

        What was released before and is still there is in it, as far as it is allowed yet: both go now. `code` is that of the
        Holds that the Brake stands for, `over` are Brakes that hold nothing any more.
        """
        held = 0
        weights: Counter[Whose] = Counter()
        free: Counter[Going] = Counter()
        editions = self._editions()
        for number, row in enumerate(list(self._store)):
            if number % _ROWS_AT_ONCE == _ROWS_AT_ONCE - 1:
                await self._clock.sleep(0)
            verdict = self._due(row)
            if verdict is None:
                continue
            claim = verdict.claims[0]
            if not verdict.holds:
                free[going(row, claim)] += 1
            elif _waits(verdict, brake, code, over):
                held += 1
                inside = await self._weigh(row) if is_namespace(row) or is_definition(row) else 0
                weights[allowed_for(brake.scope, row, claim, editions=editions)] += 1 + inside
        for whose in weights:
            others = sum(number for one, number in free.items() if is_for(whose, one))
            weights[whose] += min(others, self._ceilings.allowed(whose))
        return held, weights

    def _due(self, row: Row) -> Verdict | None:
        now = self._clock.now()
        due = self._judge.due(row, now)
        if due is None or due > now or row.deleted_at:
            return None
        verdict = self._judge.verdict(row, now)
        return verdict if verdict.claims else None


def allowed_for(scope: Scope, row: Row, claim: Claim, *, editions: Mapping[str, str]) -> Whose:
    """The narrowest that has all of what such a Brake holds and is like this object."""
    kind = row.resource.qualified if scope.kind is not None else ""
    mechanism: str = scope.mechanism or ""
    if scope.policy is not None:
        rule = rule_of(claim.mechanism, claim.rule)
        if rule:
            return Whose("rule", rule, row.resource.qualified, mechanism, editions.get(claim.rule, ""))
        mechanism = claim.mechanism
    if scope.namespace is not None:
        return Whose("namespace", scope.namespace, kind, mechanism)
    return Whose("all", "", kind, mechanism)


def _waits(verdict: Verdict, brake: Brake, code: str, over: set[str]) -> bool:
    """For nothing but this Brake, those that are over, and what passes within moments."""
    lasting = (hold for hold in verdict.holds if not REASONS[hold.reason.code].passing)
    holds = [hold for hold in lasting if holding(hold) not in over]
    return bool(holds) and all(
        hold.reason.code == code if code else holding(hold) == brake.name for hold in holds
    )
