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


class Sweeper:
    """`enforcing` is asked before each object; `refused` learns of a 403 and says whether it is a missing right."""

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
        enforcing: Callable[[], bool],
        refused: Callable[[Row], Awaitable[bool]],
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._deleter = deleter
        self._report = report
        self._rate = rate
        self._workers = workers
        self._enforcing = enforcing
        self._refused = refused
        self.agenda = Agenda(due_of=self._due_of)
        self.aftermath = Aftermath(stuck_after=stuck_after, find=store.get)
        self._queue: asyncio.Queue[Uid | None] = asyncio.Queue(4 * workers)
        self._woken = asyncio.Event()
        self._stopping = False
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
            due = self._judge.due(delta.after, now)
            if due is None or (delta.before is not None and self._same(delta.before, delta.after, due, now)):
                continue
            self._add(due, delta.after.uid, now)

    def look_again(self, rows: Iterable[Row]) -> None:
        """Something beside the objects changed (a keep label, a right, a setting): judge them anew."""
        now = self._clock.now()
        for row in rows:
            due = self._judge.due(row, now)
            if due is not None:
                self._add(max(due, now), row.uid, now)

    def _same(self, before: Row, after: Row, due: float, now: float) -> bool:
        """Whether the entry that the agenda has is still right; holds on the row itself may have ended."""
        return (
            self._judge.due(before, now) == due
            and before.labels == after.labels
            and before.annotations == after.annotations
        )

    def _add(self, due: float, uid: Uid, now: float) -> None:
        self.agenda.add(due, uid, now=now)
        self._woken.set()

    def _forget(self, uid: Uid) -> None:
        self._sent.discard(uid)
        self._failures.pop(uid, None)
        self._told.pop(uid, None)

    def _due_of(self, uid: Uid) -> float | None:
        row = self._store.get(uid)
        return None if row is None else self._judge.due(row, self._clock.now())

    async def run(self) -> None:
        """Works until `stop`; then what is under way is finished and it returns."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())
            await self._plan()
            for _ in range(self._workers):
                await self._queue.put(None)

    def stop(self) -> None:
        self._stopping = True
        self._woken.set()

    async def _plan(self) -> None:
        while not self._stopping:
            self._woken.clear()
            now = self._clock.now()
            for row in self.aftermath.take_stuck(now):
                self._report.stuck(row, at=now)
            due = self.agenda.take_due(now, most=self._queue.maxsize)
            for uid in due:
                if self._stopping:
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
        elif not self._enforcing():
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
        self._report.deleted(row, claim, at=now, terminating=outcome.what == "terminating")

    def _stays(self, row: Row, verdict: Verdict, now: float) -> None:
        again = verdict.look_again(now)
        if again is not None:
            self._add(again, row.uid, now)
        if verdict.due is not None and verdict.due <= now and verdict.holds:
            codes = tuple(hold.reason for hold in verdict.holds)
            if self._told.get(row.uid) != codes:
                self._told[row.uid] = codes
                self._report.held(row, verdict, at=now, holds=verdict.holds)

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
