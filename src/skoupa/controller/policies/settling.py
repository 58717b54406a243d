"""The last run of each policy, followed until it is settled: nothing of it waits, for it went, or is held, or fails for now.

What fails or is held is looked at again, less and less often; each run is told once, when it is settled for the first time. Until
then, and while a Brake holds something of it, what was remembered before it is kept: a run which is interrupted is done again, so
that after a restart it is known what the Brake holds, and what is released goes. Of one that is settled what fails is remembered.
Where a policy is suspended or changed its run stops there; how far it came is told, and why the rest stays.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid, uid_text
from skoupa.judge.brakes import holding
from skoupa.judge.mechanism import Run
from skoupa.judge.policies import NAME
from skoupa.model.reasons import REASONS, Reason, gist
from skoupa.model.verdicts import Claim, Verdict
from skoupa.policy.policies import Policy
from skoupa.runs.book import Entry
from skoupa.runs.choices import Choices
from skoupa.runs.known import Known
from skoupa.runs.run import Findings
from skoupa.runs.standing import Standing, standing
from skoupa.runs.status import Went, regarding, told
from skoupa.runs.stopped import Stopped, became, concluded
from skoupa.sweep.failures import lasting_words
from skoupa.sweep.memory import FAILING, Memory
from skoupa.sweep.reporting import Report

LOOK_SECONDS: Final = 1.0
LONGEST_LOOK_SECONDS: Final = 60.0
# A thousand runs may wait for a look, each at a moment of its own.
_BETWEEN_LOOKS_SECONDS: Final = 0.2
MOST_REASONS: Final = 10


class Ran(msgspec.Struct, kw_only=True):
    """One run: how it went so far, and when to look again how it stands."""

    entry: Entry
    policy: Policy
    run: Run
    went: Went
    deleted: set[Uid] = msgspec.field(default_factory=set)
    # What it was asked about again and does not mean any more.
    left: set[Uid] = msgspec.field(default_factory=set)
    # How it stood when its policy became another.
    stopped: Stopped | None = None
    settled: bool = False
    # Something became of its objects since somebody looked.
    touched: bool = False
    wait: float = LOOK_SECONDS
    look_at: float = 0.0


class Settling:
    """`on_news` hears that a run came further; `wake` that somebody has to look sooner."""

    def __init__(
        self,
        clock: Clock,
        *,
        knowledge: Knowledge,
        choices: Choices,
        memory: Callable[[], Memory],
        report: Report,
        on_news: Callable[[Entry], None],
        wake: Callable[[], None],
    ) -> None:
        self._clock = clock
        self._knowledge = knowledge
        self._observing = knowledge.settings.mode != "enforce"
        self._choices = choices
        self._memory = memory
        self._report = report
        self._on_news = on_news
        self._wake = wake
        # By the uid of the policy, and that by how the policy is called.
        self.last: dict[str, Ran] = {}
        self._uids: dict[str, str] = {}
        # Runs that ended with what their policy was; of each nothing is chosen any more.
        self._stopped: dict[str, Ran] = {}
        # The name of the run that was told last.
        self._told: dict[str, str] = {}
        # What was remembered of a policy before its run.
        self.unsettled: dict[str, Known] = {}
        # The objects whose deletes fail, by the uid of the policy.
        self.failing: dict[str, tuple[str, ...]] = {}
        self.next_look = math.inf

    def of(self, rule: str) -> Ran | None:
        uid = self._uids.get(rule)
        return self.last.get(uid) if uid is not None else None

    def latest(self, uid: str) -> Ran | None:
        """The last run of a policy, for who tells how it went."""
        return self.last.get(uid) or self._stopped.get(uid)

    def add(self, ran: Ran) -> None:
        """In the place of the run before; or of the same run, of which more was read by now."""
        uid = ran.entry.uid
        before = self.last.get(uid)
        if before is not None and before.run.name == ran.run.name:
            ran.deleted = before.deleted
        if self._stopped.pop(uid, None) is not None:
            self._told.pop(uid, None)
        self.last[uid], self._uids[ran.run.rule] = ran, uid

    def stop(self, entry: Entry) -> None:
        """The policy is not what it was: it has chosen nothing, and what was still to go stays."""
        ran = self.last.get(entry.uid)
        if ran is None:
            return
        stands, told_last = self.count(ran), self._told.get(entry.uid)
        self.forget(entry.uid)
        self._stopped[entry.uid] = ran
        if told_last is not None:
            self._told[entry.uid] = told_last
        ran.stopped = Stopped(stands=stands, deleted=len(ran.deleted), became=became(entry))
        ran.settled = False
        self._conclude(ran, ran.stopped)
        # What is on its way to the server is told with it.
        self._look_in(ran, LOOK_SECONDS)
        self._wake()

    def _conclude(self, ran: Ran, stopped: Stopped) -> None:
        generation = ran.entry.generation
        ran.went = concluded(ran.went, stopped, deleted=len(ran.deleted), generation=generation)
        self._on_news(ran.entry)

    def forget_all(self) -> None:
        for uid in (*self.last, *self._stopped):
            self.forget(uid)
        self.unsettled.clear()

    def forget(self, uid: str) -> None:
        """It has chosen nothing, and nothing is to be told of it."""
        ran = self.last.pop(uid, None)
        self._stopped.pop(uid, None)
        self.unsettled.pop(uid, None)
        self._told.pop(uid, None)
        self.failing.pop(uid, None)
        if ran is not None:
            self._uids.pop(ran.run.rule, None)
            self._choices.drop(ran.run.rule)

    def deleted(self, row: Row, claim: Claim, at: float) -> None:
        ran = self._gone_by(claim)
        if ran is None:
            return
        self._report.policy_deleted(regarding(ran.entry), row, claim, at=at)
        if ran.run.name != claim.run:
            return
        ran.deleted.add(row.uid)
        self.touch((claim.rule,))
        if ran.stopped is not None:
            self._conclude(ran, ran.stopped)

    def _gone_by(self, claim: Claim) -> Ran | None:
        """The run of its policy; deletes of one that stopped may still be on their way."""
        if claim.mechanism != NAME:
            return None
        stopped = (ran for ran in self._stopped.values() if ran.run.name == claim.run)
        return self.of(claim.rule) or next(stopped, None)

    def left(self, rule: str, uid: Uid) -> None:
        ran = self.of(rule)
        if ran is not None:
            ran.left.add(uid)
            self.touch((rule,))

    def refused(self, row: Row, claim: Claim, at: float, error: SkoupaError) -> None:
        ran = self._gone_by(claim)
        if ran is not None:
            self._report.policy_refused(regarding(ran.entry), row, claim, at=at, error=error)

    def touch(self, rules: Iterable[str]) -> None:
        """Something became of what these have chosen: soon somebody looks how they stand."""
        for rule in rules:
            ran = self.of(rule)
            if ran is not None and not ran.touched:
                ran.touched = True
                self._look_in(ran, LOOK_SECONDS)
                self._wake()

    def look(self) -> None:
        now = self._clock.monotonic()
        if now < self.next_look:
            # There may be very many of them, and news of each.
            return
        self.next_look = math.inf
        for ran in list(self.last.values()):
            done = ran.settled and ran.entry.uid not in self.unsettled
            if done and not ran.touched and not self._choices.mechanism.chosen(ran.run):
                continue
            if ran.look_at <= now:
                self.count(ran)
            else:
                self.next_look = min(self.next_look, ran.look_at)
        for ran in self._stopped.values():
            if not ran.settled and ran.look_at <= now:
                ran.settled = True
                self._tell(ran)
            elif not ran.settled:
                self.next_look = min(self.next_look, ran.look_at)
        self.next_look = max(self.next_look, now + _BETWEEN_LOOKS_SECONDS)

    def count(self, ran: Ran) -> Standing:
        """How it stands now."""
        ran.touched = False
        now, overdue = self._clock.now(), self._memory().overdue
        uids = self._choices.mechanism.chosen(ran.run)
        braked = False
        held: Counter[Reason] = Counter()

        def verdict(row: Row) -> Verdict:
            nonlocal braked
            said = self._knowledge.verdict(row, now)
            self._knowledge.heed(row, said.questions)
            # Whatever becomes of it by others: this is about what its own run would do.
            said = said.of(ran.run.rule)
            braked = braked or _waits_for_a_brake(said)
            held.update(_lasting(said)[:1])
            return said

        failing = {uid for uid in uids if overdue.get(uid, (0.0, ""))[1] == FAILING}
        stands = standing(
            (row for uid in uids if (row := self._knowledge.store.get(uid)) is not None),
            verdict=verdict,
            failing=failing,
            observing=self._observing,
        )
        counts = stands.counts(ran.went.findings or Findings(), deleted=len(ran.deleted))
        settled = not stands.waiting
        found = len(ran.went.findings.claimed) if ran.went.findings is not None else 0
        went = msgspec.structs.replace(
            ran.went,
            counts=counts,
            held_for=tuple(held.most_common(MOST_REASONS)),
            left=len(ran.left),
            reported=stands.reported,
            others=max(0, found - len(ran.deleted) - len(ran.left) - stands.there),
            cause=self._memory().failures.commonest(failing),
        )
        if settled != ran.settled or _what_is_told(went) != _what_is_told(ran.went):
            ran.went = went
            ran.settled, ran.wait = settled, LOOK_SECONDS
            if settled:
                self._tell(ran)
            self._on_news(ran.entry)
        if self._remember(ran.entry.uid, failing):
            self._on_news(ran.entry)
        if settled and not braked and self.unsettled.pop(ran.entry.uid, None) is not None:
            self._on_news(ran.entry)
        self._look_in(ran, ran.wait)
        ran.wait = min(2 * ran.wait, LONGEST_LOOK_SECONDS)
        return stands

    def _remember(self, uid: str, failing: Iterable[Uid]) -> bool:
        """Whether others fail than before."""
        texts = tuple(sorted(map(uid_text, failing)))
        before = self.failing.pop(uid, ())
        if texts:
            self.failing[uid] = texts
        return texts != before

    def _look_in(self, ran: Ran, wait: float) -> None:
        ran.look_at = self._clock.monotonic() + wait
        self.next_look = min(self.next_look, ran.look_at)

    def _tell(self, ran: Ran) -> None:
        if self._told.get(ran.entry.uid) != ran.run.name:
            self._told[ran.entry.uid] = ran.run.name
            self._report.policy_ran(told(ran.entry, ran.went), at=self._clock.now())


def _what_is_told(went: Went) -> tuple[object, ...]:
    """But for words that are others each time."""
    held = gist(why for why, _ in went.held_for)
    return went.counts, held, went.left, went.reported, went.others, lasting_words(went.cause)


def _waits_for_a_brake(verdict: Verdict) -> bool:
    """For one, and for nothing else that lasts."""
    lasting = [hold for hold in verdict.holds if not REASONS[hold.reason.code].passing]
    return bool(lasting) and all(map(holding, lasting))


def _lasting(verdict: Verdict) -> list[Reason]:
    return [hold.reason for hold in verdict.holds if not REASONS[hold.reason.code].passing]
