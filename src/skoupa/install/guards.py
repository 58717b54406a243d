"""The admission policies that an installation has in the cluster, and removing those that its settings ask for no more.

The one thing that installing deletes: a policy that stayed behind would go on refusing people's writes for a setting that
is off. Only what carries the label of this very installation goes, by uid, its binding first. What may not be read or
deleted is left to be told with everything else that is left over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Final

import msgspec

from skoupa import names
from skoupa.errors import Conflict, Forbidden, NotFound
from skoupa.install.apply import Applied
from skoupa.install.labelling import INSTANCE_LABEL, Manifest
from skoupa.kube.client import Client
from skoupa.kube.kinds import Discovery
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA
from skoupa.kube.resources import Resource

_GROUP: Final = "admissionregistration.k8s.io"
BINDING_KIND: Final = "ValidatingAdmissionPolicyBinding"
# A binding without its policy is an error to the server, a policy without a binding is nothing.
_KINDS: Final = (BINDING_KIND, "ValidatingAdmissionPolicy")


class Guard(msgspec.Struct, frozen=True):
    """A policy or a binding as it was found."""

    resource: Resource
    name: str
    uid: str


async def guards(client: Client, *, discovery: Discovery, instance: str) -> list[Guard]:
    """Those of the installation in the namespace `instance`, bindings first."""
    scope = Scope(labels=f"{names.PART_OF_LABEL}={names.COMPONENT},{INSTANCE_LABEL}={instance}")
    found = []
    for resource in (discovery.find(_GROUP, kind) for kind in _KINDS):
        if resource is None:
            continue
        try:
            page = await everything(client, resource, METADATA, scope=scope)
        except Forbidden:
            continue
        found += [Guard(resource, item.metadata.name, item.metadata.uid) for item in page.items]
    return found


async def remove_others(
    client: Client, present: Iterable[Guard], wanted: Iterable[Manifest], *, dry_run: bool
) -> AsyncIterator[Applied]:
    """Deletes what is present and not among the wanted manifests."""
    kept = {(body["kind"], body["metadata"]["name"]) for body in wanted}
    for guard in present:
        if (guard.resource.kind, guard.name) in kept:
            continue
        try:
            await client.delete(
                guard.resource,
                guard.name,
                uid=guard.uid,
                propagation="Background",
                dry_run=dry_run,
                rule="install",
            )
        except (NotFound, Conflict, Forbidden):
            continue
        yield Applied(resource=guard.resource, namespace="", name=guard.name, outcome="deleted")
