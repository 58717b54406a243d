"""Deletes whose end nobody has seen: no answer came, the server failed while it was at it, or finalizers are at work.

Their rows in the ledger stay open, as after a crash, and so does the place under the ceilings of those without an
answer. An object that is then found to be gone went by us, most likely: that is told, and recorded as what it is. What
the feeds do not show any more may only have lost its label, so it is looked for before anything is said; while it is
terminating, it is looked for again until it is gone. What is still there when no server can be at it any more was not
deleted: whoever deletes it later is somebody else. Each is told once, also where feeds that are late have it tried again.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.kube.backoff import Backoff
from skoupa.kube.resources import Resource
from skoupa.model.verdicts import Claim
from skoupa.sweep.failures import is_sure
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report

LOOK_SECONDS: Final = 5.0
# A server ends a request after a minute.
SETTLED_SECONDS: Final = 70.0
# How soon one that is terminating is looked for again, and how seldom at last.
LINGER_SECONDS: Final = 30.0
LINGER_SECONDS_AT_LAST: Final = 3600.0


class _Sent(msgspec.Struct, frozen=True):
    """`claim` is None where the server took the delete: then only its end is of interest. `at` is when the last try failed."""

    row: Row
    claim: Claim | None = None
    at: float = math.inf


class _Lingering(msgspec.Struct, frozen=True):
    """On its way out, and no feed will tell its end: it is looked for at that time, and the next time after so long."""

    sent: _Sent
    at: float
    wait: float


class Unanswered:
    """`look` finds the object as it is now; None: it is gone. `on_deleted` hears what went after all.

    `known`: the feeds still show it. `under_way`: another try is out, and how that ends is told by whoever sent it.
    `standing_by`: another replica leads by now, and finds out by itself.
    """

    def __init__(
        self,
        look: Callable[[Row], Awaitable[Row | None]],
        *,
        clock: Clock,
        record: Record,
        report: Report,
        standing_by: Callable[[], bool],
        on_deleted: Callable[[Row, float], None],
        known: Callable[[Uid], bool] = lambda _: False,
        under_way: Callable[[Uid], bool] = lambda _: False,
    ) -> None:
        self._look = look
        self._known = known
        self._under_way = under_way
        self._clock = clock
        self._record = record
        self._report = report
        self._standing_by = standing_by
        self._on_deleted = on_deleted
        self._sent: dict[Uid, _Sent] = {}
        self._departed: dict[Uid, _Sent] = {}
        # Seen to leave while another try was out.
        self._leaving: set[Uid] = set()
        # Told to have gone, and not seen to: the feeds are late.
        self._told: set[Uid] = set()
        self._lingering: dict[Uid, _Lingering] = {}
        self._news = asyncio.Event()
        # When the follower looks by itself.
        self._look_at = math.inf

    def __contains__(self, uid: Uid) -> bool:
        """Whether a delete of it had no answer."""
        sent = self._sent.get(uid) or self._departed.get(uid)
        return sent is not None and sent.claim is not None

    def was_told(self, uid: Uid) -> bool:
        """Whether it was told that its delete was carried out, although no answer came; it counts already."""
        return uid in self._told

    def failed(self, row: Row, claim: Claim, error: SkoupaError, *, known: bool) -> None:
        """Writes the failure down; `known`: the feeds still show the object."""
        if is_sure(error) and row.uid not in self:
            self._record.failed(row, error.message)
            return
        self._record.unanswered(row, error.message)
        self._forget(row.uid)
        if known:
            now = self._clock.monotonic()
            self._sent[row.uid] = _Sent(row, claim, now)
            if now + SETTLED_SECONDS < self._look_at:
                # Whoever follows has to know when to look.
                self._news.set()
        else:
            self._depart(_Sent(row, claim))

    def not_sent(self, row: Row, why: str) -> bool:
        """Something came in between, and this time nothing was sent. Whether its row says now that it failed."""
        if row.uid in self:
            self._record.unanswered(row, why)
            if row.uid in self._leaving:
                sent = self._sent[row.uid]
                self._forget(row.uid)
                self._depart(sent)
            return False
        if not self._record.is_intended(row.uid):
            # Its row is about something else, such as the Brake that holds it.
            return False
        self._record.failed(row, why)
        return True

    def gone(self, row: Row, claim: Claim) -> None:
        """After a delete without an answer it is not there any more."""
        self._forget(row.uid)
        now = self._clock.now()
        self._record.gone_unanswered(row)
        self._tell(row, claim, now, terminating=False)

    def _tell(self, row: Row, claim: Claim, now: float, *, terminating: bool) -> None:
        if row.uid in self._told:
            return
        if self._known(row.uid):
            self._told.add(row.uid)
        self._on_deleted(row, now)
        self._report.deleted(row, claim, at=now, terminating=terminating)

    def answered(self, row: Row, *, terminating: bool, known: bool = True) -> None:
        """The server took its delete; `known`: the feeds still show the object."""
        self._forget(row.uid)
        if terminating and known:
            self._sent[row.uid] = _Sent(row)
        elif terminating:
            self._depart(_Sent(row))

    def learn(self, deltas: Iterable[Delta]) -> None:
        if not self._sent and not self._told:
            return
        for delta in deltas:
            if delta.before is None:
                continue
            if delta.after is None:
                self._told.discard(delta.before.uid)
            sent = self._sent.get(delta.before.uid)
            if sent is not None and sent.claim is not None and self._under_way(delta.before.uid):
                if delta.after is None:
                    self._leaving.add(delta.before.uid)
            elif sent is not None and delta.after is None:
                del self._sent[delta.before.uid]
                self._left(sent, unfollowed=delta.unfollowed)
            elif sent is not None and delta.after is not None and delta.after.deleted_at:
                self._taken(sent)

    def _forget(self, uid: Uid) -> None:
        self._sent.pop(uid, None)
        self._departed.pop(uid, None)
        self._leaving.discard(uid)

    def _left(self, sent: _Sent, *, unfollowed: bool) -> None:
        if sent.claim is None and not unfollowed and not self._standing_by():
            # It was on its way out: without its label, at the worst, and very many go so.
            self._record.finished(sent.row, "deleted")
        else:
            self._depart(sent)

    def _depart(self, sent: _Sent) -> None:
        self._departed[sent.row.uid] = sent
        self._news.set()

    def _taken(self, sent: _Sent) -> None:
        if sent.claim is None:
            return
        self.answered(sent.row, terminating=True)
        self._tell_taken(sent.row, sent.claim)

    def _tell_taken(self, row: Row, claim: Claim) -> None:
        if not self._standing_by():
            now = self._clock.now()
            self._record.finished(row, "terminating")
            self._tell(row, claim, now, terminating=True)

    async def follow(self) -> None:
        """Looks for what the feeds do not show any more, until it is known what became of it."""
        backoff = Backoff(self._clock)
        while True:
            await self._wait_for_news()
            self._news.clear()
            self._return_lingering()
            self._doubt_settled()
            if not await self._look_for_departed():
                self._news.set()
                await self._clock.sleep(backoff.next())
            else:
                backoff.reset()

    async def _wait_for_news(self) -> None:
        """Or until one that lingers, or that no server can be at any more, has to be looked for."""
        now = self._clock.monotonic()
        times = [one.at for one in self._lingering.values()]
        times += (sent.at + SETTLED_SECONDS for sent in self._sent.values() if sent.claim is not None)
        self._look_at = min(times, default=math.inf)
        wait = max(0.0, self._look_at - now) if times else None
        try:
            async with self._clock.timeout(wait):
                await self._news.wait()
        except TimeoutError:
            return

    def _return_lingering(self) -> None:
        now = self._clock.monotonic()
        for uid, one in self._lingering.items():
            if one.at <= now:
                self._departed.setdefault(uid, one.sent)

    def _doubt_settled(self) -> None:
        now = self._clock.monotonic()
        for uid, sent in tuple(self._sent.items()):
            if sent.claim is None or sent.at + SETTLED_SECONDS > now:
                continue
            if self._under_way(uid):
                self._sent[uid] = _Sent(sent.row, sent.claim, now)
            else:
                self._forget(uid)
                self._depart(sent)

    async def _look_for_departed(self) -> bool:
        """Whether all of them were looked for."""
        silent: set[Resource] = set()
        for uid, sent in tuple(self._departed.items()):
            if self._standing_by():
                self._departed.clear()
                self._lingering.clear()
                break
            if sent.row.resource in silent or self._left_to_another_try(uid, sent):
                continue
            try:
                async with self._clock.timeout(LOOK_SECONDS):
                    found = await self._look(sent.row)
            except SkoupaError:
                continue
            except TimeoutError:
                # Others need not wait for all of that kind.
                silent.add(sent.row.resource)
                continue
            if self._departed.get(uid) is not sent or self._left_to_another_try(uid, sent):
                # What became of it was told meanwhile, or will be.
                continue
            del self._departed[uid]
            self._ended(sent, found)
        return not self._departed

    def _left_to_another_try(self, uid: Uid, sent: _Sent) -> bool:
        if sent.claim is None or not self._under_way(uid):
            return False
        # If that is not sent after all, it is looked for later.
        self._forget(uid)
        self._sent[uid] = _Sent(sent.row, sent.claim, self._clock.monotonic())
        return True

    def _ended(self, sent: _Sent, found: Row | None) -> None:
        if found is not None and found.deleted_at:
            if sent.claim is not None:
                self._tell_taken(sent.row, sent.claim)
            self._linger(_Sent(sent.row))
            return
        self._lingering.pop(sent.row.uid, None)
        if found is not None:
            if sent.claim is not None:
                self._record.failed(sent.row, "no answer came to its delete, and it is still there")
        elif sent.claim is not None:
            self.gone(sent.row, sent.claim)
        else:
            self._record.finished(sent.row, "deleted")

    def _linger(self, sent: _Sent) -> None:
        before = self._lingering.get(sent.row.uid)
        wait = LINGER_SECONDS if before is None else min(2 * before.wait, LINGER_SECONDS_AT_LAST)
        self._lingering[sent.row.uid] = _Lingering(sent, self._clock.monotonic() + wait, wait)
