"""The Tenants that there are, followed by a watch; while what is known of them may be old, nothing of any goes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import aclosing
from typing import Any

from skoupa import names
from skoupa.errors import ApiError
from skoupa.kube import watch, watched
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.tenants.tenant import Tenant, read_tenant

Found = dict[str, Any]
NOT_READ = "they are not read yet"
_NOT_SERVED = "the server has no kind Tenant (tenant.kubezoo.io/v1alpha1) that can be watched"
_IN_NAMESPACES = (
    "the server has the kind Tenant (tenant.kubezoo.io/v1alpha1) in namespaces, where whoever may write in one of them could mean what is "
    "anybody's: it has to be of the cluster"
)


class TenantBook:
    """`on_change` hears of every change, of the Tenants or of the trust in them."""

    def __init__(self, client: Client, *, on_change: Callable[[], None]) -> None:
        self._client = client
        self._on_change = on_change
        self.kind: Resource | None = None
        self._unserved = _NOT_SERVED
        self._tenants: dict[str, Tenant] = {}
        self._listed: dict[str, Tenant] = {}
        self._unreadable = 0
        self._synced = False
        self._behind = ""
        self._task: asyncio.Task[None] | None = None

    def __iter__(self) -> Iterator[Tenant]:
        return iter(list(self._tenants.values()))

    def __len__(self) -> int:
        return len(self._tenants)

    def get(self, uid: str) -> Tenant | None:
        return self._tenants.get(uid)

    @property
    def doubt(self) -> str:
        """Why these may not be all; empty: they are."""
        if self.kind is None:
            return self._unserved
        if self._unreadable:
            return f"{self._unreadable} of them can't be understood"
        return self._behind or ("" if self._synced else NOT_READ)

    def arrange(self, group: asyncio.TaskGroup, discovery: Discovery) -> None:
        """After every look at the kinds; a group that could not be read says nothing of its kinds."""
        kind = kind_in(discovery)
        self._unserved = _IN_NAMESPACES if _served(discovery) is not None and kind is None else _NOT_SERVED
        if kind == self.kind or (kind is None and discovery.unreadable(names.TENANT_GROUP) is not None):
            return
        self.close()
        self.kind, self._synced = kind, False
        if kind is None:
            self._tenants = {}
        else:
            self._task = group.create_task(self._follow(kind))
        self._on_change()

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _follow(self, kind: Resource) -> None:
        async with aclosing(watch.watch(self._client, kind, WHOLE)) as events:
            async for event in events:
                self._take(event)
                self._on_change()

    def _take(self, event: watched.WatchEvent[Found]) -> None:
        match event:
            case watched.Begun():
                self._listed, self._unreadable = {}, 0
            case watched.Listed(objects, undecodable):
                self._listed |= {one.uid: one for one in map(read_tenant, objects)}
                self._unreadable += len(undecodable)
            case watched.Synced():
                self._tenants, self._listed = self._listed, {}
                self._synced, self._behind = True, ""
            case watched.Changed(changes, undecodable):
                self._behind = ""
                self._unreadable += len(undecodable)
                for change in changes:
                    tenant = read_tenant(change.object)
                    if change.deleted:
                        self._tenants.pop(tenant.uid, None)
                    else:
                        self._tenants[tenant.uid] = tenant
            case watched.Interrupted(error, _):
                self._behind = error.status.message if isinstance(error, ApiError) else error.message
            case watched.Progressed() | watched.Resumed():
                self._behind = ""


def kind_in(discovery: Discovery) -> Resource | None:
    """None also where it is a kind of namespaces: what belongs to a tenant is not for whoever may write in one of them to let go."""
    found = _served(discovery)
    return None if found is None or found.namespaced else found


def _served(discovery: Discovery) -> Resource | None:
    found = discovery.find(names.TENANT_GROUP, names.TENANT_KIND, "v1alpha1")
    return found if found is not None and found.may("list", "watch") else None
