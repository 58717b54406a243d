"""Writes Skoupa's label (`tenants.label`) on what belongs to living tenants, so that the first reading of a deletion can select by it.

It writes on nothing but what the rule gives to one tenant alone, against the very state that was read, and never takes a label off.
Who leads and enforces reads all of it once, then now and then what has no such label. Where something can't be written nothing is lost:
what has no label is found where all is read. Nothing of a deletion waits for this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from skoupa.controller.tenancy.book import TenantBook
from skoupa.controller.writing.denials import Denials
from skoupa.errors import Forbidden, SkoupaError
from skoupa.kube.client import Client
from skoupa.settings import Settings
from skoupa.tenants.census import Belonging
from skoupa.tenants.ids import Ids, refusal
from skoupa.tenants.labels import can_be_written, may_have_label, without_label
from skoupa.tenants.reading import take_census
from skoupa.tenants.tenant import Tenant

ROUND_SECONDS: Final = 900.0
_NAP_SECONDS: Final = 10.0
# So many a second at most: nobody waits for it, and whoever watches such objects hears of each.
WRITES_A_SECOND: Final = 20


class TenantLabelling:
    """`acting`: this process leads and enforces. `told` hears in words what can't be written for lack of rights, `untold` its end."""

    def __init__(
        self,
        client: Client,
        *,
        settings: Settings,
        book: TenantBook,
        acting: Callable[[], bool],
        told: Callable[[str], None],
        untold: Callable[[str], None],
    ) -> None:
        self._client = client
        self._clock = client.clock
        self._settings = settings
        self._key = settings.tenants.label
        self._book = book
        self._acting = acting
        self._denials = Denials(client.clock, words=self._poorer, told=told, untold=untold)
        self._read_all = False

    def doubt(self) -> None:
        """Another may have led meanwhile."""
        self._read_all = False
        self._denials.clear()

    async def follow(self) -> None:
        while self._key:
            wait = _NAP_SECONDS
            if self._acting() and not self._book.doubt:
                try:
                    await self._round()
                    wait = ROUND_SECONDS
                except SkoupaError:
                    # What can't be read now may be in a moment; a deletion that needs it says so itself.
                    pass
            await self._clock.sleep(wait)

    async def _round(self) -> None:
        everybody = list(self._book)
        living = list(self._living(everybody))
        if not living:
            return
        census = await take_census(
            self._client,
            everybody,
            settings=self._settings.tenants,
            wanted=[one.name for one in living],
            labels=without_label(self._key) if self._read_all else "",
            only_labelled=True,
        )
        for tenant in living:
            for one in census.of(tenant.name):
                if not await self._go_on(one, tenant):
                    return
        # What could not be read had no look at its values yet.
        self._read_all = self._read_all or not census.missing()

    def _living(self, everybody: Sequence[Tenant]) -> Iterator[Tenant]:
        """Those with whom something would go."""
        ids, settings = Ids(everybody), self._settings
        for one in everybody:
            refused = refusal(one, ids, settings=settings.tenants, protect=settings.protect)
            if not one.is_leaving and not refused and can_be_written(one.name):
                yield one

    async def _go_on(self, one: Belonging, tenant: Tenant) -> bool:
        """Whether there is still somebody to do this."""
        if not self._acting() or self._book.doubt:
            return False
        known = self._book.get(tenant.uid)
        has_it = (one.metadata.labels or {}).get(self._key) == tenant.name
        if has_it or one.is_leaving or known is None or known.is_leaving or not may_have_label(one.resource):
            return True
        await self._write(one, tenant)
        await self._clock.sleep(1 / WRITES_A_SECOND)
        return True

    async def _write(self, one: Belonging, tenant: Tenant) -> None:
        place = one.resource.qualified, ""
        self._denials.due()
        if self._denials.stands(place):
            return
        metadata = {
            "uid": one.uid,
            "resourceVersion": one.metadata.resource_version,
            "labels": {self._key: tenant.name},
        }
        try:
            await self._client.merge_patch(one.resource, one.metadata.name, {"metadata": metadata})
        except Forbidden:
            self._denials.refuse(place, one.resource.qualified)
        except SkoupaError:
            # It changed or went, or somebody refuses it: the next round sees.
            return
        else:
            self._denials.allow(place, one.resource.qualified)

    def _poorer(self, kind: str, where: str) -> str:
        return (
            f"no permission to patch {kind}{where}: tenants.label ({self._key}) is not written on what belongs to a tenant; it is found "
            "all the same, where all is read"
        )
