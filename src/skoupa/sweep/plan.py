"""When to look at what next, and at nothing twice: the agenda, with what is known about each object's next look.

Every look that is taken plans the next one, if there is one. An object whose delete was sent, or whose next try has its
time, is not looked at before, whatever else asks for it: two plans for one object would go on side by side for ever.
Due times are times of day; how long to wait is not, and outlasts a clock that somebody sets.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from typing import Final

from skoupa import names
from skoupa.clock import Clock
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta, Store
from skoupa.judge.judge import Judge
from skoupa.kube.backoff import Backoff
from skoupa.model.reasons import problems
from skoupa.model.verdicts import Verdict
from skoupa.sweep.agenda import HOUR, Agenda
from skoupa.sweep.memory import Memory

# A clock that was set while we slept is noticed after this time: what it makes due does not wait for the old one.
LONGEST_NAP_SECONDS: Final = 5.0
# However often the surroundings change: judging all that is held costs more than a moment's delay.
RECONSIDER_SECONDS: Final = 1.0
# More than a clock that is only steered wanders between two looks.
_SET_SECONDS: Final = 1.0
# Times of day are too coarse for less: a wait of nothing would be waited for again and again.
_GRAIN_SECONDS: Final = 0.001


class Plan:
    """`notice_before` says how long before its time an object is to be announced; an observer announces nothing."""

    def __init__(
        self,
        *,
        clock: Clock,
        store: Store,
        judge: Judge,
        stuck_after: float,
        observing: bool,
        notice_before: Callable[[Row], float],
    ) -> None:
        self._clock = clock
        self._store = store
        self._judge = judge
        self._stuck_after = stuck_after
        self._observing = observing
        self._notice_before = notice_before
        self.agenda = Agenda(due_of=self._due_of)
        self.memory = Memory()
        self._woken = asyncio.Event()
        self._reconsider_at = math.inf
        self._reconsidered_at = -math.inf
        # By the clock that never jumps.
        self._not_before: dict[Uid, float] = {}
        self._ahead_of_steady = clock.now() - clock.monotonic()
        self._clock_was_set = False
        self._failures: dict[Uid, Backoff] = {}

    @property
    def failing(self) -> int:
        return len(self._failures)

    def learn(self, deltas: Iterable[Delta]) -> None:
        """Knowledge changed: plans when to look at what appeared or got another time."""
        now = self._clock.now()
        for delta in deltas:
            if delta.after is not None:
                self._learn(delta.before, delta.after, now)
            elif delta.before is not None:
                uid = delta.before.uid
                self._not_before.pop(uid, None)
                self._failures.pop(uid, None)
                self.memory.forget(uid)

    def _learn(self, before: Row | None, row: Row, now: float) -> None:
        if before is not None and _same_wishes(before, row):
            # Neither its times nor what it says of itself changed: the agenda's entry is still right.
            return
        if row.deleted_at and not (before and before.deleted_at):
            self._not_before.pop(row.uid, None)
        look = self.next_look(row, now)
        # What is overdue and held was taken: whatever it was planned for, the agenda has nothing of it. A clock that was set
        # back makes it due later again.
        taken = row.uid in self.memory.overdue
        planned = self.next_look(before, now) if before is not None and not taken else None
        if look is not None and (look <= now or look != planned):
            self.agenda.plan(look, row.uid, now=now, instead_of=planned)
            self._woken.set()
        if look is None or look > now:
            self.memory.not_overdue(row.uid)
        if look is None or row.annotations or row.label(names.KEEP_LABEL) is not None:
            # Only whoever leads tells, so telling is work for the agenda.
            said = problems(self._judge.verdict(row, now).notes)
            if said != self.memory.remarked.get(row.uid, ()):
                self.add(now, row.uid)

    def replan(self, rows: Iterable[Row]) -> None:
        """Their notices may have another time now. What is overdue is looked at anyway."""
        now = self._clock.now()
        for row in rows:
            look = self.next_look(row, now)
            if look is not None and look >= now and not row.deleted_at:
                self.add(look, row.uid)

    def next_look(self, row: Row, now: float) -> float | None:
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

    def _due_of(self, uid: Uid) -> float | None:
        """For an entry whose hour has come: what is overdue may wait for the end of a Hold, or for its next try."""
        row, now, wait = self._store.get(uid), self._clock.now(), self._wait_left(uid)
        if row is None or wait > 0:
            return None if row is None else now + wait
        look = self.next_look(row, now)
        if look is None or look > now or row.deleted_at:
            return look
        verdict = self._judge.verdict(row, now)
        again = verdict.look_again(now) if verdict.claim(now) is None else look
        # Held for longer than hours are taken apart, or nobody knows for how long: looked at, which plans the next look, or
        # nobody would remember it when the Hold ends.
        return again if again is not None and again - now < 2 * HOUR else look

    def add(self, moment: float, uid: Uid) -> None:
        self.agenda.add(moment, uid, now=self._clock.now())
        self._woken.set()

    def after_stay(self, row: Row, verdict: Verdict, now: float) -> None:
        """The next look at an object that stays: when a Hold is known to end, its notice, or its time.

        `now` is when it was judged: what came to be over since then is to be looked at, too.
        """
        again = verdict.look_again(now)
        look = self.next_look(row, now)
        # A notice that is due and was not given is held like the object itself.
        if again is not None and look is not None and now < look < again:
            again = look
        if again is not None:
            self.add(again, row.uid)

    def postpone(self, uid: Uid, wait: float) -> None:
        """The next look is then and no sooner."""
        self._not_before[uid] = self._clock.monotonic() + wait
        self._wait(uid, wait)

    def _wait(self, uid: Uid, wait: float) -> None:
        now = self._clock.now()
        # Set since the last look, and set again before the next: the entry would be of a time that nobody noticed.
        self._heed_clock(now)
        self.agenda.add(now + wait, uid, now=now)
        self._woken.set()

    def _wait_left(self, uid: Uid) -> float:
        moment = self._not_before.get(uid)
        wait = moment - self._clock.monotonic() if moment is not None else 0.0
        return wait if wait > _GRAIN_SECONDS else 0.0

    def _heed_clock(self, now: float) -> None:
        ahead = now - self._clock.monotonic()
        if abs(ahead - self._ahead_of_steady) >= _SET_SECONDS:
            self._ahead_of_steady = ahead
            self._clock_was_set = True

    def try_again(self, uid: Uid) -> float:
        """After a failure: in how many seconds the next try is. What is gone meanwhile needs none."""
        if self._store.get(uid) is None:
            return 0.0
        wait = self._failures.setdefault(uid, Backoff(self._clock)).next()
        self.postpone(uid, wait)
        return wait

    def succeeded(self, uid: Uid) -> None:
        self._failures.pop(uid, None)

    def sent(self, uid: Uid) -> None:
        """The server took its delete, and the feed will show it; what is still untouched after long is tried anew."""
        self.postpone(uid, self._stuck_after)

    def too_soon(self, uid: Uid) -> bool:
        wait = self._wait_left(uid)
        if wait > 0:
            self._wait(uid, wait)
        return wait > 0

    def look_at(self, uids: Iterable[Uid], *, spacing: float = 0.0) -> None:
        """Something beside these objects changed that concerns them.

        With a `spacing` one after the other: what is due meanwhile for another reason need not wait for all of them.
        """
        moment = self._clock.now()
        for uid in uids:
            self.add(moment, uid)
            moment += spacing

    def look_again(self) -> None:
        """Something beside the objects changed (a keep label, a right): what was held is judged anew."""
        if self._reconsider_at == math.inf:
            self._reconsider_at = max(self._clock.monotonic(), self._reconsidered_at + RECONSIDER_SECONDS)
            self._woken.set()

    def take(self, *, most: int) -> list[Uid]:
        """What has to be looked at now."""
        self._woken.clear()
        now, moment = self._clock.now(), self._clock.monotonic()
        self._heed_clock(now)
        if self._clock_was_set:
            self._clock_was_set = False
            for uid in self._not_before:
                self.agenda.add(now + self._wait_left(uid), uid, now=now)
        if moment >= self._reconsider_at:
            self._reconsider_at, self._reconsidered_at = math.inf, moment
            for uid in self.memory.to_reconsider():
                self.agenda.add(now, uid, now=now)
        return self.agenda.take_due(now, most=most)

    async def nap(self) -> None:
        """Until the next look, or until something is added."""
        due = self.agenda.next_time(self._clock.now())
        wait = min(LONGEST_NAP_SECONDS, self._reconsider_at - self._clock.monotonic())
        if due is not None:
            wait = min(wait, due - self._clock.now())
        try:
            async with self._clock.timeout(max(0.0, wait)):
                await self._woken.wait()
        except TimeoutError:
            return


def _same_wishes(before: Row, row: Row) -> bool:
    return (
        before.labels == row.labels
        and before.annotations == row.annotations
        and before.deleted_at == row.deleted_at
    )
