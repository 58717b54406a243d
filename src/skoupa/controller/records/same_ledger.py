"""Notices at a start that the ledger is not the one that this cluster was last swept with: emptied, replaced, or another.

What that one had can't be looked back at, nor restored, from here. Nobody knows either how much went within the last
hour, which the ceilings count: so everything is held for an hour, by a Brake that ends by itself and can be released.
Until it is known nothing goes, or where `ledger.onFailure` says to go on, the hour is held from when it is known.
The state remembers the mark of the ledger, or that there was none; a cluster without a word there was never swept with a
ledger that had marks. That of another one is written down only when its Brake is in the cluster, so that no crash in
between loses it. That there is none is written down at once: what goes then no ledger will know of.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.controller.state import LEDGER, State
from skoupa.errors import SkoupaError
from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.kube.backoff import Backoff
from skoupa.kube.timestamps import whole_seconds
from skoupa.sweep.ceilings import HOUR
from skoupa.sweep.record import Record
from skoupa.sweep.tripping import Tripped

BRAKE_NAME: Final = "ledger-changed"
LOOK_SECONDS: Final = 600.0
AGAIN_SECONDS: Final = 10.0
_SOON_SECONDS: Final = 0.2
_LATER_SECONDS: Final = 5.0
_MARK_BYTES: Final = 8
# Instead of a mark, which has digits only.
WITHOUT: Final = "none"


class _Owed(msgspec.Struct, frozen=True):
    """A mark that is to be written down once this Brake is in the cluster; where there is no such kind, at its end.

    Without a Brake and an end: at once.
    """

    mark: str
    brake: str
    end: float
    epoch: int


class SameLedger:
    """`trip` pulls a Brake and gives its name, `told` hears what is not as it should be, `acting`: this replica leads.

    `pulling` says that a Brake was pulled and is not in the cluster yet; `go_on`, that nothing waits for a ledger that is away.
    """

    def __init__(
        self,
        record: Record,
        state: State,
        *,
        clock: Clock,
        acting: Callable[[], bool],
        trip: Callable[[Tripped], str],
        pulling: Callable[[str], bool],
        told: Callable[[str], None],
        go_on: bool,
    ) -> None:
        self._record = record
        self._state = state
        self._clock = clock
        self._acting = acting
        self._trip = trip
        self._pulling = pulling
        self._told = told
        self._go_on = go_on
        self.error: SkoupaError | None = None
        # The epochs of the lease in which it was last looked at, and in which it was last known.
        self._looked: int | None = None
        self._checked: int | None = None
        # When that look began: what went since then is counted here.
        self._begun = 0.0
        self._owed: _Owed | None = None
        # As the state said at the last look.
        self._known: str | None = None
        self._found = asyncio.Event()

    async def check(self) -> bool:
        """After the state was read, before anything goes; False: this replica does not lead any more."""
        self._owed = self._looked = self._checked = None
        self._begun, epoch = self._clock.now(), self._record.epoch
        backoff = Backoff(self._clock, cap=_LATER_SECONDS)
        while not await self._compare() and not self._go_on:
            await self._clock.sleep(backoff.next())
            if not self._acting() or self._record.epoch != epoch:
                return False
        self._looked = epoch
        self._found.set()
        return True

    async def follow(self) -> None:
        while True:
            await self._nap()
            if self._owed is not None:
                await self._settle(self._owed)
            # Before the first look of a lease what changed may have been used by somebody else.
            elif self._record.kept and self._acting() and self._looked == self._record.epoch:
                await self._compare()

    async def _compare(self) -> bool:
        """Whether it is known which one it is; another one holds everything, or is told where that would not help."""
        first = self._checked is None
        try:
            another = await self._another()
        except SkoupaError as error:
            self.error = error
            return False
        if another is not None and first and self._clock.now() < self._begun + HOUR:
            self._hold(another)
        elif another is not None:
            self._told(self._gone())
            await self._put_surely(another)
        return True

    def _hold(self, mark: str) -> None:
        end = datetime.fromtimestamp(int(self._begun) + HOUR, UTC)
        by = f"{self._what()}, so it is not known how much went within the last hour"
        spec = BrakeSpec(scope=Scope(all=True), reason=by, until=end)
        name = self._trip(Tripped(name=BRAKE_NAME, spec=spec, span="ledger", by=by))
        self._owed = _Owed(mark, name, end.timestamp(), self._record.epoch)
        self._found.set()
        self._told(
            f"{self._gone()}. How much went within the last hour, which the ceilings count, is not known: everything "
            f"is held until {whole_seconds(end.timestamp())} (`skoupa brakes release {name}` lets it go sooner)"
        )

    async def _nap(self) -> None:
        """Until something is to be done, or it is time to look again: soon, where it could not be asked."""
        known = self._looked is None or (self._checked == self._looked and self.error is None)
        try:
            async with self._clock.timeout(LOOK_SECONDS if known else AGAIN_SECONDS):
                await self._found.wait()
        except TimeoutError:
            return
        finally:
            self._found.clear()

    async def _settle(self, owed: _Owed) -> None:
        """Who leads next looks for itself."""
        backoff = Backoff(self._clock, first=_SOON_SECONDS, cap=_LATER_SECONDS)
        while self._owed is owed and self._acting() and self._record.epoch == owed.epoch:
            made = not self._pulling(owed.brake) or self._clock.now() >= owed.end
            if made and await self._put(owed.mark):
                break
            await self._clock.sleep(backoff.next())
        if self._owed is owed:
            self._owed = None

    async def _another(self) -> str | None:
        """The mark of the ledger, where it is another one than the state says; the first one is written down."""
        self.error = None
        known, epoch = self._state.get(LEDGER, str), self._record.epoch
        self._known = known
        if not self._record.kept:
            if known != WITHOUT:
                await self._put_surely(WITHOUT)
            return None
        mark = await self._record.store.mark(secrets.token_hex(_MARK_BYTES))
        self._checked = epoch
        if known is None:
            await self._put_surely(mark)
        return None if known in (None, mark) else mark

    async def _put_surely(self, mark: str) -> None:
        """Now, or as soon as the server takes it."""
        if not await self._put(mark):
            self._owed = _Owed(mark, brake="", end=0.0, epoch=self._record.epoch)
            self._found.set()

    async def _put(self, mark: str) -> bool:
        try:
            await self._state.put(LEDGER, mark)
        except SkoupaError as error:
            self.error = error
            return False
        self.error = None
        return True

    def _what(self) -> str:
        if self._known == WITHOUT:
            return f"this cluster was last swept without a ledger, and the ledger {self._record.store.where} does not know what went"
        return f"the ledger {self._record.store.where} is not the one that this cluster was last swept with"

    def _gone(self) -> str:
        if self._known == WITHOUT:
            return f"{self._what()}: history and trash have nothing of that time"
        return (
            f"{self._what()}: it was emptied or replaced, or another one is set. History and trash from before "
            f"{whole_seconds(self._clock.now())} are not in it: put the old one or a backup in its place and start "
            "again, or look into the old one with --ledger"
        )
