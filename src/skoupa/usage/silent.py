"""Kinds of Kubernetes itself, of Skoupa, and reports, that are known to use no other object, so that they need neither a table nor a search.

Complete by test (`tests/cluster/test_references.py`): what a running server has beside these has a table. What a newer one has is in
neither, and is searched like a custom kind. It is apart from the tables, which only who reads objects has in memory.
"""

from __future__ import annotations

from typing import Final

from skoupa import names

# What they name is to go, to stand still or to be understood: none of it is kept by that.
_OUR_OWN: Final = frozenset(
    f"{names.SKOUPA_GROUP}/{kind}"
    for kind in (
        names.BRAKE_KIND,
        names.CLUSTER_RETENTION_POLICY_KIND,
        names.KIND_PROFILE_KIND,
        names.RETENTION_POLICY_KIND,
    )
)
# What somebody found out about others: all of it is named there, and nothing needs what a report names.
REPORTS: Final = frozenset(
    f"{group}/{cluster}{kind}"
    for group, kinds in (
        ("wgpolicyk8s.io", ("PolicyReport",)),
        ("openreports.io", ("Report",)),
        ("reports.kyverno.io", ("AdmissionReport", "BackgroundScanReport", "EphemeralReport")),
        ("kyverno.io", ("AdmissionReport", "BackgroundScanReport")),
        (
            "aquasecurity.github.io",
            (
                "ConfigAuditReport",
                "ExposedSecretReport",
                "InfraAssessmentReport",
                "RbacAssessmentReport",
                "SbomReport",
                "VulnerabilityReport",
            ),
        ),
    )
    for kind in kinds
    for cluster in ("", "Cluster")
)
_OF_KUBERNETES: Final = frozenset(
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
SILENT: Final = _OF_KUBERNETES | _OUR_OWN | REPORTS
