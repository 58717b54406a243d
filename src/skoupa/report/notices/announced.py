"""What people were told of ahead of its time, by this process or one before it: they hear of it once.

The ledger remembers it, from the moment in which the message was taken until the time that it tells of. A ledger that is
away, or none, knows of nothing: then it is told again, because twice is better than not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import LedgerUnavailable
from skoupa.ledger.store import Store
from skoupa.report.notices.notice import Notice

PATIENCE_SECONDS: Final = 2.0
_AT_ONCE: Final = 5000


class Announced:
    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def among(self, keys: Collection[str]) -> set[str]:
        """Those that were told before, as far as is known."""
        found: set[str] = set()
        left = list(keys)
        with suppress(LedgerUnavailable, TimeoutError):
            async with self._clock.timeout(PATIENCE_SECONDS):
                while left:
                    found.update(await self._store.announced(left[:_AT_ONCE]))
                    del left[:_AT_ONCE]
        return found

    async def remember(self, keys: Mapping[str, float]) -> None:
        with suppress(LedgerUnavailable, TimeoutError):
            async with self._clock.timeout(PATIENCE_SECONDS):
                await self._store.announce(keys, now=self._clock.now())


def is_ahead(notice: Notice) -> bool:
    return notice.what == "notice" and notice.due is not None


def key_of(notice: Notice, *, route: str) -> str:
    """The same from every process: another time, another reason or another route is another notice."""
    said = msgspec.json.encode((route, notice.kind, notice.uid or notice.name, notice.due, notice.why))
    return hashlib.sha256(said).hexdigest()[:32]
