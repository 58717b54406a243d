"""What would take an object along: its owners up the chain, its Namespace, the definition of its kind; also in words.

Read one by one, upwards, before anybody judges, so that policies can be asked about them too. Rights are not asked for here:
whether the caller may delete a Namespace says nothing about whether it goes. An owner takes along what has no other owner that stays.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Final, Literal

import msgspec

from skoupa.cli.terminal.items import Parent, parent_of
from skoupa.cli.terminal.times import distance, full_time
from skoupa.controller.survey import Survey
from skoupa.errors import NotFound, SkoupaError
from skoupa.expr.instants import parse_rfc3339
from skoupa.facts.rows import Owner, Row, Uid, uid_text
from skoupa.judge.cascade import is_namespace
from skoupa.judge.policies import NAME as POLICIES
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS

_LONGEST_CHAIN: Final = 32
_STATES: Final = {
    "lives": "lives",
    "terminating": "is being deleted",
    "gone": "is gone",
    "unreadable": "can't be read",
}
# Groups of the server itself whose names have no dot; no definition stands behind their kinds.
_BUILT_IN: Final = frozenset({"", "apps", "batch", "autoscaling", "policy", "extensions"})


class Ancestor(msgspec.Struct, frozen=True):
    """What was read of it, or what is told where nothing could be."""

    uid: Uid
    relation: Literal["owner", "namespace", "definition"]
    found: Row | Parent


async def ancestors_of(row: Row, survey: Survey) -> list[Ancestor]:
    found = await _owners(row, survey)
    if (namespace := _namespace(row, survey)) is not None:
        found.append(Ancestor(namespace.uid, "namespace", namespace))
    if (definition := await _definition(row, survey)) is not None:
        found.append(Ancestor(definition.uid, "definition", definition))
    return found


def parents_of(ancestors: Iterable[Ancestor], survey: Survey, now: float) -> list[Parent]:
    return [
        parent_of(one.found, survey.finding(one.found, now).verdict, one.relation)
        if isinstance(one.found, Row)
        else one.found
        for one in ancestors
    ]


def takers(row: Row, ancestors: Iterable[Ancestor], parents: Iterable[Parent]) -> list[Parent]:
    """Those with which it goes: the Namespace, the definition, and of owners the one that goes last of all it needs."""
    known = {one.uid: (one, told) for one, told in zip(ancestors, parents, strict=True)}
    owned_until = _owned_until(row.owners, known, seen=frozenset({row.uid}))
    return [
        told
        for one, told in known.values()
        if one.relation != "owner" or (owned_until is not None and _leaves(told) == owned_until)
    ]


def _owned_until(
    owners: Iterable[Owner], known: Mapping[Uid, tuple[Ancestor, Parent]], *, seen: frozenset[Uid]
) -> float | None:
    """When the last of these owners leaves, by itself or with owners of its own; None: one of them stays."""
    latest: float | None = None
    for owner in owners:
        one, told = known.get(owner.uid, (None, None))
        if one is None or told is None or owner.uid in seen:
            return None
        above = one.found.owners if isinstance(one.found, Row) else ()
        moments = (_leaves(told), _owned_until(above, known, seen=seen | {owner.uid}))
        leaves = min((moment for moment in moments if moment is not None), default=None)
        if leaves is None:
            return None
        latest = leaves if latest is None else max(latest, leaves)
    return latest


def _leaves(parent: Parent) -> float | None:
    """When it leaves its dependents to the collector."""
    if parent.state in {"gone", "terminating"}:
        return -math.inf
    goes = parse_rfc3339(parent.goes_at) if parent.goes_at and parent.propagation != "Orphan" else None
    return float(goes) if isinstance(goes, int) else None


def along(parents: Iterable[Parent], own: float | None, now: float, *, zone: tzinfo) -> Iterator[str]:
    """Who of those that take an object along does before its `own` time, or though it has none."""
    for parent in parents:
        called = f"its {parent.kind} {parent.name}"
        if parent.relation == "owner":
            called = f"its owner {parent.kind} {place(parent.namespace, parent.name)}"
        if parent.state == "terminating":
            yield f"Goes along with {called}, which is being deleted."
        elif parent.goes_at is not None:
            goes = parse_rfc3339(parent.goes_at)
            if isinstance(goes, int) and (own is None or goes < own):
                by = f", which {parent.rule} takes" if parent.mechanism == POLICIES else ""
                yield f"Goes along with {called}{by}: {full_time(goes, zone)}, {distance(goes, now)}."


def parent_lines(parents: Iterable[Parent]) -> Iterator[str]:
    """Owners, and whatever else has a time of its own."""
    for parent in parents:
        if parent.relation == "owner" or parent.due is not None:
            called = f"{parent.kind} {place(parent.namespace, parent.name)}"
            yield f"{parent.relation}: {called}, {_STATES[parent.state]}{_of_parent(parent)}"


def place(namespace: str, name: str) -> str:
    return f"{namespace}/{name}" if namespace else name


def _of_parent(parent: Parent) -> str:
    """Why it can't be read; and that it is held, maybe only by this very object."""
    why = f" ({parent.why})" if parent.why else ""
    if parent.due is None or parent.state != "lives":
        return why
    by = f" by {parent.rule}" if parent.mechanism == POLICIES else ""
    return f"{why}, due {parent.due}{by}" + (", but held" if parent.goes_at is None else "")


async def _owners(row: Row, survey: Survey) -> list[Ancestor]:
    ancestors: list[Ancestor] = []
    seen: set[Uid] = {row.uid}
    ahead = list(row.owners)
    while ahead and len(ancestors) < _LONGEST_CHAIN:
        owner = ahead.pop(0)
        if owner.uid in seen:
            continue
        seen.add(owner.uid)
        found = await _owner(owner, row.namespace, survey)
        ancestors.append(Ancestor(owner.uid, "owner", found))
        if isinstance(found, Row):
            ahead += found.owners
    return ancestors


async def _owner(owner: Owner, namespace: str, survey: Survey) -> Row | Parent:
    discovery = survey.knowledge.discovery
    group, _, version = owner.api_version.rpartition("/")
    resource = discovery.find(group, owner.kind, version) or discovery.find(group, owner.kind)
    where = namespace if resource is None or resource.namespaced else ""
    missing = Parent(
        relation="owner",
        api_version=owner.api_version,
        kind=owner.kind,
        namespace=where,
        name=owner.name,
        uid=uid_text(owner.uid),
        state="gone",
    )
    if resource is None:
        gap = discovery.unreadable(group)
        return _unreadable(missing, gap.why) if gap else missing
    try:
        found = await survey.read_object(resource, owner.name, namespace=where)
    except NotFound:
        return missing
    except SkoupaError as error:
        return _unreadable(missing, error.brief)
    return found if found.uid == owner.uid else missing


def _namespace(row: Row, survey: Survey) -> Row | None:
    if not row.namespace:
        return None
    named = (found for found in survey.knowledge.store if is_namespace(found) and found.name == row.namespace)
    return next(named, None)


async def _definition(row: Row, survey: Survey) -> Row | None:
    if row.resource.group in _BUILT_IN:
        return None
    try:
        return await survey.read_object(CUSTOM_RESOURCE_DEFINITIONS, row.resource.qualified, namespace="")
    except SkoupaError:
        # Not a custom kind, or not for the caller to read.
        return None


def _unreadable(parent: Parent, why: str) -> Parent:
    return Parent(
        relation=parent.relation,
        api_version=parent.api_version,
        kind=parent.kind,
        namespace=parent.namespace,
        name=parent.name,
        uid=parent.uid,
        state="unreadable",
        why=why,
    )
