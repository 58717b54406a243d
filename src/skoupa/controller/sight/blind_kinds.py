"""Kinds whose kept objects can't be read at this moment, and how much that holds.

A right that was never there was decided so. One that is lost while a process runs leaves behind what was seen kept
(`retained`). One that was lost before it began holds like a kind that could be read if only it answered: nobody knows what is
kept there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from skoupa.controller.knowledge import KEPT
from skoupa.controller.sight.ever_read import Place
from skoupa.controller.sight.watchable import NOT_READ_YET
from skoupa.errors import ApiError, Forbidden, NotFound
from skoupa.facts.feeds import Feed
from skoupa.judge.cascade import Blind
from skoupa.kube.resources import Resource

NO_RIGHT: Final = "no permission: list and watch"
NO_RIGHT_ANY_MORE: Final = "no permission any more: list and watch"


def blind_kinds(
    feeds: Iterable[Feed], *, denied: Iterable[Resource], lost: Iterable[Place]
) -> dict[str, Blind]:
    """By name: `denied` are kinds that may be read nowhere, `lost` the places where a process before this one could."""
    blind = {kind.qualified: Blind(resource=kind, why=NO_RIGHT) for kind in denied}
    for place in lost:
        blind[str(place)] = Blind(
            resource=place.resource, why=NO_RIGHT_ANY_MORE, granted=True, namespace=place.namespace
        )
    for feed in feeds:
        if not sees_kept(feed):
            continue
        health, kind = feed.health, feed.resource.qualified
        known = blind.get(kind)
        if known is None and health.synced_at is None and health.error is None and not health.unreadable:
            # Its first list is under way; one that takes long fails, and then it is told.
            blind[kind] = Blind(resource=feed.resource, why=NOT_READ_YET, behind=True)
        elif refused(feed) or health.synced_at is None or health.unreadable:
            never = isinstance(health.error, Forbidden) and health.synced_at is None
            granted = not never or (known is not None and known.granted)
            blind[kind] = Blind(resource=feed.resource, why=why_blind(feed), granted=granted)
        elif health.behind_since is not None and known is None:
            blind[kind] = Blind(resource=feed.resource, why=why_blind(feed), behind=True)
    return blind


def first_lists(feeds: Iterable[Feed]) -> tuple[set[Place], set[Place]]:
    """Places of which all that may have a time was read, and those where that is awaited; what fails is neither."""
    places: dict[Place, list[Feed]] = {}
    for feed in feeds:
        places.setdefault(Place(feed.resource, feed.scope.namespace), []).append(feed)
    read, awaited = set(), set()
    for place, some in places.items():
        unread = [feed for feed in timed(some) or some if feed.health.synced_at is None]
        if not unread:
            read.add(place)
        elif not any(feed.health.error for feed in unread):
            awaited.add(place)
    return read, awaited


def timed(feeds: Iterable[Feed]) -> list[Feed]:
    return [feed for feed in feeds if feed.scope.labels != KEPT.labels]


def sees_kept(feed: Feed) -> bool:
    return feed.scope.labels in {"", KEPT.labels}


def sees_all(feed: Feed) -> bool:
    return feed.health.synced_at is not None and not feed.health.unreadable


def refused(feed: Feed) -> bool:
    return isinstance(feed.health.error, Forbidden | NotFound)


def why_blind(feed: Feed) -> str:
    health = feed.health
    if health.unreadable:
        return f"{len(health.unreadable)} of them can't be understood"
    if health.error is None:
        return "not read yet"
    return health.error.status.message if isinstance(health.error, ApiError) else health.error.message
