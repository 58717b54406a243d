"""What is written on Tenants: finalizers put on and taken off, the status, and a mark while nothing new is to come. Only who leads writes, and only when enforcing.

A finalizer is written against the very state that was read, so that nobody else's is lost. While a Tenant is being deleted the server
takes no new one: one that was deleted before we saw it goes without us, and says so nowhere but in `skoupa tenant leaks`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from skoupa import names
from skoupa.controller.writing.denials import Denials
from skoupa.controller.writing.statuses import StatusWriter
from skoupa.errors import Conflict, Forbidden, NotFound, SkoupaError
from skoupa.kinds.tenant import LEAVING_MARK
from skoupa.kube.client import Client
from skoupa.kube.resources import Resource
from skoupa.tenants.tenant import Tenant, with_finalizers, without_finalizers
from skoupa.tenants.told import Standing, status_of

# While a deletion goes on, how it goes is written this often.
GATHER_SECONDS: Final = 15.0
# While this is said of a Tenant nothing new comes under its names.
_CLOSED: Final = ("Deleting", "Verifying")
_GOING_ON: Final = ("Deleting", "Blocked")
_STATUS: Final = "status"


class TenantWriting:
    """`told` hears in words what is done in a poorer way for lack of rights, `untold` the same words when that is over."""

    def __init__(self, client: Client, *, told: Callable[[str], None], untold: Callable[[str], None]) -> None:
        self._client = client
        self._denials = Denials(client.clock, words=_poorer, told=told, untold=untold)
        self._statuses = StatusWriter(client, words=_untold_status, told=told, untold=untold)
        # What was said last in one word, and when: how much is left changes with each object.
        self._said: dict[str, tuple[tuple[str, str], float]] = {}
        # Those that have the mark by now, as far as we wrote it.
        self._marked: set[str] = set()

    def doubt(self) -> None:
        """Another may have written meanwhile."""
        self._statuses.doubt()
        self._said.clear()
        self._marked.clear()
        self._denials.clear()

    def forget(self, uid: str) -> None:
        self._statuses.forget(uid)
        self._said.pop(uid, None)
        self._marked.discard(uid)
        self._denials.forget(uid)

    async def hold(self, kind: Resource, tenant: Tenant) -> SkoupaError | None:
        wanted = with_finalizers(tenant.finalizers)
        if tenant.is_leaving or wanted == list(tenant.finalizers):
            return None
        return await self._finalizers(kind, tenant, wanted)

    async def release(self, kind: Resource, tenant: Tenant) -> SkoupaError | None:
        wanted = without_finalizers(tenant.finalizers)
        if wanted == list(tenant.finalizers):
            return None
        return await self._finalizers(kind, tenant, wanted)

    async def _finalizers(self, kind: Resource, tenant: Tenant, wanted: list[str]) -> SkoupaError | None:
        metadata = {
            "uid": tenant.uid,
            "resourceVersion": tenant.resource_version,
            "finalizers": wanted or None,
        }
        self._denials.due()
        place = kind.qualified, ""
        if self._denials.stands(place):
            return None
        try:
            await self._client.merge_patch(kind, tenant.name, {"metadata": metadata})
        except (NotFound, Conflict):
            # Another state, which the watch brings.
            return None
        except Forbidden:
            self._denials.refuse(place, tenant.uid)
            return None
        except SkoupaError as error:
            return error
        self._denials.allow(place, tenant.uid)
        return None

    async def tell(
        self, kind: Resource, tenant: Tenant, standing: Standing, now: float
    ) -> SkoupaError | None:
        if _STATUS not in kind.subresources:
            # As somebody else declares it: then its status is written with the rest of it, which is not ours.
            return None
        # What waits for a moment and what is held takes turns as objects go.
        word = standing.phase, "" if standing.reason in _GOING_ON else standing.reason
        before, at = self._said.get(tenant.uid, (("", ""), 0.0))
        if word == before and self._client.clock.monotonic() - at < GATHER_SECONDS:
            return None
        self._statuses.denials.due()
        try:
            found = await self._statuses.write(
                kind, tenant.uid, status_of(tenant, standing, now), name=tenant.name
            )
        except SkoupaError as error:
            return error
        if found is not None:
            self._said[tenant.uid] = (word, self._client.clock.monotonic())
        return await self._mark(kind, tenant) if standing.phase in _CLOSED else None

    async def _mark(self, kind: Resource, tenant: Tenant) -> SkoupaError | None:
        if tenant.is_marked or tenant.uid in self._marked:
            return None
        metadata = {"uid": tenant.uid, "labels": {names.LEAVING_LABEL: LEAVING_MARK}}
        try:
            await self._client.merge_patch(kind, tenant.name, {"metadata": metadata})
        except (NotFound, Conflict):
            # Gone, or another of its name.
            return None
        except Forbidden:
            # Who may not write on it is told of its finalizers.
            pass
        except SkoupaError as error:
            return error
        self._marked.add(tenant.uid)
        return None


def _untold_status(kind: str, where: str) -> str:
    return f"no permission to patch {kind}/status{where}: how a deletion goes stands in the log alone"


def _poorer(kind: str, where: str) -> str:
    return (
        f"no permission to patch {kind}{where}: without a finalizer a deleted Tenant leaves everything behind, "
        "and one that has it can't go"
    )
