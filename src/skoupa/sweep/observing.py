"""Observing, all of it or one rule: what would go is told, after the same look around as before a delete, and nothing is sent."""

from __future__ import annotations

from typing import Final

from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.facts.store import Store
from skoupa.judge.judge import Judge
from skoupa.model.verdicts import Claim, Verdict
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.plan import Plan
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report
from skoupa.sweep.staying import Staying

OBSERVE_AGAIN_SECONDS: Final = 300.0


class Observing:
    def __init__(
        self,
        plan: Plan,
        staying: Staying,
        *,
        clock: Clock,
        store: Store,
        judge: Judge,
        deleter: Deleter,
        record: Record,
        report: Report,
    ) -> None:
        self._plan = plan
        self._memory = plan.memory
        self._staying = staying
        self._clock = clock
        self._store = store
        self._judge = judge
        self._deleter = deleter
        self._record = record
        self._report = report

    async def tell(self, row: Row, claim: Claim) -> None:
        """Tells what would go, after the same fresh look as before a delete; what was told is not looked into again."""
        if self._memory.last_told(row.uid) == claim:
            self._memory.would_go(row.uid, claim.due)
            if row.uid in self._memory.tried_since:
                self._write(row, claim)
            return
        around: Verdict | SkoupaError | None
        try:
            around = await self._deleter.around(row, claim)
        except SkoupaError as error:
            around = error
        now, newest = self._clock.now(), self._store.get(row.uid)
        if newest is None:
            return
        verdict = self._judge.verdict(newest, now)
        if verdict.reported(now) is None:
            self._staying.stays(newest, verdict, now)
        elif verdict.reported(now) != claim:
            self._plan.add(now, row.uid)
        elif isinstance(around, SkoupaError):
            self._memory.failed(row.uid, claim.due)
            self._memory.failures.note(row, around, at=now)
            self._plan.try_again(row.uid)
        elif around is not None:
            self._plan.succeeded(row.uid)
            self._staying.stays(newest, around, now)
            self._memory.tried(row.uid, around)
            # What holds it was found beside the feeds: nobody announces its end, and looking is not cheap.
            self._plan.postpone(row.uid, OBSERVE_AGAIN_SECONDS)
        else:
            self._plan.succeeded(row.uid)
            self._memory.would_go(row.uid, claim.due)
            self._memory.tell(row.uid, claim)
            self._report.would_delete(newest, claim, at=now)
            self._write(newest, claim)

    def _write(self, row: Row, claim: Claim) -> None:
        if self._record.would_delete(row, claim):
            self._memory.tried_since.discard(row.uid)
        else:
            self._memory.tried_since.add(row.uid)

    async def tell_beside(self, row: Row, claim: Claim) -> None:
        """Tells of a rule that only reports what it would do, where the object is held for another one.

        There is one row for each object, and it says that it is held. What could not be looked at is told at the next look.
        """
        if claim in self._memory.beside.get(row.uid, ()):
            return
        try:
            around = await self._deleter.around(row, claim)
        except SkoupaError:
            return
        now, newest = self._clock.now(), self._store.get(row.uid)
        if newest is None or around is not None:
            return
        if claim in self._judge.verdict(newest, now).told_beside():
            self._memory.tell_beside(row.uid, claim)
            self._report.would_delete(newest, claim, at=now)
