"""Brings due objects to the deleter and never forgets one.

Every object that is due is judged again on the newest knowledge before anything is sent. What was refused or failed is
tried again for ever, with a back-off that never exceeds 45 s: whatever stood in the way, the object goes within a
minute of its removal. A fixed number of workers share one bounded queue; there is no task per object.
Stopping finishes what is under way and starts nothing new.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import Forbidden, LeaseLost, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.judge import Judge
from skoupa.kube.backoff import Backoff
from skoupa.kube.flow import RateCeiling
from skoupa.model.reasons import problems
from skoupa.model.verdicts import Claim, Verdict
from skoupa.sweep.agenda import Agenda
from skoupa.sweep.deleter import Deleter, Outcome
from skoupa.sweep.memory import Memory
from skoupa.sweep.reporting import Report

LONGEST_NAP_SECONDS: Final = 60.0
STANDBY_SECONDS: Final = 0.2
# However often the surroundings change: judging all that is held costs more than a moment's delay.
RECONSIDER_SECONDS: Final = 1.0
# A feed shows within this time that an object which the server does not find is gone.
BELIEF_SECONDS: Final = 60.0
FINISH_SECONDS: Final = 20.0
AT_ONCE_SECONDS: Final = 0.001


class Sweeper:
    """`standing_by`: another replica leads, so nothing leaves the agenda. `observing`: judged and told, not deleted.

    `refused` learns of a 403 and says whether it is a missing right; `on_deleted` hears of every delete that was taken;
    `look_closer` gives a row that is stuck with everything in its `finalizers` that it waits for.
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
        look_closer: Callable[[Row], Awaitable[Row]],
        notice_before: Callable[[Row], float] = lambda _: 0.0,
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._deleter = deleter
        self._report = report
        self._rate = rate
        self._stuck_after = stuck_after
        self._workers = workers
        self._observing = observing
        self._standing_by = standing_by
        self._on_deleted = on_deleted
        self._refused = refused
        self._look_closer = look_closer
        self._notice_before = notice_before
        self.agenda = Agenda(due_of=self._due_of)
        self.memory = Memory()
        self._queue: asyncio.Queue[Uid] = asyncio.Queue(4 * workers)
        self._woken = asyncio.Event()
        self._stopped = asyncio.Event()
        self._reconsider_at = math.inf
        self._reconsidered_at = -math.inf
        # Entries of the agenda before this time are not worth a look: the delete was sent, or the next try is planned.
        self._not_before: dict[Uid, float] = {}
        self._under_way: set[Uid] = set()
        self._missed: set[Uid] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self._failures: dict[Uid, Backoff] = {}

    @property
    def stopping(self) -> bool:
        return self._stopped.is_set()

    def learn(self, deltas: Iterable[Delta]) -> None:
        """Knowledge changed: plans when to look at what appeared or got another time."""
        now = self._clock.now()
        for delta in deltas:
            row, before = delta.after, delta.before
            if row is None:
                assert before is not None
                self._forget(before.uid)
                continue
            if before is not None and _same_wishes(before, row):
                # Neither its times nor what it says of itself changed: the agenda's entry is still right.
                continue
            if row.deleted_at and not (before and before.deleted_at):
                self._not_before.pop(row.uid, None)
            look = self._next_look(row, now)
            planned = self._next_look(before, now) if before is not None else None
            if look is not None and (look <= now or look != planned):
                self.agenda.add(look, row.uid, now=now, instead_of=planned)
                self._woken.set()
            if look is None or row.annotations:
                self._plan_remark(row, now)

    def look_again(self) -> None:
        """Something beside the objects changed (a keep label, a right): what was held is judged anew."""
        if self._reconsider_at == math.inf:
            self._reconsider_at = max(self._clock.monotonic(), self._reconsidered_at + RECONSIDER_SECONDS)
            self._woken.set()

    def _next_look(self, row: Row, now: float) -> float | None:
        """When the object has something to say next: its notice where one is wished for, else its due time."""
        due = self._judge.due(row, now)
        if due is None:
            return None
        if row.deleted_at:
            return max(due, row.deleted_at + self._stuck_after)
        ahead = self._notice_before(row)
        if ahead <= 0 or self._observing or due <= now or self.memory.noticed.get(row.uid) == due:
            return due
        return max(now, due - ahead)

    def _plan_remark(self, row: Row, now: float) -> None:
        """Only whoever leads tells, so telling is work for the agenda."""
        said = problems(self._judge.verdict(row, now).notes)
        if said != self.memory.remarked.get(row.uid, ()):
            self._add(now, row.uid, now)

    def _add(self, due: float, uid: Uid, now: float) -> None:
        self.agenda.add(due, uid, now=now)
        self._woken.set()

    def _forget(self, uid: Uid) -> None:
        self._not_before.pop(uid, None)
        self._failures.pop(uid, None)
        self.memory.forget(uid)

    def _due_of(self, uid: Uid) -> float | None:
        row = self._store.get(uid)
        return None if row is None else self._next_look(row, self._clock.now())

    async def run(self) -> None:
        """Works until `stop`; then what is under way is finished and it returns."""
        async with asyncio.TaskGroup() as group:
            planner = group.create_task(self._plan())
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

    async def _plan(self) -> None:
        while True:
            self._woken.clear()
            now = self._clock.now()
            if self._standing_by():
                await self._clock.sleep(STANDBY_SECONDS)
                continue
            self._reconsider(now)
            due = self.agenda.take_due(now, most=self._queue.maxsize)
            for uid in due:
                await self._queue.put(uid)
            if not due:
                await self._nap(now)

    def _reconsider(self, now: float) -> None:
        moment = self._clock.monotonic()
        if moment < self._reconsider_at:
            return
        self._reconsider_at, self._reconsidered_at = math.inf, moment
        for uid in self.memory.to_reconsider():
            self.agenda.add(now, uid, now=now)

    async def _nap(self, now: float) -> None:
        wait = LONGEST_NAP_SECONDS
        due = self.agenda.next_time(now)
        if due is not None:
            wait = min(wait, due - self._clock.now())
        wait = min(wait, self._reconsider_at - self._clock.monotonic())
        try:
            async with self._clock.timeout(max(0.0, wait)):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _work(self) -> None:
        while not self.stopping:
            uid = await self._queue.get()
            self.memory.reconsidering.discard(uid)
            if uid in self._under_way:
                self._missed.add(uid)
                continue
            row = self._store.get(uid)
            if row is None or self._too_soon(uid):
                continue
            self._under_way.add(uid)
            try:
                await self._look_at(row)
            finally:
                self._under_way.discard(uid)
                if uid in self._missed:
                    # Somebody asked for a look while it was looked at, perhaps with older knowledge.
                    self._missed.discard(uid)
                    self._add(self._clock.now(), uid, self._clock.now())

    def _too_soon(self, uid: Uid) -> bool:
        """Every look plans the next one; so does one that is not taken."""
        now = self._clock.now()
        moment = self._not_before.get(uid, now)
        if now < moment < math.inf:
            self._add(moment, uid, now)
        return now < moment

    async def _look_at(self, row: Row) -> None:
        now = self._clock.now()
        verdict = self._judge.verdict(row, now)
        self._remark(row, verdict, now)
        if row.deleted_at:
            await self._look_after(row, verdict, now)
            return
        claim = verdict.claim(now)
        if claim is None:
            self._stays(row, verdict, now)
        elif self._observing:
            self.memory.overdue[row.uid] = (claim.due, "observing")
            if self.memory.tell(row.uid, claim):
                self._report.would_delete(row, claim, at=now)
        elif await self._wait_for_turn():
            await self._send(row, claim)
        else:
            # It had to wait, and knowledge goes on meanwhile.
            fresh = self._store.get(row.uid)
            if fresh is not None:
                await self._send_if_due(fresh)

    async def _wait_for_turn(self) -> bool:
        """Whether the rate let it pass at once."""
        asked = self._clock.monotonic()
        await self._rate.pass_one()
        return self._clock.monotonic() - asked < AT_ONCE_SECONDS

    async def _send_if_due(self, row: Row) -> None:
        now = self._clock.now()
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
            outcome = await self._deleter.delete(row, claim)
        except LeaseLost:
            self._postpone(row.uid, self._clock.jitter(1.0))
        except SkoupaError as error:
            await self._failed(row, claim, error)
        else:
            self._done(outcome)
        finally:
            self._sending.discard(task)

    def _done(self, outcome: Outcome) -> None:
        now = self._clock.now()
        row, claim = outcome.row, outcome.claim
        if outcome.what == "stays":
            assert outcome.verdict is not None
            self._stays(row, outcome.verdict, now)
            self._retry_unless_held(row)
            return
        self._failures.pop(row.uid, None)
        self.memory.not_overdue(row.uid)
        known = self._store.get(row.uid) is not None
        if outcome.what == "gone":
            if known:
                self._postpone(row.uid, BELIEF_SECONDS)
            self._report.gone_already(row, claim, at=now)
            return
        if known:
            self._not_before[row.uid] = math.inf
        self._on_deleted(row, now)
        self._report.deleted(row, claim, at=now, terminating=outcome.what == "terminating")

    def _stays(self, row: Row, verdict: Verdict, now: float) -> None:
        again = verdict.look_again(now)
        if again is not None:
            self._add(again, row.uid, now)
        if verdict.due is None or verdict.due > now:
            self.memory.not_overdue(row.uid)
            self._notice(row, verdict, now)
        elif verdict.holds:
            self.memory.overdue[row.uid] = (verdict.due, verdict.holds[0].reason.code)
            if self.memory.tell(row.uid, tuple(hold.reason for hold in verdict.holds)):
                self._report.held(row, verdict, at=now, holds=verdict.holds)

    def _retry_unless_held(self, row: Row) -> None:
        """What was found beside the feeds (by a fresh look, or a refusal) nobody announces when it ends."""
        now = self._clock.now()
        known = self._store.get(row.uid)
        if known is not None and self._judge.verdict(known, now).claim(now) is not None:
            self._postpone(row.uid, self._backoff(row.uid).next())
        else:
            self._failures.pop(row.uid, None)

    async def _look_after(self, row: Row, verdict: Verdict, now: float) -> None:
        """After the delete: what is still there a good while later is reported with what blocks it."""
        if verdict.due is None:
            return
        self.memory.overdue[row.uid] = (verdict.due, "terminating")
        told_at = row.deleted_at + self._stuck_after
        if now >= told_at:
            self._report.stuck(await self._look_closer(row), at=now)
            told_at = now + self._stuck_after
        self._postpone(row.uid, told_at - now)

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

    async def _failed(self, row: Row, claim: Claim, error: SkoupaError) -> None:
        now = self._clock.now()
        if isinstance(error, Forbidden) and await self._refused(row):
            # Now a Hold: judged again when rights change.
            self._stays(row, self._judge.verdict(row, now), now)
            self._retry_unless_held(row)
            return
        wait = self._backoff(row.uid).next()
        self.memory.overdue[row.uid] = (claim.due, "failing")
        self._report.failed(row, claim, at=now, error=error, retry_in=wait)
        self._postpone(row.uid, wait)

    def _backoff(self, uid: Uid) -> Backoff:
        return self._failures.setdefault(uid, Backoff(self._clock))

    def _postpone(self, uid: Uid, wait: float) -> None:
        """The next look is then and no sooner: two plans for one object would go on side by side for ever."""
        now = self._clock.now()
        self._not_before[uid] = now + wait
        self._add(now + wait, uid, now)

    def statistics(self) -> dict[str, int]:
        return {
            "agenda": len(self.agenda),
            "queued": self._queue.qsize(),
            "under_way": len(self._under_way),
            "failing": len(self._failures),
        }


def _same_wishes(before: Row, row: Row) -> bool:
    return (
        before.labels == row.labels
        and before.annotations == row.annotations
        and before.deleted_at == row.deleted_at
    )
