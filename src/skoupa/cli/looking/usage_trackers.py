"""Who deploys what, found while a cluster is read: applications, inventories, and the records of Helm.

Records are listed apart and whole: of everything in Secrets they alone are decoded, and only names are kept. Whether a deployer was
read is known when all is, so that objects which name one are remembered until then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec

from skoupa.errors import ApiError, BadReply, Forbidden, TimedOut
from skoupa.facts.rows import Uid, pack_uid
from skoupa.kube.client import Client
from skoupa.kube.decoding import metadata_of
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import WHOLE, Metadata
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.usage.found import Found
from skoupa.usage.graph import kind_name
from skoupa.usage.tracking import Trackers, Tracks, apply_sets, helm, marks, tracks

SECRETS: Final = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
_RECORDS: Final = (
    (SECRETS, Scope(labels=helm.RECORDS, fields=f"type={helm.RELEASE_TYPE}")),
    (CONFIG_MAPS, Scope(labels=helm.RECORDS)),
)
# What marks an object as tracked is short; what else stands in annotations may not be.
_LONGEST: Final = 1024


class Record(msgspec.Struct, frozen=True):
    """A record of a release, and what that deployed."""

    resource: Resource
    metadata: Metadata
    found: Found


class TrackersRead:
    def __init__(self, client: Client) -> None:
        self._client = client
        self._trackers = Trackers()
        self._records: dict[Uid, Found] = {}
        self._marked: dict[Uid, tuple[str, Metadata]] = {}

    async def records(self, place: str) -> AsyncIterator[Record]:
        """All that may be read. One that may not is missed by the objects that name it, and they stay."""
        for resource, scope in _RECORDS:
            try:
                async for record in self._list(resource, scope):
                    yield record
            except Forbidden:
                if not place:
                    continue
                try:
                    inside = msgspec.structs.replace(scope, namespace=place)
                    async for record in self._list(resource, inside):
                        yield record
                except (ApiError, BadReply, TimedOut):
                    continue
            except (ApiError, BadReply, TimedOut):
                continue

    def found(self, kind: str, metadata: Metadata, manifest: Mapping[str, Any] | None) -> Found | None:
        """What this object tracks, if it tracks anything; `manifest` where it was read whole."""
        record = self._records.get(pack_uid(metadata.uid))
        if record is not None:
            return record
        read = tracks(kind, manifest) if manifest is not None else apply_sets.parent(metadata)
        if read is None:
            return None
        self._trackers.put(kind, metadata, read)
        return read.found

    def note(self, uid: Uid, kind: str, metadata: Metadata) -> None:
        """An object that is to be judged."""
        if next(marks(kind, metadata), None) is None:
            return
        short = {key: value for key, value in (metadata.annotations or {}).items() if len(value) <= _LONGEST}
        self._marked[uid] = (
            kind,
            Metadata(
                name=metadata.name, namespace=metadata.namespace, labels=metadata.labels, annotations=short
            ),
        )

    def reasons(self) -> dict[Uid, str]:
        """Why objects have to stay whose deployers were not read, or do not say all."""
        told = ((uid, self._trackers.reason(*marked)) for uid, marked in self._marked.items())
        return {uid: why for uid, why in told if why is not None}

    async def _list(self, resource: Resource, scope: Scope) -> AsyncIterator[Record]:
        kind = kind_name(resource)
        async with aclosing(pages(self._client, resource, WHOLE, scope=scope)) as listing:
            async for page in listing:
                for item in page.items:
                    metadata = metadata_of(item)
                    read: Tracks | None = tracks(kind, item)
                    if read is None:
                        continue
                    self._trackers.put(kind, metadata, read)
                    self._records[pack_uid(metadata.uid)] = read.found
                    yield Record(resource, metadata, read.found)
