"""What goes along with an object, as far as it can be known: what is in a Namespace, of a definition, or owned.

The server collects dependents by itself and tells nobody. What is owned is found through one look at the metadata of
all kinds in the namespace, which serves every deletion there for a few seconds. Objects that a controller makes again
are passed over. Owners in no namespace are not looked into: what they own may be anywhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.clock import Clock
from skoupa.errors import ApiError, BadReply, NotFound, TimedOut
from skoupa.facts.rows import Row, uid_text
from skoupa.judge.cascade import is_definition, is_namespace
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything, pages
from skoupa.kube.objects import METADATA, WHOLE, Partial
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.bulk import Alone, why_not
from skoupa.ledger.trash.manifests import comes_back
from skoupa.ledger.trash.server_fields import MADE_AGAIN
from skoupa.model.verdicts import Claim

_FRESH_SECONDS: Final = 10.0
_LISTS_AT_A_TIME: Final = 8
_PAGE: Final = 250
# Nothing that matters is ever owned by these, or it comes back by itself.
_OWN_NOTHING: Final = frozenset({*MADE_AGAIN, "pods", "secrets", "replicasets.apps", "jobs.batch"})


class Along(msgspec.Struct, frozen=True):
    resource: Resource
    found: dict[str, Any]


class Unread(msgspec.Struct, frozen=True):
    """Objects of this kind may go along, and could not be read."""

    resource: Resource
    why: str


class _Owned(msgspec.Struct, frozen=True):
    resource: Resource
    found: Partial


class _Look(msgspec.Struct, frozen=True):
    """What is owned in a namespace, by the uid of each owner."""

    at: float
    owned: dict[str, list[_Owned]]
    unread: tuple[Unread, ...]


class Dependents:
    def __init__(
        self, client: Client, *, alone: Alone, discovery: Callable[[], Discovery], clock: Clock
    ) -> None:
        self._client = client
        self._alone = alone
        self._discovery = discovery
        self._clock = clock
        self._looks: dict[str, _Look] = {}
        self._looking: dict[str, asyncio.Lock] = {}

    async def of(self, row: Row, claim: Claim) -> AsyncGenerator[Along | Unread, None]:
        """In no order; each object once."""
        if is_namespace(row):
            for resource in self._kinds(namespaced=True):
                async for one in self._every(resource, Scope(namespace=row.name)):
                    yield one
        elif is_definition(row):
            for resource in self._kinds():
                if resource.qualified == row.name:
                    async for one in self._every(resource, Scope()):
                        yield one
        elif claim.propagation != "Orphan" and row.namespace and row.resource.qualified not in _OWN_NOTHING:
            async for one in self._owned(row):
                yield one

    def _kinds(self, *, namespaced: bool | None = None) -> Iterator[Resource]:
        for resource in self._discovery().preferred():
            if namespaced not in {None, resource.namespaced} or resource.qualified in MADE_AGAIN:
                continue
            # What can't be created can't come back, such as the figures of a metrics server.
            if resource.may("list", "create", "delete"):
                yield resource

    async def _every(self, resource: Resource, scope: Scope) -> AsyncGenerator[Along | Unread, None]:
        seen: set[str] = set()
        try:
            async with aclosing(
                pages(self._client, resource, WHOLE, scope=scope, page_size=_PAGE)
            ) as listing:
                async for page in listing:
                    for bad in page.undecodable:
                        yield Unread(resource, f"{bad.name}: {bad.why}")
                    for found in page.items:
                        uid = str(found["metadata"].get("uid", ""))
                        # A list that began anew shows some of them again.
                        if uid in seen or comes_back({"kind": resource.kind, **found}, resource.qualified):
                            continue
                        seen.add(uid)
                        yield Along(resource, found)
        except NotFound:
            # The kind went a moment ago.
            return
        except (ApiError, BadReply, TimedOut) as error:
            yield Unread(resource, why_not(error))

    async def _owned(self, row: Row) -> AsyncGenerator[Along | Unread, None]:
        look = await self._look(row.namespace)
        for unread in look.unread:
            yield unread
        going = {uid_text(row.uid)}
        ahead = [uid_text(row.uid)]
        while ahead:
            for one in look.owned.get(ahead.pop(), ()):
                meta = one.found.metadata
                owners = {owner.uid for owner in meta.owner_references or ()}
                # With another owner that lives it stays.
                if meta.uid in going or not owners <= going or _is_made_by_owner(one):
                    continue
                going.add(meta.uid)
                ahead.append(meta.uid)
                try:
                    found = await self._alone.read(one.resource, meta.name, namespace=row.namespace)
                except NotFound:
                    continue
                except (ApiError, BadReply, TimedOut) as error:
                    yield Unread(one.resource, f"{meta.name}: {why_not(error)}")
                    continue
                if not comes_back({"kind": one.resource.kind, **found}, one.resource.qualified):
                    yield Along(one.resource, found)

    async def _look(self, namespace: str) -> _Look:
        async with self._looking.setdefault(namespace, asyncio.Lock()):
            now = self._clock.monotonic()
            for place in [place for place, look in self._looks.items() if now - look.at > _FRESH_SECONDS]:
                del self._looks[place]
                if place != namespace:
                    self._looking.pop(place, None)
            look = self._looks.get(namespace)
            if look is None:
                look = self._looks[namespace] = await self._look_around(namespace, now)
        return look

    async def _look_around(self, namespace: str, now: float) -> _Look:
        owned: dict[str, list[_Owned]] = {}
        unread: list[Unread] = []
        ahead = iter(list(self._kinds(namespaced=True)))

        async def work() -> None:
            for resource in ahead:
                try:
                    page = await everything(
                        self._client, resource, METADATA, scope=Scope(namespace=namespace)
                    )
                except NotFound:
                    continue
                except (ApiError, BadReply, TimedOut) as error:
                    unread.append(Unread(resource, why_not(error)))
                    continue
                unread.extend(Unread(resource, f"{bad.name}: {bad.why}") for bad in page.undecodable)
                for found in page.items:
                    for owner in found.metadata.owner_references or ():
                        owned.setdefault(owner.uid, []).append(_Owned(resource, found))

        async with asyncio.TaskGroup() as group:
            for _ in range(_LISTS_AT_A_TIME):
                group.create_task(work())
        return _Look(now, owned, tuple(unread))


def _is_made_by_owner(one: _Owned) -> bool:
    """By its metadata; a ReplicaSet may be an earlier revision, which only its spec tells."""
    if one.resource.qualified == "replicasets.apps":
        return False
    owners = [
        {"kind": owner.kind, "controller": owner.controller}
        for owner in one.found.metadata.owner_references or ()
    ]
    seen = {
        "kind": one.resource.kind,
        "metadata": {"name": one.found.metadata.name, "ownerReferences": owners},
    }
    return comes_back(seen, one.resource.qualified)
