"""Matches objects with retention policies anew where something changed that decides it: policies, labels of namespaces, annotations.

A few at a time, for there may be very many. Until all of them are matched, what is known of policies does not count for all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from skoupa.clock import Clock
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.policy_book import RetentionBook
from skoupa.controller.retaining.policy_feeds import PolicyFeeds
from skoupa.facts.rows import Row, Uid
from skoupa.facts.store import Delta, Store

_AT_A_TIME: Final = 500


class Rematching:
    """`policies`: these are others; `places` are namespaces with other labels, `reread` objects with other annotations, than before.

    `rematched` hears of rows that policies are about now, or not any more.
    """

    def __init__(
        self,
        clock: Clock,
        matched: Matched,
        *,
        book: RetentionBook,
        feeds: PolicyFeeds,
        store: Store,
        rematched: Callable[[Sequence[Delta]], None],
    ) -> None:
        self._clock = clock
        self._matched = matched
        self._book = book
        self._feeds = feeds
        self._store = store
        self._rematched = rematched
        self._matching = False
        self.policies = False
        self.places: set[str] = set()
        self.reread: set[Uid] = set()

    @property
    def under_way(self) -> bool:
        return self._matching or self.policies or bool(self.places) or bool(self.reread)

    async def work(self, group: asyncio.TaskGroup) -> bool:
        """Until all is matched; whether there was anything to do."""
        while self.policies or self.places or self.reread:
            self._matching = True
            if self.policies:
                self.policies = False
                self._matched.put_policies(self._book)
                await self._match(list(self._store))
                # After it: what nobody follows any more is let go of while it is known.
                self._feeds.arrange(group)
            places, reread, self.places, self.reread = self.places, self.reread, set(), set()
            rows = [row for place in places for row in self._store.in_namespace(place)]
            rows += [row for uid in reread if (row := self._store.get(uid)) is not None]
            await self._match(rows)
        found, self._matching = self._matching, False
        return found

    async def _match(self, rows: list[Row]) -> None:
        for start in range(0, len(rows), _AT_A_TIME):
            changed: list[Delta] = []
            for row in rows[start : start + _AT_A_TIME]:
                if self._store.get(row.uid) is not row:
                    # It changed meanwhile, and was matched as it is now.
                    continue
                before = self._matched.terms(row.uid)
                self._matched.match(row)
                if self._matched.terms(row.uid) != before:
                    changed.append(Delta(row, row))
            if changed:
                self._rematched(changed)
            await self._clock.sleep(0.0)
