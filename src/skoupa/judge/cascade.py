"""Kept objects hold what would take them along: their Namespace, their CRD, their owners up the chain.

Nobody walks down a cascade: kept objects are few and known (a feed of their own per kind), so each is asked what it
hangs on. Where kept objects of a kind can't be read, everything that might take one along is held: by a kind that could be
read if only it answered, everything that could own one; by one that nobody may read, what owns it as a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

import msgspec

from skoupa import names
from skoupa.facts.rows import Row, Uid
from skoupa.judge.owning import could_own, might_own
from skoupa.judge.protection import finite, kept_until
from skoupa.judge.tenants import NAME as TENANTS
from skoupa.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, Resource
from skoupa.model.reasons import Reason, reason
from skoupa.model.verdicts import Claim, Hold

_DEFINITION: Final = CUSTOM_RESOURCE_DEFINITIONS.kind
_DEFINITION_GROUP: Final = CUSTOM_RESOURCE_DEFINITIONS.group


class Ancestry(msgspec.Struct, frozen=True, kw_only=True):
    """Whom a kept object hangs on, directly and further up; `unknown` says why the chain could not be followed.

    `beyond_namespace`: one that could not be followed is of no namespace, so that Namespaces may be further up.
    `unread`: nobody has tried yet.
    """

    owners: frozenset[Uid] = frozenset()
    # Kinds of those owners, as CRD names (`widgets.shop.example`): deleting the definition deletes the owner.
    kinds: frozenset[str] = frozenset()
    unknown: str = ""
    beyond_namespace: bool = False
    unread: bool = False


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    row: Row
    ancestry: Ancestry


class Blind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind whose kept objects can't be read. `behind`: they were, and what happened since is not known.

    `granted`: they may be read, so that nobody has decided to do without them.
    """

    resource: Resource
    why: str
    behind: bool = False
    granted: bool = False
    # Where that is so; empty: everywhere.
    namespace: str = ""


class CascadeGuard:
    """`kept` gives the kept objects that might hang on a row, `blind` the kinds whose kept objects can't be read."""

    def __init__(
        self, *, kept: Callable[[Row], Iterable[Kept]], blind: Callable[[], Collection[Blind]]
    ) -> None:
        self._kept = kept
        self._blind = blind

    def holds(self, row: Row, claim: Claim, now: float) -> list[Hold]:
        if claim.mechanism == TENANTS:
            # What a tenant kept goes with it; whose the things are that hang on it is asked freshly before it goes.
            return []
        cascades = claim.propagation != "Orphan"
        found: list[Hold] = []
        for kept in self._kept(row):
            if kept.row.uid == row.uid:
                continue
            until = kept_until(kept.row.label(names.KEEP_LABEL), now)
            if until is None:
                continue
            if _takes_along(row, kept, cascades=cascades):
                found.append(
                    Hold(reason=reason("keeps-inside", object=called(kept.row)), until=finite(until))
                )
            elif cascades and might_be_above(row, kept):
                found.append(Hold(reason=_unknown(kept)))
        blind = self._blind()
        if blind:
            found += self._unseen(row, blind, cascades=cascades)
        return found

    def _unseen(self, row: Row, blind: Collection[Blind], *, cascades: bool) -> Iterator[Hold]:
        unknown: list[Blind] = []
        behind: list[Blind] = []
        for found in blind:
            if found.namespace and _reach(row) not in {"", found.namespace}:
                continue
            if _as_a_rule(row, found.resource, cascades=cascades):
                (behind if found.behind else unknown).append(found)
            elif cascades and (found.behind or found.granted) and could_own(row.resource, found.resource):
                # That concerns nearly everything, so it is told once, with the kind.
                behind.append(found)
        for code, some in (("keeps-unknown", unknown), ("keeps-behind", behind)):
            if some:
                kinds = ", ".join(sorted({found.resource.qualified for found in some}))
                yield Hold(reason=reason(code, kinds=kinds, why=some[0].why))


def _takes_along(row: Row, kept: Kept, *, cascades: bool) -> bool:
    """What is inside goes whatever the propagation says; what is owned goes unless it is orphaned."""
    if is_namespace(row) and kept.row.namespace == row.name:
        return True
    if is_definition(row) and row.name in {kept.row.resource.qualified, *kept.ancestry.kinds}:
        return True
    return cascades and row.uid in kept.ancestry.owners


def might_be_above(row: Row, kept: Kept) -> bool:
    """Whether the part of the chain that is not known may lead to this object. Whom it names itself is known by uid.

    An owner is in the same namespace as what it owns, or in none. A Namespace owns no more than objects of no namespace,
    as far as anybody has seen: one kept object must not hold all Namespaces.
    """
    ancestry = kept.ancestry
    if not ancestry.unknown or row.namespace not in {kept.row.namespace, ""}:
        return False
    return ancestry.beyond_namespace or not is_namespace(row)


def _reach(row: Row) -> str:
    """The namespace of what it can take along; empty: any."""
    return row.name if is_namespace(row) else row.namespace


def _unknown(kept: Kept) -> Reason:
    if kept.ancestry.unread:
        return reason("owners-unread", object=called(kept.row))
    return reason("owners-unknown", object=called(kept.row), why=kept.ancestry.unknown)


def _as_a_rule(row: Row, resource: Resource, *, cascades: bool) -> bool:
    """Whether it takes such objects along without anybody having to write an unusual owner reference."""
    if is_definition(row):
        # Whatever it defines is a custom kind, which may own anything, and goes by a delete of its own.
        return True
    if is_namespace(row) and resource.namespaced:
        return True
    return cascades and might_own(row.resource, resource)


def waived(resource: Resource, ignore: Collection[str]) -> bool:
    """Whether `cascade.ignoreKinds` lets Namespaces go although kept objects of this kind can't be read."""
    return resource.qualified in ignore or waived_group(resource.group, ignore)


def waived_group(group: str, ignore: Collection[str]) -> bool:
    return bool(group) and f"*.{group}" in ignore


def is_namespace(row: Row) -> bool:
    return row.resource.kind == "Namespace" and not row.resource.group


def is_definition(row: Row) -> bool:
    return row.resource.kind == _DEFINITION and row.resource.group == _DEFINITION_GROUP


def called(row: Row) -> str:
    """The object as people name it: `Pod shop/web`."""
    where = f"{row.namespace}/" if row.namespace else ""
    return f"{row.resource.kind} {where}{row.name}"
