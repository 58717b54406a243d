"""How the trash treats a kind: whether objects hang on it that go along, and whether losing one loses data.

Tables; a kind is named as kubectl shows it (`jobs.batch`). What is not Kubernetes' own may own anything and hold data.
"""

from __future__ import annotations

from typing import Final

from skoupa.kube.resources import Resource

# By their exact names: `snapshot.storage.k8s.io` or `gateway.networking.k8s.io` are custom kinds like any other.
_BUILT_IN_GROUPS: Final = frozenset(
    {
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "extensions",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "scheduling.k8s.io",
        "storage.k8s.io",
        "storagemigration.k8s.io",
    }
)
# On these Kubernetes, well-known controllers and people hang others: what a CI runner makes for its Pod, the Secret of a
# Job, the ConfigMap of a Deployment, the certificate of an Ingress, earlier revisions, finished Jobs, claims.
_OWNERS: Final = frozenset(
    {
        "pods",
        "replicationcontrollers",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "daemonsets.apps",
        "jobs.batch",
        "cronjobs.batch",
        "ingresses.networking.k8s.io",
    }
)
_DATA: Final = frozenset(
    {
        "configmaps",
        "secrets",
        "persistentvolumeclaims",
        "persistentvolumes",
        "namespaces",
        "customresourcedefinitions.apiextensions.k8s.io",
    }
)


def is_custom(resource: Resource) -> bool:
    return resource.group not in _BUILT_IN_GROUPS


def may_own(resource: Resource) -> bool:
    """Whether it is worth looking for what hangs on its objects."""
    return is_custom(resource) or resource.qualified in _OWNERS


def has_data(resource: Resource) -> bool:
    """Whether losing it loses more than what a controller or a manifest somewhere brings back."""
    return is_custom(resource) or resource.qualified in _DATA
