"""Retention policies in a running controller: read, matched with what they are about, decided upon together, and told of.

What they wish is asked by the judge (`judge/retention_rules`); who keeps the evidence true is `retention`. A policy that comes or
changes has everything of its kinds matched anew, a few at a time. What is known of policies and may be old holds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.counting import count
from skoupa.controller.retaining.event_sweeps import EventSweeps
from skoupa.controller.retaining.groups import GATHER_SECONDS, Groups
from skoupa.controller.retaining.labelled import Labelled
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.members import member_of
from skoupa.controller.retaining.policy_book import Entry, RetentionBook
from skoupa.controller.retaining.policy_feeds import PolicyFeeds
from skoupa.controller.retaining.policy_status import Counts, RetentionStatuses
from skoupa.controller.retaining.quotas import READ_SECONDS, Quotas
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

_AT_A_TIME: Final = 500


class FollowedRules:
    """`learn` plans what changed in the store; `rematched` hears of rows that policies are about now, or not any more."""

    def __init__(
        self,
        client: Client,
        mechanism: RetentionRules,
        *,
        knowledge: Knowledge,
        labelled: Labelled,
        used: Callable[[], Collection[str]],
        evidence: Callable[[], Evidence],
        learn: Callable[[Sequence[Delta]], None],
        rematched: Callable[[Sequence[Delta]], None],
        look_at: Callable[[Iterable[Uid]], None],
        look_again: Callable[[], None],
        acting: Callable[[], bool],
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
        self.matched = Matched(ends=labelled.ends_of, used=used)
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
            on_health=self._on_health,
        )
        self._quotas = Quotas(client, places=tuple(settings.namespaces))
        self.groups = Groups(
            client.clock,
            self.matched,
            standing=self,
            complete=self._complete,
            quotas=self._quotas.of,
            others=self._others,
            on_news=look_at,
        )
        self.statuses = RetentionStatuses(
            client, self.book, counts=self._counts, acting=acting, told=told, untold=untold
        )
        self._events = EventSweeps(
            client,
            self.book,
            knowledge=knowledge,
            labels_of=self.matched.labels_of,
            acting=acting,
            observing=settings.mode != "enforce",
            told=self._swept,
        )
        self._report = report
        mechanism.rules = self
        knowledge.judge.join(RulesGuard(mechanism, doubt=self.book.doubt))
        self._group: asyncio.TaskGroup | None = None
        self._policies_changed = self._stale = False
        # Namespaces with other labels, and objects with other annotations, than when they were matched.
        self._places: set[str] = set()
        self._reread: set[Uid] = set()
        self._woken = asyncio.Event()

    @property
    def error(self) -> SkoupaError | None:
        return self.statuses.error or self._quotas.error or self._events.error

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
        self._policies_changed = True
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
                self._places.add(row.name)
                self._woken.set()
            if delta.after is None:
                self.groups.removed(row)
                self.matched.forget(row.uid)
            elif len(self.book):
                known = self.matched.terms(row.uid) is not None
                if row.deleted_at and known:
                    self.groups.removed(row)
                if self.matched.match(row) or known:
                    self.doubt()

    def doubt(self) -> None:
        """What objects decide together may be another now."""
        self._stale = True
        self._woken.set()

    def decide(self) -> None:
        """At once: somebody is about to go by it."""
        if self._stale:
            self._stale = False
            self.groups.decide()

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

    def member(self, row: Row, now: float) -> Member | None:
        protected = bool(self._knowledge.protection.reasons(row, now))
        return member_of(row, self._evidence(), protected=protected, now=now)

    def _body(self, resource: Resource) -> Body:
        body = self._labelled.body(resource)

        def seen(row: Row, found: Any) -> None:
            if self.matched.seen(row, metadata_of(found)):
                self._reread.add(row.uid)
                self._woken.set()
            body.seen(row, found)

        return Body(body.view, seen)

    def _changed(self, uid: str) -> None:
        self._policies_changed = True
        self._woken.set()
        self.statuses.want((uid,))

    def _on_health(self) -> None:
        self.doubt()
        self.statuses.want()

    def _complete(self, row: Row) -> str:
        why = self.feeds.unread(row.resource, row.namespace)
        return f"{row.resource.qualified}: {why}" if why else ""

    def _others(self, row: Row, place: str) -> Iterator[Row]:
        return (one for one in self._knowledge.store.of_kind(row.resource) if one.namespace == place)

    def _counts(self, entry: Entry) -> Counts:
        now = self._clock.now()
        counts = count(
            entry,
            self.matched,
            evidence=self._evidence(),
            verdict=lambda row: self._knowledge.verdict(row, now),
            unread=self._unread(entry),
            now=now,
        )
        matched = counts.matched + self._events.matched.get(entry.uid, 0)
        return msgspec.structs.replace(counts, matched=matched)

    def _unread(self, entry: Entry) -> tuple[str, ...]:
        policy = entry.policy
        if policy is None:
            return ()
        found = {
            f"{kind.qualified}: {why}"
            for kind in self.feeds.kinds()
            if self.matched.may_be_about(policy, kind) and (why := self.feeds.unread(kind, policy.namespace))
        }
        return tuple(sorted(found))

    async def _follow(self) -> None:
        while True:
            await self._nap()
            self._woken.clear()
            if self._policies_changed:
                self._policies_changed = False
                self.matched.put_policies(self.book)
                assert self._group is not None, "it was opened"
                self.feeds.arrange(self._group)
                await self._match_anew(list(self._knowledge.store))
                self.statuses.want()
            if self._places or self._reread:
                places, reread, self._places, self._reread = self._places, self._reread, set(), set()
                rows = [row for place in places for row in self._knowledge.store.in_namespace(place)]
                rows += [row for uid in reread if (row := self._knowledge.store.get(uid)) is not None]
                await self._match_anew(rows)
            if any(one.limit is not None and one.limit.quota for one in self.matched.policies()):
                self._stale = await self._quotas.read() or self._stale
            await self._clock.sleep(GATHER_SECONDS)
            if self._stale:
                self.decide()
                self.statuses.want()

    async def _match_anew(self, rows: list[Row]) -> None:
        for start in range(0, len(rows), _AT_A_TIME):
            changed: list[Delta] = []
            for row in rows[start : start + _AT_A_TIME]:
                if self._knowledge.store.get(row.uid) is not row:
                    # It changed meanwhile, and was matched as it is now.
                    continue
                before = self.matched.terms(row.uid)
                self.matched.match(row)
                if self.matched.terms(row.uid) != before:
                    changed.append(Delta(row, row))
            if changed:
                self._rematched(changed)
                self._stale = True
            await self._clock.sleep(0.0)

    async def _nap(self) -> None:
        quotas = any(one.limit is not None and one.limit.quota for one in self.matched.policies())
        try:
            async with self._clock.timeout(READ_SECONDS if quotas else None):
                await self._woken.wait()
        except TimeoutError:
            return
