"""Policies in a running controller: they are read, run at their ticks, and what they choose is judged and swept like all else.

One task per kind of policy, one per run that is under way, none per object. Only who leads runs anything. What a run chose counts
while its policy is what it was: one that is changed, suspended or gone has chosen nothing. What must survive a restart is when each
policy ran, and that is written once a run is settled: one that was interrupted is run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.policies.checks import PolicyChecks
from skoupa.controller.policies.context import ContextStatuses
from skoupa.controller.policies.evaluations import PolicyEvaluations
from skoupa.controller.policies.following import PolicyFollowing
from skoupa.controller.policies.memory import PolicyMemory
from skoupa.controller.policies.notices import PolicyNotices
from skoupa.controller.policies.runs import PolicyRuns
from skoupa.controller.policies.status import PolicyStatuses
from skoupa.controller.state import State
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.judge.policies import PolicyGuard, PolicyMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.client import Client
from skoupa.model.verdicts import Claim
from skoupa.policy.exemptions import Exemption
from skoupa.runs.book import Book, Entry
from skoupa.runs.choices import Choices
from skoupa.runs.leaving import Leaving
from skoupa.runs.overhearing import Overhearing
from skoupa.runs.second_looks import SecondLooks
from skoupa.runs.showing import Showing
from skoupa.runs.status import in_words, regarding
from skoupa.runs.ticks import Ticks
from skoupa.settings import Settings, seconds
from skoupa.sweep.memory import Memory

# A clock that was set is noticed after this time.
LONGEST_NAP_SECONDS: Final = 10.0


class Policies:
    """`learn` plans what changed in the store; `look_at` has objects judged anew, `look_again` all that are held.

    `begun` hears that runs are to be weighed. `namespaces_known`: the store has all Namespaces.
    `told` hears in words what is done in a poorer way for lack of rights, `untold` the same words when that is over.
    """

    def __init__(
        self,
        client: Client,
        mechanism: PolicyMechanism,
        *,
        settings: Settings,
        knowledge: Knowledge,
        state: State,
        overhearing: Overhearing,
        memory: Callable[[], Memory],
        standing_by: Callable[[], bool],
        learn: Callable[[Sequence[Delta]], None],
        look_at: Callable[[Iterable[Uid]], None],
        look_again: Callable[[], None],
        begun: Callable[[], None],
        namespaces_known: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._settings = settings
        self._knowledge = knowledge
        self._standing_by = standing_by
        self._look_again = look_again
        self._mechanism, store = mechanism, knowledge.store
        self.book = Book(
            client,
            discovery=lambda: knowledge.discovery,
            on_change=self._changed,
            on_exemptions=self._exempted,
            told=told,
            require_account=settings.policies.require_service_account,
        )
        self.ticks = Ticks(minimum=int(seconds(settings.policies.minimum_interval)))
        self._leaving = Leaving(client, store=store, extraction=knowledge.extraction)
        self._second_looks = SecondLooks(
            client,
            store=store,
            again=lambda: self.runs,
            report=overhearing,
            look_at=look_at,
        )
        self.choices = Choices(
            mechanism,
            store=store,
            showing=Showing(store, knowledge.extraction),
            learn=learn,
            on_outdated=self._second_looks.want,
            on_doubt=self._second_looks.doubt,
            on_leaving=self._leaving.want,
        )
        evaluations = PolicyEvaluations(
            client, settings=settings, knowledge=knowledge, book=self.book, namespaces_known=namespaces_known
        )
        self._checks = PolicyChecks(evaluations.pool, self.book)
        self.runs = PolicyRuns(
            client,
            settings=settings,
            knowledge=knowledge,
            book=self.book,
            ticks=self.ticks,
            choices=self.choices,
            evaluations=evaluations,
            memory=memory,
            report=overhearing,
            standing_by=standing_by,
            begun=begun,
            on_news=self._on_news,
        )
        self.memory = PolicyMemory(
            client.clock,
            state=state,
            book=self.book,
            ticks=self.ticks,
            settling=self.runs.settling,
            acting=self._acting,
        )
        self.statuses = PolicyStatuses(
            client,
            book=self.book,
            ticks=self.ticks,
            runs=self.runs,
            minimum=int(seconds(settings.policies.minimum_interval)),
            acting=self._acting,
            told=told,
            untold=untold,
        )
        self._notices = PolicyNotices(
            client.clock,
            settings=settings,
            knowledge=knowledge,
            book=self.book,
            ticks=self.ticks,
            runs=self.runs,
            choices=self.choices,
            report=overhearing,
            acting=self._acting,
        )
        self._contexts = ContextStatuses(client, acting=self._acting, told=told, untold=untold)
        evaluations.outside.shared.on_refresh = self._contexts.want
        evaluations.kyverno.told, evaluations.kyverno.untold = told, untold
        ttl = TtlMechanism(settings) if settings.policies.respect_ttl else None
        knowledge.judge.join(PolicyGuard(ttl, doubt=self._doubt))
        knowledge.judge.join_last(self._second_looks.guard(mechanism, observing=settings.mode != "enforce"))
        knowledge.on_questions = self.choices.heed
        overhearing.on_deleted = self.runs.settling.deleted
        overhearing.on_refused, overhearing.on_failed = self.runs.settling.refused, self.choices.failed
        overhearing.on_gone, overhearing.on_leaving = self._gone, self._leaves
        self._following = PolicyFollowing(
            self.book, discovery=lambda: knowledge.discovery, namespaces=settings.namespaces
        )
        self._report = overhearing
        # Why those that are not understood are not, as it was told.
        self._broken: dict[str, str] = {}
        self._leads = False
        self._woken = asyncio.Event()

    @property
    def error(self) -> SkoupaError | None:
        return self.memory.error or self.statuses.error or self._second_looks.error

    def open(self, group: asyncio.TaskGroup) -> None:
        self._following.open(group)

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [
            self._follow_ticks(),
            self.memory.follow(),
            self._second_looks.follow(self.choices),
            self._leaving.follow(self.choices),
            self.runs.follow(),
            self._checks.follow(),
            self.statuses.follow(),
            self._contexts.follow(),
            self._notices.follow(),
        ]

    def arrange(self) -> None:
        """After every look at the kinds."""
        self._following.arrange()

    def close(self) -> None:
        self._following.close()

    def take_over(self) -> None:
        """This process acts from now on; the state has to be read. What was chosen before is void."""
        known, seen = self.memory.read_all() if self._settings.mode == "enforce" else ({}, None)
        self.runs.begin_anew()
        self.ticks.remember(known, self._clock.now(), all_seen=seen, rests=True)
        self._leads = True
        self._woken.set()
        self.memory.changed()
        for entry in self.book:
            self._checks.want(entry.uid)
            self._tell_broken(entry)
        self.statuses.doubt()

    def coming(self) -> bool:
        """Whether it is not known yet what all runs that are due have chosen."""
        now, moments = self._clock.now(), (self.ticks.next(entry.uid) for entry in self.book)
        due = any(moment is not None and moment <= now for moment in moments)
        return due or not self._leads or bool(self.book.doubt())

    def learn(self, deltas: Sequence[Delta]) -> None:
        self.choices.learn(deltas)

    def _acting(self) -> bool:
        return self._settings.mode == "enforce" and self._leads and not self._standing_by()

    def _changed(self, uid: str) -> None:
        """A policy came, changed or went; without a uid: what is known of them can be trusted again."""
        self._woken.set()
        if not uid:
            # What they have chosen was held meanwhile.
            self._look_again()
            for known in self.book:
                self.statuses.want(known.uid)
            return
        entry = self.book.get(uid)
        self.runs.changed(uid, entry)
        if entry is None or entry.policy is not None:
            self._broken.pop(uid, None)
        if entry is None:
            self.ticks.gone(uid)
        elif entry.policy is None:
            self.ticks.broken(uid)
            self._tell_broken(entry)
        else:
            self.ticks.learn(entry.policy, self._clock.now(), written=entry.written)
            if self._leads:
                self._checks.want(uid)
        self.memory.changed()
        self.statuses.want(uid)

    def _tell_broken(self, entry: Entry) -> None:
        why = in_words(entry.reading.problems)
        if entry.policy is None and self._leads and self._broken.get(entry.uid) != why:
            self._broken[entry.uid] = why
            self._report.policy_broken(regarding(entry), entry.called, why=why, at=self._clock.now())

    def _exempted(self, changed: Iterable[Exemption]) -> None:
        """What was chosen has to be asked again whether an exception is about it."""
        for entry in self.book:
            if entry.policy is not None and any(one.is_about(entry.policy) for one in changed):
                self.choices.doubt(entry.called)

    def _on_news(self, entry: Entry) -> None:
        """A run ended, or came further."""
        self.statuses.want(entry.uid)
        self.memory.changed()
        self._woken.set()

    def _gone(self, row: Row, claim: Claim) -> None:  # noqa: ARG002 - whoever claimed it
        self.runs.settling.touch(self._mechanism.rules_of(row.uid))
        self.choices.gone(row.uid)

    def _leaves(self, row: Row, claim: Claim) -> None:  # noqa: ARG002 - the same
        if self._mechanism.rules_of(row.uid):
            self._leaving.want(row.uid)

    def _doubt(self, rule: str) -> str:
        return self.book.doubt(rule.partition("/")[0])

    async def _follow_ticks(self) -> None:
        while True:
            self._woken.clear()
            if self._leads and not self._standing_by():
                due = self.ticks.due(self._clock.now())
                for uid in self.ticks.turned_back():
                    self.statuses.want(uid)
                self.statuses.give_way(len(due))
                self.statuses.heed_time()
                self.runs.start(due)
            await self._nap()

    async def _nap(self) -> None:
        due = self.ticks.next_time()
        wait = LONGEST_NAP_SECONDS if due is not None or self.runs.waiting or len(self.book) else None
        if due is not None:
            wait = min(LONGEST_NAP_SECONDS, max(0.0, due - self._clock.now()))
            # Until another leads no more, what is due is theirs.
            wait = max(wait, 1.0) if self._standing_by() or not self._leads else wait
        try:
            async with self._clock.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            return
