"""What of a deleted tenant may go now is claimed, shown to the judge, and heard of: here nothing is decided and nothing deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.tenancy.deletion import Deletion
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.facts.store import Delta
from skoupa.judge.tenants import NAME, TenantMechanism
from skoupa.model.reasons import REASONS, render
from skoupa.model.verdicts import Claim
from skoupa.runs.overhearing import Overhearing
from skoupa.runs.showing import Showing
from skoupa.sweep.memory import FAILING, Memory


class TenantClaims:
    """`deletions` are those under way, by uid; `woken` is set when something of one was deleted or is gone."""

    def __init__(
        self,
        clock: Clock,
        mechanism: TenantMechanism,
        *,
        knowledge: Knowledge,
        overhearing: Overhearing,
        memory: Callable[[], Memory],
        deletions: Mapping[str, Deletion],
        learn: Callable[[Sequence[Delta]], None],
        look_at: Callable[[Iterable[Uid]], None],
        woken: asyncio.Event,
    ) -> None:
        self._clock = clock
        self._mechanism = mechanism
        self._knowledge = knowledge
        self._memory = memory
        self._deletions = deletions
        self._learn = learn
        self._look_at = look_at
        self._woken = woken
        self._showing = Showing(knowledge.store, knowledge.extraction)
        self._others_deleted, overhearing.on_deleted = overhearing.on_deleted, self._deleted
        self._others_gone, overhearing.on_gone = overhearing.on_gone, self._gone

    def put(self, deletion: Deletion) -> None:
        """In the place of what was claimed of it before."""
        claimed = deletion.claimed()
        rows = [self._showing.row(one.resource, one.metadata) for one in claimed]
        left = self._mechanism.put(deletion.claims())
        deltas = [*self._showing.show(rows), *self._showing.hide(left)]
        if deltas:
            self._learn(deltas)
        self._look_at([row.uid for row in rows if uid_text(row.uid) not in deletion.sent])

    def drop(self, deletion: Deletion) -> None:
        """Nothing of it goes any more."""
        left = self._mechanism.drop(deletion.tenant.name)
        deltas = self._showing.hide(left)
        if deltas:
            self._learn(deltas)

    def held(self, uid: Uid) -> str:
        """What keeps it, in words, where that is no matter of moments; also that its deletes fail."""
        memory = self._memory()
        known = memory.overdue.get(uid)
        row = self._knowledge.store.get(uid)
        if known is None or row is None:
            return ""
        if known[1] == FAILING:
            said = memory.failures.words(uid)
            return f"its delete fails and is tried again: {said or 'the log says why'}"
        verdict = self._knowledge.verdict(row, self._clock.now())
        holds = [hold.reason for hold in verdict.holds] or list(memory.found.get(uid, ()))
        lasting = [one for one in holds if not REASONS[one.code].passing]
        return "; ".join(map(render, lasting))

    def _deleted(self, row: Row, claim: Claim, at: float) -> None:
        self._others_deleted(row, claim, at)
        self._heard(row, claim)

    def _gone(self, row: Row, claim: Claim) -> None:
        self._others_gone(row, claim)
        self._heard(row, claim)

    def _heard(self, row: Row, claim: Claim) -> None:
        if claim.mechanism != NAME:
            return
        for deletion in self._deletions.values():
            if deletion.tenant.rule == claim.rule:
                deletion.heard(uid_text(row.uid))
                self._woken.set()
