"""What goes along with an object through a finalizer of its own, as a profile of its kind says: what of it is kept holds.

The object is read as it is now, for only its fields say what it takes, and then those are asked for by the keep label. What can't be
read holds. A kind without such a profile costs nothing. What the taken ones take along in turn is not followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from skoupa.errors import ApiError, NotFound, SkoupaError
from skoupa.facts.rows import Row
from skoupa.judge.cascade import waived
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import WHOLE
from skoupa.kube.resources import Resource
from skoupa.ledger.trash.patience import Patience
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Hold
from skoupa.sweep.carried import Carried
from skoupa.usage.edges.patterns import ANYTHING, means
from skoupa.usage.found import Found, Target
from skoupa.usage.graph import kind_name
from skoupa.usage.needs import told
from skoupa.usage.reading import Readings

# By kind: the table that says what its objects take along; None for most.
Takes = Callable[[str], Readings | None]


class Taken:
    def __init__(
        self, patience: Patience, carried: Carried, *, takes: Takes, ignore: Collection[str]
    ) -> None:
        self._patience = patience
        self._carried = carried
        self._takes = takes
        self._ignore = ignore

    async def named(self, row: Row) -> list[str]:
        """What it takes along, in words; without what could not be read, which `hold` tells."""
        try:
            found = await self._found(row)
        except SkoupaError:
            return []
        return [told(use.target) for use in found.uses] if found is not None else []

    async def hold(self, row: Row, *, discovery: Discovery, now: float) -> Hold | None:
        try:
            found = await self._found(row)
        except SkoupaError as error:
            return _unknown(row.resource.qualified, error)
        if found is None:
            return None
        if found.doubts:
            return Hold(
                reason=reason("keeps-unknown", kinds=row.resource.qualified, why="; ".join(found.doubts))
            )
        for use in found.uses:
            for resource in _meant(use.target, discovery):
                try:
                    hold = await self._kept(resource, use.target, now)
                except SkoupaError as error:
                    hold = None if waived(resource, self._ignore) else _unknown(resource.qualified, error)
                if hold is not None:
                    return hold
        return None

    async def _found(self, row: Row) -> Found | None:
        """None: it takes nothing along, as far as anybody says, or is gone."""
        kind = kind_name(row.resource)
        readings = self._takes(kind)
        try:
            return readings.from_manifest(kind, await self._whole(row)) if readings is not None else None
        except NotFound:
            return None

    async def _whole(self, row: Row) -> dict[str, Any]:
        """By a list on the name: for that the right to list is enough."""
        self._patience.check(row.resource.qualified)
        with self._patience.asking(row.resource.qualified):
            return await self._patience.client.find(
                row.resource, row.name, namespace=row.namespace, view=WHOLE
            )

    async def _kept(self, resource: Resource, target: Target, now: float) -> Hold | None:
        place = target.namespace if resource.namespaced and target.namespace != ANYTHING else ""
        return await self._carried.first_kept(
            resource, now, namespace=place, among=lambda found: means(target.name, found.metadata.name)
        )


def _meant(target: Target, discovery: Discovery) -> Iterator[Resource]:
    """What the server does not have nobody can take along."""
    group, _, kind = target.kind.rpartition("/")
    found = discovery.find(group, kind)
    if found is not None:
        yield found


def _unknown(kinds: str, error: SkoupaError) -> Hold:
    why = error.status.message if isinstance(error, ApiError) else error.message
    return Hold(reason=reason("keeps-unknown", kinds=kinds, why=why))
