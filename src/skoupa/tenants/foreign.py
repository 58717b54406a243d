"""What is on its way out with a tenant and hangs on a finalizer of somebody else.

Objects in no namespace come from a census; what is inside is read here, in Namespaces that are the tenant's alone and go. A finalizer
that the server or Kubernetes' own controllers answer for is nobody's to take off: they take it off once what it waits for is so. Of a
Namespace only its metadata counts: what `spec.finalizers` has is not looked at anywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from typing import Final

import msgspec

from skoupa import names
from skoupa.errors import SkoupaError
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, pages
from skoupa.kube.objects import METADATA, Metadata, detached
from skoupa.kube.resources import Resource
from skoupa.tenants.census import Belonging, Census
from skoupa.tenants.ownership import is_namespace
from skoupa.tenants.tenant import FINALIZERS

_KUBERNETES: Final = frozenset(
    {
        names.NAMESPACE_FINALIZER,
        names.FOREGROUND_FINALIZER,
        names.ORPHAN_FINALIZER,
        names.CUSTOM_RESOURCE_CLEANUP_FINALIZER,
        "kubernetes.io/pv-controller",
        "kubernetes.io/pv-protection",
        "kubernetes.io/pvc-protection",
        "kubernetes.io/vac-protection",
        "batch.kubernetes.io/job-tracking",
        "networking.k8s.io/service-cidr-finalizer",
        "resource.kubernetes.io/delete-protection",
    }
)
# Beyond so many Namespaces a list of all of them is cheaper than one for each.
_FEW: Final = 5


class Hanging(msgspec.Struct, frozen=True, kw_only=True):
    """One object on its way out; `proof` is why it is the tenant's."""

    resource: Resource
    metadata: Metadata
    proof: str

    @property
    def called(self) -> str:
        place = f"{self.metadata.namespace}/" if self.metadata.namespace else ""
        return f"{self.resource.kind} {place}{self.metadata.name}"

    @property
    def since(self) -> float:
        moment = self.metadata.deletion_timestamp
        return moment.timestamp() if moment is not None else 0.0


def whose(finalizer: str) -> str:
    """Who takes it off, where that is nobody foreign; empty: somebody else."""
    if finalizer in _KUBERNETES:
        return "Kubernetes takes it off itself"
    if finalizer in FINALIZERS or finalizer.startswith(f"{names.SKOUPA_GROUP}/"):
        return "Skoupa takes it off itself"
    return ""


def hanging_of(census: Census, tenant: str) -> list[Hanging]:
    """In no namespace."""
    return [_of(one) for one in census.of(tenant) if one.is_leaving and one.metadata.finalizers]


def _of(one: Belonging) -> Hanging:
    return Hanging(resource=one.resource, metadata=one.metadata, proof=one.proof)


async def hanging_inside(client: Client, census: Census, tenant: str) -> tuple[list[Hanging], list[str]]:
    """In Namespaces of the tenant alone that are on their way out; and what could not be read."""
    places = {
        one.metadata.name
        for one in census.of(tenant)
        if is_namespace(one.resource)
        and one.is_leaving
        and census.ownership.in_namespace(one.metadata.name) == {tenant}
    }
    found: dict[str, Hanging] = {}
    gaps: list[str] = []
    for resource in census.discovery.preferred() if places else ():
        if not resource.namespaced or not resource.may("list", "patch"):
            continue
        for scope in _scopes(places):
            try:
                for one in await _leaving(client, resource, scope, places):
                    found.setdefault(one.metadata.uid, one)
            except SkoupaError as error:
                gaps.append(f"{resource.qualified} ({error.brief})")
                break
    return list(found.values()), gaps


def _scopes(places: set[str]) -> Iterator[Scope]:
    if len(places) > _FEW:
        yield Scope()
        return
    for place in sorted(places):
        yield Scope(namespace=place)


async def _leaving(client: Client, resource: Resource, scope: Scope, places: set[str]) -> list[Hanging]:
    found: list[Hanging] = []
    async with aclosing(pages(client, resource, METADATA, scope=scope)) as listing:
        async for page in listing:
            if page.first:
                found = []
            if page.undecodable:
                raise SkoupaError(f"one of them can't be understood: {page.undecodable[0].why}")
            for item in page.items:
                metadata = item.metadata
                leaving = metadata.deletion_timestamp is not None and metadata.finalizers
                if leaving and metadata.namespace in places:
                    proof = f"it is in its Namespace {metadata.namespace}"
                    found.append(Hanging(resource=resource, metadata=detached(metadata), proof=proof))
    return found
