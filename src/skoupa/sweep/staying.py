"""Objects that stay, for now: what is said of them, and when they are looked at again.

Each thing is said once (`memory` knows what was). What was found beside the feeds, such as a refusal or a fresh look, is
announced by nobody when it ends: it is tried again. After a delete somebody looks whether the object really went.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.errors import Forbidden, LedgerUnavailable, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Store
from skoupa.judge.judge import Judge
from skoupa.model.reasons import REASONS, gist, problems
from skoupa.model.verdicts import Claim, Hold, Question, Verdict
from skoupa.sweep.failures import News
from skoupa.sweep.memory import Stuck, is_braked
from skoupa.sweep.plan import Plan
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report
from skoupa.sweep.unanswered import Unanswered

# How seldom an object that is stuck is told of at last.
STUCK_SECONDS_AT_LAST: Final = 86400.0
_EARLY_SECONDS: Final = 1.0


class Staying:
    """`put_back` says that another replica leads by now, and then has it on the agenda.

    `refused` learns of a 403 and says whether it is a missing right; `heed` hears what a Verdict asks.
    """

    def __init__(
        self,
        plan: Plan,
        *,
        unanswered: Unanswered,
        clock: Clock,
        store: Store,
        judge: Judge,
        record: Record,
        report: Report,
        observing: bool,
        stuck_after: float,
        put_back: Callable[[Uid], bool],
        refused: Callable[[Row], Awaitable[bool]],
        look_closer: Callable[[Row], Awaitable[Row]],
        notice_before: Callable[[Row], float],
        heed: Callable[[Row, Sequence[Question]], None],
    ) -> None:
        self._plan = plan
        self._unanswered = unanswered
        self._memory = plan.memory
        self._clock = clock
        self._store = store
        self._judge = judge
        self._record = record
        self._report = report
        self._observing = observing
        self._stuck_after = stuck_after
        self._put_back = put_back
        self._refused = refused
        self._look_closer = look_closer
        self._notice_before = notice_before
        self._heed = heed

    def stays(self, row: Row, verdict: Verdict, now: float) -> None:
        if self._put_back(row.uid):
            return
        self._heed(row, verdict.questions)
        if verdict.due is None or verdict.due > now:
            self._memory.not_overdue(row.uid)
            self._notice(row, verdict, now)
        elif verdict.holds:
            self._memory.stays(row.uid, verdict)
            holds = _all_holds(verdict)
            told = gist(hold.reason for hold in holds)
            news = bool(told) and self._memory.tell(row.uid, told)
            if news:
                lasting = [hold for hold in holds if not REASONS[hold.reason.code].passing]
                self._report.held(row, verdict, at=now, holds=lasting)
            if news or row.uid in self._memory.tried_since:
                self._write_braked(row, verdict)
        self._plan.after_stay(row, verdict, now)

    def _write_braked(self, row: Row, verdict: Verdict) -> None:
        braked = next(filter(is_braked, verdict.held()), None)
        if braked is None:
            return
        if self._record.braked(row, braked):
            self._memory.tried_since.discard(row.uid)
        else:
            self._memory.tried_since.add(row.uid)

    def not_sent(self, row: Row, why: str) -> None:
        """Something came in between; its row says so where an intent was written."""
        if self._unanswered.not_sent(row, why):
            self._memory.tried_since.add(row.uid)

    def look_once_more(self, uid: Uid) -> None:
        """Something came in between: on the newest knowledge it stays, or it is tried again.

        What was found beside the feeds (by a fresh look, or a refusal) nobody announces when it ends. What feeds told
        while it was under way nobody looked at, and a Hold among it may end by itself.
        """
        now, row = self._clock.now(), self._store.get(uid)
        if row is None:
            self._plan.succeeded(uid)
            self._memory.forget(uid)
            return
        verdict = self._judge.verdict(row, now)
        if verdict.claim(now) is not None:
            self._plan.try_again(uid)
            return
        self._plan.succeeded(uid)
        self.stays(row, verdict, now)

    async def look_after(self, row: Row, verdict: Verdict, now: float) -> None:
        """After the delete: what is still there a good while later is reported with what blocks it."""
        if verdict.due is None:
            return
        self._memory.leaves(row.uid)
        self._memory.overdue[row.uid] = (verdict.due, "terminating")
        wait = row.deleted_at + self._stuck_after - now
        if wait <= 0:
            if not await self._tell_stuck(row, now):
                return
            wait = self._stuck_after
        self._plan.postpone(row.uid, wait)

    async def _tell_stuck(self, row: Row, now: float) -> bool:
        """Told once for the same finalizers, and again ever less often. False: another replica leads by now."""
        before = self._memory.stuck.get(row.uid)
        news = before is None or before.finalizers != row.finalizers
        if not news and before is not None and now < before.again:
            return True
        closer = await self._look_closer(row)
        if self._put_back(row.uid):
            return False
        distance = self._stuck_after
        if before is not None and not news:
            distance = min(2 * before.distance, max(STUCK_SECONDS_AT_LAST, self._stuck_after))
        # A look may come a moment early.
        self._memory.stuck[row.uid] = Stuck(row.finalizers, now + distance - _EARLY_SECONDS, distance)
        self._report.stuck(closer, at=now, news=news)
        return True

    def remark(self, row: Row, verdict: Verdict, now: float) -> None:
        """What is said of it and what has to be asked, whether it stays or not."""
        self._heed(row, verdict.questions)
        said = problems(verdict.notes)
        if self._memory.remark(row.uid, said):
            self._report.remark(row, said, at=now)

    def _notice(self, row: Row, verdict: Verdict, now: float) -> None:
        due = verdict.due
        if due is None or self._observing or self._memory.noticed.get(row.uid) == due:
            return
        if due - self._notice_before(row) > now:
            return
        if verdict.holds:
            self._memory.unnoticed.add(row.uid)
            return
        self._memory.noticed[row.uid] = due
        self._report.notice(row, verdict.claims[0], at=now)

    async def failed(self, row: Row, claim: Claim, error: SkoupaError) -> None:
        """Its delete failed: a Hold by now, or tried again."""
        if isinstance(error, LedgerUnavailable):
            # Nothing was sent; judged again when the ledger is back.
            self.look_once_more(row.uid)
            return
        known = self._store.get(row.uid) is not None
        self._unanswered.failed(row, claim, error, known=known)
        if known:
            self._memory.tried_since.add(row.uid)
        if isinstance(error, Forbidden) and await self._refused(row):
            # A Hold by now; judged again when rights change.
            self.look_once_more(row.uid)
            return
        wait = self._plan.try_again(row.uid)
        at, news = self._clock.now(), News(is_other=True)
        if self._store.get(row.uid) is not None:
            self._memory.failed(row.uid, claim.due)
            news = self._memory.failures.note(row, error, at=at)
        self._report.failed(row, claim, at=at, error=error, retry_in=wait, news=news)


def _all_holds(verdict: Verdict) -> Sequence[Hold]:
    """Against whatever it would go by."""
    if not verdict.beside:
        return verdict.holds
    every = (hold for one in verdict.held() for hold in one.holds)
    return list(dict.fromkeys((*verdict.holds, *every)))
