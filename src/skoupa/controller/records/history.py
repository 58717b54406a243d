"""The ledger in a running controller: opened, taken over, kept from growing, and heard of when it comes back.

Before a leader sweeps, what its predecessor left open is closed by a look at the cluster, and deletions whose Events
were never written are told again, those that were in flight among them. What can't be decided then is told and looked at
again later: nothing waits for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.records.sighting import Sighting
from skoupa.errors import LedgerUnavailable, SkoupaError, TimedOut
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.ledger.resolving import Resolved, resolve
from skoupa.ledger.rows import Entry
from skoupa.ledger.store import Place
from skoupa.settings import Settings
from skoupa.sweep.record import Record

LOOK_SECONDS: Final = 0.5
PRUNE_SECONDS: Final = 3600.0
# Ceilings count what went within the last hour.
SPARED_SECONDS: Final = 2 * 3600.0
DAY_SECONDS: Final = 86400.0
# What was left open at the start: how soon it is looked at again, how seldom at last, and how many at a time.
LEFT_SECONDS: Final = 60.0
LEFT_SECONDS_AT_LAST: Final = 3600.0
LEFT_AT_ONCE: Final = 200
UNTOLD_AT_ONCE: Final = 1000


class History:
    """`retell` gets deletions that nobody was told of; `on_return` is called when a ledger that was away is back.

    `adopt` takes a deletion that is not over yet, if the feeds will tell its end. `told` hears what can be brought back for a shorter
    time than was wished, `untold` that this is over.
    """

    def __init__(
        self,
        client: Client,
        record: Record,
        *,
        settings: Settings,
        discovery: Callable[[], Discovery],
        standing_by: Callable[[], bool],
        retell: Callable[[Sequence[Entry]], None],
        adopt: Callable[[Entry], bool],
        on_return: Callable[[], None],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._clock: Clock = client.clock
        self._record = record
        self._settings = settings
        self._sighting = Sighting(client, discovery)
        self._standing_by = standing_by
        self._retell = retell
        self._adopt = adopt
        self._on_return = on_return
        self._told, self._untold = told, untold
        # When something was forgotten last for lack of room alone.
        self._early = -math.inf
        self.error: SkoupaError | None = None
        self.resolved: Resolved | None = None
        self._left: list[Entry] = []
        self._later: list[Entry] = []
        self._silent: set[str] = set()
        self._left_seconds = LEFT_SECONDS
        self._left_at = 0.0

    async def take_over(self) -> bool:
        """Done each time that this replica begins to lead; False, early, when it leads no more."""
        backoff = Backoff(self._clock, cap=5.0)
        while not self._standing_by():
            try:
                self.resolved = await self._resolve()
                self._left_seconds = LEFT_SECONDS
                self._begin_round(self._not_adopted(self.resolved.left))
                await self._tell_again()
            except LedgerUnavailable as error:
                self.error = error
                if self._settings.ledger.on_failure == "continue":
                    return True
                await self._clock.sleep(backoff.next())
                continue
            self.error = _unanswered(self.resolved.silent)
            return True
        return False

    async def _resolve(self, among: Sequence[Entry] | None = None) -> Resolved:
        return await resolve(
            self._record.store,
            self._sighting.look,
            epoch=self._record.epoch,
            clock=self._clock,
            among=among,
        )

    async def _tell_again(self) -> None:
        store, after = self._record.store, None
        while some := await store.untold(limit=UNTOLD_AT_ONCE, after=after):
            self._tell(some)
            after = Place(some[-1].at, some[-1].id)

    def _tell(self, entries: Sequence[Entry]) -> None:
        """Of a finalizer that was taken off the object itself tells: that was no deletion."""
        self._record.told([entry.uid for entry in entries if entry.finalizer])
        self._retell([entry for entry in entries if not entry.finalizer])

    def _not_adopted(self, left: Sequence[Entry]) -> list[Entry]:
        return [entry for entry in left if not (entry.outcome == "terminating" and self._adopt(entry))]

    async def _look_at_left(self) -> None:
        """Goes on with a round: some of them now, the rest soon; who can't be decided waits for the next round."""
        some, rest = self._left[:LEFT_AT_ONCE], self._left[LEFT_AT_ONCE:]
        try:
            resolved = await self._resolve(some)
        except LedgerUnavailable as error:
            self.error = error
            self._left_at = self._clock.monotonic() + LEFT_SECONDS
            return
        self._left = rest
        self._tell(resolved.went)
        self._later += self._not_adopted(resolved.left)
        self._silent.update(resolved.silent)
        if rest:
            self._left_at = self._clock.monotonic() + LOOK_SECONDS
            return
        self.error = _unanswered(self._silent)
        self._left_seconds = min(2 * self._left_seconds, LEFT_SECONDS_AT_LAST)
        self._begin_round(self._later)

    def _begin_round(self, left: list[Entry]) -> None:
        self._left, self._later = left, []
        self._silent.clear()
        self._left_at = self._clock.monotonic() + self._left_seconds

    async def follow(self) -> None:
        """Hears when a ledger that was away is back; forgets what is too old."""
        if not self._record.kept:
            return
        prune_at = self._clock.monotonic()
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            away = self._record.journal.error is not None
            if self._record.held and not away:
                self._record.held = False
                self._on_return()
            if (
                self._left
                and self._clock.monotonic() >= self._left_at
                and not away
                and not self._standing_by()
            ):
                await self._look_at_left()
            if self._clock.monotonic() >= prune_at and not away and not self._standing_by():
                prune_at = self._clock.monotonic() + PRUNE_SECONDS
                await self._prune()

    async def _prune(self) -> None:
        now, ledger, trash = self._clock.now(), self._settings.ledger, self._settings.trash
        try:
            # The trash first: what it gives back need not be taken from the history.
            old = now - trash.keep_days * DAY_SECONDS
            await self._record.store.forget_bodies(before=old, now=now)
            early = await self._record.store.forget_bodies(before=old, now=now, most_bytes=trash.keep_bytes)
            self._tell_room(now, was_short=early > 0)
            await self._record.store.prune(
                before=now - ledger.keep_days * DAY_SECONDS,
                spare=now - SPARED_SECONDS,
                most_bytes=ledger.keep_bytes,
            )
        except LedgerUnavailable as error:
            self.error = error

    def _tell_room(self, now: float, *, was_short: bool) -> None:
        """For a day: an hour in which little went says nothing."""
        if was_short:
            self._early = now
            self._told(_full(self._settings))
        elif now - self._early >= DAY_SECONDS:
            self._untold(_full(self._settings))


def _full(settings: Settings) -> str:
    trash = settings.trash
    return (
        f"the trash is full: what goes within trash.keepDays ({trash.keep_days}) takes more than trash.keepBytes ({trash.keep_bytes}), so the "
        "oldest of it can't be restored any more; raise that, or keep less (trash.keepDays, trash.ignoreKinds)"
    )


def _unanswered(silent: Collection[str]) -> TimedOut | None:
    if not silent:
        return None
    return TimedOut(
        f"what became of earlier deletions of {', '.join(sorted(silent))} is not known yet, their rows in the ledger"
        " stay open: the server does not answer in time",
        advice="they are looked at again later; look for an API service or a conversion webhook that does not answer",
    )
