"""The kinds that every API server brings, as far as they can be deleted: an expression can't look a kind up.

A CleanupPolicy writes a Kind, and an authorizer is asked for a plural. Custom kinds are not known here, nor are kinds of
servers to come: whoever asks must take what is not found for unknown, never for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

# Group, plural, kind.
BuiltIn = tuple[str, str, str]

CLUSTER_WIDE: Final[tuple[BuiltIn, ...]] = (
    ("", "componentstatuses", "ComponentStatus"),
    ("", "namespaces", "Namespace"),
    ("", "nodes", "Node"),
    ("", "persistentvolumes", "PersistentVolume"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "apiservices", "APIService"),
    ("certificates.k8s.io", "certificatesigningrequests", "CertificateSigningRequest"),
    ("certificates.k8s.io", "clustertrustbundles", "ClusterTrustBundle"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas", "FlowSchema"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations", "PriorityLevelConfiguration"),
    ("networking.k8s.io", "ingressclasses", "IngressClass"),
    ("networking.k8s.io", "ipaddresses", "IPAddress"),
    ("networking.k8s.io", "servicecidrs", "ServiceCIDR"),
    ("node.k8s.io", "runtimeclasses", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "clusterrolebindings", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io", "clusterroles", "ClusterRole"),
    ("resource.k8s.io", "deviceclasses", "DeviceClass"),
    ("resource.k8s.io", "resourceslices", "ResourceSlice"),
    ("scheduling.k8s.io", "priorityclasses", "PriorityClass"),
    ("storage.k8s.io", "csidrivers", "CSIDriver"),
    ("storage.k8s.io", "csinodes", "CSINode"),
    ("storage.k8s.io", "storageclasses", "StorageClass"),
    ("storage.k8s.io", "volumeattachments", "VolumeAttachment"),
    ("storage.k8s.io", "volumeattributesclasses", "VolumeAttributesClass"),
)
NAMESPACED: Final[tuple[BuiltIn, ...]] = (
    ("", "configmaps", "ConfigMap"),
    ("", "endpoints", "Endpoints"),
    ("", "events", "Event"),
    ("", "limitranges", "LimitRange"),
    ("", "persistentvolumeclaims", "PersistentVolumeClaim"),
    ("", "pods", "Pod"),
    ("", "podtemplates", "PodTemplate"),
    ("", "replicationcontrollers", "ReplicationController"),
    ("", "resourcequotas", "ResourceQuota"),
    ("", "secrets", "Secret"),
    ("", "serviceaccounts", "ServiceAccount"),
    ("", "services", "Service"),
    ("apps", "controllerrevisions", "ControllerRevision"),
    ("apps", "daemonsets", "DaemonSet"),
    ("apps", "deployments", "Deployment"),
    ("apps", "replicasets", "ReplicaSet"),
    ("apps", "statefulsets", "StatefulSet"),
    ("autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler"),
    ("batch", "cronjobs", "CronJob"),
    ("batch", "jobs", "Job"),
    ("coordination.k8s.io", "leases", "Lease"),
    ("discovery.k8s.io", "endpointslices", "EndpointSlice"),
    ("events.k8s.io", "events", "Event"),
    ("networking.k8s.io", "ingresses", "Ingress"),
    ("networking.k8s.io", "networkpolicies", "NetworkPolicy"),
    ("policy", "poddisruptionbudgets", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io", "rolebindings", "RoleBinding"),
    ("rbac.authorization.k8s.io", "roles", "Role"),
    ("resource.k8s.io", "resourceclaims", "ResourceClaim"),
    ("resource.k8s.io", "resourceclaimtemplates", "ResourceClaimTemplate"),
    ("storage.k8s.io", "csistoragecapacities", "CSIStorageCapacity"),
)
# Servers of 1.30 have them not, or not by default: without its group such a kind may be a custom one there.
_RECENT: Final = frozenset(
    {
        "ClusterTrustBundle",
        "IPAddress",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ServiceCIDR",
        "VolumeAttributesClass",
    }
)


def plurals() -> Iterator[tuple[str, str]]:
    """What a CleanupPolicy may write for a kind (`Job`, `v1/Job`, `batch/Job` for any version of it), and `batch/jobs`."""
    without_group: set[str] = set()
    for group, plural, kind in (*NAMESPACED, *CLUSTER_WIDE):
        found = f"{group}/{plural}"
        yield f"{group}/{kind}", found
        if kind in without_group or kind in _RECENT or group == "resource.k8s.io":
            continue
        # The core group is first in the tables, as it is to who expands kinds.
        without_group.add(kind)
        yield kind, found
        yield f"v1/{kind}", found
