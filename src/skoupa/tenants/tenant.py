"""A Tenant as it counts: its id, whether it is deleted, and who looks after that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from skoupa import names
from skoupa.kinds.conditions import READY
from skoupa.kinds.tenant import LEAVING_MARK
from skoupa.kube.timestamps import whole_seconds

MOST_ANNOUNCED: Final = 5
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
    # Whether it has the label by which the admission policy finds those whose belongings go.
    is_marked: bool = False
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

    @property
    def said(self) -> str:
        """What its controller says of it in a sentence; empty: nothing."""
        conditions = _mapping(self.status).get("conditions")
        known = (_mapping(one) for one in (conditions if isinstance(conditions, list) else ()))
        return next((str(one.get("message", "")) for one in known if one.get("type") == READY), "")

    @property
    def unsaid(self) -> str:
        """Why nothing is said of one that is being deleted."""
        if not self.is_ours:
            return "no controller of Skoupa looks after it, so nothing goes with it: it has none of our finalizers"
        return (
            "no controller has said anything of it in its status (features.tenants, mode: enforce; a kind that somebody else brought may "
            "keep none: then the Events on it, kubectl describe tenant, and the log tell)"
        )

    @property
    def announced(self) -> str:
        """That it is being deleted, and how far that is, without a full stop; empty: it is not."""
        if not self.is_leaving:
            return ""
        return f"The Tenant {self.name} is being deleted since {whole_seconds(self.deleted_at)}: {self.said or self.unsaid}"


def read_tenant(found: Mapping[str, Any]) -> Tenant:
    """Whatever it looks like; a deletion whose time can't be read counts from now on, so it is none yet."""
    metadata = _mapping(found.get("metadata"))
    annotations, labels = _mapping(metadata.get("annotations")), _mapping(metadata.get("labels"))
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
        is_marked=labels.get(names.LEAVING_LABEL) == LEAVING_MARK,
        written_id=_mapping(found.get("spec")).get("id"),
        status=found.get("status"),
    )


def announced(tenants: Iterable[Tenant]) -> tuple[str, ...]:
    """Of those that are being deleted a sentence each, as far as anybody reads."""
    told = sorted(one.announced for one in tenants if one.is_leaving)
    return (*told[:MOST_ANNOUNCED], *more_than_announced(len(told)))


def more_than_announced(number: int) -> tuple[str, ...]:
    """In a sentence, those of so many that are not told one by one."""
    more = number - MOST_ANNOUNCED
    return (f"{more} more Tenants are being deleted: kubectl get tenants shows them",) if more > 0 else ()


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
