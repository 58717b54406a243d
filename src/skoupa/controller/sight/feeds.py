"""Which feeds are open: the smallest set that covers what the mechanisms are interested in.

Kinds come and go (a new CRD, a lost right); `arrange` opens and closes until the open set is the wanted one
(`wanted_feeds`). A feed that another takes over from (a new version of the kind) stays open until that one has read its
list. A kind that can't be read is remembered as blind with the reason, because what is not seen must be able to hold.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence

from skoupa import names
from skoupa.controller.keeping.retained import Verification
from skoupa.controller.knowledge import KEPT, Knowledge
from skoupa.controller.sight.blind_kinds import (
    NO_RIGHT,
    NO_RIGHT_ANY_MORE,
    blind_kinds,
    first_lists,
    refused,
    sees_all,
    why_blind,
)
from skoupa.controller.sight.ever_read import EverRead, Place
from skoupa.controller.sight.rights import Rights
from skoupa.controller.sight.unseen import Unseen
from skoupa.controller.sight.wanted_feeds import Key, Wanted
from skoupa.errors import Forbidden, NotFound
from skoupa.facts.feeds import Feed
from skoupa.facts.store import Delta
from skoupa.judge.cascade import Blind
from skoupa.judge.mechanism import Interest
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope
from skoupa.kube.resources import NAMESPACES, Resource


class Feeds:
    """Runs feeds as tasks of the group that it is given; `on_change` gets every change of the store.

    `on_release` hears that kept objects which nobody saw any more hold no longer; `expect` of what is going to be read.
    """

    def __init__(
        self,
        client: Client,
        *,
        knowledge: Knowledge,
        rights: Rights,
        group: asyncio.TaskGroup,
        on_change: Callable[[Sequence[Delta]], None],
        on_health: Callable[[], None],
        on_release: Callable[[], None],
        ever: EverRead,
        expect: Callable[[Iterable[tuple[str, str]]], None],
    ) -> None:
        self._client = client
        self._knowledge = knowledge
        self._group = group
        self._on_change = on_change
        self._on_health = on_health
        self._on_release = on_release
        self._ever = ever
        self._expect = expect
        self._open: dict[Key, tuple[Feed, asyncio.Task[None]]] = {}
        # None: to be looked up among those that are open.
        self._of_namespaces: list[Feed] | None = None
        # Open although nobody wants them: until another feed has taken over.
        self._leaving: set[Key] = set()
        self._verification = Verification(client, knowledge=knowledge, rights=rights)
        self._wanted = Wanted(knowledge, rights)
        # Groups whose kinds were not told, which hold.
        self.untold: dict[str, Blind] = {}
        self.unseen = Unseen(knowledge, ever=ever)
        self._saw_namespaces = False

    def __iter__(self) -> Iterator[Feed]:
        return (feed for feed, _ in self._open.values())

    def __len__(self) -> int:
        return len(self._open)

    async def arrange(self) -> None:
        """Opens what is wanted and not open, closes what is open and not wanted."""
        wanted = await self._wanted.look(self._open)
        self.unseen.note_read(self)
        # Before anything is closed, and before anything new is believed in: what is lost must not be taken for gone.
        self._hold_where_unseen()
        self._remember_lost()
        self._expect((key.resource.qualified, key.namespace) for key in wanted if key.labels != KEPT.labels)
        for key in wanted:
            if key not in self._open:
                body = self._knowledge.bodies.get(key.labels)
                feed = Feed(
                    self._client,
                    key.resource,
                    store=self._knowledge.store,
                    extraction=self._knowledge.extraction,
                    scope=Scope(namespace=key.namespace, labels=key.labels),
                    on_change=self._on_change,
                    on_health=self._on_health,
                    body=None if body is None else body(key.resource),
                )
                self._open[key] = (feed, self._group.create_task(feed.run()))
                self._of_namespaces = None
        self._leaving = self._open.keys() - set(wanted)
        self._close_left()
        self._hold_where_unseen()
        if await self._verification.verify():
            self._on_release()

    def _close_left(self) -> None:
        """Closes what is taken over from, or brings nothing any more. What was seen kept and is not any more holds."""
        for key in tuple(self._leaving):
            heirs = [other for other in self._open.keys() - self._leaving if other.takes_over_from(key)]
            taken_over = any(sees_all(self._open[heir][0]) for heir in heirs)
            useless = refused(self._open[key][0])
            if heirs and not taken_over and not useless:
                continue
            self._leaving.discard(key)
            if key.sees_kept and not taken_over:
                self._knowledge.kept.retain((key.resource.qualified, key.namespace))
            self._open.pop(key)[1].cancel()
            self._of_namespaces = None

    def _release(self) -> None:
        """What is kept is seen again where a feed has read its list."""
        for place in self._knowledge.kept.retained:
            kind, namespace = place
            seen_again = any(
                key.sees_kept
                and key.resource.qualified == kind
                and key.namespace in {"", namespace}
                and sees_all(feed)
                for key, (feed, _) in self._open.items()
                if key not in self._leaving
            )
            if seen_again and self._knowledge.kept.release(place, seen=self._knowledge.store.get):
                self._on_release()

    def _hold_where_unseen(self) -> None:
        """`review` lets go again, and tells that it did."""
        self._knowledge.namespaces_unseen = self._namespaces_unseen() or self._knowledge.namespaces_unseen

    def _remember_lost(self) -> None:
        self.unseen.remember(list(self), closed=self._wanted.closed, now=self._client.clock.now())

    def remember(self) -> None:
        """It is known now what was ever read."""
        self._remember_lost()
        self.review()

    def _asked_one_by_one(self) -> set[str]:
        """Kinds that can be read without a list: Namespaces that the settings name."""
        return {NAMESPACES.qualified} if self._knowledge.settings.namespaces else set()

    def close(self) -> None:
        for _, task in self._open.values():
            task.cancel()

    def review(self) -> bool:
        """Brings the list of blind kinds up to date; whether kinds and rights have to be asked for anew."""
        self.unseen.note_read(self)
        self._close_left()
        self._release()
        feeds = self._staying()
        blind = blind_kinds(
            feeds,
            denied=self._wanted.denied.values(),
            lost=self.unseen.lost_before(feeds, closed=self._wanted.closed),
        )
        self.untold = self._wanted.untold()
        self._knowledge.blind = blind | self.untold
        self._knowledge.namespaces_unseen = self._namespaces_unseen()
        return any(map(refused, feeds))

    def first_lists(self) -> tuple[set[Place], set[Place]]:
        """Places that were read, and those that are awaited."""
        return first_lists(self._staying())

    def _staying(self) -> list[Feed]:
        return [feed for key, (feed, _) in self._open.items() if key not in self._leaving]

    @property
    def saw_namespaces(self) -> bool:
        """Whether Namespaces could be listed at some time, by this process or one before."""
        return self._saw_namespaces or self._ever.has(NAMESPACES.qualified, "")

    def knows_namespaces(self) -> bool:
        """Whether the store has every Namespace that is looked into, with its labels."""
        knowledge = self._knowledge
        if knowledge.namespaces_unseen:
            return False
        if knowledge.namespace_doubt is None:
            return self.saw_namespaces and not self.denied(NAMESPACES)
        return not any(map(knowledge.namespace_doubt, knowledge.settings.namespaces))

    def _namespaces_unseen(self) -> str:
        """Why keep labels of Namespaces may be out of date. A right that was never there is told instead."""
        if self.saw_namespaces and self.denied(NAMESPACES):
            return NO_RIGHT_ANY_MORE
        for key, (feed, _) in self._open.items():
            health = feed.health
            if key.resource.qualified != NAMESPACES.qualified or key.labels not in {"", names.KEEP_LABEL}:
                continue
            self._saw_namespaces = self._saw_namespaces or health.synced_at is not None
            if isinstance(health.error, Forbidden) and not self.saw_namespaces:
                continue
            if health.synced_at is None or health.behind_since is not None or health.unreadable:
                return why_blind(feed)
        return ""

    def namespaces_heard_at(self) -> float:
        """When the watch of all Namespaces last showed that it is alive, by the clock that never jumps."""
        if self._of_namespaces is None:
            # Asked before every delete, and there are many feeds.
            self._of_namespaces = [
                feed
                for key, (feed, _) in self._open.items()
                if key.resource.qualified == NAMESPACES.qualified and not key.labels
            ]
        heard = (feed.health for feed in self._of_namespaces)
        return max(
            (
                health.heard_at
                for health in heard
                if health.heard_at is not None and health.behind_since is None
            ),
            default=float("-inf"),
        )

    def failing(self) -> set[Resource]:
        """Kinds of which some list could not be read so far for another reason than a right or a kind that is gone."""
        return {
            feed.resource
            for feed in self
            if feed.health.synced_at is None and not isinstance(feed.health.error, Forbidden | NotFound)
        }

    def behind(self, interests: Iterable[Interest]) -> str:
        """Why not all that is of interest is known, in words; empty: it is."""
        interests = tuple(interests)
        for key, (feed, _) in self._open.items():
            wanted = any(one.has(key.resource) and key.labels in {"", one.labels} for one in interests)
            if wanted and (feed.health.synced_at is None or feed.health.unreadable):
                return f"{key.resource.qualified}: {why_blind(feed)}"
        for place in self._wanted.closed:
            if any(one.kinds and one.has(place.resource) for one in interests):
                return f"{place}: {NO_RIGHT}"
        return ""

    def closed(self) -> list[Place]:
        """Where something is wanted that may not be read; Namespaces that the settings name are read one by one."""
        otherwise = self._asked_one_by_one()
        return [place for place in self._wanted.closed if place.resource.qualified not in otherwise]

    def denied(self, resource: Resource) -> bool:
        return resource.qualified in self._wanted.denied

    def unreadable_kinds(self) -> dict[str, bool]:
        """Kinds of which something can't be read, by whether it could be read once; a group that is not told is one."""
        found = dict.fromkeys(self.untold, False)
        found |= {place.resource.qualified: False for place in self.closed()}
        found |= dict.fromkeys(self.unseen.kinds(), True)
        for feed in self:
            health, kind = feed.health, feed.resource.qualified
            if health.error is not None and (health.synced_at is None or isinstance(health.error, Forbidden)):
                found[kind] = found.get(kind, False) or health.synced_at is not None
        return found

    def read_once(self) -> bool:
        """Whether every open feed has read its list, or has a reason why it can't."""
        return all(feed.health.synced_at is not None or feed.health.error is not None for feed in self)
