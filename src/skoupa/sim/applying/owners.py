"""Who owns what in an object: the entries of metadata.managedFields, read, changed and written.

An owner is a manager with an operation, a version and a subresource. A place can have several owners, and places that
are identity or the server's own have none. Whether a write is a conflict is decided in `apply`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from skoupa.kube.selectors import quoted
from skoupa.sim.applying.fieldsets import Comparison, Fields, decode, encode

MAX_UPDATERS: Final = 10
# Identity and what the server keeps to itself belong to nobody.
NOBODYS: Final[Fields] = frozenset(
    (
        ("f:apiVersion",),
        ("f:kind",),
        ("f:metadata",),
        *(
            ("f:metadata", f"f:{field}")
            for field in (
                "name",
                "namespace",
                "creationTimestamp",
                "selfLink",
                "uid",
                "clusterName",
                "generation",
                "managedFields",
                "resourceVersion",
            )
        ),
    )
)


class Owner(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of managedFields."""

    manager: str
    operation: str
    api_version: str
    subresource: str = ""
    time: str = ""
    fields: Fields = frozenset()

    @property
    def identity(self) -> tuple[str, str, str, str]:
        # An applier stays the same one when it moves on to another version of the API.
        version = "" if self.operation == "Apply" else self.api_version
        return (self.manager, self.operation, version, self.subresource)


Owners = dict[tuple[str, str, str, str], Owner]


def owners_of(obj: Mapping[str, Any] | None) -> Owners:
    owners = {}
    for entry in ((obj or {}).get("metadata") or {}).get("managedFields") or ():
        if entry.get("fieldsType") != "FieldsV1" or not entry.get("apiVersion"):
            return {}
        owner = Owner(
            manager=entry.get("manager", ""),
            operation=entry.get("operation", ""),
            api_version=entry["apiVersion"],
            subresource=entry.get("subresource", ""),
            time=entry.get("time") or "",
            fields=decode(entry.get("fieldsV1") or {}),
        )
        owners[owner.identity] = owner
    return owners


def unowned(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = obj.get("metadata") or {}
    if "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def take(owners: Owners, change: Comparison, updater: Owner) -> None:
    """Gives the updater what it wrote and takes that, and what is gone, from everybody."""
    for identity, owner in tuple(owners.items()):
        keep(owners, identity, owner.fields - change.written - change.removed)
    taken = change.written - NOBODYS
    if taken:
        previous = owners.get(updater.identity)
        fields = taken | (previous.fields if previous else frozenset())
        owners[updater.identity] = msgspec.structs.replace(updater, fields=fields)


def keep(owners: Owners, identity: tuple[str, str, str, str], fields: Fields) -> None:
    if fields:
        owners[identity] = msgspec.structs.replace(owners[identity], fields=fields)
    else:
        del owners[identity]


def named(owner: Owner) -> str:
    """An owner as the server prints it."""
    name = quoted(owner.manager)
    if owner.subresource:
        name += f" with subresource {quoted(owner.subresource)}"
    return f"{name} using {owner.api_version}" if owner.operation == "Update" else name


def capped(owners: Owners) -> Owners:
    """At most ten updaters: the oldest are thrown together, version by version."""
    updaters = sorted(
        (o for o in owners.values() if o.operation != "Apply"), key=lambda o: (o.time, o.identity)
    )
    excess = len(updaters) - MAX_UPDATERS
    first: dict[str, Owner] = {}
    for owner in updaters:
        if excess <= 0:
            break
        earlier = first.setdefault(owner.api_version, owner)
        if earlier is owner:
            continue
        bucket = msgspec.structs.replace(
            earlier,
            manager="ancient-changes",
            subresource="",
            time=owner.time,
            fields=earlier.fields | owner.fields,
        )
        del owners[earlier.identity], owners[owner.identity]
        owners[bucket.identity] = first[owner.api_version] = bucket
        excess -= 1
    return owners


def listed(owners: Owners) -> list[dict[str, Any]]:
    ordered = sorted(
        owners.values(), key=lambda o: (o.operation, o.time, o.manager, o.api_version, o.subresource)
    )
    return [
        {
            "manager": owner.manager,
            "operation": owner.operation,
            "apiVersion": owner.api_version,
            **({"time": owner.time} if owner.time else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": encode(owner.fields),
            **({"subresource": owner.subresource} if owner.subresource else {}),
        }
        for owner in ordered
    ]
