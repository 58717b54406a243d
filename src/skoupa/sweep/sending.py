"""One delete that is wanted: it waits for its turn, passes the gate, is sent, and its outcome is written down and told.

Whatever waited is judged again on the newest knowledge before it goes on. However the delete ends, the object's next look
is planned: nothing is forgotten because a request failed. Who is due is not decided here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import LeaseLost, SkoupaError, Withdrawn
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Store
from skoupa.judge.judge import Judge
from skoupa.kube.flow import RateCeiling
from skoupa.model.reasons import render
from skoupa.model.verdicts import Claim, Verdict
from skoupa.sweep.attempts import Outcome
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.gate import COUNTED, Gate
from skoupa.sweep.plan import Plan
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report
from skoupa.sweep.staying import Staying
from skoupa.sweep.unanswered import Unanswered

# A feed shows within this time that an object which the server does not find is gone.
BELIEF_SECONDS: Final = 60.0
FINISH_SECONDS: Final = 20.0
AT_ONCE_SECONDS: Final = 0.001


class Sending:
    """`put_back` says that another replica leads by now, and then has it on the agenda.

    `on_deleted` hears of every delete that was taken.
    """

    def __init__(
        self,
        plan: Plan,
        staying: Staying,
        *,
        unanswered: Unanswered,
        clock: Clock,
        store: Store,
        judge: Judge,
        deleter: Deleter,
        gate: Gate,
        record: Record,
        report: Report,
        rate: RateCeiling,
        put_back: Callable[[Uid], bool],
        on_deleted: Callable[[Row, float], None],
    ) -> None:
        self._plan = plan
        self._memory = plan.memory
        self._staying = staying
        self._unanswered = unanswered
        self._clock = clock
        self._store = store
        self._judge = judge
        self._deleter = deleter
        self._gate = gate
        self._record = record
        self._report = report
        self._rate = rate
        self._put_back = put_back
        self._on_deleted = on_deleted
        # Those with a delete on its way.
        self.tasks: set[asyncio.Task[None]] = set()

    async def in_turn(self, row: Row, claim: Claim, verdict: Verdict) -> None:
        if await self._wait_for_turn():
            await self._send(row, claim, verdict)
        else:
            # It had to wait, and knowledge goes on meanwhile.
            await self._send_if_due(row.uid)

    async def _wait_for_turn(self) -> bool:
        """Whether the rate let it pass at once."""
        asked = self._clock.monotonic()
        await self._rate.pass_one()
        return self._clock.monotonic() - asked < AT_ONCE_SECONDS

    async def _send_if_due(self, uid: Uid) -> None:
        row, now = self._store.get(uid), self._clock.now()
        if row is None or self._put_back(uid):
            return
        verdict = self._judge.verdict(row, now)
        claim = verdict.claim(now)
        if claim is None:
            self._staying.stays(row, verdict, now)
        else:
            await self._send(row, claim, verdict)

    async def _send(self, row: Row, claim: Claim, verdict: Verdict) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        now = self._clock.now()
        claims = verdict.claims
        others = [one for one in claims if one.due <= now] if len(claims) > 1 else ()
        try:
            if not await self._gate.enter(
                row, claim, still_wanted=lambda: self._still_goes(row.uid, claim), others=others
            ):
                self._staying.look_once_more(row.uid)
                return
            outcome = await self._deleter.delete(row, claim)
        except LeaseLost as error:
            self._gate.failed(row, error)
            self._staying.not_sent(row, error.message)
            self._plan.postpone(row.uid, self._clock.jitter(1.0))
        except Withdrawn as error:
            self._gate.failed(row, error)
            self._staying.not_sent(row, error.message)
            self._staying.look_once_more(row.uid)
        except SkoupaError as error:
            if self._unanswered.was_told(row.uid):
                self._gate.left(row, COUNTED)
            else:
                self._gate.failed(row, error)
            if self._store.get(row.uid) is None:
                self._gate.forget(row.uid)
            await self._staying.failed(row, claim, error)
        else:
            self._gate.left(row, self._what_counts(outcome))
            self._done(outcome)
        finally:
            self.tasks.discard(task)

    def _what_counts(self, outcome: Outcome) -> str:
        if outcome.what != "stays" and self._unanswered.was_told(outcome.row.uid):
            return COUNTED
        return outcome.what if outcome.answered else "deleted"

    def _done(self, outcome: Outcome) -> None:
        now = self._clock.now()
        row, claim = outcome.row, outcome.claim
        if outcome.what == "stays":
            assert outcome.verdict is not None
            why = "; ".join(render(hold.reason) for hold in outcome.verdict.holds)
            self._staying.not_sent(row, f"it stays: {why}")
            self._staying.stays(row, outcome.verdict, now)
            self._memory.tried(row.uid, outcome.verdict)
            self._staying.look_once_more(row.uid)
            return
        self._plan.succeeded(row.uid)
        self._memory.leaves(row.uid)
        known, told = self._store.get(row.uid) is not None, self._unanswered.was_told(row.uid)
        if outcome.what == "gone":
            if known:
                self._plan.postpone(row.uid, BELIEF_SECONDS)
            if not outcome.answered or row.uid in self._unanswered or told:
                self._unanswered.gone(row, claim)
                return
            self._record.finished(row, outcome.what)
            if not known or self._memory.tell(row.uid, outcome.what):
                self._report.gone_already(row, claim, at=now)
            return
        self._record.finished(row, outcome.what)
        self._unanswered.answered(row, terminating=outcome.what == "terminating", known=known)
        if known:
            self._plan.sent(row.uid)
        if told:
            return
        self._on_deleted(row, now)
        self._report.deleted(row, claim, at=now, terminating=outcome.what == "terminating")

    def _still_goes(self, uid: Uid, claim: Claim) -> bool:
        """By this very Claim: with another one it comes again, and is counted and recorded for that."""
        now, row = self._clock.now(), self._store.get(uid)
        return row is not None and self._judge.verdict(row, now).claim(now) == claim

    async def finish(self) -> None:
        """Waits for requests that are out; what a server never answers is not waited for."""
        sending = set(self.tasks)
        try:
            async with self._clock.timeout(FINISH_SECONDS):
                while sending:
                    _, sending = await asyncio.wait(sending)
        except TimeoutError:
            for worker in sending:
                worker.cancel()
