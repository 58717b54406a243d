"""Kinds of Kubernetes itself that are known to name no other object, so that they need neither a table nor a search.

Complete by test (`tests/cluster/test_references.py`): what a running server has beside these has a table. What a newer one has is in
neither, and is searched like a custom kind. It is apart from the tables, which only who reads objects has in memory.
"""

from __future__ import annotations

from typing import Final

SILENT: Final = frozenset(
    {
        "ComponentStatus",
        "Event",
        "LimitRange",
        "Namespace",
        "certificates.k8s.io/CertificateSigningRequest",
        "certificates.k8s.io/ClusterTrustBundle",
        "coordination.k8s.io/Lease",
        "events.k8s.io/Event",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "internal.apiserver.k8s.io/StorageVersion",
        "networking.k8s.io/ServiceCIDR",
        "node.k8s.io/RuntimeClass",
        "resource.k8s.io/DeviceClass",
        "scheduling.k8s.io/PriorityClass",
        "storage.k8s.io/CSIDriver",
        "storagemigration.k8s.io/StorageVersionMigration",
    }
)
