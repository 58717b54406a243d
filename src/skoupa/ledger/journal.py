"""Group commit: many tasks write to the ledger, one transaction at a time, and nobody waits longer than for the next one.

A change that comes alone is written at once. While many come, each transaction waits a moment for company: what it
costs, it costs once for all in it.
`intend` returns when its rows are on disk, or raises LedgerUnavailable: then nothing may be deleted. Everything else
returns at once, is written with the next batch in the order of the calls, and is tried again for as long as the store
is away. Memory is bounded: when too much waits, no intent is taken, so nothing new comes to be finished, and no note
either: whoever has one comes with it again.
Where a deletion may go on without its row (`on_failure="continue"`), the row is written later if there is room for it,
else it is counted as missing.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, Literal

from skoupa.clock import Clock
from skoupa.errors import LedgerUnavailable
from skoupa.ledger.rows import Entry, Result
from skoupa.ledger.store import Change, Finish, Intent, Note, Resolution, Restored, Store, Told

OnFailure = Literal["stop", "continue"]

MOST_WAITING: Final = 50_000
MOST_BYTES: Final = 64 * 2**20
PATIENCE_SECONDS: Final = 15.0
_MOST_AT_ONCE: Final = 2000
_NOTES_AHEAD: Final = 2 * _MOST_AT_ONCE
# So short after a transaction more are on their way, and each waits so long for others.
_BUSY_SECONDS: Final = 0.1
_GATHER_SECONDS: Final = 0.015
_FIRST_RETRY: Final = 0.1
_LAST_RETRY: Final = 5.0
_NOT_SENT: Final = "its intent could not be recorded, so nothing was sent"

_Ids = Mapping[str, str]


class _Waiting:
    """Changes that belong together, and who waits for them."""

    __slots__ = ("changes", "done", "size")

    def __init__(self, changes: Sequence[Change], done: asyncio.Future[_Ids] | None = None) -> None:
        self.changes = changes
        self.done = done
        self.size = sum(
            len(body.data) for change in changes if isinstance(change, Intent) for body in change.bodies
        )


class Journal:
    """`run` has to run for anything to be written."""

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock,
        on_failure: OnFailure = "stop",
        patience: float = PATIENCE_SECONDS,
        most_waiting: int = MOST_WAITING,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_failure = on_failure
        self._patience = patience
        self._most_waiting = most_waiting
        self._most_bytes = most_bytes
        self._queue: deque[_Waiting] = deque()
        self._count = 0
        # Of bodies for the trash; everything else is small.
        self._bytes = 0
        self._wake = asyncio.Event()
        self._progress = asyncio.Event()
        self._retry = _FIRST_RETRY
        self._written_at = -math.inf
        self._stopped = False
        self._away = False
        self._written = 0
        self._failed = 0
        self._missing = 0
        self.error: LedgerUnavailable | None = None

    async def intend(self, intents: Sequence[Intent]) -> _Ids:
        """Returns by uid the ids of the rows. A row that is there already keeps its id."""
        refusal = self._refusal()
        if refusal is not None:
            return self._go_on_without(intents, refusal)
        done: asyncio.Future[_Ids] = asyncio.get_running_loop().create_future()
        self._add(_Waiting(intents, done))
        try:
            async with self._clock.timeout(self._patience):
                return await done
        except TimeoutError as error:
            if self._on_failure == "continue":
                return _own_ids(intents)
            self._withdraw(intents)
            raise LedgerUnavailable(
                f"the ledger {self._store.where} did not take an intent within {self._patience:g} s",
                advice="see why the database is slow; nothing is deleted meanwhile",
            ) from error
        except asyncio.CancelledError:
            self._withdraw(intents)
            raise

    def finish(self, uid: str, *, outcome: Result, epoch: int, error: str = "") -> None:
        self._note(
            Finish(uid=uid, epoch=epoch, outcome=outcome, at=self._clock.now(), error=error), always=True
        )

    def note(self, entry: Entry) -> bool:
        """A decision that sends nothing, `braked` or `would-delete`; who has very many awaits `room`. False: it is not taken."""
        return self._note(Note(entry=entry))

    def told(self, uids: Iterable[str]) -> None:
        for uid in uids:
            self._note(Told(uid=uid))

    def restored(self, uid: str, *, restored_as: str) -> None:
        self._note(Restored(uid=uid, restored_as=restored_as))

    async def room(self) -> None:
        """Returns when there is room for notes, or where waiting does not help: the store is away, or hangs.

        What waits is written in its order, so that an intent behind very many notes would come too late.
        """
        most = min(self._most_waiting // 2, _NOTES_AHEAD)
        if self._count >= most:
            await self._while_written(lambda: self._count >= most and self.error is None, self._patience)

    async def drain(self, seconds: float | None = None) -> bool:
        """Whether all that waits now is written within `seconds`."""
        await self._while_written(lambda: self._count > 0, seconds)
        return not self._count

    async def _while_written(self, waiting: Callable[[], bool], seconds: float | None) -> None:
        with contextlib.suppress(TimeoutError):
            async with self._clock.timeout(seconds):
                while waiting() and not self._stopped:
                    self._progress.clear()
                    await self._progress.wait()

    def statistics(self) -> dict[str, int]:
        """Changes waiting and written, transactions that failed, decisions that will never have their row."""
        return {
            "queued": self._count,
            "written": self._written,
            "failed": self._failed,
            "missing": self._missing,
        }

    async def run(self) -> None:
        """Writes until it is cancelled; what waits then is not written: `drain` before."""
        try:
            while True:
                while not self._queue:
                    self._wake.clear()
                    await self._wake.wait()
                if self._clock.monotonic() < self._written_at + _BUSY_SECONDS:
                    await self._clock.sleep(_GATHER_SECONDS)
                await self._write_some()
                self._written_at = self._clock.monotonic()
        finally:
            self._stopped = True
            for waiting in self._queue:
                _fail(waiting, LedgerUnavailable("the ledger was closed"))
            self._progress.set()

    async def _write_some(self) -> None:
        batch = self._take()
        try:
            ids = await self._store.write([change for waiting in batch for change in waiting.changes])
        except LedgerUnavailable as error:
            self._keep(batch, error)
            self._away = True
            await self._clock.sleep(self._clock.jitter(self._retry))
            self._retry = min(2 * self._retry, _LAST_RETRY)
            self._away = False
            return
        except BaseException:
            self._queue.extendleft(reversed(batch))
            raise
        self.error = None
        self._retry = _FIRST_RETRY
        for waiting in batch:
            self._count -= len(waiting.changes)
            self._bytes -= waiting.size
            self._written += len(waiting.changes)
            if waiting.done is not None and not waiting.done.done():
                waiting.done.set_result(ids)
        self._progress.set()

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        count = 0
        while self._queue and count < _MOST_AT_ONCE:
            waiting = self._queue.popleft()
            batch.append(waiting)
            count += len(waiting.changes)
        return batch

    def _keep(self, batch: list[_Waiting], error: LedgerUnavailable) -> None:
        """After a write that failed: notes wait for the next one, intents go back to those who wait for them."""
        self._failed += 1
        self.error = error
        # Who waits for room need not any more.
        self._progress.set()
        again: list[_Waiting] = []
        for waiting in batch:
            if waiting.done is None:
                again.append(waiting)
                continue
            intents = [change for change in waiting.changes if isinstance(change, Intent)]
            if self._on_failure == "continue":
                if not waiting.done.done():
                    waiting.done.set_result(_own_ids(intents))
                again.append(_Waiting(waiting.changes))
                continue
            _fail(waiting, error)
            # Nobody knows whether the commit reached the disk: what it left open is closed.
            self._bytes -= waiting.size
            closing = _Waiting(self._withdrawal(intents))
            self._count -= len(waiting.changes) - len(closing.changes)
            again.append(closing)
        self._queue.extendleft(reversed(again))

    @property
    def _full(self) -> bool:
        return self._count >= self._most_waiting or self._bytes >= self._most_bytes

    def _refusal(self) -> LedgerUnavailable | None:
        if self._stopped:
            return LedgerUnavailable("the ledger was closed")
        if self._away:
            return self.error
        if self._full:
            return LedgerUnavailable(
                f"the ledger {self._store.where} is {self._count} changes behind",
                advice="see why the database is slow; nothing is deleted meanwhile",
            )
        return None

    def _go_on_without(self, intents: Sequence[Intent], refusal: LedgerUnavailable) -> _Ids:
        if self._on_failure == "stop":
            # A traceback of its own for each: one error object would collect those of all.
            raise LedgerUnavailable(refusal.message, advice=refusal.advice) from refusal
        if self._stopped or self._full:
            self._missing += len(intents)
        else:
            self._add(_Waiting(intents))
        return _own_ids(intents)

    def _withdraw(self, intents: Sequence[Intent]) -> None:
        if not self._stopped:
            self._add(_Waiting(self._withdrawal(intents)))

    def _withdrawal(self, intents: Sequence[Intent]) -> list[Change]:
        now = self._clock.now()
        return [
            Resolution(
                uid=intent.uid,
                seen=intent.entry.epoch,
                epoch=intent.entry.epoch,
                outcome="failed",
                at=now,
                error=_NOT_SENT,
            )
            for intent in intents
            if not intent.open_before
        ]

    def _note(self, change: Change, *, always: bool = False) -> bool:
        if self._stopped or (self._full and not always):
            # An Event that is not marked is written again later, which hurts nobody, and a note comes again.
            self._missing += not isinstance(change, Told | Note)
            return False
        self._add(_Waiting((change,)))
        return True

    def _add(self, waiting: _Waiting) -> None:
        self._queue.append(waiting)
        self._count += len(waiting.changes)
        self._bytes += waiting.size
        self._wake.set()


def _fail(waiting: _Waiting, error: LedgerUnavailable) -> None:
    if waiting.done is not None and not waiting.done.done():
        waiting.done.set_exception(LedgerUnavailable(error.message, advice=error.advice))


def _own_ids(intents: Sequence[Intent]) -> _Ids:
    return {intent.uid: intent.entry.id for intent in intents}
