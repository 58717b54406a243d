"""Which kinds have to be followed to know who uses what is labelled.

Those that can point at it or deploy it, those that own some of it, those that say what it is good for, and Namespaces. Where only some
namespaces are looked into each kind is followed in each of them. Worked out anew from what is labelled and served now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec

from skoupa.controller.knowledge import Knowledge
from skoupa.controller.retaining.labelled import Labelled
from skoupa.kube.lists import Scope
from skoupa.kube.resources import CONFIG_MAPS, NAMESPACES, Resource
from skoupa.usage.graph import kind_name
from skoupa.usage.leftovers.questions import REQUIRED_EVERYWHERE
from skoupa.usage.leftovers.relevance import Relevance
from skoupa.usage.leftovers.worth import is_asked
from skoupa.usage.objects import Objects, readable
from skoupa.usage.tracking import KINDS as TRACKING_KINDS
from skoupa.usage.tracking import helm

SECRETS: Final = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)


class Key(msgspec.Struct, frozen=True):
    """`records`: only the records of Helm among them, and these whole. `detailed`: questions ask about it, too."""

    resource: Resource
    namespace: str = ""
    records: bool = False
    detailed: bool = False

    @property
    def scope(self) -> Scope:
        if not self.records:
            return Scope(namespace=self.namespace)
        fields = f"type={helm.RELEASE_TYPE}" if self.resource.kind == "Secret" else ""
        return Scope(namespace=self.namespace, labels=helm.RECORDS, fields=fields)


class WantedFeeds:
    def __init__(self, objects: Objects, labelled: Labelled, knowledge: Knowledge) -> None:
        self._objects = objects
        self._labelled = labelled
        self._knowledge = knowledge

    def kinds(self) -> frozenset[str]:
        """Of what is labelled, and of what owns some of it."""
        return self._labelled.kinds | self._labelled.owner_kinds

    def keys(self) -> Iterator[Key]:
        """One for each feed that there should be."""
        places = self._knowledge.settings.namespaces or ("",)
        targets, owners = self._labelled.kinds, self._labelled.owner_kinds
        relevance = self._relevance(targets)
        for resource in readable(self._knowledge.discovery):
            kind = kind_name(resource)
            is_namespaces = resource.qualified == NAMESPACES.qualified
            detailed = (kind in targets and is_asked(kind)) or relevance.requires(resource)
            if detailed or kind in owners or is_namespaces or self._objects.may_point(kind, targets):
                for place in places if resource.namespaced else ("",):
                    yield Key(resource, place, detailed=detailed)
        for resource in (SECRETS, CONFIG_MAPS):
            if self._knowledge.discovery.find("", resource.kind) is not None:
                yield from (Key(resource, place, records=True) for place in places)

    def about(self, keys: Iterable[Key], targets: frozenset[str], owners: frozenset[str]) -> Iterator[Key]:
        """Those of what can point at such objects, deploy or own them, or says what they are good for."""
        relevance = self._relevance(targets)
        for key in keys:
            kind = kind_name(key.resource)
            asked = (kind in targets and is_asked(kind)) or relevance.requires(key.resource)
            if key.records or asked or kind in owners or self._objects.may_point(kind, targets):
                yield key

    def reaches_across(self, kind: str, targets: frozenset[str]) -> bool:
        """Whether something of this kind may point at such objects in another namespace than its own."""
        return kind in TRACKING_KINDS or any(
            kind in REQUIRED_EVERYWHERE.get(target, ())
            or (
                self._objects.may_point(kind, (target,)) and self._objects.readings.reach.across(kind, target)
            )
            for target in targets
        )

    def _relevance(self, targets: frozenset[str]) -> Relevance:
        """What questions about such objects ask about."""
        asked = frozenset(kind for kind in targets if is_asked(kind))
        return Relevance(asked, self._objects.readings, place="")
