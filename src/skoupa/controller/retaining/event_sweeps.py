"""Events go after the time that a retention policy gives them, where that is shorter than the server's own (`--event-ttl`).

They are many and live for an hour anyway: they are listed in pages now and then and never watched, what goes of them is counted and not
written down one by one, and no Event tells of it. Everything else holds as it does for others: who is protected stays, Brakes
stop it, a delete names the very state that was read, and only who leads and enforces deletes. The age counts from when an
Event was last seen to happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from datetime import datetime
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.policy_book import Entry, RetentionBook
from skoupa.errors import Conflict, NotFound, SkoupaError, Withdrawn
from skoupa.facts.rows import Row
from skoupa.judge.retention import NAME
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import Metadata, Partial, View
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim
from skoupa.policy.retention.reading import EVENTS

SWEEP_SECONDS: Final = 60.0


class _Series(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    last_observed_time: datetime | None = None


class _Event(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    metadata: Metadata
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: _Series | None = None

    def last(self, created: float) -> float:
        series = self.series.last_observed_time if self.series is not None else None
        seen = (self.last_timestamp, self.event_time, series)
        return max(created, *(one.timestamp() for one in seen if one is not None), created)


_VIEW: Final = View[_Event](type=_Event)


class EventSweeps:
    """`labels_of` are those of a namespace, None where they are not known; `told` hears how many went, or would, by which policy."""

    def __init__(
        self,
        client: Client,
        book: RetentionBook,
        *,
        knowledge: Knowledge,
        labels_of: Callable[[str], Mapping[str, str] | None],
        acting: Callable[[], bool],
        observing: bool,
        told: Callable[[Entry, int], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._book = book
        self._knowledge = knowledge
        self._labels_of = labels_of
        self._acting = acting
        self._observing = observing
        self._told = told
        self._pause = 2.0 / knowledge.settings.rate.deletions_per_second
        # Of the last look, by policy: how many Events it is about.
        self.matched: dict[str, int] = {}
        self.error: SkoupaError | None = None

    async def follow(self) -> None:
        while True:
            await self._clock.sleep(SWEEP_SECONDS)
            entries = [one for one in self._book if takes_events(one)]
            if not entries or not (self._acting() or self._observing) or self._book.doubt():
                continue
            try:
                await self._sweep(entries)
            except SkoupaError as error:
                self.error = error
            else:
                self.error = None

    async def _sweep(self, entries: list[Entry]) -> None:
        matched: dict[str, int] = dict.fromkeys((one.uid for one in entries), 0)
        went: dict[str, int] = dict.fromkeys(matched, 0)
        try:
            await self._look(entries, matched, went)
            self.matched = matched
        finally:
            # Also where the list broke off: what went has gone.
            for entry in entries:
                if went[entry.uid]:
                    self._told(entry, went[entry.uid])

    async def _look(self, entries: list[Entry], matched: dict[str, int], went: dict[str, int]) -> None:
        for place in self._places(entries):
            listing = pages(self._client, EVENTS, _VIEW, scope=Scope(namespace=place))
            async with aclosing(listing):
                async for page in listing:
                    for event in page.items:
                        entry = self._taker(entries, event)
                        if entry is None:
                            continue
                        matched[entry.uid] += 1
                        went[entry.uid] += await self._try(entry, event)

    def _places(self, entries: Iterable[Entry]) -> Iterable[str]:
        named = {entry.namespace for entry in entries}
        settings = self._knowledge.settings.namespaces
        if settings:
            return settings if "" in named else sorted(named & set(settings))
        return ("",) if "" in named else sorted(named)

    def _taker(self, entries: Iterable[Entry], event: _Event) -> Entry | None:
        """The policy that counts for it: more specific wins, and of equals the one that gives it the longest.

        None where one that is not understood may be the one that counts.
        """
        found = [one for one in entries if self._is_about(one, event)]
        own = [one for one in found if one.namespace] or found
        if any(one.policy is not None and one.policy.suspended for one in own):
            return None
        broken = {one.namespace for one in self._book if one.policy is None}
        of_the_cluster = all(not one.namespace for one in own)
        if event.metadata.namespace in broken or (of_the_cluster and "" in broken):
            return None
        return max(own, key=_seconds, default=None)

    def _is_about(self, entry: Entry, event: _Event) -> bool:
        policy = entry.policy
        if policy is None:
            return False
        labels = self._labels_of(event.metadata.namespace)
        return policy.is_about(EVENTS, event.metadata, has_rules=True, namespace_labels=labels).matches

    async def _try(self, entry: Entry, event: _Event) -> int:
        row = self._knowledge.extraction.row(EVENTS, Partial(metadata=event.metadata))
        due = event.last(float(row.created)) + _seconds(entry)
        if due > self._clock.now() or row.deleted_at or self._is_held(row, entry, due):
            return 0
        if self._observing:
            return 1
        try:
            await self._client.delete(
                EVENTS,
                row.name,
                namespace=row.namespace,
                uid=event.metadata.uid,
                resource_version=event.metadata.resource_version,
                propagation="Background",
                rule=entry.called,
                still_wanted=lambda: self._acting() and not self._is_held(row, entry, due),
            )
        except (NotFound, Conflict, Withdrawn):
            # It is gone, happened again, or somebody stopped this.
            return 0
        finally:
            await self._clock.sleep(self._pause)
        return 1

    def _is_held(self, row: Row, entry: Entry, due: float) -> bool:
        now, knowledge = self._clock.now(), self._knowledge
        known = self._book.get(entry.uid)
        if known is None or known.policy != entry.policy or self._book.doubt():
            return True
        told = reason("policy-matched", rule=entry.called, tick=whole_seconds(due))
        claim = Claim(mechanism=NAME, rule=entry.called, due=due, reason=told)
        return bool(
            list(knowledge.protection.reasons(row, now)) or knowledge.brake_guard.holds(row, claim, now)
        )


def takes_events(entry: Entry) -> bool:
    policy = entry.policy
    return policy is not None and policy.names_kind(EVENTS) and "created" in policy.after


def _seconds(entry: Entry) -> int:
    return entry.policy.after["created"] if entry.policy is not None else 0
