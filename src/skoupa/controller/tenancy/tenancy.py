"""Deleted Tenants take what was theirs along: followed, held by finalizers, counted, let go step by step, and counted until nothing is left.

One task, none per tenant: those that are deleted at once share each census. What may go is handed to the mechanism, and judged and
swept like all else; here nothing is deleted. Only who leads works, and only one that enforces writes. What has begun is not written
down anywhere: whoever takes over counts anew, and finds as much as is left.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.tenancy.book import NOT_READ, TenantBook
from skoupa.controller.tenancy.claiming import TenantClaims
from skoupa.controller.tenancy.counting import TenantCounting, postponed
from skoupa.controller.tenancy.definition import GOING, definition_stands
from skoupa.controller.tenancy.deletion import Deletion
from skoupa.controller.tenancy.labelling import TenantLabelling
from skoupa.controller.tenancy.last_look import LastLook
from skoupa.controller.tenancy.standings import Readiness, in_words, let_go, not_begun, readiness
from skoupa.controller.tenancy.telling import TenantTelling
from skoupa.controller.tenancy.writing import TenantWriting
from skoupa.errors import SkoupaError
from skoupa.facts.rows import Uid
from skoupa.facts.store import Delta
from skoupa.kube.backoff import Backoff
from skoupa.kube.client import Client
from skoupa.runs.overhearing import Overhearing
from skoupa.settings import Settings
from skoupa.sweep.memory import Memory
from skoupa.tenants.ids import Ids
from skoupa.tenants.tenant import Tenant, announced
from skoupa.tenants.told import Standing

# How often something is looked at of which nobody tells.
LONGEST_NAP_SECONDS: Final = 10.0
# What comes at once is gathered.
_GATHER_SECONDS: Final = 0.2


class Tenancy:
    """`look_at` has objects judged anew; `told` hears what is done in a poorer way, `untold` its end."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        knowledge: Knowledge,
        overhearing: Overhearing,
        memory: Callable[[], Memory],
        standing_by: Callable[[], bool],
        learn: Callable[[Sequence[Delta]], None],
        look_at: Callable[[Iterable[Uid]], None],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        assert knowledge.tenants is not None, "features.tenants has its mechanism"
        self._client = client
        self._clock: Clock = client.clock
        self._settings = settings
        self._knowledge = knowledge
        self._standing_by = standing_by
        self.book = TenantBook(client, on_change=self._wake)
        self._writing = TenantWriting(client, told=told, untold=untold)
        self._telling = TenantTelling(self._clock, overhearing, acting=self._acting)
        self._last_look = LastLook(
            client,
            knowledge.tenants,
            settings=settings,
            protection=knowledge.protection,
            kind=lambda: self.book.kind,
            discovery=lambda: knowledge.discovery,
            waits=lambda tenant: self._readiness(tenant).why,
        )
        knowledge.tenant_look = self._last_look
        self._counting = TenantCounting(
            client,
            settings=settings,
            acting=self._acting,
            known=lambda: knowledge.discovery,
            on_counted=self._last_look.learn,
        )
        self._labelling = TenantLabelling(
            client, settings=settings, book=self.book, acting=self._acting, told=told, untold=untold
        )
        self.deletions: dict[str, Deletion] = {}
        self._woken = asyncio.Event()
        self._claims = TenantClaims(
            client.clock,
            knowledge.tenants,
            knowledge=knowledge,
            overhearing=overhearing,
            memory=memory,
            deletions=self.deletions,
            learn=learn,
            look_at=look_at,
            woken=self._woken,
        )
        self._group: asyncio.TaskGroup | None = None
        self._leads = False
        self._told, self._untold = told, untold
        self._doubted = ""
        self.error: SkoupaError | None = None

    @property
    def announced(self) -> tuple[str, ...]:
        """Which Tenants are being deleted, and how far that is, in a sentence each."""
        return announced(self.book) if self._acting() else ()

    def open(self, group: asyncio.TaskGroup) -> None:
        self._group = group

    def work(self) -> list[Coroutine[Any, Any, None]]:
        return [self._follow(), self._labelling.follow()]

    def arrange(self) -> None:
        """After every look at the kinds."""
        if self._group is not None:
            self.book.arrange(self._group, self._knowledge.discovery)

    def take_over(self) -> None:
        """This process acts from now on, and counts anew."""
        self._leads = True
        for uid in list(self.deletions):
            self._end(uid)
        self._writing.doubt()
        self._labelling.doubt()
        self._wake()

    def learn(self, deltas: Sequence[Delta]) -> None:
        """What becomes of objects is heard from who deletes them."""

    def close(self) -> None:
        self.book.close()

    def _wake(self) -> None:
        # A Tenant that is not deleted any more must not lose anything in the time that it takes to look at all.
        for uid, deletion in list(self.deletions.items()):
            known = self.book.get(uid)
            if known is None or not known.is_leaving or not known.is_ours or self.book.doubt:
                self._claims.drop(deletion)
        self._woken.set()

    def _acting(self) -> bool:
        return self._settings.mode == "enforce" and self._leads and not self._standing_by()

    def _readiness(self, tenant: Tenant) -> Readiness:
        return readiness(tenant, settings=self._settings, now=self._clock.now())

    async def _follow(self) -> None:
        backoff = Backoff(self._clock)
        while True:
            self._woken.clear()
            if self._leads and not self._standing_by():
                self.error = await self._tried()
                if self.error is not None:
                    await self._clock.sleep(backoff.next())
                    continue
                backoff.reset()
            await self._nap()
            await self._clock.sleep(_GATHER_SECONDS)

    async def _tried(self) -> SkoupaError | None:
        try:
            return await self._tend()
        except SkoupaError as error:
            return error

    async def _tend(self) -> SkoupaError | None:
        """All that is to be done now; what kept something from being written is tried again."""
        error: SkoupaError | None = None
        self._tell_doubt(self.book.doubt)
        if self.book.doubt:
            return None
        tenants = list(self.book)
        ids = Ids(tenants)
        for uid in self.deletions.keys() - {one.uid for one in tenants}:
            self._over(uid)
            self._writing.forget(uid)
            self._telling.forget(uid)
        ready: list[Tenant] = []
        for tenant in tenants:
            if not tenant.is_leaving:
                self._end(tenant.uid)
                error = await self._living(tenant, ids) or error
            elif tenant.is_ours:
                stand = not_begun(tenant, ids, settings=self._settings, now=self._clock.now())
                if stand is None:
                    ready.append(tenant)
                else:
                    self._end(tenant.uid)
                    error = await self._tell(tenant, stand) or error
            else:
                self._over(tenant.uid)
                stand = let_go(tenant)
                error = (await self._tell(tenant, stand) if stand is not None else None) or error
        return await self._go_on(ready, tenants) or error

    def _tell_doubt(self, doubt: str) -> None:
        """Where Tenants can't be followed everything of theirs stands still, and nobody would see why."""
        said = f"features.tenants: nothing goes with a deleted Tenant, since {doubt}" if doubt else ""
        if said == self._doubted or doubt == NOT_READ:
            return
        if self._doubted:
            self._untold(self._doubted)
        if said:
            self._told(said)
        self._doubted = said

    async def _living(self, tenant: Tenant, ids: Ids) -> SkoupaError | None:
        if not self._acting() or self.book.kind is None:
            return None
        error = await self._writing.hold(self.book.kind, tenant)
        stand = not_begun(tenant, ids, settings=self._settings, now=self._clock.now())
        if tenant.status is None and stand is not None and stand.reason == "Active":
            # Most Tenants live, and need not be told that.
            return error
        return (await self._tell(tenant, stand) if stand is not None else None) or error

    async def _go_on(self, ready: Sequence[Tenant], tenants: Sequence[Tenant]) -> SkoupaError | None:
        now = self._clock.monotonic()
        for tenant in ready:
            known = self.deletions.get(tenant.uid)
            if known is None:
                due = self._readiness(tenant).due
                self.deletions[tenant.uid] = Deletion(self._clock, tenant, due=due, holds=self._claims.held)
            else:
                known.tenant = tenant
        under_way = [self.deletions[one.uid] for one in ready]
        looked_at = [one for one in under_way if one.next_look <= now]
        if looked_at and not postponed(looked_at, under_way) and not await self._counting.all_hang(looked_at):
            # Before each delete that is asked again, with the Tenants themselves.
            if not await definition_stands(self._client):
                return await self._stand_still(ready)
            try:
                await self._counting.count(looked_at, under_way, tenants)
            except SkoupaError as unread:
                return await self._can_not_count(under_way, unread)
        error: SkoupaError | None = None
        for deletion in under_way:
            # A census takes a while, in which much may have been taken back.
            known_now = self.book.get(deletion.tenant.uid)
            if self.book.doubt or known_now is None or not known_now.is_ours:
                self._claims.drop(deletion)
                continue
            self._claim(deletion)
            if not deletion.is_over:
                error = (
                    await self._tell(deletion.tenant, in_words(deletion, settings=self._settings)) or error
                )
            elif self._acting() and self.book.kind is not None:
                # It goes with this, and its status with it.
                error = await self._writing.release(self.book.kind, known_now) or error
        return error

    async def _stand_still(self, ready: Sequence[Tenant]) -> SkoupaError | None:
        error: SkoupaError | None = None
        for tenant in ready:
            self._end(tenant.uid)
            stand = Standing(phase="Waiting", reason="DefinitionGoing", why=GOING)
            error = await self._tell(tenant, stand) or error
        return error

    async def _can_not_count(self, under_way: Sequence[Deletion], why: SkoupaError) -> SkoupaError:
        """What was found before counts no more."""
        for deletion in under_way:
            self._claims.drop(deletion)
            stand = Standing(
                phase="Deleting", reason="Unread", why=f"which kinds there are can't be read: {why.message}"
            )
            await self._tell(deletion.tenant, stand)
        return why

    def _claim(self, deletion: Deletion) -> None:
        if deletion.census is None:
            return
        if deletion.blocked(self._settings.tenants) is not None:
            self._claims.drop(deletion)
            return
        self._telling.begun(deletion)
        self._claims.put(deletion)

    def _end(self, uid: str) -> None:
        deletion = self.deletions.pop(uid, None)
        if deletion is not None:
            self._claims.drop(deletion)

    def _over(self, uid: str) -> None:
        """It is not ours any more, or not there."""
        deletion = self.deletions.get(uid)
        if deletion is not None and deletion.is_over:
            self._telling.gone(deletion)
        self._end(uid)

    async def _tell(self, tenant: Tenant, stand: Standing) -> SkoupaError | None:
        if not self._acting() or self.book.kind is None:
            return None
        self._telling.stands(tenant, stand)
        return await self._writing.tell(self.book.kind, tenant, stand, self._clock.now())

    async def _nap(self) -> None:
        now = self._clock.monotonic()
        soonest = min((one.next_look - now for one in self.deletions.values()), default=math.inf)
        if self.book.doubt or not self._leads or self._standing_by():
            # Nothing is looked at until that is over, of which somebody tells.
            soonest = math.inf
        wait = min(max(0.0, soonest), LONGEST_NAP_SECONDS)
        try:
            async with self._clock.timeout(wait if len(self.book) else None):
                await self._woken.wait()
        except TimeoutError:
            return
