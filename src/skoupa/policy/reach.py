"""How far a wildcard reaches: not everything that fits `*` is meant by who writes it.

A wildcard never reaches what a cluster stands on (cluster-wide kinds of Kubernetes itself and of its platform, a Namespace among them),
the parents of whole systems, nor policies and Brakes: those must be named. It leaves out what is only made again: derived kinds, and the objects
that the control plane puts into every namespace. Whoever names a kind gets all of it.
"""

from __future__ import annotations

from collections.abc import Container
from functools import lru_cache
from typing import Final

from skoupa import names
from skoupa.kube.objects import Metadata
from skoupa.kube.resources import BUILT_IN_GROUPS, Resource

# Deleting one of these deletes what it made, mostly outside of the namespace that it is in: namespaces, machines, whole clusters, what
# stands at a cloud. These groups, and all that end so.
SYSTEMS: Final = (
    "app.terraform.io",
    "azure.com",
    "capsule.clastix.io",
    "cattle.io",
    "cluster.x-k8s.io",
    "cnrm.cloud.google.com",
    "core.oam.dev",
    "crossplane.io",
    "fluxcd.controlplane.io",
    "gardener.cloud",
    "helm.toolkit.fluxcd.io",
    "hive.openshift.io",
    "hnc.x-k8s.io",
    "hypershift.openshift.io",
    "infra.contrib.fluxcd.io",
    "k8c.io",
    "kamaji.clastix.io",
    "karmada.io",
    "karpenter.sh",
    "kro.run",
    "kustomize.toolkit.fluxcd.io",
    "loft.sh",
    "machine.openshift.io",
    "metal3.io",
    "olm.operatorframework.io",
    "open-cluster-management.io",
    "operators.coreos.com",
    "projectsveltos.io",
    "pulumi.com",
    "services.k8s.aws",
    "upbound.io",
)
# Of Argo's kinds only these; Workflows and Rollouts are work like any other.
_ARGO: Final = frozenset({"Application", "ApplicationSet", "AppProject"})
# Crossplane gives these to kinds of any group.
_SYSTEM_CATEGORIES: Final = frozenset({"crossplane", "managed", "composite", "claim"})
# What these have outside of namespaces is the cluster's own: a Project of OpenShift is a Namespace by another name, a
# VolumeSnapshotContent the snapshot itself, a CiliumNode a Node's network.
PLATFORMS: Final = (
    "cilium.io",
    "k8s.io",
    "openshift.io",
    "projectcalico.org",
    "tigera.io",
    "x-k8s.io",
)
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
# OpenShift and Istio have theirs.
_IN_EVERY_NAMESPACE: Final = frozenset(
    {
        ("", "serviceaccounts", "default"),
        ("", "configmaps", "kube-root-ca.crt"),
        ("", "configmaps", "openshift-service-ca.crt"),
        ("", "configmaps", "istio-ca-root-cert"),
    }
)


@lru_cache(maxsize=4096)
def out_of_reach(resource: Resource) -> str:
    """Why a wildcard does not mean this kind; empty when it does."""
    if (resource.group, resource.plural) in _MADE_AGAIN:
        return "the control plane would only make it again"
    if resource.group in _POLICY_GROUPS:
        return "policies and Brakes must be named"
    if not resource.namespaced and (resource.group in BUILT_IN_GROUPS or _ends(resource, PLATFORMS)):
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
    return _ends(resource, SYSTEMS) or not _SYSTEM_CATEGORIES.isdisjoint(resource.categories)


def _ends(resource: Resource, groups: tuple[str, ...]) -> bool:
    """Whether it is of one of these groups, or of one that ends so."""
    return any(resource.group == group or resource.group.endswith(f".{group}") for group in groups)
