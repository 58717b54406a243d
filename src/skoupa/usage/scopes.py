"""Which of the built-in kinds live in no namespace, and which in one.

A reference to a kind that is in neither set, and of which no rules say so, may lie in any namespace or in none.
`tests/cluster` compares both with what a server says.
"""

from __future__ import annotations

from typing import Final

WITHOUT_NAMESPACE: Final = frozenset(
    (
        "ComponentStatus",
        "Namespace",
        "Node",
        "PersistentVolume",
        "admissionregistration.k8s.io/MutatingAdmissionPolicy",
        "admissionregistration.k8s.io/MutatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/MutatingWebhookConfiguration",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/ValidatingWebhookConfiguration",
        "apiextensions.k8s.io/CustomResourceDefinition",
        "apiregistration.k8s.io/APIService",
        "certificates.k8s.io/CertificateSigningRequest",
        "certificates.k8s.io/ClusterTrustBundle",
        "flowcontrol.apiserver.k8s.io/FlowSchema",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "internal.apiserver.k8s.io/StorageVersion",
        "networking.k8s.io/IPAddress",
        "networking.k8s.io/IngressClass",
        "networking.k8s.io/ServiceCIDR",
        "node.k8s.io/RuntimeClass",
        "rbac.authorization.k8s.io/ClusterRole",
        "rbac.authorization.k8s.io/ClusterRoleBinding",
        "resource.k8s.io/DeviceClass",
        "resource.k8s.io/DeviceTaintRule",
        "resource.k8s.io/ResourceSlice",
        "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSINode",
        "storage.k8s.io/StorageClass",
        "storage.k8s.io/VolumeAttachment",
        "storage.k8s.io/VolumeAttributesClass",
        "storagemigration.k8s.io/StorageVersionMigration",
    )
)

IN_A_NAMESPACE: Final = frozenset(
    (
        "ConfigMap",
        "Endpoints",
        "Event",
        "LimitRange",
        "PersistentVolumeClaim",
        "Pod",
        "PodTemplate",
        "ReplicationController",
        "ResourceQuota",
        "Secret",
        "Service",
        "ServiceAccount",
        "apps/ControllerRevision",
        "apps/DaemonSet",
        "apps/Deployment",
        "apps/ReplicaSet",
        "apps/StatefulSet",
        "autoscaling/HorizontalPodAutoscaler",
        "batch/CronJob",
        "batch/Job",
        "certificates.k8s.io/PodCertificateRequest",
        "coordination.k8s.io/Lease",
        "coordination.k8s.io/LeaseCandidate",
        "discovery.k8s.io/EndpointSlice",
        "events.k8s.io/Event",
        "networking.k8s.io/Ingress",
        "networking.k8s.io/NetworkPolicy",
        "policy/PodDisruptionBudget",
        "rbac.authorization.k8s.io/Role",
        "rbac.authorization.k8s.io/RoleBinding",
        "resource.k8s.io/ResourceClaim",
        "resource.k8s.io/ResourceClaimTemplate",
        "scheduling.k8s.io/Workload",
        "storage.k8s.io/CSIStorageCapacity",
    )
)

# Kinds of the core group as people write them: `secret`, `configmaps`.
_BY_WORD: Final = {
    word: kind
    for kind in (*IN_A_NAMESPACE, *WITHOUT_NAMESPACE)
    if "/" not in kind
    for word in (kind.lower(), f"{kind.lower()}s")
}


def in_full(kind: str) -> str:
    """A kind of the core group that is written small, or as many; any other is as it was."""
    return _BY_WORD.get(kind.lower(), kind)
