"""Brings due objects to the deleter and never forgets one.

Every object that is due is judged again on the newest knowledge before anything is sent. What was refused or failed is
tried again for ever, with a back-off that never exceeds 45 s: whatever stood in the way, the object goes within a
minute of its removal. A fixed number of workers share one bounded queue; there is no task per object.
Stopping finishes what is under way and starts nothing new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.judge import Judge
from skoupa.kube.flow import RateCeiling
from skoupa.model.verdicts import Question, Verdict
from skoupa.sweep.deleter import Deleter
from skoupa.sweep.gate import Gate
from skoupa.sweep.hanging import WAIT_SECONDS, Hanging
from skoupa.sweep.observing import Observing
from skoupa.sweep.plan import Plan
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report
from skoupa.sweep.sending import Sending
from skoupa.sweep.staying import Staying
from skoupa.sweep.unanswered import Unanswered

STANDBY_SECONDS: Final = 0.2


class Sweeper:
    """`standing_by`: another replica leads, so nothing leaves the agenda. `observing`: judged and told, not deleted.

    `refused` learns of a 403 and says whether it is a missing right; `on_deleted` hears of every delete that was taken;
    `look_closer` gives a row that is stuck with everything in its `finalizers` that it waits for; `on_lead` does what
    has to be done each time before anything is swept, and says whether it is; `heed` hears what a Verdict asks.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        store: Store,
        judge: Judge,
        deleter: Deleter,
        gate: Gate,
        hanging: Hanging,
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
        on_lead: Callable[[], Awaitable[bool]],
        notice_before: Callable[[Row], float] = lambda _: 0.0,
        heed: Callable[[Row, Sequence[Question]], None] = lambda _row, _questions: None,
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self.hanging = hanging
        self._record = record
        self._workers = workers
        self._observing = observing
        self._standing_by = standing_by
        self._on_lead = on_lead
        self._gate = gate
        self._on_deleted = on_deleted
        self._plan = Plan(
            clock=clock,
            store=store,
            judge=judge,
            stuck_after=stuck_after,
            observing=observing,
            notice_before=notice_before,
        )
        self.replan = self._plan.replan
        self.look_at, self.look_again = self._plan.look_at, self._plan.look_again
        self.agenda = self._plan.agenda
        self.memory = self._plan.memory
        self.unanswered = Unanswered(
            deleter.fresh,
            clock=clock,
            record=record,
            report=report,
            standing_by=standing_by,
            on_deleted=self._went_unanswered,
            known=lambda uid: store.get(uid) is not None,
            under_way=lambda uid: uid in self._under_way,
        )
        record.is_open = self.unanswered.__contains__
        self._staying = Staying(
            self._plan,
            unanswered=self.unanswered,
            clock=clock,
            store=store,
            judge=judge,
            record=record,
            report=report,
            observing=observing,
            stuck_after=stuck_after,
            put_back=self._put_back,
            refused=refused,
            look_closer=look_closer,
            notice_before=notice_before,
            heed=heed,
        )
        self._observer = Observing(
            self._plan,
            self._staying,
            clock=clock,
            store=store,
            judge=judge,
            deleter=deleter,
            record=record,
            report=report,
        )
        self._sending = Sending(
            self._plan,
            self._staying,
            unanswered=self.unanswered,
            clock=clock,
            store=store,
            judge=judge,
            deleter=deleter,
            gate=gate,
            record=record,
            report=report,
            rate=rate,
            put_back=self._put_back,
            on_deleted=on_deleted,
        )
        self._queue: asyncio.Queue[Uid] = asyncio.Queue(4 * workers)
        self._stopped = asyncio.Event()
        self._under_way: set[Uid] = set()

    def learn(self, deltas: Sequence[Delta]) -> None:
        self._plan.learn(deltas)
        self.hanging.learn(deltas)
        self.unanswered.learn(deltas)

    @property
    def stopping(self) -> bool:
        return self._stopped.is_set()

    def adopt(self, uid: Uid) -> bool:
        """An earlier leader deleted it, and it is not gone yet; whether the feeds will tell its end."""
        row = self._store.get(uid)
        if row is not None:
            self.unanswered.answered(row, terminating=True)
        return row is not None

    async def run(self) -> None:
        """Works until `stop`; then what is under way is finished and it returns."""
        async with asyncio.TaskGroup() as group:
            planner = group.create_task(self._take_from_plan())
            workers = [group.create_task(self._work()) for _ in range(self._workers)]
            await self._stopped.wait()
            planner.cancel()
            for worker in workers:
                if worker not in self._sending.tasks:
                    worker.cancel()
            await self._sending.finish()

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
                prepared = await self._on_lead()
                continue
            due = self._plan.take(most=self._queue.maxsize)
            if len(due) > 1 and not self._observing:
                await self._record.read_ahead(self._going(due))
            for uid in due:
                await self._queue.put(uid)
            if not due:
                await self._plan.nap()

    def _going(self, due: Iterable[Uid]) -> Iterator[Row]:
        """What is held is looked at too, again and again, and nobody needs its body."""
        now = self._clock.now()
        for uid in due:
            row = self._store.get(uid)
            if row and not row.deleted_at and self._judge.verdict(row, now).claim(now):
                yield row

    async def _work(self) -> None:
        while not self.stopping:
            uid = await self._queue.get()
            await self._record.room()
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
        self._staying.remark(row, verdict, now)
        if row.deleted_at:
            await self._staying.look_after(row, verdict, now)
            return
        claim, told = verdict.claim(now), verdict.reported(now)
        if told is None:
            self._staying.stays(row, verdict, now)
            await self._tell_beside(row, verdict)
        elif claim is None or self._observing:
            self.memory.braked.pop(row.uid, None)
            await self._observer.tell(row, told)
            self._plan.after_stay(row, verdict, now)
        elif not self.hanging.enter(row):
            self.memory.waits(row.uid, claim.due)
            self._plan.postpone(row.uid, self._clock.jitter(WAIT_SECONDS))
        else:
            try:
                await self._sending.in_turn(row, claim, verdict)
            finally:
                self.hanging.leave(row)

    async def _tell_beside(self, row: Row, verdict: Verdict) -> None:
        observed = tuple(verdict.told_beside())
        for claim in observed:
            await self._observer.tell_beside(row, claim)
        if observed:
            # That may have taken a while, in which nobody else could look at it.
            self._staying.look_once_more(row.uid)

    def _went_unanswered(self, row: Row, at: float) -> None:
        # Its place stays counted, and is no place for another try.
        self._gate.left(row, "deleted")
        self._on_deleted(row, at)

    def _put_back(self, uid: Uid) -> bool:
        """Whether another replica leads by now: it tells and deletes; here the object waits on the agenda."""
        if not self._standing_by():
            return False
        self._plan.add(self._clock.now(), uid)
        return True

    def statistics(self) -> dict[str, int]:
        return {
            "agenda": len(self.agenda),
            "queued": self._queue.qsize(),
            "under_way": len(self._under_way),
            "failing": self._plan.failing,
        }
