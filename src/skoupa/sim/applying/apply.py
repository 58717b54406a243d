"""Server-side apply and field ownership: who wrote which place of an object (metadata.managedFields).

An applier owns what its last configuration stated. Changing what somebody else owns is a conflict unless forced, and a
place that is no longer stated goes if nobody else owns it. Every other write takes ownership of what it changed. Nothing
given is changed; what an endpoint may not write (status on the object itself) is left out by the caller.
Owners in another version of the API are taken to name the same places.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from skoupa.sim.applying.fieldsets import (
    Comparison,
    Fields,
    Unkeyed,
    check_items,
    compare,
    fields_of,
    in_order,
    printed,
    same,
    with_parents,
    without,
)
from skoupa.sim.applying.merging import merged
from skoupa.sim.applying.owners import (
    NOBODYS,
    Owner,
    Owners,
    capped,
    keep,
    listed,
    named,
    owners_of,
    take,
    unowned,
)
from skoupa.sim.applying.patches import copied
from skoupa.sim.applying.structure import Path, Structure, structure_of


class ApplyConflict(Exception):
    """Somebody else owns what was applied; `causes` are those of the Status, one per place."""

    def __init__(self, message: str, causes: list[dict[str, str]]) -> None:
        super().__init__(message)
        self.message = message
        self.causes = causes


class ApplyRefused(Exception):
    """A configuration that can't be applied to anything."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message


def apply_patch(
    live: dict[str, Any] | None,
    applied: dict[str, Any],
    *,
    manager: str,
    force: bool,
    now: str,
    subresource: str = "",
    schema: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The object after `applied`; `schema` is the openAPIV3Schema of a custom kind."""
    if "managedFields" in (applied.get("metadata") or {}):
        raise ApplyRefused(400, "BadRequest", "metadata.managedFields must be nil")
    structure = structure_of(applied, schema=schema)
    stated = applied
    if subresource == "status":
        stated = {key: value for key, value in applied.items() if key in ("metadata", "status")}
    before = unowned(live or {})
    owners = owners_of(live)
    if live and not owners:
        take(owners, compare({}, before, structure), _updater(before, "before-first-apply", now))
    mine = Owner(
        manager=manager,
        operation="Apply",
        api_version=str(applied.get("apiVersion", "")),
        subresource=subresource,
        time=now,
        fields=_fields_of(stated, structure, applied),
    )
    last = owners.get(mine.identity)
    owners[mine.identity] = mine
    after = merged(before, stated, structure)
    if last is not None:
        after = _pruned(after, last.fields, owners.values(), structure)
    _settle(owners, compare(before, after, structure), mine, force=force)
    after = _without_emptied(after, before)
    if same(after, before):
        owners[mine.identity] = msgspec.structs.replace(mine, time=last.time if last else "")
    keep(owners, mine.identity, mine.fields - NOBODYS)
    return _with_owners(after, owners)


def track_update(
    before: dict[str, Any] | None,
    after: dict[str, Any],
    *,
    manager: str,
    now: str,
    subresource: str = "",
    operation: str = "Update",
    schema: Mapping[str, Any] | None = None,
) -> list[dict[str, Any]]:
    """The managedFields of an object after any write that is not an apply."""
    sent = (after.get("metadata") or {}).get("managedFields")
    if sent in ([], [{}]) and not subresource:
        owners: Owners = {}
    else:
        owners = (not subresource and owners_of(after)) or owners_of(before)
    if before is not None and not owners:
        # Somebody chose to have no owners here (or wrote before there were any); the server does not start again.
        return []
    structure = structure_of(after, schema=schema)
    updater = Owner(
        manager=manager,
        operation=operation,
        api_version=str(after.get("apiVersion", "")),
        subresource=subresource,
        time=now,
    )
    try:
        change = compare(unowned(before or {}), unowned(after), structure)
    except Unkeyed:
        return []  # the server, too, gives up on owners rather than refuse a write
    if not subresource:
        change = change.without(structure.apart)
    take(owners, change, updater)
    return listed(capped(owners))


def _fields_of(stated: dict[str, Any], structure: Structure, applied: Mapping[str, Any]) -> Fields:
    try:
        check_items(stated, structure)
        return fields_of(stated, structure)
    except Unkeyed as fault:
        metadata = applied.get("metadata") or {}
        group, _, version = str(applied.get("apiVersion", "")).rpartition("/")
        kind = f"{group}/{version}, Kind={applied.get('kind')}"
        raise ApplyRefused(
            500,
            "",
            f"failed to create typed patch object ({metadata.get('namespace', '')}/{metadata.get('name', '')}; "
            f"{kind}): {fault}",
        ) from fault


def _updater(obj: Mapping[str, Any], manager: str, now: str) -> Owner:
    return Owner(manager=manager, operation="Update", api_version=str(obj.get("apiVersion", "")), time=now)


def _settle(owners: Owners, change: Comparison, mine: Owner, *, force: bool) -> None:
    others = {identity: owner for identity, owner in owners.items() if identity != mine.identity}
    contested = {identity: owner.fields & change.written for identity, owner in others.items()}
    if not force and any(contested.values()):
        raise _conflict([(others[identity], places) for identity, places in contested.items() if places])
    for identity, owner in others.items():
        keep(owners, identity, owner.fields - contested[identity] - change.removed)


def _pruned(after: Any, last: Fields, owners: Iterable[Owner], structure: Structure) -> Any:
    """Removes what was stated last time, is stated no more and is nobody else's."""
    everything = with_parents(fields_of(after, structure), structure)
    mine = with_parents(last, structure)
    kept = with_parents(fields_of(without(after, mine, structure), structure), structure)
    owned = with_parents(frozenset().union(*(owner.fields for owner in owners)), structure)
    reduced = without(after, everything - kept - owned, structure)
    gone = (everything - with_parents(fields_of(reduced, structure), structure)) & mine
    return without(after, gone, structure)


def _without_emptied(after: Any, before: Any) -> Any:
    """Leaves out what pruning emptied; it stood for "still there" while changes were counted."""
    if not isinstance(after, Mapping) or not isinstance(before, Mapping):
        return after
    return {
        key: _without_emptied(value, before.get(key))
        for key, value in after.items()
        if value is not None or before.get(key) is None
    }


def _conflict(contested: list[tuple[Owner, Fields]]) -> ApplyConflict:
    contested.sort(key=lambda pair: pair[0].identity)
    pairs: list[tuple[Owner, Path]] = [
        (owner, path) for owner, places in contested for path in in_order(places)
    ]
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {named(owner)}",
            "field": printed(path),
        }
        for owner, path in pairs
    ]
    if len(pairs) == 1:
        message = f"Apply failed with 1 conflict: conflict with {named(pairs[0][0])}: {printed(pairs[0][1])}"
        return ApplyConflict(message, causes)
    lines = []
    for owner, places in contested:
        lines.append(f"conflicts with {named(owner)}:")
        lines.extend(f"- {printed(path)}" for path in in_order(places))
    told = "\n".join(lines)
    return ApplyConflict(f"Apply failed with {len(pairs)} conflicts: {told}", causes)


def _with_owners(obj: dict[str, Any], owners: Owners) -> dict[str, Any]:
    result = copied(obj)
    entries = listed(owners)
    if entries:
        result.setdefault("metadata", {})["managedFields"] = entries
    return dict(result)
