"""Brings due objects to the deleter and never forgets one.

Every object that is due is judged again on the newest knowledge before anything is sent. What was refused or failed is
tried again for ever, with a back-off that never exceeds 45 s: whatever stood in the way, the object goes within a
minute of its removal. A fixed number of workers share one bounded queue; there is no task per object.
Stopping finishes what is under way and starts nothing new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import Forbidden, LeaseLost, LedgerUnavailable, SkoupaError, Withdrawn
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Store
from skoupa.judge.judge import Judge
from skoupa.kube.flow import RateCeiling
from skoupa.model.reasons import REASONS, gist, problems, render
from skoupa.model.verdicts import Claim, Verdict
from skoupa.sweep.deleter import Deleter, Outcome
from skoupa.sweep.gate import Gate
from skoupa.sweep.plan import Plan
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report

STANDBY_SECONDS: Final = 0.2
# A feed shows within this time that an object which the server does not find is gone.
BELIEF_SECONDS: Final = 60.0
OBSERVE_AGAIN_SECONDS: Final = 300.0
FINISH_SECONDS: Final = 20.0
AT_ONCE_SECONDS: Final = 0.001


class Sweeper:
    """`standing_by`: another replica leads, so nothing leaves the agenda. `observing`: judged and told, not deleted.

    `refused` learns of a 403 and says whether it is a missing right; `on_deleted` hears of every delete that was taken;
    `look_closer` gives a row that is stuck with everything in its `finalizers` that it waits for; `on_lead` is what has
    to be done each time before anything is swept.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        store: Store,
        judge: Judge,
        deleter: Deleter,
        gate: Gate,
        record: Record,
        report: Report,
        rate: RateCeiling,
        stuck_after: float,
        workers: int,
        observing: bool,
        standing_by: Callable[[], bool],
        on_deleted: Callable[[Row, float], None],
        refused: Callable[[Row], Awaitable[bool]],
        look_closer: Callable[[Row], Awaitable[Row]],
        on_lead: Callable[[], Awaitable[None]],
        notice_before: Callable[[Row], float] = lambda _: 0.0,
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._deleter = deleter
        self._gate = gate
        self._record = record
        self._report = report
        self._rate = rate
        self._stuck_after = stuck_after
        self._workers = workers
        self._observing = observing
        self._standing_by = standing_by
        self._on_deleted = on_deleted
        self._refused = refused
        self._look_closer = look_closer
        self._on_lead = on_lead
        self._notice_before = notice_before
        self._plan = Plan(
            clock=clock,
            store=store,
            judge=judge,
            stuck_after=stuck_after,
            observing=observing,
            notice_before=notice_before,
        )
        self.learn, self.replan, self.look_again = self._plan.learn, self._plan.replan, self._plan.look_again
        self.agenda = self._plan.agenda
        self.memory = self._plan.memory
        self._queue: asyncio.Queue[Uid] = asyncio.Queue(4 * workers)
        self._stopped = asyncio.Event()
        self._under_way: set[Uid] = set()
        self._sending: set[asyncio.Task[None]] = set()

    @property
    def stopping(self) -> bool:
        return self._stopped.is_set()

    async def run(self) -> None:
        """Works until `stop`; then what is under way is finished and it returns."""
        async with asyncio.TaskGroup() as group:
            planner = group.create_task(self._take_from_plan())
            workers = [group.create_task(self._work()) for _ in range(self._workers)]
            await self._stopped.wait()
            planner.cancel()
            for worker in workers:
                if worker not in self._sending:
                    worker.cancel()
            await self._finish()

    async def _finish(self) -> None:
        """Waits for requests that are out; what a server never answers is not waited for."""
        sending = set(self._sending)
        try:
            async with self._clock.timeout(FINISH_SECONDS):
                while sending:
                    _, sending = await asyncio.wait(sending)
        except TimeoutError:
            for worker in sending:
                worker.cancel()

    def stop(self) -> None:
        self._stopped.set()

    async def _take_from_plan(self) -> None:
        prepared = False
        while True:
            if self._standing_by():
                prepared = False
                await self._clock.sleep(STANDBY_SECONDS)
                continue
            if not prepared:
                await self._on_lead()
                prepared = True
                continue
            due = self._plan.take(most=self._queue.maxsize)
            if len(due) > 1 and not self._observing:
                await self._record.read_ahead([row for uid in due if (row := self._store.get(uid))])
            for uid in due:
                await self._queue.put(uid)
            if not due:
                await self._plan.nap()

    async def _work(self) -> None:
        while not self.stopping:
            uid = await self._queue.get()
            self.memory.reconsidering.discard(uid)
            if self._put_back(uid):
                continue
            row = self._store.get(uid)
            # Who has it under way judges it on the newest knowledge at the end, and plans the next look.
            if row is None or uid in self._under_way or self._plan.too_soon(uid):
                continue
            self._under_way.add(uid)
            try:
                await self._look_at(row)
            finally:
                self._under_way.discard(uid)

    async def _look_at(self, row: Row) -> None:
        now = self._clock.now()
        verdict = self._judge.verdict(row, now)
        self.memory.braked.pop(row.uid, None)
        self._remark(row, verdict, now)
        if row.deleted_at:
            await self._look_after(row, verdict, now)
            return
        claim = verdict.claim(now)
        if claim is None:
            self._stays(row, verdict, now)
        elif self._observing:
            await self._observe(row, claim)
        elif await self._wait_for_turn():
            await self._send(row, claim)
        else:
            # It had to wait, and knowledge goes on meanwhile.
            await self._send_if_due(row.uid)

    async def _observe(self, row: Row, claim: Claim) -> None:
        """Tells what would go, after the same fresh look as before a delete; what was told is not looked into again."""
        if self.memory.last_told(row.uid) == claim:
            self.memory.overdue[row.uid] = (claim.due, "observing")
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
        if verdict.claim(now) is None:
            self._stays(newest, verdict, now)
        elif verdict.claim(now) != claim:
            self._plan.add(now, row.uid)
        elif isinstance(around, SkoupaError):
            self.memory.overdue[row.uid] = (claim.due, "failing")
            self._plan.try_again(row.uid)
        elif around is not None:
            self._plan.succeeded(row.uid)
            self._stays(newest, around, now)
            # What holds it was found beside the feeds: nobody announces its end, and looking is not cheap.
            self._plan.postpone(row.uid, OBSERVE_AGAIN_SECONDS)
        else:
            self._plan.succeeded(row.uid)
            self.memory.overdue[row.uid] = (claim.due, "observing")
            self.memory.tell(row.uid, claim)
            self._report.would_delete(newest, claim, at=now)
            self._record.would_delete(newest, claim)

    async def _wait_for_turn(self) -> bool:
        """Whether the rate let it pass at once."""
        asked = self._clock.monotonic()
        await self._rate.pass_one()
        return self._clock.monotonic() - asked < AT_ONCE_SECONDS

    def _put_back(self, uid: Uid) -> bool:
        """Whether another replica leads by now: it tells and deletes; here the object waits on the agenda."""
        if not self._standing_by():
            return False
        self._plan.add(self._clock.now(), uid)
        return True

    async def _send_if_due(self, uid: Uid) -> None:
        row, now = self._store.get(uid), self._clock.now()
        if row is None or self._put_back(uid):
            return
        verdict = self._judge.verdict(row, now)
        claim = verdict.claim(now)
        if claim is None:
            self._stays(row, verdict, now)
        else:
            await self._send(row, claim)

    async def _send(self, row: Row, claim: Claim) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._sending.add(task)
        try:
            if not await self._gate.enter(row, claim, still_wanted=lambda: self._is_due(row.uid)):
                self._look_once_more(row.uid)
                return
            outcome = await self._deleter.delete(row, claim)
        except LeaseLost as error:
            self._gate.failed(row, error)
            self._record.failed(row, error)
            self._plan.postpone(row.uid, self._clock.jitter(1.0))
        except Withdrawn as error:
            self._gate.failed(row, error)
            self._record.failed(row, error)
            self._look_once_more(row.uid)
        except SkoupaError as error:
            self._gate.failed(row, error)
            await self._failed(row, claim, error)
        else:
            self._gate.left(row, outcome.what)
            self._done(outcome)
        finally:
            self._sending.discard(task)

    def _done(self, outcome: Outcome) -> None:
        now = self._clock.now()
        row, claim = outcome.row, outcome.claim
        if outcome.what == "stays":
            assert outcome.verdict is not None
            self._record.withdrawn(row, "; ".join(render(hold.reason) for hold in outcome.verdict.holds))
            self._stays(row, outcome.verdict, now)
            self._try_again_unless_held(row.uid)
            return
        self._record.finished(row, outcome.what)
        self._plan.succeeded(row.uid)
        self.memory.overdue.pop(row.uid, None)
        known = self._store.get(row.uid) is not None
        if outcome.what == "gone":
            if known:
                self._plan.postpone(row.uid, BELIEF_SECONDS)
            if not known or self.memory.tell(row.uid, outcome.what):
                self._report.gone_already(row, claim, at=now)
            return
        if known:
            self._plan.sent(row.uid)
        self._on_deleted(row, now)
        self._report.deleted(row, claim, at=now, terminating=outcome.what == "terminating")

    def _stays(self, row: Row, verdict: Verdict, now: float) -> None:
        if self._put_back(row.uid):
            return
        if verdict.due is None or verdict.due > now:
            self.memory.not_overdue(row.uid)
            self._notice(row, verdict, now)
        elif verdict.holds:
            self.memory.stays(row.uid, verdict)
            told = gist(hold.reason for hold in verdict.holds)
            if told and self.memory.tell(row.uid, told):
                lasting = [hold for hold in verdict.holds if not REASONS[hold.reason.code].passing]
                self._report.held(row, verdict, at=now, holds=lasting)
                if row.uid in self.memory.braked:
                    self._record.braked(row, verdict)
        self._plan.after_stay(row, verdict)

    def _is_due(self, uid: Uid) -> bool:
        now, row = self._clock.now(), self._store.get(uid)
        return row is not None and self._judge.verdict(row, now).claim(now) is not None

    def _look_once_more(self, uid: Uid) -> None:
        """Something came in between: it stays, or it is tried again."""
        now, row = self._clock.now(), self._store.get(uid)
        if row is not None:
            verdict = self._judge.verdict(row, now)
            if verdict.claim(now) is None:
                self._stays(row, verdict, now)
            self._try_again_unless_held(uid)

    def _try_again_unless_held(self, uid: Uid) -> None:
        """What was found beside the feeds (by a fresh look, or a refusal) nobody announces when it ends."""
        now, row = self._clock.now(), self._store.get(uid)
        if row is not None and self._judge.verdict(row, now).claim(now) is not None:
            self._plan.try_again(uid)
        else:
            self._plan.succeeded(uid)

    async def _failed(self, row: Row, claim: Claim, error: SkoupaError) -> None:
        if isinstance(error, LedgerUnavailable):
            # Nothing was sent. Now a Hold: judged again when the ledger is back.
            now = self._clock.now()
            self._stays(row, self._judge.verdict(row, now), now)
            self._try_again_unless_held(row.uid)
            return
        self._record.failed(row, error)
        if isinstance(error, Forbidden) and await self._refused(row):
            # Now a Hold: judged again when rights change.
            now = self._clock.now()
            self._stays(row, self._judge.verdict(row, now), now)
            self._try_again_unless_held(row.uid)
            return
        wait = self._plan.try_again(row.uid)
        if self._store.get(row.uid) is not None:
            self.memory.overdue[row.uid] = (claim.due, "failing")
        self._report.failed(row, claim, at=self._clock.now(), error=error, retry_in=wait)

    async def _look_after(self, row: Row, verdict: Verdict, now: float) -> None:
        """After the delete: what is still there a good while later is reported with what blocks it."""
        if verdict.due is None:
            return
        self.memory.overdue[row.uid] = (verdict.due, "terminating")
        wait = row.deleted_at + self._stuck_after - now
        if wait <= 0:
            closer = await self._look_closer(row)
            if self._put_back(row.uid):
                return
            self._report.stuck(closer, at=now)
            wait = self._stuck_after
        self._plan.postpone(row.uid, wait)

    def _remark(self, row: Row, verdict: Verdict, now: float) -> None:
        said = problems(verdict.notes)
        if self.memory.remark(row.uid, said):
            self._report.remark(row, said, at=now)

    def _notice(self, row: Row, verdict: Verdict, now: float) -> None:
        due = verdict.due
        if due is None or self._observing or self.memory.noticed.get(row.uid) == due:
            return
        if due - self._notice_before(row) > now:
            return
        if verdict.holds:
            self.memory.unnoticed.add(row.uid)
            return
        self.memory.noticed[row.uid] = due
        self._report.notice(row, verdict.claims[0], at=now)

    def statistics(self) -> dict[str, int]:
        return {
            "agenda": len(self.agenda),
            "queued": self._queue.qsize(),
            "under_way": len(self._under_way),
            "failing": self._plan.failing,
        }
