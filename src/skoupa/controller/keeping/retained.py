"""Kept objects that nobody sees any more: until when they go on holding.

A feed that saw them was closed: their kind is read in another version, the right is lost, or the kind is not served any
more. They hold until a feed of their kind has read its list again, or until it is sure that they are gone: their
definition is (a kind that is only not served is not, nor one that never had a definition), or each was asked for by its
name. `cascade.ignoreKinds` waives a kind that is not served.
"""

from __future__ import annotations

from typing import Final

from skoupa.controller.keeping.kept import Retained
from skoupa.controller.knowledge import Knowledge
from skoupa.controller.sight.rights import Rights
from skoupa.errors import Forbidden, NotFound, SkoupaError
from skoupa.facts.rows import Row, pack_uid
from skoupa.facts.store import Delta
from skoupa.judge.cascade import waived
from skoupa.kube.client import Client
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource

# A kind in which more are kept is asked through in turns.
ASKED_AT_A_TIME: Final = 20


class Verification:
    def __init__(self, client: Client, *, knowledge: Knowledge, rights: Rights) -> None:
        self._client = client
        self._knowledge = knowledge
        self._rights = rights
        self._turn = 0

    async def verify(self) -> bool:
        """Lets go of what is gone for sure; whether there was any. What can't be asked goes on holding."""
        kept, discovery = self._knowledge.kept, self._knowledge.discovery
        self._turn += 1
        changed = False
        for place in kept.retained:
            rows = kept.of(place)
            if not rows:
                kept.release(place)
                continue
            resource = next((one for one in discovery.preferred() if one.qualified == place[0]), None)
            if resource is not None:
                changed = await self._ask_for(resource, place, rows) or changed
            elif await self._is_gone(rows[0].resource):
                changed = kept.release(place) or changed
        return changed

    async def _is_gone(self, resource: Resource) -> bool:
        """For sure; or nobody wants to wait for it."""
        knowledge, kind = self._knowledge, resource.qualified
        if waived(resource, knowledge.settings.cascade.ignore_kinds):
            return True
        # A server that others answer for (an API service) may be away for a while without a word.
        defined = kind in knowledge.definitions
        return (
            defined
            and knowledge.discovery.unreadable(resource.group) is None
            and await self._is_undefined(kind)
        )

    async def _is_undefined(self, kind: str) -> bool:
        try:
            try:
                await self._client.get(CUSTOM_RESOURCE_DEFINITIONS, kind, view=METADATA)
            except Forbidden:
                await self._client.find(CUSTOM_RESOURCE_DEFINITIONS, kind, view=METADATA)
        except NotFound:
            return True
        except SkoupaError:
            return False
        return False

    async def _ask_for(self, resource: Resource, place: Retained, rows: list[Row]) -> bool:
        """By name, where that is granted and a list is not."""
        may_list = await self._rights.scopes(resource, verbs=("list", "watch"))
        may_get = await self._rights.scopes(resource, verbs=("get",))
        if place[1] in may_list or place[1] not in may_get:
            return False
        start = self._turn * ASKED_AT_A_TIME % len(rows)
        changed = False
        for row in [*rows, *rows][start : start + min(ASKED_AT_A_TIME, len(rows))]:
            try:
                found = await self._client.get(resource, row.name, namespace=row.namespace, view=METADATA)
            except NotFound:
                self._knowledge.kept.forget(row.uid)
                changed = True
            except SkoupaError:
                return changed
            else:
                if pack_uid(found.metadata.uid) != row.uid:
                    self._knowledge.kept.forget(row.uid)
                    changed = True
                else:
                    fresh = self._knowledge.extraction.row(resource, found)
                    changed = self._knowledge.kept.learn([Delta(row, fresh)]) or changed
        return changed
