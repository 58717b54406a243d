"""What a running controller can't read at this moment, for those who show what it knows: objects may be missing there.

Kinds without a right to read them, lists that fail, watches that broke for longer than a moment, groups whose kinds the server
does not tell, policies that can't be followed. What that holds is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from skoupa.controller.engine import Engine
from skoupa.controller.sight.blind_kinds import NO_RIGHT, refused, why_blind
from skoupa.controller.sight.feeds import Feeds
from skoupa.controller.sight.group_troubles import LASTING_SECONDS
from skoupa.facts.feeds import Feed
from skoupa.report.opinions import Unread
from skoupa.runs.book import WATCHED

_POLICIES: Final = {definition.kind: definition.name for definition in WATCHED}
_SOME_NAMESPACES: Final = Unread(
    what="other namespaces, and what is in none",
    why="this controller looks only into those that its setting namespaces names",
)


def unread(engine: Engine, now: float) -> list[Unread]:
    """Each once, by name."""
    found = [*_of_feeds(engine.feeds, now), *_of_policies(engine)]
    if engine.knowledge.settings.namespaces:
        found.append(_SOME_NAMESPACES)
    by_name = {one.what: one for one in reversed(found)}
    return [by_name[what] for what in sorted(by_name)]


def _of_feeds(feeds: Feeds | None, now: float) -> Iterator[Unread]:
    if feeds is None:
        return
    for feed in feeds:
        if _misses_something(feed, now):
            yield _of(feed.resource.qualified, feed.scope.namespace, why_blind(feed))
    for place in feeds.closed():
        yield _of(place.resource.qualified, place.namespace, NO_RIGHT)
    for group in feeds.untold.values():
        where = group.resource.group or "the core group"
        yield Unread(what=f"the kinds of {where}", why=group.why, resource=group.resource.qualified)


def _misses_something(feed: Feed, now: float) -> bool:
    health = feed.health
    if health.synced_at is None or health.unreadable or refused(feed):
        return True
    return health.behind_since is not None and now - health.behind_since >= LASTING_SECONDS


def _of_policies(engine: Engine) -> Iterator[Unread]:
    if engine.policies is not None:
        for (kind, namespace), why in engine.policies.book.doubts.items():
            if why:
                yield _of(_POLICIES[kind], namespace, why)
    if engine.retention is not None:
        for (resource, namespace), why in engine.retention.rules.book.doubts.items():
            if why:
                yield _of(resource.qualified, namespace, why)


def _of(kind: str, namespace: str, why: str) -> Unread:
    where = f" in {namespace}" if namespace else ""
    return Unread(what=f"{kind}{where}", why=why, resource=kind, namespace=namespace)
