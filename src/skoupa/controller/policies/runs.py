"""The runs of policies: begun at their ticks, read, and handed over to be judged; one task for each that is under way.

What the server could not tell is asked again until the next tick. What a policy chose that changed meanwhile is thrown away; its run
begins again by what it is now, or that it does not is told. While what is known of a kind of policy may be old its runs wait.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.policies.evaluations import PolicyEvaluations
from skoupa.controller.policies.looks import PolicyLooks
from skoupa.controller.policies.settling import Ran, Settling
from skoupa.controller.policies.thrown_away import tell_left_out, thrown_away, told_already
from skoupa.controller.policies.unclear import UnclearObjects
from skoupa.controller.policies.unread import Unread
from skoupa.errors import SkoupaError, UsageError
from skoupa.facts.rows import Row, Uid
from skoupa.judge.mechanism import Run
from skoupa.judge.policies import NAME, Chosen
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.timestamps import whole_seconds
from skoupa.policy.policies import Policy
from skoupa.runs.book import Book, Entry
from skoupa.runs.choices import Choices
from skoupa.runs.evaluation import Evaluation
from skoupa.runs.run import Findings, about
from skoupa.runs.status import Went
from skoupa.runs.ticks import Tick, Ticks
from skoupa.settings import Settings, seconds
from skoupa.sweep.memory import Memory
from skoupa.sweep.reporting import Report

MOST_AT_ONCE: Final = 1000
LAUNCHED_AT_ONCE: Final = 20
# What failed for a reason that passes is asked again, in the beginning after so long.
AGAIN_SECONDS: Final = 5.0
LONGEST_AGAIN_SECONDS: Final = 300.0


class PolicyRuns:
    """`begun` hears that there is something to weigh; `on_news` that a run ended or came further."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        book: Book,
        ticks: Ticks,
        choices: Choices,
        evaluations: PolicyEvaluations,
        memory: Callable[[], Memory],
        report: Report,
        standing_by: Callable[[], bool],
        begun: Callable[[], None],
        on_news: Callable[[Entry], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._book = book
        self._ticks = ticks
        self._choices = choices
        self._evaluations = evaluations
        self._standing_by = standing_by
        self._report = report
        self._begun = begun
        self._on_news = on_news
        self._observe_new = seconds(new) if (new := settings.policies.observe_new) is not None else 0
        self.looks = PolicyLooks(
            client, settings=settings, knowledge=knowledge, book=book, evaluations=evaluations
        )
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._era = 0
        self.waiting: list[Tick] = []
        self._late: frozenset[Tick] = frozenset()
        self._news = asyncio.Event()
        self.unclear = UnclearObjects(client.clock, report)
        self.settling = Settling(
            client.clock,
            knowledge=knowledge,
            choices=choices,
            memory=memory,
            report=report,
            on_news=on_news,
            wake=self._news.set,
        )

    async def follow(self) -> None:
        """For ever; runs are tasks within."""
        async with self._evaluations, asyncio.TaskGroup() as group:
            while True:
                self._news.clear()
                await self._launch(group)
                self.settling.look()
                await self._nap()

    def start(self, ticks: Iterable[Tick]) -> None:
        """These are due. While what is known of a kind of policy may be old, those wait."""
        tell_left_out(self._ticks, self._book, self._report, now=self._clock.now())
        self.waiting += ticks
        if self.waiting:
            self._news.set()

    def begin_anew(self) -> None:
        """Another may have led meanwhile: what was chosen here is void."""
        self._era += 1
        self.settling.forget_all()
        self.waiting.clear()

    def changed(self, uid: str, entry: Entry | None) -> None:
        """A policy that is not what it was has chosen nothing."""
        ran = self.settling.last.get(uid)
        if entry is None:
            self.settling.forget(uid)
            self.unclear.forget(uid)
        elif ran is not None and entry.policy != ran.policy:
            self.settling.stop(entry)
            self.unclear.forget(uid)

    async def evaluation_of(self, rule: str) -> Evaluation | None:
        """For another look at what a policy has chosen."""
        ran = self.settling.of(rule)
        if ran is None:
            return None
        evaluation = await self._evaluations.make(ran.policy, anew=True)
        await evaluation.begin()
        return evaluation

    async def findings_of(self, rule: str) -> Findings | None:
        """The same for much of what it has chosen: all that it finds now."""
        ran = self.settling.of(rule)
        return await self.looks.look(ran.policy, anew=True) if ran is not None else None

    async def may_delete(self, rule: str, row: Row) -> bool:
        """Whether the account that the policy acts as may, where it names one."""
        ran = self.settling.of(rule)
        return ran is not None and await self.looks.accounts.may_delete(
            ran.policy, row.resource, row.namespace
        )

    def left(self, rule: str, uid: Uid) -> None:
        """Asked again, it does not mean what it has chosen."""
        self.settling.left(rule, uid)

    async def _launch(self, group: asyncio.TaskGroup) -> None:
        late: list[Tick] = []
        waiting, self.waiting = self.waiting, []
        for number, tick in enumerate(waiting):
            if number % LAUNCHED_AT_ONCE == LAUNCHED_AT_ONCE - 1:
                # Others need a turn in between.
                await self._clock.sleep(0)
            entry = self._book.get(tick.uid)
            if entry is None or entry.policy is None or self._standing_by() or not self._ticks.stands(tick):
                self._throw_away(tick)
            elif self._book.doubt(entry.policy.kind):
                late.append(tick)
                if tick not in self._late:
                    self._on_news(entry)
            else:
                known = self._ticks.known(tick.uid)
                if known is not None:
                    self.settling.unsettled[tick.uid] = known
                group.create_task(self._run(tick, entry, entry.policy))
        self.waiting += late
        self._late = frozenset(late)

    async def _run(self, tick: Tick, entry: Entry, policy: Policy) -> None:
        era, backoff = self._era, Backoff(self._clock, first=AGAIN_SECONDS, cap=LONGEST_AGAIN_SECONDS)
        ended = False
        try:
            async with self._turns:
                unread = await self._read(tick, entry, policy, era=era)
            if ended := bool(unread) and unread.among is not None:
                # All was read and judged once: nobody does the whole of it again, also not after a restart.
                self._ticks.ended(tick)
            next_tick = policy.schedule.following(tick.moment) if unread else None
            while unread:
                wait = backoff.next()
                if next_tick is not None and self._clock.now() + wait >= next_tick:
                    break
                await self._clock.sleep(wait)
                if self._counts(tick, policy, era) and self.looks.blind_still(policy, unread):
                    continue
                async with self._turns:
                    unread = await self._read(tick, entry, policy, era=era, before=unread)
        finally:
            if not ended and self._counts(tick, policy, era):
                self._ticks.ended(tick)
            elif not ended and era == self._era:
                self._throw_away(tick)
        if era == self._era:
            self._on_news(entry)
            self._news.set()

    async def _read(
        self, tick: Tick, entry: Entry, policy: Policy, *, era: int, before: Unread | None = None
    ) -> Unread:
        """What has to be read again, for something that passes kept it from being read; `before` is what this reading is for."""
        if not self._counts(tick, policy, era):
            return Unread()
        at, ground = self._clock.now(), self.looks.ground(policy)
        findings: Findings | None = None
        error: SkoupaError | None = None
        try:
            findings = await self.looks.look(policy)
            findings = about(findings, tick.only) if tick.only else findings
            findings = before.narrowed(findings) if before is not None else findings
        except SkoupaError as raised:
            findings, error = None, raised
        # From here on nothing is waited for: what may stop it is heeded until it is chosen.
        if not self._counts(tick, policy, era):
            return Unread()
        went = Went(
            at=at,
            began=before.at if before is not None else at,
            findings=findings,
            error=str(error) if error is not None else "",
            broken=isinstance(error, UsageError),
            rest_of=tick.rest_of,
        )
        doubted = self.looks.doubted(ground, findings) if findings is not None else ()
        self._put(tick, entry, policy, went, doubted=doubted)
        return self.looks.unread(ground, findings, error).after(before)

    def _throw_away(self, tick: Tick) -> None:
        """The policy is not what it was: it runs again for this tick where that is its own still."""
        entry = self._book.get(tick.uid)
        self._ticks.ended(tick, ran=False)
        if entry is None or entry.policy is None or self._standing_by() or self._ticks.stands(tick):
            return
        if not told_already(self.settling.latest(tick.uid), tick):
            why = thrown_away(entry.policy, tick, next_run=self._ticks.next(tick.uid))
            went = Went(at=self._clock.now(), error=why, rest_of=tick.rest_of, thrown_away=True)
            self._put(tick, entry, entry.policy, went)

    def _counts(self, tick: Tick, policy: Policy, era: int) -> bool:
        same = (entry := self._book.get(tick.uid)) is not None and entry.policy == policy
        overtaken = self._ticks.overtaken(tick, self._clock.now())
        return same and era == self._era and not self._standing_by() and not overtaken

    def _put(
        self, tick: Tick, entry: Entry, policy: Policy, went: Went, *, doubted: Iterable[Uid] = ()
    ) -> None:
        rule = policy.called
        run = Run(
            mechanism=NAME,
            rule=rule,
            name=f"{rule}@{whole_seconds(tick.moment)}",
            generation=policy.generation,
            most=policy.options.max_deletions or None,
            uid=policy.uid,
        )
        ran = Ran(entry=entry, policy=policy, run=run, went=went)
        self.settling.add(ran)
        self.unclear.heed(ran)
        if went.findings is None:
            # Nothing was weighed or counted: no run that a later one may be compared with.
            self._choices.drop(rule)
            self.settling.count(ran)
            self._on_news(entry)
            return
        rows, now = self._choices.rows(rule, went.findings.claimed), self._clock.now()
        self._choices.put(
            Chosen(
                run=run,
                due=tick.moment,
                author=entry.author,
                propagation=policy.propagation,
                observed=self.observed_until(policy) > tick.moment,
                versions={row.uid: row.version for row in rows},
                looked=now,
                took=abs(now - went.at),
            ),
            rows,
            doubted=doubted,
        )
        self._begun()
        self.settling.count(ran)
        self._on_news(entry)

    def observed_until(self, policy: Policy) -> float:
        """Until then it only reports."""
        known = self._ticks.known(policy.uid)
        span = max(policy.options.observe_seconds, self._observe_new)
        return float(known.since + span) if known is not None and span else 0.0

    async def _nap(self) -> None:
        due = self.settling.next_look
        wait = None if due == math.inf else max(0.0, due - self._clock.monotonic())
        try:
            async with self._clock.timeout(wait):
                await self._news.wait()
        except TimeoutError:
            return
