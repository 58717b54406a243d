"""Notices at a start that the ledger is not the one that this cluster was last swept with: emptied, replaced, or another.

What that one had can't be looked back at, nor restored, from here. Nobody knows either how much went within the last
hour, which the ceilings count: so everything is held for an hour, by a Brake that ends by itself and can be released.
The state remembers the mark of the ledger; a cluster without one there was never swept with a ledger that had marks. That
of another one is written down only when its Brake is in the cluster, so that no crash in between loses it.
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
_SOON_SECONDS: Final = 0.2
_LATER_SECONDS: Final = 5.0
_MARK_BYTES: Final = 8


class _Owed(msgspec.Struct, frozen=True):
    """A mark that is to be written down once this Brake is in the cluster; where there is no such kind, at its end."""

    mark: str
    brake: str
    end: float
    epoch: int


class SameLedger:
    """`trip` pulls a Brake and gives its name, `told` hears what is not as it should be, `acting`: this replica leads.

    `pulling` says that a Brake was pulled and is not in the cluster yet.
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
    ) -> None:
        self._record = record
        self._state = state
        self._clock = clock
        self._acting = acting
        self._trip = trip
        self._pulling = pulling
        self._told = told
        self.error: SkoupaError | None = None
        # The epoch of the lease in which it was last looked at.
        self._checked: int | None = None
        self._owed: _Owed | None = None
        self._found = asyncio.Event()

    async def check(self) -> None:
        """After the state was read, before anything goes."""
        self._owed = None
        another = await self._another()
        if another is None:
            return
        end = datetime.fromtimestamp(int(self._clock.now()) + HOUR, UTC)
        by = f"{self._what()}, so it is not known how much went within the last hour"
        spec = BrakeSpec(scope=Scope(all=True), reason=by, until=end)
        name = self._trip(Tripped(name=BRAKE_NAME, spec=spec, span="ledger", by=by))
        self._owed = _Owed(another, name, end.timestamp(), self._record.epoch)
        self._found.set()
        self._told(
            f"{self._gone()}. How much went within the last hour, which the ceilings count, is not known: everything "
            f"is held until {whole_seconds(end.timestamp())} (`skoupa brakes release {name}` lets it go sooner)"
        )

    async def follow(self) -> None:
        """One that is replaced while it is in use: what went since this replica leads is counted here."""
        while self._record.kept:
            await self._nap()
            if self._owed is not None:
                await self._settle(self._owed)
            # Before the first look of a lease what changed may have been used by somebody else.
            elif self._acting() and self._checked == self._record.epoch:
                another = await self._another()
                if another is not None:
                    self._told(self._gone())
                    await self._put(another)

    async def _nap(self) -> None:
        try:
            async with self._clock.timeout(LOOK_SECONDS):
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
        if not self._record.kept:
            return None
        self.error = None
        known, epoch = self._state.get(LEDGER, str), self._record.epoch
        try:
            mark = await self._record.store.mark(secrets.token_hex(_MARK_BYTES))
        except SkoupaError as error:
            self.error = error
            return None
        self._checked = epoch
        if known is None:
            await self._put(mark)
        return None if known in (None, mark) else mark

    async def _put(self, mark: str) -> bool:
        try:
            await self._state.put(LEDGER, mark)
        except SkoupaError as error:
            self.error = error
            return False
        self.error = None
        return True

    def _what(self) -> str:
        return f"the ledger {self._record.store.where} is not the one that this cluster was last swept with"

    def _gone(self) -> str:
        return (
            f"{self._what()}: it was emptied or replaced, or another one is set. History and trash from before "
            f"{whole_seconds(self._clock.now())} are not in it: put the old one or a backup in its place and start "
            "again, or look into the old one with --ledger"
        )
