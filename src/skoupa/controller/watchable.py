"""Which kinds are watched at all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from skoupa.kinds.naming import means
from skoupa.kube.kinds import Discovery
from skoupa.kube.resources import Resource

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


def watchable(discovery: Discovery, *, also: Sequence[str]) -> Iterator[Resource]:
    """The kinds that objects with a label can be of."""
    for resource in discovery.preferred():
        if resource.may("list", "watch", "delete") and not left_out(resource, also=also):
            yield resource


def left_out(resource: Resource, *, also: Sequence[str]) -> bool:
    """Whether nobody watches it unless `watchAlso` names it."""
    return resource.qualified in SHORT_LIVED and not any(means(name, resource) for name in also)
