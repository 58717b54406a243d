"""Which kinds may be read and deleted, and where: asked once a minute, and at once after a 403.

The answer for a kind is the widest scope that is granted: everywhere, or the configured namespaces one by one. What may
not be deleted is a Hold with the right that is missing, not an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from skoupa.errors import SkoupaError
from skoupa.facts.rows import Row
from skoupa.kube.access import Access
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold

_EVERYWHERE = ""


class Rights:
    def __init__(self, access: Access, *, namespaces: Sequence[str]) -> None:
        self._access = access
        self._namespaces = tuple(namespaces)
        self._may_delete: dict[tuple[Resource, str], bool] = {}
        self.last_error: SkoupaError | None = None

    async def scopes(self, resource: Resource, *, verbs: Sequence[str]) -> tuple[str, ...]:
        """Where all the verbs are granted: ("",) is everywhere, () nowhere."""
        if not self._namespaces or not resource.namespaced:
            if await self._all(resource, verbs, _EVERYWHERE):
                return (_EVERYWHERE,)
            return ()
        return tuple([name for name in self._namespaces if await self._all(resource, verbs, name)])

    async def _all(self, resource: Resource, verbs: Sequence[str], namespace: str) -> bool:
        for verb in verbs:
            if not await self._access.may(verb, resource, namespace=namespace):
                return False
        return True

    async def refresh_deletes(self, resources: Sequence[Resource]) -> bool:
        """Learns what may be deleted now; whether anything changed."""
        before = dict(self._may_delete)
        for resource in resources:
            everywhere = await self._access.may("delete", resource)
            self._may_delete[resource, _EVERYWHERE] = everywhere
            if not everywhere and resource.namespaced:
                for namespace in self._namespaces:
                    allowed = await self._access.may("delete", resource, namespace=namespace)
                    self._may_delete[resource, namespace] = allowed
        return before != self._may_delete

    async def learn(self, places: Iterable[tuple[Resource, str]]) -> None:
        """Learns what may be deleted in these places alone: one review for each namespace at most."""
        wanted = dict.fromkeys(places)
        for resource in dict.fromkeys(resource for resource, _ in wanted):
            self._may_delete[resource, _EVERYWHERE] = await self._access.may("delete", resource)
        for resource, namespace in wanted:
            if namespace and not self._may_delete[resource, _EVERYWHERE]:
                allowed = await self._access.may("delete", resource, namespace=namespace)
                self._may_delete[resource, namespace] = allowed

    def forget(self) -> None:
        self._access.forget()

    async def refused(self, row: Row) -> bool:
        """A delete came back with 403: whether it is a missing right (a webhook says 403 too)."""
        self.forget()
        allowed = await self._access.may("delete", row.resource, namespace=row.namespace, name=row.name)
        self._may_delete[row.resource, row.namespace] = allowed
        return not allowed

    def hold(self, row: Row, now: float) -> Hold | None:  # noqa: ARG002 - rights do not end by themselves
        everywhere = self._may_delete.get((row.resource, _EVERYWHERE))
        here = self._may_delete.get((row.resource, row.namespace), everywhere)
        # Unknown is tried: the server's own answer is the best one.
        if everywhere or here is None or here:
            return None
        where = f"in {row.namespace}" if row.namespace else "in the cluster"
        told = reason("no-permission", verb="delete", kind=row.resource.qualified, where=where)
        return Hold(reason=told)
