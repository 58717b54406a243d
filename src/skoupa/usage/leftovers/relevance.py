"""Which kinds have to be read to judge objects of others, where, and how much of them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from skoupa.kube.lists import Scope
from skoupa.kube.resources import BUILT_IN_GROUPS, NAMESPACES, Resource
from skoupa.usage import tracking
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.questions import PODS_MATTER, REQUIRED, REQUIRED_EVERYWHERE
from skoupa.usage.objects import is_walked
from skoupa.usage.reading import Readings
from skoupa.usage.sight import Sight

EVERYTHING: Final = "*"


class Relevance:
    """`asked` are the kinds to be judged, `place` is the one namespace they are in, or empty."""

    def __init__(self, asked: Collection[str], readings: Readings, *, place: str) -> None:
        self._asked = frozenset(asked)
        self._place = place
        self._readings = readings
        self.may_point = Sight(readings=readings, read=frozenset()).may_point
        self._required = frozenset(one for kind in asked for one in REQUIRED.get(kind, ()))
        self._pods_matter = not PODS_MATTER.isdisjoint(asked)

    def matters(self, resource: Resource) -> bool:
        """Whether something of this kind can use what is asked about, or says whether that is good for anything."""
        kind = kind_name(resource)
        if kind in self._asked or kind in tracking.KINDS or resource.qualified == NAMESPACES.qualified:
            return True
        return self.requires(resource) or any(self.may_point(kind, asked) for asked in self._asked)

    def requires(self, resource: Resource) -> bool:
        """Whether a question about what is asked about asks about this kind."""
        kind = kind_name(resource)
        return kind in self._required or EVERYTHING in self._required or self._may_make_pods(resource)

    def asks_more_of(self, resource: Resource) -> bool:
        """Whether a question wants to know more of it than what it points at."""
        kind = kind_name(resource)
        return kind in self._asked or kind in self._required or self._may_make_pods(resource)

    def scope(self, resource: Resource) -> Scope:
        """One namespace is enough of what can't point at what is asked about: what can may name it from anywhere, if only in a text."""
        kind = kind_name(resource)
        if not self._place or not resource.namespaced:
            return Scope()
        beyond = kind in tracking.KINDS or any(
            kind in REQUIRED_EVERYWHERE.get(asked, ()) or self.may_point(kind, asked) for asked in self._asked
        )
        return Scope() if beyond else Scope(namespace=self._place)

    def _may_make_pods(self, resource: Resource) -> bool:
        """Custom kinds may, as Deployments do, and those that nobody knows, and their templates are what a Service of theirs waits for."""
        return self._pods_matter and (
            resource.group not in BUILT_IN_GROUPS or is_walked(resource, self._readings)
        )
