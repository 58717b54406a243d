"""Which kinds are watched at all, and which should be as soon as somebody knows them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from skoupa.facts.rows import Row
from skoupa.judge.cascade import Blind
from skoupa.kinds.naming import means
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource
from skoupa.model.reasons import reason
from skoupa.model.verdicts import Claim, Hold

# They come and go by the second and are worth nothing by themselves; `watchAlso` brings them back.
SHORT_LIVED: Final = frozenset(
    {
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
    }
)


# The same objects as Namespaces, under the same uids: who deletes one deletes the Namespace.
_NAMESPACES_AGAIN: Final = frozenset({"projects.project.openshift.io"})


NOT_READ_YET: Final = "it is new and not read yet"


def watchable(discovery: Discovery, *, also: Sequence[str]) -> Iterator[Resource]:
    """The kinds that objects with a label can be of."""
    for resource in discovery.preferred():
        if resource.qualified in _NAMESPACES_AGAIN or left_out(resource, also=also):
            continue
        if resource.may("list", "watch", "delete"):
            yield resource


def new_kinds(known: Discovery, found: Discovery, *, also: Sequence[str]) -> list[Resource]:
    """Kinds to watch that were not known; another version of one that was is none."""
    before = {resource.qualified for resource in known.resources}
    return [resource for resource in watchable(found, also=also) if resource.qualified not in before]


def told_by(discovery: Discovery) -> set[tuple[str, str]]:
    """The versions of groups whose kinds the server tells; with an empty version: that it tells some of the group."""
    told = {(resource.group, resource.version) for resource in discovery.resources}
    return told | {(group, "") for group, _ in told}


def untold(discovery: Discovery, *, but: Collection[tuple[str, str]]) -> dict[str, Blind]:
    """Groups of which the server can't tell all kinds; `but` versions that it could tell once, as `told_by` has them."""
    found = {}
    for gap in discovery.gaps:
        if (gap.group, gap.version) not in but:
            kinds = Resource(group=gap.group, version=gap.version, plural="*", kind="", namespaced=True)
            found[kinds.qualified] = Blind(resource=kinds, why=gap.why, granted=True)
    return found


def left_out(resource: Resource, *, also: Sequence[str]) -> bool:
    """Whether nobody watches it unless `watchAlso` names it."""
    return resource.qualified in SHORT_LIVED and not any(means(name, resource) for name in also)


class Unwatched:
    """A guard: what is written on an object that nobody watches is not seen. Who acts here and now needs no watch.

    Rules that choose by themselves read what they need.
    """

    def __init__(self, also: Sequence[str], *, acting: bool) -> None:
        self._also = also
        self._acting = acting

    def holds(self, row: Row, claim: Claim, now: float) -> Iterator[Hold]:  # noqa: ARG002 - a setting does not end by itself
        if not self._acting and not claim.run and left_out(row.resource, also=self._also):
            yield Hold(reason=reason("not-watched", kind=row.resource.qualified))
