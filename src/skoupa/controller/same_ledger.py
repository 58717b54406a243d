"""Notices at a start that the ledger is not the one that this cluster was last swept with: emptied, replaced, or another.

What that one had can't be looked back at, nor restored, from here. Nobody knows either how much went within the last
hour, which the ceilings count: so everything is held for an hour, by a Brake that ends by itself and can be released.
The state remembers the mark of the ledger; a cluster without one there was never swept with a ledger that had marks.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.state import LEDGER, State
from skoupa.errors import SkoupaError
from skoupa.kinds.brake import BrakeSpec, Scope
from skoupa.kube.timestamps import whole_seconds
from skoupa.sweep.ceilings import HOUR
from skoupa.sweep.record import Record
from skoupa.sweep.tripping import Tripped

BRAKE_NAME: Final = "ledger-changed"
LOOK_SECONDS: Final = 600.0
_MARK_BYTES: Final = 8


class SameLedger:
    """`trip` pulls a Brake and gives its name, `told` hears what is not as it should be, `acting`: this replica leads."""

    def __init__(
        self,
        record: Record,
        state: State,
        *,
        clock: Clock,
        acting: Callable[[], bool],
        trip: Callable[[Tripped], str],
        told: Callable[[str], None],
    ) -> None:
        self._record = record
        self._state = state
        self._clock = clock
        self._acting = acting
        self._trip = trip
        self._told = told
        self.error: SkoupaError | None = None
        # The epoch of the lease in which it was last looked at.
        self._checked: int | None = None

    async def check(self) -> None:
        """After the state was read, before anything goes."""
        if await self._is_another():
            end = datetime.fromtimestamp(int(self._clock.now()) + HOUR, UTC)
            by = f"{self._what()}, so it is not known how much went within the last hour"
            spec = BrakeSpec(scope=Scope(all=True), reason=by, until=end)
            name = self._trip(Tripped(name=BRAKE_NAME, spec=spec, span="ledger", by=by))
            self._told(
                f"{self._gone()}. How much went within the last hour, which the ceilings count, is not known: everything "
                f"is held until {whole_seconds(end.timestamp())} (`skoupa brakes release {name}` lets it go sooner)"
            )

    async def follow(self) -> None:
        """One that is replaced while it is in use: what went since this replica leads is counted here."""
        while self._record.kept:
            await self._clock.sleep(LOOK_SECONDS)
            # Before the first look of a lease what changed may have been used by somebody else.
            if self._acting() and self._checked == self._record.epoch and await self._is_another():
                self._told(self._gone())

    async def _is_another(self) -> bool:
        """Whether it is another one than the state says, which from then on says this one."""
        if not self._record.kept:
            return False
        self.error = None
        known, epoch = self._state.get(LEDGER, str), self._record.epoch
        mark = None
        try:
            mark = await self._record.store.mark(secrets.token_hex(_MARK_BYTES))
            if known != mark:
                await self._state.put(LEDGER, mark)
        except SkoupaError as error:
            self.error = error
        if mark is None:
            return False
        self._checked = epoch
        return known not in (None, mark)

    def _what(self) -> str:
        return f"the ledger {self._record.store.where} is not the one that this cluster was last swept with"

    def _gone(self) -> str:
        return (
            f"{self._what()}: it was emptied or replaced, or another one is set. History and trash from before "
            f"{whole_seconds(self._clock.now())} are not in it: put the old one or a backup in its place and start "
            "again, or look into the old one with --ledger"
        )
