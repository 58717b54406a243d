"""Deletes whose end nobody has seen: no answer came, the server failed while it was at it, or finalizers are at work.

Their rows in the ledger stay open, as after a crash, and so does the place under the ceilings of those without an
answer. An object that is then found to be gone went by us, most likely: that is told, and recorded as what it is. What
the feeds do not show any more may only have lost its label, so it is looked for before anything is said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import ApiError, Disconnected, ServerFailure, SkoupaError, TimedOut
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta
from skoupa.kube.backoff import Backoff
from skoupa.model.verdicts import Claim
from skoupa.sweep.record import Record
from skoupa.sweep.reporting import Report

# A webhook that could not be asked has not let anything through.
_BEFORE_IT_WAS_DONE: Final = "failed calling webhook"


class _Sent(msgspec.Struct, frozen=True):
    """`claim` is None where the server took the delete: then only its end is of interest."""

    row: Row
    claim: Claim | None = None


class Unanswered:
    """`look` finds the object as it is now; None: it is gone. `on_deleted` hears what went after all.

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
    ) -> None:
        self._look = look
        self._clock = clock
        self._record = record
        self._report = report
        self._standing_by = standing_by
        self._on_deleted = on_deleted
        self._sent: dict[Uid, _Sent] = {}
        self._departed: dict[Uid, _Sent] = {}
        self._news = asyncio.Event()

    def __contains__(self, uid: Uid) -> bool:
        """Whether a delete of it had no answer."""
        sent = self._sent.get(uid)
        return sent is not None and sent.claim is not None

    def failed(self, row: Row, claim: Claim, error: SkoupaError, *, known: bool) -> None:
        """Writes the failure down; `known`: the feeds still show the object."""
        if is_sure(error) and row.uid not in self:
            self._record.failed(row, error.message)
            return
        self._record.unanswered(row, error.message)
        if known:
            self._sent[row.uid] = _Sent(row, claim)
        else:
            self._depart(_Sent(row, claim))

    def not_sent(self, row: Row, why: str) -> None:
        """Something came in between, and this time nothing was sent."""
        if row.uid in self:
            self._record.unanswered(row, why)
        else:
            self._record.failed(row, why)

    def gone(self, row: Row, claim: Claim) -> None:
        """After a delete without an answer it is not there any more."""
        self._sent.pop(row.uid, None)
        now = self._clock.now()
        self._record.gone_unanswered(row)
        self._on_deleted(row, now)
        self._report.deleted(row, claim, at=now, terminating=False)

    def answered(self, row: Row, *, terminating: bool) -> None:
        """The server took its delete."""
        self._sent.pop(row.uid, None)
        if terminating:
            self._sent[row.uid] = _Sent(row)

    def learn(self, deltas: Iterable[Delta]) -> None:
        if not self._sent:
            return
        for delta in deltas:
            if delta.before is None:
                continue
            sent = self._sent.get(delta.before.uid)
            if sent is not None and delta.after is None:
                del self._sent[delta.before.uid]
                self._left(sent, unfollowed=delta.unfollowed)
            elif sent is not None and delta.after is not None and delta.after.deleted_at:
                self._taken(sent)

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
        if not self._standing_by():
            now = self._clock.now()
            self._record.finished(sent.row, "terminating")
            self._on_deleted(sent.row, now)
            self._report.deleted(sent.row, sent.claim, at=now, terminating=True)

    async def follow(self) -> None:
        """Looks for what the feeds do not show any more, until it is found or known to be gone."""
        backoff = Backoff(self._clock)
        while True:
            await self._news.wait()
            self._news.clear()
            if not await self._look_for_departed():
                self._news.set()
                await self._clock.sleep(backoff.next())
            else:
                backoff.reset()

    async def _look_for_departed(self) -> bool:
        """Whether all of them were looked for."""
        for uid, sent in tuple(self._departed.items()):
            if self._standing_by():
                self._departed.clear()
                break
            try:
                found = await self._look(sent.row)
            except SkoupaError:
                continue
            self._departed.pop(uid, None)
            self._ended(sent, found)
        return not self._departed

    def _ended(self, sent: _Sent, found: Row | None) -> None:
        if found is not None:
            if sent.claim is not None and not found.deleted_at:
                self._record.failed(sent.row, "no answer came to its delete, and it is still there")
            return
        if sent.claim is not None:
            self.gone(sent.row, sent.claim)
        else:
            self._record.finished(sent.row, "deleted")


def is_sure(error: SkoupaError) -> bool:
    """Whether nothing can have gone by a delete that ended so."""
    if isinstance(error, ApiError) and error.after_silence:
        return False
    if isinstance(error, ServerFailure):
        return _BEFORE_IT_WAS_DONE in error.message
    return not isinstance(error, Disconnected | TimedOut)
