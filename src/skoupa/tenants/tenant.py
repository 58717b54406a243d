"""A Tenant as it counts: its id, whether it is deleted, and who looks after that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from skoupa import names

# The first is KubeZoo's own, which takes it off early; the second nobody but us takes off.
FINALIZERS = (names.KUBEZOO_TENANT_FINALIZER, names.TENANT_FINALIZER)


class Tenant(msgspec.Struct, frozen=True, kw_only=True):
    """`written_id` is what `spec.id` says, None where it says nothing; `deleted_at` is 0 while nobody has deleted it."""

    name: str
    uid: str
    resource_version: str = ""
    generation: int = 0
    deleted_at: float = 0.0
    finalizers: tuple[str, ...] = ()
    confirmed: str = ""
    written_id: object = None
    status: Any = None

    @property
    def is_leaving(self) -> bool:
        return self.deleted_at > 0

    @property
    def is_ours(self) -> bool:
        """Whether it waits, so that what it had may go before it; who takes the finalizers off keeps all of that."""
        return any(one in self.finalizers for one in FINALIZERS)

    @property
    def is_confirmed(self) -> bool:
        return bool(self.uid) and self.confirmed == self.uid

    @property
    def rule(self) -> str:
        """How Claims, Brakes and the ledger name it."""
        return f"{names.TENANT_KIND}/{self.name}"


def read_tenant(found: Mapping[str, Any]) -> Tenant:
    """Whatever it looks like; a deletion whose time can't be read counts from now on, so it is none yet."""
    metadata = _mapping(found.get("metadata"))
    annotations = _mapping(metadata.get("annotations"))
    generation = metadata.get("generation")
    finalizers = metadata.get("finalizers")
    return Tenant(
        name=str(metadata.get("name", "")),
        uid=str(metadata.get("uid", "")),
        resource_version=str(metadata.get("resourceVersion", "")),
        generation=generation if isinstance(generation, int) else 0,
        deleted_at=_moment(metadata.get("deletionTimestamp")),
        finalizers=tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
        confirmed=str(annotations.get(names.CONFIRM_DELETION_ANNOTATION, "")),
        written_id=_mapping(found.get("spec")).get("id"),
        status=found.get("status"),
    )


def with_finalizers(known: Iterable[str]) -> list[str]:
    """What it has, and ours after it."""
    known = list(known)
    return [*known, *(one for one in FINALIZERS if one not in known)]


def without_finalizers(known: Iterable[str]) -> list[str]:
    return [one for one in known if one not in FINALIZERS]


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _moment(value: Any) -> float:
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else 0.0
    except ValueError:
        return 0.0
