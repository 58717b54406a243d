"""Which feeds are wanted, and where a right to have one is missing.

For every kind that can be listed and watched there is one feed per label selector and granted scope. A group whose kinds
the server can't tell for a while changes nothing: its feeds stay wanted, and what nobody may read of it stays closed.
Nothing is opened here.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from skoupa.controller.knowledge import KEPT, Knowledge
from skoupa.controller.sight.ever_read import Place
from skoupa.controller.sight.rights import Rights
from skoupa.controller.sight.watchable import told_by, untold, watchable
from skoupa.judge.cascade import Blind
from skoupa.kube.resources import NAMESPACES, Resource


class Key(msgspec.Struct, frozen=True):
    resource: Resource
    namespace: str
    labels: str

    @property
    def sees_kept(self) -> bool:
        return self.labels in {"", KEPT.labels}

    def takes_over_from(self, other: Key) -> bool:
        return (
            self.resource.qualified == other.resource.qualified
            and self.namespace in {"", other.namespace}
            and self.labels in {"", other.labels}
        )


class Wanted:
    def __init__(self, knowledge: Knowledge, rights: Rights) -> None:
        self._knowledge = knowledge
        self._rights = rights
        # Kinds that may be read nowhere, by name.
        self.denied: dict[str, Resource] = {}
        # Where a right is missing, also where a kind can be read in other namespaces.
        self.closed: set[Place] = set()
        # Versions of groups whose kinds were told.
        self._told: set[tuple[str, str]] = set()

    async def look(self, open_now: Collection[Key]) -> list[Key]:
        """With the rights of now; what is open of kinds that the server can't tell at the moment stays so."""
        interests = (*self._knowledge.interests, KEPT)
        discovery, settings = self._knowledge.discovery, self._knowledge.settings
        gaps = {gap.group for gap in discovery.gaps}
        wanted = [key for key in open_now if key.resource.group in gaps]
        # What nobody may read of them holds on, too.
        told = {kind.qualified for kind in discovery.resources}
        closed = {
            place
            for place in self.closed
            if place.resource.group in gaps and place.resource.qualified not in told
        }
        denied = {name: kind for name, kind in self.denied.items() if kind.group in gaps and name not in told}
        for resource in watchable(discovery, also=settings.watch_also):
            if settings.namespaces and not resource.namespaced and resource.qualified != NAMESPACES.qualified:
                continue
            scopes = await self._rights.scopes(resource, verbs=("list", "watch"))
            if not scopes:
                denied[resource.qualified] = resource
            places = settings.namespaces if settings.namespaces and resource.namespaced else ("",)
            closed |= {Place(resource, place) for place in places if place not in scopes}
            selectors = {interest.labels for interest in interests if interest.has(resource)}
            # A feed without a selector sees what the narrower ones would. What a Namespace wishes for those in it may
            # be written in annotations, which no selector finds.
            all_of_them = "" in selectors or resource.qualified == NAMESPACES.qualified
            # What is read with its body has a feed of its own.
            apart = selectors & self._knowledge.bodies.keys()
            for labels in {"", *apart} if all_of_them else selectors:
                wanted += (Key(resource, namespace, labels) for namespace in scopes)
        self.denied, self.closed = denied, closed
        left = {(gap.group, version) for gap in discovery.gaps for version in ("", gap.version)}
        self._told = told_by(discovery) | (self._told & left)
        return wanted

    def untold(self) -> dict[str, Blind]:
        """Groups whose kinds the server does not tell and never told."""
        return untold(self._knowledge.discovery, but=self._told)
