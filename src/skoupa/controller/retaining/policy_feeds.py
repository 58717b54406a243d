"""Follows the kinds that retention policies are about into the store, whole kinds or single namespaces of them.

Nothing is followed while there is no policy. A kind that may not be read, or could not be, is told in the status of the policies
that are about it: what nobody sees stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.matched import Matched
from skoupa.errors import Forbidden
from skoupa.facts.feeds import Body, Feed
from skoupa.facts.store import Delta
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope
from skoupa.kube.resources import Resource
from skoupa.usage.objects import readable


class Key(msgspec.Struct, frozen=True):
    """`annotated`: policies ask for annotations, so that all have to be read once more when the first one does."""

    resource: Resource
    namespace: str
    annotated: bool


class PolicyFeeds:
    """`learn` hears of every change of the store; `body` says how to read a kind."""

    def __init__(
        self,
        client: Client,
        matched: Matched,
        *,
        knowledge: Knowledge,
        body: Callable[[Resource], Body],
        learn: Callable[[Sequence[Delta]], None],
        on_health: Callable[[], None],
    ) -> None:
        self._client = client
        self._matched = matched
        self._knowledge = knowledge
        self._body = body
        self._learn = learn
        self._on_health = on_health
        self._open: dict[Key, tuple[Feed, asyncio.Task[None]]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def arrange(self, group: asyncio.TaskGroup) -> None:
        keys = set(wanted(self._matched, self._knowledge))
        gaps = {gap.group for gap in self._knowledge.discovery.gaps}
        for key in [one for one in self._open.keys() - keys if one.resource.group not in gaps]:
            self._open.pop(key)[1].cancel()
        for key in keys - self._open.keys():
            feed = Feed(
                self._client,
                key.resource,
                store=self._knowledge.store,
                extraction=self._knowledge.extraction,
                scope=Scope(namespace=key.namespace),
                on_change=self._learn,
                on_health=self._on_health,
                body=self._body(key.resource),
            )
            self._open[key] = (feed, group.create_task(feed.run()))

    def close(self) -> None:
        for _, task in self._open.values():
            task.cancel()

    def unread(self, resource: Resource, namespace: str) -> str:
        """Why not all objects of this kind there are known; empty: they are, or nobody follows them."""
        for key, (feed, _) in self._open.items():
            if key.resource.qualified == resource.qualified and key.namespace in ("", namespace):
                if feed.health.error is not None:
                    denied = isinstance(feed.health.error, Forbidden)
                    return "no permission to list and watch them" if denied else feed.health.error.brief
                if feed.health.synced_at is None:
                    return "they are being read"
        return ""

    def kinds(self) -> Iterator[Resource]:
        yield from {key.resource: None for key in self._open}


def wanted(matched: Matched, knowledge: Knowledge) -> Iterator[Key]:
    """What has to be read for the policies that there are."""
    settings = knowledge.settings
    for resource in readable(knowledge.discovery):
        if not resource.may("watch", "delete"):
            continue
        places = matched.places(resource)
        if settings.namespaces:
            inside = set(settings.namespaces)
            places = inside if "" in places and resource.namespaced else places & inside
        elif "" in places:
            places = {""}
        for place in places:
            yield Key(resource, place, matched.asks_annotations)
