"""Who deploys what, found while a cluster is read: applications, inventories, and the records of Helm.

Records are listed apart and whole: of everything in Secrets they alone are decoded, and only names are kept. Whether a deployer was
read is known when all is, so that objects which name one are remembered until then.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa.errors import PASSING, ApiError, BadReply, Forbidden, SkoupaError, TimedOut
from skoupa.facts.rows import Uid, pack_uid
from skoupa.kube.client import Client
from skoupa.kube.decoding import metadata_of
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import WHOLE, Metadata
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.usage.found import Found
from skoupa.usage.graph import kind_name
from skoupa.usage.objects import marked_part
from skoupa.usage.sight import Unread
from skoupa.usage.tracking import Trackers, Tracks, helm, tracks

SECRETS: Final = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
_RECORDS: Final = (
    (SECRETS, Scope(labels=helm.RECORDS, fields=f"type={helm.RELEASE_TYPE}")),
    (CONFIG_MAPS, Scope(labels=helm.RECORDS)),
)


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
        # Lists of records that could not be read: a release may name anything.
        self.unread: list[Unread] = []
        # One of them for a reason that passes.
        self.may_come = False

    async def records(self, place: str) -> AsyncIterator[Record]:
        """All that can be read. A list that can't is in `unread`; what does not say whose release it is of is held then."""
        for resource, scope in _RECORDS:
            try:
                async for record in self._list(resource, scope):
                    yield record
            except Forbidden as refused:
                if not place:
                    self._could_not(resource, refused)
                    continue
                try:
                    inside = msgspec.structs.replace(scope, namespace=place)
                    async for record in self._list(resource, inside):
                        yield record
                except (ApiError, BadReply, TimedOut) as error:
                    self._could_not(resource, error)
                else:
                    # What a release of another namespace put here says so itself, but for its hooks.
                    self._unreadable(kind_name(resource), "records in other namespaces can't be read")
            except (ApiError, BadReply, TimedOut) as error:
                self._could_not(resource, error)

    def record(self, uid: Uid) -> Found | None:
        """What the release deployed whose record this is."""
        return self._records.get(uid)

    def put(self, kind: str, metadata: Metadata, read: Tracks) -> None:
        """A deployer that was read with the others."""
        self._trackers.put(kind, metadata, read)

    def note(self, uid: Uid, kind: str, metadata: Metadata) -> None:
        """An object that is to be judged."""
        marked = marked_part(kind, metadata)
        if marked is not None:
            self._marked[uid] = (kind, marked)

    def reasons(self) -> dict[Uid, str]:
        """Why objects have to stay whose deployers were not read, or do not say all."""
        told = ((uid, self._trackers.reason(*marked)) for uid, marked in self._marked.items())
        return {uid: why for uid, why in told if why is not None}

    def _could_not(self, resource: Resource, error: SkoupaError) -> None:
        self.may_come = self.may_come or isinstance(error, PASSING)
        what = f"records of Helm releases in {resource.qualified}"
        self.unread.append(Unread(kind=helm.ANY_RELEASES, what=what, why=error.brief))

    def _unreadable(self, kind: str, why: str) -> None:
        self._trackers.put(kind, Metadata(labels={"owner": "helm"}), Tracks(untold=why))

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
                for bad in page.undecodable:
                    self._unreadable(kind, f"the record {bad.name} can't be read ({bad.why})")
