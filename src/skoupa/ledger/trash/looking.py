"""One look at who owns what: the metadata of all kinds in a namespace, or in all of them, by the uid of each owner.

A look serves everybody who asks while it is under way or within the next moment, longer where it took long, so that
looking around never takes more than half of the server's time; lists of all looks together share a few places. Only
what is owned is kept in memory. A kind that may not be listed is not asked for again for minutes, and one that does not
answer makes nobody wait for more than a few seconds.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.errors import Forbidden, NotFound, SkoupaError
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Partial
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.bulk import why_not
from skoupa.ledger.trash.manifests import comes_back
from skoupa.ledger.trash.patience import Patience

# What is made after a look goes unseen, so it is short; yet those that go together should not look one after the other.
_FRESH_SECONDS: Final = 0.5
# A look counts for so many times as long as it took, if that is more.
_SHARE: Final = 1.0
_LISTS_AT_A_TIME: Final = 8
_REFUSED_SECONDS: Final = 300.0
_REFUSED: Final = "no permission to list them"


class Owned(msgspec.Struct, frozen=True, kw_only=True):
    """`made_again`: a controller makes another one when its owner comes back."""

    resource: Resource
    namespace: str
    name: str
    uid: str
    owners: frozenset[str]
    made_again: bool


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """`owned` is by the uid of each owner; `unread` says by kind why it could not be read.

    `began` is by the clock on the wall, `start` and `good_until` are not.
    """

    began: float
    start: float
    good_until: float
    owned: dict[str, list[Owned]]
    unread: dict[str, str]


class Looks:
    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._client = patience.client
        self._clock = self._client.clock
        self._looks: dict[str, Look] = {}
        self._looking: dict[str, asyncio.Lock] = {}
        self._lists = asyncio.Semaphore(_LISTS_AT_A_TIME)
        # Until when nobody asks again, by kind and namespace.
        self._refused: dict[tuple[str, str], float] = {}

    async def at(self, namespace: str, kinds: list[Resource], *, since: float) -> Look:
        """Empty: all namespaces. What was read before `since` does not count: who asks was not there yet."""
        async with self._looking.setdefault(namespace, asyncio.Lock()):
            self._drop_old(namespace)
            look = self._looks.get(namespace)
            if look is None or look.began < since:
                look = self._looks[namespace] = await self._look(namespace, kinds)
        return look

    def _drop_old(self, asked: str) -> None:
        now = self._clock.monotonic()
        for place in [place for place, look in self._looks.items() if now >= look.good_until]:
            del self._looks[place]
            if place != asked:
                self._looking.pop(place, None)
        self._refused = {key: until for key, until in self._refused.items() if now < until}

    async def _look(self, namespace: str, kinds: list[Resource]) -> Look:
        began, start = self._clock.now(), self._clock.monotonic()
        found: list[Owned] = []
        unread: dict[str, str] = {}
        async with asyncio.TaskGroup() as group:
            for resource in kinds:
                if (resource.qualified, namespace) in self._refused:
                    unread[resource.qualified] = _REFUSED
                else:
                    group.create_task(self._list(resource, namespace, found, unread))
        took = self._clock.monotonic() - start
        return Look(
            began=began,
            start=start,
            good_until=start + took + max(_FRESH_SECONDS, _SHARE * took),
            owned=_by_owner(found),
            unread=unread,
        )

    async def _list(
        self, resource: Resource, namespace: str, found: list[Owned], unread: dict[str, str]
    ) -> None:
        mine: list[Owned] = []
        whole = pages(self._client, resource, METADATA, scope=Scope(namespace=namespace))
        try:
            # Its turn first: who waits for a place is not waiting for the server.
            async with (
                self._lists,
                aclosing(self._patience.pages(resource.qualified, whole)) as listing,
            ):
                async for page in listing:
                    if page.first:
                        mine.clear()
                    mine += (_owned(resource, one) for one in page.items if one.metadata.owner_references)
                    if page.undecodable:
                        unread[resource.qualified] = f"{page.undecodable[0].name}: {page.undecodable[0].why}"
        except NotFound:
            return
        except SkoupaError as error:
            unread[resource.qualified] = why_unread(error)
            if isinstance(error, Forbidden):
                self._refused[resource.qualified, namespace] = self._clock.monotonic() + _REFUSED_SECONDS
        found += mine


def why_unread(error: SkoupaError) -> str:
    return _REFUSED if isinstance(error, Forbidden) else why_not(error)


def _owned(resource: Resource, found: Partial) -> Owned:
    meta = found.metadata
    references = meta.owner_references or []
    return Owned(
        resource=resource,
        namespace=meta.namespace,
        name=meta.name,
        uid=meta.uid,
        owners=frozenset(owner.uid for owner in references),
        made_again=_is_made_again(resource, found),
    )


def _is_made_again(resource: Resource, found: Partial) -> bool:
    """By its metadata; a ReplicaSet may be an earlier revision, which only its spec tells."""
    if resource.qualified == "replicasets.apps":
        return False
    owners = [
        {"kind": owner.kind, "controller": owner.controller}
        for owner in found.metadata.owner_references or ()
    ]
    seen = {"kind": resource.kind, "metadata": {"name": found.metadata.name, "ownerReferences": owners}}
    return comes_back(seen, resource.qualified)


def _by_owner(found: list[Owned]) -> dict[str, list[Owned]]:
    """Without what is made again and owns nothing: most of a cluster are Pods of that kind."""
    owning = {uid for one in found for uid in one.owners}
    by_owner: dict[str, list[Owned]] = {}
    for one in found:
        if not one.made_again or one.uid in owning:
            for uid in one.owners:
                by_owner.setdefault(uid, []).append(one)
    return by_owner
