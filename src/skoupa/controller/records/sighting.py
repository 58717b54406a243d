"""A look at the cluster for an object that a row of the ledger names: whether it is there, and whether it is going.

A row that stands for a finalizer (`sweep.finalizers`) is about that alone: it is there as long as the object has it, and ours is what
the object says that we took off.
"""

from __future__ import annotations

from collections.abc import Callable

from skoupa.errors import ApiError, NotFound
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.objects import METADATA, Metadata
from skoupa.kube.resources import Resource
from skoupa.ledger.resolving import Sight
from skoupa.ledger.rows import Entry
from skoupa.sweep.finalizers import forced, standing_for


class Sighting:
    def __init__(self, client: Client, discovery: Callable[[], Discovery]) -> None:
        self._client = client
        self._discovery = discovery

    async def look(self, entry: Entry) -> Sight:
        """Raises where nobody answers."""
        resource = self._resource(entry)
        if resource is None:
            group = entry.resource.partition(".")[2]
            hidden = any(gap.group == group for gap in self._discovery().gaps)
            # With a definition all objects of its kind are gone.
            return Sight(state="unknown" if hidden else "absent")
        try:
            found = await self._client.find(resource, entry.name, namespace=entry.namespace, view=METADATA)
        except NotFound:
            return Sight(state="absent")
        except ApiError:
            return Sight(state="unknown")
        if entry.finalizer:
            return _of_finalizer(found.metadata, entry.finalizer, entry)
        if found.metadata.uid != entry.uid:
            return Sight(state="absent")
        deleted = found.metadata.deletion_timestamp
        if deleted is None:
            return Sight(state="present")
        return Sight(state="terminating", since=deleted.timestamp())

    def _resource(self, entry: Entry) -> Resource | None:
        kinds = self._discovery().preferred()
        return next((resource for resource in kinds if resource.qualified == entry.resource), None)


def _of_finalizer(metadata: Metadata, finalizer: str, entry: Entry) -> Sight:
    if standing_for(metadata.uid, finalizer) != entry.uid:
        return Sight(state="absent")
    if finalizer in (metadata.finalizers or ()):
        return Sight(state="present")
    return Sight(state="absent", ours=finalizer in forced(metadata.annotations or {}))
