"""When it is decided anew what objects decide together, and that nobody waits for it.

A change concerns the policies that are about what changed; quotas and the way in which kinds are read concern all of them. Changes of a
moment are decided upon together, where much is decided upon not for every change, and always before something goes by it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from skoupa.controller.retaining.groups import Groups, Standing
from skoupa.controller.retaining.matched import Matched
from skoupa.controller.retaining.policy_book import RetentionBook
from skoupa.controller.retaining.quotas import READ_SECONDS, Quotas
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row, Uid
from skoupa.kube.client import Client
from skoupa.policy.retention.policies import Retention

# What is kept until a time, or protected, may be free by now: nobody tells of that.
REVIEW_SECONDS: Final = 60.0
# What could not be decided may be known by now, although it is what it was before it was not known, so that nobody tells of it.
AGAIN_SECONDS: Final = 5.0


class Deciding:
    """`wake` hears that there is something to decide, `decided` for which policies that was done."""

    def __init__(
        self,
        client: Client,
        matched: Matched,
        *,
        book: RetentionBook,
        places: tuple[str, ...],
        standing: Standing,
        complete: Callable[[Row], str],
        others: Callable[[Row, str], Iterable[Row]],
        on_news: Callable[[Iterable[Uid]], None],
        wake: Callable[[], None],
        decided: Callable[[Collection[str]], None],
    ) -> None:
        self._clock = client.clock
        self._matched = matched
        self._book = book
        self._wake = wake
        self._decided = decided
        self._quotas = Quotas(client, places=places)
        self.groups = Groups(
            client.clock,
            matched,
            standing=standing,
            complete=complete,
            quotas=self._quotas,
            others=others,
            on_news=on_news,
        )
        # Policies of which objects decide together, and may decide otherwise now.
        self._stale: set[str] = set()
        self._reviewed = client.clock.monotonic()

    @property
    def error(self) -> SkoupaError | None:
        return self._quotas.error

    def doubt(self, uids: Iterable[Uid]) -> None:
        """What these objects decide together with others may be another now."""
        touched: set[str] = set()
        for uid in uids:
            self.groups.doubt(uid)
            found = self._matched.terms(uid)
            touched.update(one.uid for one in (*found.by, *found.beaten)) if found is not None else None
        if touched:
            self._stale |= touched
            self._wake()

    def doubt_all(self) -> None:
        self.groups.doubt_all()
        self.anew()

    def anew(self) -> None:
        """What is known of each object counts on; what is known beside them is another."""
        self._stale.update(entry.uid for entry in self._book)
        self._wake()

    def counts(self, row: Row) -> bool:
        """Whether a quota counts it, whoever is about it."""
        return row.resource.qualified in self._quota_kinds()

    def without_quota(self, policy: Retention) -> str:
        return self._quotas.lacking(policy)

    def unread_quotas(self, policy: Retention) -> str:
        """Why its limit is not known, so that nothing goes by it; empty: it is, or is about to be."""
        return self._quotas.unread if policy.limit is not None and policy.limit.quota else ""

    async def read(self) -> None:
        """What is asked for beside the objects."""
        if any(True for _ in self._quota_kinds()) and await self._quotas.read():
            self.anew()

    async def now(self) -> None:
        """Before anything goes by it."""
        if self._stale:
            await self.groups.gather(self._stale)
            # With what came meanwhile.
            touched, self._stale = self._stale, set()
            self.groups.decide(touched)
            self._decided(touched)

    async def wait(self, woken: asyncio.Event) -> None:
        """Until there is something to decide, or all is to be decided upon again although nobody told of anything."""
        open_ = self.groups.open_policies()
        review = self._clock.monotonic() + AGAIN_SECONDS if open_ else math.inf
        until = min(review, self._review_at())
        try:
            async with self._clock.timeout(
                None if math.isinf(until) else max(0.0, until - self._clock.monotonic())
            ):
                await woken.wait()
        except TimeoutError:
            self._stale |= open_
        if self._clock.monotonic() >= self._review_at():
            self._reviewed = self._clock.monotonic()
            self.doubt_all()

    def _review_at(self) -> float:
        if any(True for _ in self._quota_kinds()):
            return self._reviewed + READ_SECONDS
        return self._reviewed + REVIEW_SECONDS if any(True for _ in self.groups.deciding()) else math.inf

    def _quota_kinds(self) -> Iterator[str]:
        return (
            one.limit.quota.removeprefix("count/")
            for one in self._matched.policies()
            if one.limit is not None and one.limit.quota
        )
