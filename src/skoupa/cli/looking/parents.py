"""What would take an object along: its owners up the chain, its Namespace, the definition of its kind; also in words.

Read one by one, upwards. Rights are not asked for here: whether the caller may delete a Namespace says nothing about
whether it goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import tzinfo
from typing import Final

from skoupa.cli.terminal.items import Parent, parent_of
from skoupa.cli.terminal.times import distance, full_time
from skoupa.controller.survey import Survey
from skoupa.errors import ApiError, NotFound, SkoupaError
from skoupa.expr.instants import parse_rfc3339
from skoupa.facts.rows import Owner, Row, Uid, uid_text
from skoupa.judge.cascade import is_namespace
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


async def parents_of(row: Row, survey: Survey, now: float) -> list[Parent]:
    parents = await _owners(row, survey, now)
    namespace = _namespace(row, survey, now)
    definition = await _definition(row, survey, now)
    return [*parents, *(parent for parent in (namespace, definition) if parent is not None)]


def along(parents: Iterable[Parent], own: float | None, now: float, *, zone: tzinfo) -> Iterator[str]:
    """Who takes an object along before its `own` time, or though it has none."""
    for parent in parents:
        called = f"its {parent.kind} {parent.name}"
        if parent.relation == "owner":
            called = f"its owner {parent.kind} {place(parent.namespace, parent.name)}"
        if parent.state == "terminating":
            yield f"Goes along with {called}, which is being deleted."
        elif parent.goes_at is not None:
            goes = parse_rfc3339(parent.goes_at)
            if isinstance(goes, int) and (own is None or goes < own):
                yield f"Goes along with {called}: {full_time(goes, zone)}, {distance(goes, now)}."


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
    return f"{why}, due {parent.due}" + (", but held" if parent.goes_at is None else "")


async def _owners(row: Row, survey: Survey, now: float) -> list[Parent]:
    parents: list[Parent] = []
    seen: set[Uid] = {row.uid}
    ahead = list(row.owners)
    while ahead and len(parents) < _LONGEST_CHAIN:
        owner = ahead.pop(0)
        if owner.uid in seen:
            continue
        seen.add(owner.uid)
        found = await _owner(owner, row.namespace, survey)
        if isinstance(found, Parent):
            parents.append(found)
        else:
            parents.append(parent_of(found, survey.knowledge.verdict(found, now), "owner"))
            ahead += found.owners
    return parents


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
        return _unreadable(missing, _short(error))
    return found if found.uid == owner.uid else missing


def _namespace(row: Row, survey: Survey, now: float) -> Parent | None:
    if not row.namespace:
        return None
    for found in survey.knowledge.store:
        if is_namespace(found) and found.name == row.namespace:
            return parent_of(found, survey.knowledge.verdict(found, now), "namespace")
    return None


async def _definition(row: Row, survey: Survey, now: float) -> Parent | None:
    if row.resource.group in _BUILT_IN:
        return None
    try:
        found = await survey.read_object(CUSTOM_RESOURCE_DEFINITIONS, row.resource.qualified, namespace="")
    except SkoupaError:
        # Not a custom kind, or not for the caller to read.
        return None
    return parent_of(found, survey.knowledge.verdict(found, now), "definition")


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


def _short(error: SkoupaError) -> str:
    return error.status.message or error.message if isinstance(error, ApiError) else error.message
