"""Brings due objects to the deleter and never forgets one.

Every object that is due is judged again on the newest knowledge before anything is sent. What was refused or failed is
tried again for ever, with a back-off that never exceeds 45 s: whatever stood in the way, the object goes within a
minute of its removal. A fixed number of workers share one bounded queue; there is no task per object.
Stopping finishes what is under way and starts nothing new.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import Forbidden, LeaseLost, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.judge import Judge
from skoupa.kube.backoff import Backoff
from skoupa.kube.flow import RateCeiling
from skoupa.model.verdicts import Claim, Verdict
from skoupa.sweep.aftermath import Aftermath
from skoupa.sweep.agenda import Agenda
from skoupa.sweep.deleter import Deleter, Outcome
from skoupa.sweep.reporting import Report

LONGEST_NAP_SECONDS: Final = 60.0
STANDBY_SECONDS: Final = 0.2


class Sweeper:
    """`standing_by`: another replica leads, so nothing leaves the agenda. `observing`: judged and told, not deleted.

    `refused` learns of a 403 and says whether it is a missing right; `on_deleted` hears of every delete that was taken.
    """

    def __init__(
        self,
        *,
        clock: Clock,
        store: Store,
        judge: Judge,
        deleter: Deleter,
        report: Report,
        rate: RateCeiling,
        stuck_after: float,
        workers: int,
        observing: bool,
        standing_by: Callable[[], bool],
        on_deleted: Callable[[Row, float], None],
        refused: Callable[[Row], Awaitable[bool]],
        notice_before: Callable[[Row], float] = lambda _: 0.0,
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._deleter = deleter
        self._report = report
        self._rate = rate
        self._workers = workers
        self._observing = observing
        self._standing_by = standing_by
        self._on_deleted = on_deleted
        self._refused = refused
        self._notice_before = notice_before
        self.agenda = Agenda(due_of=self._due_of)
        self.aftermath = Aftermath(stuck_after=stuck_after, find=store.get)
        self._queue: asyncio.Queue[Uid | None] = asyncio.Queue(4 * workers)
        self._woken = asyncio.Event()
        self.stopping = False
        # Deletes that the server took, until the feed shows that the object is gone or terminating.
        self._sent: set[Uid] = set()
        self._under_way: set[Uid] = set()
        self._failures: dict[Uid, Backoff] = {}
        # The last thing told about an object that stays, so that it is told once and not at every look.
        self._told: dict[Uid, object] = {}

    def learn(self, deltas: Iterable[Delta]) -> None:
        """Knowledge changed: plans when to look at what appeared or got another time."""
        now = self._clock.now()
        for delta in deltas:
            if delta.after is None:
                assert delta.before is not None
                self._forget(delta.before.uid)
                continue
            row, before = delta.after, delta.before
            if before is not None and before.labels == row.labels and before.annotations == row.annotations:
                # Neither its times nor what it says of itself changed: the agenda's entry is still right.
                continue
            look = self._next_look(row, now)
            if look is not None:
                self._add(look, row.uid, now)
            else:
                self._remark(row, now)

    def look_again(self) -> None:
        """Something beside the objects changed (a keep label, a right): what was held is judged anew."""
        now = self._clock.now()
        for uid in self._told:
            self._add(now, uid, now)

    def _next_look(self, row: Row, now: float) -> float | None:
        """When the object has something to say next: its notice where one is wished for, else its due time."""
        due = self._judge.due(row, now)
        if due is None:
            return None
        notice = due - self._notice_before(row)
        return notice if now < notice < due else due

    def _remark(self, row: Row, now: float) -> None:
        notes = self._judge.verdict(row, now).notes
        if notes:
            self._report.remark(row, notes, at=now)

    def _add(self, due: float, uid: Uid, now: float) -> None:
        self.agenda.add(due, uid, now=now)
        self._woken.set()

    def _forget(self, uid: Uid) -> None:
        self._sent.discard(uid)
        self._failures.pop(uid, None)
        self._told.pop(uid, None)

    def _due_of(self, uid: Uid) -> float | None:
        row = self._store.get(uid)
        return None if row is None else self._next_look(row, self._clock.now())

    async def run(self) -> None:
        """Works until `stop`; then what is under way is finished and it returns."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())
            await self._plan()
            for _ in range(self._workers):
                await self._queue.put(None)

    def stop(self) -> None:
        self.stopping = True
        self._woken.set()

    async def _plan(self) -> None:
        while not self.stopping:
            self._woken.clear()
            now = self._clock.now()
            if self._standing_by():
                await self._clock.sleep(STANDBY_SECONDS)
                continue
            for row in self.aftermath.take_stuck(now):
                self._report.stuck(row, at=now)
            due = self.agenda.take_due(now, most=self._queue.maxsize)
            for uid in due:
                if self.stopping:
                    return
                await self._queue.put(uid)
            if not due:
                await self._nap(now)

    async def _nap(self, now: float) -> None:
        moments = (self.agenda.next_time(now), self.aftermath.next_time(), now + LONGEST_NAP_SECONDS)
        wake = min(moment for moment in moments if moment is not None)
        try:
            async with self._clock.timeout(max(0.0, wake - self._clock.now())):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _work(self) -> None:
        while (uid := await self._queue.get()) is not None:
            if uid in self._under_way or uid in self._sent:
                continue
            row = self._store.get(uid)
            if row is None:
                continue
            self._under_way.add(uid)
            try:
                await self._look_at(row)
            finally:
                self._under_way.discard(uid)

    async def _look_at(self, row: Row) -> None:
        now = self._clock.now()
        verdict = self._judge.verdict(row, now)
        claim = verdict.claim(now)
        if claim is None:
            self._stays(row, verdict, now)
        elif self._observing:
            if self._told.get(row.uid) != claim:
                self._told[row.uid] = claim
                self._report.would_delete(row, claim, at=now)
        else:
            await self._rate.pass_one()
            await self._send(row, claim)

    async def _send(self, row: Row, claim: Claim) -> None:
        try:
            outcome = await self._deleter.delete(row, claim)
        except LeaseLost:
            self._retry(row, self._clock.jitter(1.0))
        except SkoupaError as error:
            await self._failed(row, claim, error)
        else:
            self._done(outcome)

    def _done(self, outcome: Outcome) -> None:
        now = self._clock.now()
        row, claim = outcome.row, outcome.claim
        self._failures.pop(row.uid, None)
        if outcome.what == "stays":
            assert outcome.verdict is not None
            self._stays(row, outcome.verdict, now)
            return
        if self._store.get(row.uid) is not None:
            self._sent.add(row.uid)
        if outcome.what == "gone":
            self._report.gone_already(row, claim, at=now)
            return
        if outcome.what == "terminating":
            self.aftermath.watch(row.uid, now=now)
        self._on_deleted(row, now)
        self._report.deleted(row, claim, at=now, terminating=outcome.what == "terminating")

    def _stays(self, row: Row, verdict: Verdict, now: float) -> None:
        again = verdict.look_again(now)
        if again is not None:
            self._add(again, row.uid, now)
        if verdict.due is not None and now < verdict.due <= now + self._notice_before(row) + 1.0:
            self._notice(row, verdict, now)
        if verdict.due is not None and verdict.due <= now and verdict.holds:
            codes = tuple(hold.reason for hold in verdict.holds)
            if self._told.get(row.uid) != codes:
                self._told[row.uid] = codes
                self._report.held(row, verdict, at=now, holds=verdict.holds)

    def _notice(self, row: Row, verdict: Verdict, now: float) -> None:
        if not verdict.holds and self._told.get(row.uid) != verdict.due and not self._observing:
            self._told[row.uid] = verdict.due
            self._report.notice(row, verdict.claims[0], at=now)

    async def _failed(self, row: Row, claim: Claim, error: SkoupaError) -> None:
        if isinstance(error, Forbidden) and await self._refused(row):
            # Now a Hold: judged again when rights change.
            self._stays(row, self._judge.verdict(row, self._clock.now()), self._clock.now())
            return
        backoff = self._failures.setdefault(row.uid, Backoff(self._clock))
        wait = backoff.next()
        self._report.failed(row, claim, at=self._clock.now(), error=error, retry_in=wait)
        self._retry(row, wait)

    def _retry(self, row: Row, wait: float) -> None:
        now = self._clock.now()
        self._add(now + wait, row.uid, now)

    def statistics(self) -> dict[str, int]:
        return {
            "agenda": len(self.agenda),
            "queued": self._queue.qsize(),
            "under_way": len(self._under_way),
            "failing": len(self._failures),
            "terminating": len(self.aftermath),
        }
