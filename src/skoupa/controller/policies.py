"""Policies in a running controller: they are read, run at their ticks, and what they choose is judged and swept like all else.

One task per kind of policy, one per run that is under way, none per object. Only who leads runs anything. What a run chose counts
while its policy is what it was: one that is changed, suspended or gone has chosen nothing. What must survive a restart is when each
policy ran, and that is written once a run is settled: one that was interrupted is run again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.policy_evaluations import PolicyEvaluations
from skoupa.controller.policy_runs import PolicyRuns
from skoupa.controller.policy_status import PolicyStatuses
from skoupa.controller.state import POLICIES, State
from skoupa.errors import Forbidden, SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.judge.policies import PolicyGuard, PolicyMechanism
from skoupa.judge.ttl import TtlMechanism
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.model.verdicts import Claim
from skoupa.runs.book import WATCHED, Book, Entry, served
from skoupa.runs.choices import Choices
from skoupa.runs.evaluation import Evaluation
from skoupa.runs.leaving import Leaving
from skoupa.runs.overhearing import Overhearing
from skoupa.runs.second_looks import SecondLooks
from skoupa.runs.showing import Showing
from skoupa.runs.ticks import Known, Ticks
from skoupa.settings import Settings, seconds
from skoupa.sweep.memory import Memory

# A clock that was set is noticed after this time.
LONGEST_NAP_SECONDS: Final = 10.0
# Many policies run in the same second: one write tells of all.
WRITE_SECONDS: Final = 1.0
# A ConfigMap holds a megabyte, and not all of it is ours.
_MOST_REMEMBERED: Final = 6000


class Policies:
    """`learn` plans what changed in the store; `look_at` has objects judged anew, `look_again` all that are held.

    `begun` hears that runs are to be weighed.

    `namespaces_known`: the store has all Namespaces; `told` hears in words what is done in a poorer way for lack of rights.
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
    ) -> None:
        self._clock: Clock = client.clock
        self._settings = settings
        self._knowledge = knowledge
        self._state = state
        self._standing_by = standing_by
        self._look_again = look_again
        self._mechanism = mechanism
        store = knowledge.store
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
            client, store=store, evaluation=self._evaluated, may_delete=self._may_delete, look_at=look_at
        )
        self.choices = Choices(
            mechanism,
            store=store,
            showing=Showing(store, knowledge.extraction),
            learn=learn,
            on_outdated=self._second_looks.want,
            on_leaving=self._leaving.want,
        )
        evaluations = PolicyEvaluations(
            client, settings=settings, knowledge=knowledge, book=self.book, namespaces_known=namespaces_known
        )
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
        self.statuses = PolicyStatuses(
            client,
            book=self.book,
            ticks=self.ticks,
            runs=self.runs,
            minimum=int(seconds(settings.policies.minimum_interval)),
            acting=self._acting,
            told=told,
        )
        ttl = TtlMechanism(settings) if settings.policies.respect_ttl else None
        knowledge.judge.join(PolicyGuard(ttl, doubt=self._doubt))
        overhearing.on_deleted = self.runs.settling.deleted
        overhearing.on_gone = self._gone
        overhearing.on_leaving = self._leaves
        self._followed: dict[tuple[Resource, str], asyncio.Task[None]] = {}
        self._discovery: Discovery | None = None
        self._group: asyncio.TaskGroup | None = None
        self._leads = False
        self._woken = asyncio.Event()
        self._unwritten = asyncio.Event()
        self._error: SkoupaError | None = None

    @property
    def error(self) -> SkoupaError | None:
        return self._error or self.statuses.error or self._second_looks.error

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self._followed.clear()
        self._discovery = None

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [
            self._follow_ticks(),
            self._write_state(),
            self._second_looks.follow(self.choices),
            self._leaving.follow(self.choices),
            self.runs.follow(),
            self.statuses.follow(),
        ]

    def arrange(self) -> None:
        """After every look at the kinds: follows those that there are, and those alone."""
        if self._group is None or self._knowledge.discovery is self._discovery:
            return
        discovery = self._discovery = self._knowledge.discovery
        gaps = {gap.group for gap in discovery.gaps}
        wanted = {
            (kind, place)
            for definition in WATCHED
            if (kind := served(definition, discovery)) is not None
            for place in self._places(kind)
        }
        for kind, place in [key for key in self._followed if key not in wanted and key[0].group not in gaps]:
            self._followed.pop((kind, place)).cancel()
            if not any(other.kind == kind.kind for other, _ in wanted):
                self.book.abandon(kind, place)
        for kind, place in sorted(wanted - self._followed.keys(), key=lambda key: (key[0].kind, key[1])):
            self.book.expect(kind, place)
            self._followed[kind, place] = self._group.create_task(self.book.follow(kind, place))
        self.book.read_again()

    def _places(self, kind: Resource) -> Collection[str]:
        """An installation for some namespaces runs the policies of those alone."""
        namespaces = self._settings.namespaces
        if not namespaces:
            return ("",)
        return namespaces if kind.namespaced else ()

    def close(self) -> None:
        for task in self._followed.values():
            task.cancel()
        self._followed.clear()

    def take_over(self) -> None:
        """This process acts from now on; the state has to be read. What was chosen before is void."""
        known: dict[str, Known] = {}
        if self._settings.mode == "enforce":
            known = self._state.get(POLICIES, dict[str, Known]) or {}
        self.runs.begin_anew()
        self.ticks.remember(known, self._clock.now())
        self._leads = True
        self._woken.set()
        self._unwritten.set()
        self.statuses.doubt()

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
        if entry is None:
            self.ticks.gone(uid)
        elif entry.policy is None:
            self.ticks.broken(uid)
        else:
            self.ticks.learn(entry.policy, self._clock.now())
        self._unwritten.set()
        self.statuses.want(uid)

    def _exempted(self) -> None:
        """What was chosen has to be asked again whether an exception is about it."""
        for entry in self.book:
            if entry.policy is not None and "Deleting" in entry.policy.kind:
                for uid in self._mechanism.doubt(entry.called):
                    self._second_looks.want(uid)

    def _on_news(self, entry: Entry) -> None:
        """A run ended, or came further."""
        self.statuses.want(entry.uid)
        self._unwritten.set()
        self._woken.set()

    def _gone(self, row: Row, claim: Claim) -> None:  # noqa: ARG002 - whoever claimed it
        self.runs.settling.touch(self._mechanism.rules_of(row.uid))
        self.choices.gone(row.uid)

    def _leaves(self, row: Row, claim: Claim) -> None:  # noqa: ARG002 - the same
        if self._mechanism.rules_of(row.uid):
            self._leaving.want(row.uid)

    def _doubt(self, rule: str) -> str:
        return self.book.doubt(rule.partition("/")[0])

    async def _evaluated(self, rule: str) -> Evaluation | None:
        return await self.runs.evaluation_of(rule)

    async def _may_delete(self, rule: str, row: Row) -> bool:
        return await self.runs.may_delete(rule, row)

    async def _follow_ticks(self) -> None:
        while True:
            self._woken.clear()
            if self._leads and not self._standing_by():
                self.runs.start(self.ticks.due(self._clock.now()))
            await self._nap()

    async def _nap(self) -> None:
        due = self.ticks.next_time()
        wait = None
        if due is not None or self.runs.waiting or len(self.book):
            wait = LONGEST_NAP_SECONDS
        if due is not None:
            wait = min(LONGEST_NAP_SECONDS, max(0.0, due - self._clock.now()))
            # Until another leads no more, what is due is theirs.
            wait = max(wait, 1.0) if self._standing_by() or not self._leads else wait
        try:
            async with self._clock.timeout(wait):
                await self._woken.wait()
        except TimeoutError:
            return

    async def _write_state(self) -> None:
        backoff = Backoff(self._clock)
        written: dict[str, Known] | None = None
        while True:
            await self._unwritten.wait()
            await self._clock.sleep(WRITE_SECONDS)
            self._unwritten.clear()
            if not self._acting():
                continue
            if self.book.whole and not self.book.doubt():
                self.ticks.keep_only({entry.uid for entry in self.book})
            known = {**self.ticks.remembered(), **self.runs.settling.unsettled}
            known = dict(list(known.items())[-_MOST_REMEMBERED:])
            if known == written:
                continue
            try:
                await self._state.put(POLICIES, known)
            except Forbidden:
                # Who may write no state has none after a restart either.
                written = known
            except SkoupaError as error:
                self._error = error
                self._unwritten.set()
                await self._clock.sleep(backoff.next())
            else:
                self._error, written = None, known
                backoff.reset()
