"""What Skoupa reads of an object: its metadata, typed, and nothing it does not need.

The Structs name only the fields that somebody uses; msgspec skips the rest at about a nanosecond a byte. A `View` says how much of an object a reader asks the server for.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

T = TypeVar("T")


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ManagedFields(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """Who wrote which fields and when; the fields stay bytes, since readers only look for one of them."""

    manager: str = ""
    time: datetime | None = None
    fields_v1: msgspec.Raw = msgspec.field(default=msgspec.Raw(b"{}"), name="fieldsV1")


class Metadata(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[OwnerReference] | None = None
    managed_fields: list[ManagedFields] | None = None


def detached(metadata: Metadata) -> Metadata:
    """To be kept: what was decoded out of a page would hold all of the page in memory."""
    if not metadata.managed_fields:
        return metadata
    fields = [msgspec.structs.replace(one, fields_v1=one.fields_v1.copy()) for one in metadata.managed_fields]
    return msgspec.structs.replace(metadata, managed_fields=fields)


class Partial(msgspec.Struct, frozen=True, gc=False, rename="camel", kw_only=True):
    """An object of any kind, metadata only (meta.k8s.io PartialObjectMetadata)."""

    api_version: str = ""
    kind: str = ""
    metadata: Metadata


class ListMeta(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class View(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """How much of each object to ask for, and the type that it is decoded into."""

    type: Any
    metadata_only: bool = False

    def accept(self, *, many: bool) -> str:
        if not self.metadata_only:
            return "application/json"
        kind = "PartialObjectMetadataList" if many else "PartialObjectMetadata"
        return f"application/json;as={kind};g=meta.k8s.io;v=v1"


METADATA: View[Partial] = View(type=Partial, metadata_only=True)
WHOLE: View[dict[str, Any]] = View(type=dict[str, Any])
