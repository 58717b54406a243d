"""Events go after the time that a retention policy gives them, where that is shorter than the server's own (`--event-ttl`).

They are many and live for an hour anyway: they are listed in pages now and then and never watched, what goes of them is counted and not
written down one by one, and no Event tells of it. Everything else holds as it does for others: who is protected stays, Brakes and a clock
that differs from the server's stop it, each takes its place under the ceilings, a delete names the very state that was read, and only
who leads and enforces deletes. The age counts from when an Event was last seen to happen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.braking.held_events import EventsSeen
from skoupa.controller.braking.swept import Part, WayOut
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.event_times import EVENT_TIMES, EventTimes
from skoupa.controller.retaining.policy_book import Entry, RetentionBook
from skoupa.errors import Conflict, NotFound, SkoupaError, Withdrawn
from skoupa.facts.rows import Row, Uid
from skoupa.judge.brakes import holding
from skoupa.judge.retention import NAME
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import Partial
from skoupa.kube.timestamps import whole_seconds
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim
from skoupa.policy.retention.policies import EVENTS

SWEEP_SECONDS: Final = 60.0
_SOON_SECONDS: Final = 1.0


class _Due(msgspec.Struct, frozen=True, kw_only=True):
    entry: Entry
    uid: str
    row: Row
    claim: Claim

    @property
    def part(self) -> Part:
        return self.entry.called, self.row.namespace


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
        way_out: WayOut,
        observing: bool,
        told: Callable[[Entry, int], None],
    ) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._book = book
        self._knowledge = knowledge
        self._labels_of = labels_of
        self._leads = acting
        self._gate, self._swept, self._braked = way_out
        self._braked.taken = self._takes_any
        self._observing = observing
        self._told = told
        self._pause = 2.0 / knowledge.settings.rate.deletions_per_second
        # Of the last look, by policy: how many Events it is about.
        self.matched: dict[str, int] = {}
        self.error: SkoupaError | None = None
        # Whose delete had no answer: its place is taken until it is known what became of it.
        self._unanswered: set[Uid] = set()
        # While observing: those of which it was told already that they would go.
        self._supposed: set[Uid] = set()

    async def follow(self) -> None:
        while True:
            await self._nap()
            if not (self._acting() or self._observing) or self._book.doubt():
                continue
            entries = [one for one in self._book if takes_events(one)]
            if not entries:
                self._braked.tell(EventsSeen())
                continue
            try:
                await self._sweep(entries)
            except SkoupaError as error:
                self.error = error
            else:
                self.error = None

    async def _nap(self) -> None:
        """Until the next look; the first one of a lead is as soon as it can be, for what Brakes hold is not known before."""
        waits = self._braked.unknown and (self._book.doubt() or not self._acting())
        try:
            async with self._clock.timeout(_SOON_SECONDS if waits else SWEEP_SECONDS):
                await self._braked.begun.wait()
        except TimeoutError:
            return
        finally:
            self._braked.begun.clear()

    def _takes_any(self) -> bool:
        return bool(self._book.doubt()) or any(map(takes_events, self._book))

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
        left, braked, supposed = set(self._unanswered), EventsSeen(), set[Uid]()
        for place in self._places(entries):
            listing = pages(self._client, EVENTS, EVENT_TIMES, scope=Scope(namespace=place))
            async with aclosing(listing):
                async for page in listing:
                    due: list[_Due] = []
                    for event in page.items:
                        entry = self._taker(entries, event)
                        if entry is None:
                            continue
                        matched[entry.uid] += 1
                        one = self._due(entry, event)
                        if one is None:
                            continue
                        if (brakes := self._held_by(one)) is None:
                            due.append(one)
                            left.discard(one.row.uid)
                        else:
                            braked.note(one.row, one.claim, brakes)
                    for one in await self._send(due, went):
                        # Such as by a Brake that it pulled itself.
                        braked.note(one.row, one.claim, self._held_by(one) or frozenset())
                    if self._observing:
                        supposed.update(one.row.uid for one in due)
                        # Also where the list breaks off.
                        self._supposed |= supposed
        self._braked.tell(braked)
        self._supposed = supposed
        for uid in left:
            # It is gone, or not due any more: its place stays counted.
            self._unanswered.discard(uid)
            self._gate.forget(uid)

    def _places(self, entries: Iterable[Entry]) -> Iterable[str]:
        named = {entry.namespace for entry in entries}
        settings = self._knowledge.settings.namespaces
        if settings:
            return settings if "" in named else sorted(named & set(settings))
        return ("",) if "" in named else sorted(named)

    def _taker(self, entries: Iterable[Entry], event: EventTimes) -> Entry | None:
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

    def _is_about(self, entry: Entry, event: EventTimes) -> bool:
        policy = entry.policy
        if policy is None:
            return False
        labels = self._labels_of(event.metadata.namespace)
        return policy.is_about(EVENTS, event.metadata, has_rules=True, namespace_labels=labels).matches

    def _due(self, entry: Entry, event: EventTimes) -> _Due | None:
        row = self._knowledge.extraction.row(EVENTS, Partial(metadata=event.metadata))
        due = event.last(float(row.created)) + _seconds(entry)
        if due > self._clock.now():
            return None
        told = reason("policy-matched", rule=entry.called, tick=whole_seconds(due))
        claim = Claim(mechanism=NAME, rule=entry.called, due=due, reason=told)
        return _Due(entry=entry, uid=event.metadata.uid, row=row, claim=claim)

    async def _send(self, due: Sequence[_Due], went: dict[str, int]) -> list[_Due]:
        """Those that did not go; what went counts also where this breaks off."""
        if self._observing:
            for one in due:
                # They stay, and are met at each look again.
                went[one.entry.uid] += one.row.uid not in self._supposed
            return []
        if not due or not self._acting():
            return []
        planned, stayed = Counter(one.part for one in due), list[_Due]()
        at, gone = await self._swept.intend(planned), Counter[Part]()
        for one in due:
            if await self._try(one):
                went[one.entry.uid] += 1
                gone[one.part] += 1
            else:
                stayed.append(one)
        # Where it broke off, more than went is on record: that is on the side of holding.
        await self._swept.done(planned, gone, at=at)
        return stayed

    async def _try(self, one: _Due) -> bool:
        """Whether it went."""
        row = one.row
        freshen = self._knowledge.freshen_namespace
        if freshen is not None and await freshen(row.namespace) is not None:
            return False
        if not self._still_goes(one) or not await self._gate.enter(
            row, one.claim, still_wanted=lambda: self._still_goes(one)
        ):
            return False
        unsure = row.uid in self._unanswered
        try:
            await self._client.delete(
                EVENTS,
                row.name,
                namespace=row.namespace,
                uid=one.uid,
                resource_version=row.resource_version,
                propagation="Background",
                rule=one.entry.called,
                still_wanted=lambda: self._still_goes(one),
            )
        except NotFound:
            self._left(row, "gone")
            return unsure
        except (Conflict, Withdrawn) as error:
            # It happened again, or somebody stopped this.
            self._gate.failed(row, error)
            return False
        except SkoupaError as error:
            self._gate.failed(row, error)
            self._unanswered.add(row.uid)
            raise
        finally:
            await self._clock.sleep(self._pause)
        self._left(row, "deleted")
        return True

    def _left(self, row: Row, outcome: str) -> None:
        self._gate.left(row, outcome)
        self._gate.forget(row.uid)
        self._unanswered.discard(row.uid)

    def _acting(self) -> bool:
        """Only once it is counted what went before this lead."""
        return self._leads() and self._swept.is_counted

    def _still_goes(self, one: _Due) -> bool:
        return self._acting() and self._held_by(one) is None

    def _held_by(self, one: _Due) -> frozenset[str] | None:
        """The Brakes that hold it, if nothing else does; none of them: something else does, and None: nothing does."""
        now, knowledge = self._clock.now(), self._knowledge
        known = self._book.get(one.entry.uid)
        if known is None or known.policy != one.entry.policy or self._book.doubt():
            return frozenset()
        if knowledge.is_kept_from(one.claim, one.row, now):
            return frozenset()
        if knowledge.circumstances.holds(one.row, one.claim, now):
            return frozenset()
        holds = knowledge.brake_guard.holds(one.row, one.claim, now)
        return frozenset(map(holding, holds)) - {""} if holds else None


def takes_events(entry: Entry) -> bool:
    return entry.policy is not None and entry.policy.of_events


def _seconds(entry: Entry) -> int:
    return entry.policy.after["created"] if entry.policy is not None else 0
