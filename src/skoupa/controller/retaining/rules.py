"""Retention policies in a running controller: read, matched with what they are about, decided upon together, and told of.

What they wish is asked by the judge (`judge/retention_rules`); who keeps the evidence true is `retention`. A policy that comes or
changes has everything of its kinds matched anew, a few at a time. What is known of policies and may be old holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.braking.swept import WayOut
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.counting import Counting
from skoupa.controller.retaining.deciding import Deciding
from skoupa.controller.retaining.event_sweeps import EventSweeps
from skoupa.controller.retaining.groups import GATHER_SECONDS
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.members import member_of
from skoupa.controller.retaining.policy_book import Entry, RetentionBook
from skoupa.controller.retaining.policy_feeds import PolicyFeeds
from skoupa.controller.retaining.policy_status import RetentionStatuses
from skoupa.controller.retaining.rematching import Rematching
from skoupa.errors import SkoupaError
from skoupa.facts.feeds import Body
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.judge.grouping import Member
from skoupa.judge.retention import Evidence
from skoupa.judge.retention_rules import RetentionRules, RulesGuard, Surplus, Wish
from skoupa.kube.client import Client
from skoupa.kube.decoding import metadata_of
from skoupa.kube.resources import Resource
from skoupa.model.verdicts import Claim
from skoupa.sweep.reporting import Report

_PART: Final = 10.0


class FollowedRules:
    """`learn` plans what changed in the store; `rematched` hears of rows that policies are about now, or not any more."""

    def __init__(
        self,
        client: Client,
        mechanism: RetentionRules,
        *,
        knowledge: Knowledge,
        labelled: Labelled,
        evidence: Callable[[], Evidence],
        learn: Callable[[Sequence[Delta]], None],
        rematched: Callable[[Sequence[Delta]], None],
        look_at: Callable[[Iterable[Uid]], None],
        look_again: Callable[[], None],
        acting: Callable[[], bool],
        way_out: WayOut,
        report: Report,
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        settings = knowledge.settings
        self._clock: Clock = client.clock
        self._knowledge = knowledge
        self._labelled = labelled
        self._evidence = evidence
        self._rematched = rematched
        self._mechanism = mechanism
        self.matched = Matched(ends=labelled.ends_of)
        self.book = RetentionBook(
            client,
            discovery=lambda: knowledge.discovery,
            namespaces=settings.namespaces,
            on_change=self._changed,
            on_trust=look_again,
        )
        self.feeds = PolicyFeeds(
            client,
            self.matched,
            knowledge=knowledge,
            body=self._body,
            learn=learn,
            on_health=lambda: self._deciding.anew(),  # noqa: PLW0108 - the same
        )
        self._rematching = Rematching(
            client.clock,
            self.matched,
            book=self.book,
            feeds=self.feeds,
            store=knowledge.store,
            rematched=self._on_rematched,
        )
        self._deciding = Deciding(
            client,
            self.matched,
            book=self.book,
            places=tuple(settings.namespaces),
            standing=self,
            complete=self._complete,
            others=self._others,
            on_news=look_at,
            wake=self._wake,
            decided=lambda uids: self.statuses.want(uids),  # noqa: PLW0108 - they come later
        )
        self.groups = self._deciding.groups
        self._events = EventSweeps(
            client,
            self.book,
            knowledge=knowledge,
            labels_of=self.matched.labels_of,
            acting=acting,
            way_out=way_out,
            observing=settings.mode != "enforce",
            told=self._swept,
        )
        self.counting = Counting(
            client.clock,
            self.matched,
            feeds=self.feeds,
            evidence=evidence,
            verdict=knowledge.verdict,
            beside=lambda: self._events.matched,
            without_quota=self._deciding.without_quota,
            unread_quotas=self._deciding.unread_quotas,
        )
        self.statuses = RetentionStatuses(
            client, self.book, counts=self.counting.of, acting=acting, told=told, untold=untold
        )
        self._report = report
        mechanism.rules = self
        knowledge.judge.join(RulesGuard(mechanism, doubt=self._why_old))
        self._look_again = look_again
        self._group: asyncio.TaskGroup | None = None
        self._woken = asyncio.Event()

    @property
    def error(self) -> SkoupaError | None:
        return self.statuses.error or self._deciding.error or self._events.error

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group
        self.book.open(group)

    def close(self) -> None:
        self.book.close()
        self.feeds.close()

    def arrange(self) -> None:
        """After every look at the kinds."""
        if self.book.arrange():
            self.match_anew()

    def match_anew(self) -> None:
        """Something else is known of kinds."""
        self._rematching.policies = True
        self._woken.set()

    def take_over(self) -> None:
        self.statuses.doubt()

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow(), self.statuses.follow(), self._events.follow()]

    def learn(self, deltas: Sequence[Delta]) -> None:
        """Before anybody asks what is wished of these."""
        for delta in deltas:
            row = delta.after or delta.before
            assert row is not None, "something changed"
            if self.matched.learn_namespace(row, gone=delta.after is None):
                # Whether what is in it is kept may be another, too.
                self._rematching.places.add(row.name)
                self._deciding.doubt_all()
            self.doubt((row.uid,))
            if self._deciding.counts(row):
                self._deciding.anew()
            if delta.after is None:
                self.groups.removed(row)
                self.matched.forget(row.uid)
            elif len(self.book):
                if row.deleted_at:
                    self.groups.removed(row)
                if self.matched.match(row):
                    self.doubt((row.uid,))

    def doubt(self, uids: Iterable[Uid]) -> None:
        """What these objects decide together with others may be another now."""
        self._deciding.doubt(uids)

    async def decide(self) -> None:
        """Before anything goes by it."""
        await self._deciding.now()

    def _on_rematched(self, changed: Sequence[Delta]) -> None:
        self._rematched(changed)
        self.doubt(delta.after.uid for delta in changed if delta.after is not None)

    def _why_old(self) -> str:
        """Why what is known of policies may be old, or does not count yet for all objects."""
        if self._rematching.under_way:
            return self.book.doubt() or "what they are about is being worked out anew"
        return self.book.doubt()

    def deleted(self, row: Row, claim: Claim) -> None:  # noqa: ARG002 - whatever it was
        """Something went by one of them."""
        for entry in self.book:
            if entry.called == claim.rule:
                self.statuses.deleted(entry.uid, entry.generation)

    def _swept(self, entry: Entry, number: int) -> None:
        observed = self._knowledge.settings.mode != "enforce"
        self._report.swept(entry.called, "events", number, observed=observed, at=self._clock.now())
        self.statuses.deleted(entry.uid, entry.generation, number)

    # What the judge asks.

    def wish(self, row: Row) -> Wish | None:
        return self.matched.wish(row)

    def surplus(self, row: Row) -> Surplus | None:
        return self.groups.surplus(row)

    def newest_by(self, row: Row) -> str:
        return self.groups.newest_by(row)

    def undecided(self, row: Row) -> str:
        return self.groups.undecided(row)

    def chosen(self, rule: str) -> Collection[Uid]:
        return self.matched.chosen(rule)

    def wishes(self) -> Iterable[Wish]:
        return self.matched.wishes()

    def given(self, row: Row) -> float:
        return self.matched.given(row)

    def member(self, row: Row, now: float) -> Member | None:
        return member_of(row, self._evidence(), knowledge=self._knowledge, wish=self.wish(row), now=now)

    def _body(self, resource: Resource) -> Body:
        body = self._labelled.body(resource)

        def seen(row: Row, found: Any) -> None:
            if self.matched.seen(row, metadata_of(found)):
                self._rematching.reread.add(row.uid)
                self._woken.set()
            body.seen(row, found)

        return Body(body.view, seen)

    def _changed(self, uid: str) -> None:
        self._rematching.policies = True
        self._woken.set()
        self.statuses.want((uid,))

    def _wake(self) -> None:
        self._woken.set()

    def _complete(self, row: Row) -> str:
        why = self.feeds.unread(row.resource, row.namespace)
        return f"{row.resource.qualified}: {why}" if why else ""

    def _others(self, row: Row, place: str) -> Iterator[Row]:
        return (one for one in self._knowledge.store.of_kind(row.resource) if one.namespace == place)

    async def _follow(self) -> None:
        while True:
            await self._deciding.wait(self._woken)
            self._woken.clear()
            assert self._group is not None, "it was opened"
            if await self._rematching.work(self._group):
                self._deciding.doubt_all()
                self.statuses.want()
                self._look_again()
            await self._deciding.read()
            await self._clock.sleep(GATHER_SECONDS)
            began = self._clock.monotonic()
            await self.decide()
            # Where much is decided upon, not for every change.
            await self._clock.sleep(_PART * (self._clock.monotonic() - began))
