"""Notices ahead of runs: what a policy is going to delete is told as long before as it asks for, with how to keep it.

The policy is asked once for each tick, with the time of that tick for the present, so that what comes of age until then is told
too. What something holds beyond the tick is not told: it stays. A policy that runs more often than its notice is long is asked
after each run for the next. Nothing is chosen here: the run itself asks anew, and what matches only by then goes without notice.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.policies.runs import PolicyRuns
from skoupa.errors import PASSING, SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.policies import NAME
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import REASONS, reason
from skoupa.model.verdicts import Claim
from skoupa.policy.policies import Policy
from skoupa.runs.book import Book, Entry
from skoupa.runs.choices import Choices
from skoupa.runs.run import Findings
from skoupa.runs.status import regarding
from skoupa.runs.ticks import Ticks
from skoupa.settings import Settings, seconds
from skoupa.sweep.reporting import Announced, Report

LOOK_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 60.0


class PolicyNotices:
    def __init__(
        self,
        clock: Clock,
        *,
        settings: Settings,
        knowledge: Knowledge,
        book: Book,
        ticks: Ticks,
        runs: PolicyRuns,
        choices: Choices,
        report: Report,
        acting: Callable[[], bool],
    ) -> None:
        self._clock = clock
        self._knowledge = knowledge
        self._book = book
        self._ticks = ticks
        self._runs = runs
        self._choices = choices
        self._report = report
        self._acting = acting
        notice = settings.policies.notice_before
        self._by_setting = int(seconds(notice)) if notice is not None else 0
        # The tick that was told of last, and the policy as it was.
        self._told: dict[str, tuple[float, Policy]] = {}
        # Those of which the server could not tell: not before then.
        self._again: dict[str, float] = {}

    async def follow(self) -> None:
        """For ever."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            if not self._acting():
                continue
            for entry in self._book:
                policy = entry.policy
                if policy is not None and (tick := self._due(policy)) is not None:
                    self._told[entry.uid] = (tick, policy)
                    await self._announce(entry, policy, tick)
            self._told = {uid: told for uid, told in self._told.items() if self._book.get(uid) is not None}
            self._again = {uid: at for uid, at in self._again.items() if self._book.get(uid) is not None}

    def _due(self, policy: Policy) -> float | None:
        """The tick that has to be told of now."""
        ahead = policy.options.notice_seconds or self._by_setting
        tick = self._ticks.next(policy.uid) if ahead else None
        now = self._clock.now()
        if tick is None or not tick - ahead <= now < tick:
            return None
        if self._told.get(policy.uid) == (tick, policy) or self._book.doubt(policy.kind):
            return None
        if self._clock.monotonic() < self._again.get(policy.uid, 0.0):
            return None
        self._again.pop(policy.uid, None)
        # One that only reports deletes nothing.
        return None if self._runs.observed_until(policy) > tick else tick

    async def _announce(self, entry: Entry, policy: Policy, tick: float) -> None:
        try:
            async with self._clock.timeout(max(0.0, tick - self._clock.now())):
                findings = await self._runs.looks.look(policy, at=tick)
        except (SkoupaError, TimeoutError) as error:
            # The status tells it when the run fails for the same reason.
            self._try_again(entry, error)
            return
        for gap in findings.gaps:
            self._try_again(entry, gap.error)
        if entry.uid in self._again:
            return
        claim = Claim(
            mechanism=NAME,
            rule=policy.called,
            due=tick,
            reason=reason("policy-matches", rule=policy.called, tick=whole_seconds(tick)),
        )
        rows = self._going(policy, findings, claim)
        if rows and self._acting():
            announced = Announced(
                policy=regarding(entry), claim=claim, rows=rows, notify=policy.options.notify
            )
            self._report.policy_notice(announced, at=self._clock.now())

    def _try_again(self, entry: Entry, error: Exception) -> None:
        """There may be time until the run."""
        if isinstance(error, PASSING):
            self._told.pop(entry.uid, None)
            self._again[entry.uid] = self._clock.monotonic() + AGAIN_SECONDS

    def _going(self, policy: Policy, findings: Findings, claim: Claim) -> list[Row]:
        """Without what is on its way out, what the last run has chosen already, and what stays all the same."""
        rows = []
        for found in findings.claimed:
            if found.metadata.deletion_timestamp is not None:
                continue
            row = self._choices.showing.row(found.resource, found.metadata)
            chosen = policy.called in self._choices.mechanism.rules_of(row.uid)
            if not chosen and not self._stays(row, claim):
                rows.append(row)
        return rows

    def _stays(self, row: Row, claim: Claim) -> bool:
        holds = self._knowledge.judge.holds(row, claim, self._clock.now())
        return any(
            not REASONS[hold.reason.code].passing and (hold.until is None or hold.until > claim.due)
            for hold in holds
        )
