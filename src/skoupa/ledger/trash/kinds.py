"""How the trash treats a kind: whether objects hang on it that go along, and whether losing one loses data.

Tables; a kind is named as kubectl shows it (`jobs.batch`). What is not Kubernetes' own may own anything and hold data.
"""

from __future__ import annotations

from typing import Final

from skoupa.kube.resources import BUILT_IN_GROUPS, Resource

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
    return resource.group not in BUILT_IN_GROUPS


def may_own(resource: Resource) -> bool:
    """Whether it is worth looking for what hangs on its objects."""
    return is_custom(resource) or resource.qualified in _OWNERS


def has_data(resource: Resource) -> bool:
    """Whether losing it loses more than what a controller or a manifest somewhere brings back."""
    return is_custom(resource) or resource.qualified in _DATA
