"""How far a wildcard reaches: not everything that fits `*` is meant by who writes it.

A wildcard never reaches what a cluster stands on (cluster-wide kinds of Kubernetes itself, a Namespace among them), the parents of
whole systems, nor policies and Brakes: those must be named. It leaves out what is only made again: derived kinds, and the objects
that the control plane puts into every namespace. Whoever names a kind gets all of it.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import Final

from skoupa import names
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource

# Deleting one of these deletes what it made, mostly outside of the namespace that it is in.
_SYSTEM_GROUPS: Final = frozenset(
    {
        "argoproj.io",
        "cluster.x-k8s.io",
        "crossplane.io",
        "helm.toolkit.fluxcd.io",
        "kustomize.toolkit.fluxcd.io",
        "upbound.io",
    }
)
_SYSTEM_ENDINGS: Final = tuple(f".{group}" for group in ("cluster.x-k8s.io", "crossplane.io", "upbound.io"))
# Of Argo's kinds only these; Workflows and Rollouts are work like any other.
_ARGO: Final = frozenset({"Application", "ApplicationSet", "AppProject"})
# Crossplane gives these to kinds of any group.
_SYSTEM_CATEGORIES: Final = frozenset({"crossplane", "managed", "composite", "claim"})
_POLICY_GROUPS: Final = frozenset(
    {
        names.SKOUPA_GROUP,
        names.NAMESPACED_ALIVE_GROUP,
        names.KYVERNO_GROUP,
        names.KYVERNO_POLICIES_GROUP,
        names.TENANT_GROUP,
    }
)
_MADE_AGAIN: Final = frozenset(
    {
        ("", "endpoints"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("discovery.k8s.io", "endpointslices"),
        ("coordination.k8s.io", "leases"),
    }
)
_IN_EVERY_NAMESPACE: Final = frozenset(
    {("", "serviceaccounts", "default"), ("", "configmaps", "kube-root-ca.crt")}
)


@lru_cache(maxsize=4096)
def out_of_reach(resource: Resource) -> str:
    """Why a wildcard does not mean this kind; empty when it does."""
    if (resource.group, resource.plural) in _MADE_AGAIN:
        return "the control plane would only make it again"
    if resource.group in _POLICY_GROUPS:
        return "policies and Brakes must be named"
    if resource.group in BUILT_IN_GROUPS and not resource.namespaced:
        return "cluster-wide kinds of Kubernetes must be named"
    if _is_parent(resource):
        return "it is the parent of a whole system, so it must be named"
    return ""


def spared(resource: Resource, metadata: Metadata) -> str:
    """Why a wildcard does not mean this object of a kind that it reaches; empty when it does."""
    if (resource.group, resource.plural, metadata.name) in _IN_EVERY_NAMESPACE:
        return "the control plane would only make it again"
    place = (resource.group, resource.plural, metadata.namespace, metadata.name)
    if place == ("", "services", "default", "kubernetes"):
        return "the control plane would only make it again"
    return ""


def owner_that_goes(metadata: Metadata, going: Container[str]) -> str:
    """The name of an owner whose uid is among those that go, and with which this object goes; empty where none is.

    Under a wildcard an object and its owner match together, and deleting both only hurries the collector.
    """
    return next((owner.name for owner in metadata.owner_references or () if owner.uid in going), "")


def _is_parent(resource: Resource) -> bool:
    if resource.group == "argoproj.io":
        return resource.kind in _ARGO
    return (
        resource.group in _SYSTEM_GROUPS
        or resource.group.endswith(_SYSTEM_ENDINGS)
        or not _SYSTEM_CATEGORIES.isdisjoint(resource.categories)
    )
