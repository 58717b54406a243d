"""What scales, limits, protects and elects: autoscalers, budgets, quotas, leases, nodes."""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import CONFIG_MAP, STORAGE_CLASS
from skoupa.usage.rules import Form, Implied, KindRules, Means, Reference, Selection


def _version_of_kubelet(at: str) -> Reference:
    return Reference(at=f"{at}.configMap", name="name", namespace_at="namespace", to=CONFIG_MAP)


RULES: Final = (
    KindRules(
        kind="autoscaling/HorizontalPodAutoscaler",
        parts=(
            Reference(
                at="spec.scaleTargetRef",
                name="name",
                kind_at="kind",
                version_at="apiVersion",
                means=Means.MANAGES,
            ),
            Reference(
                at="spec.metrics[].object.describedObject",
                name="name",
                kind_at="kind",
                version_at="apiVersion",
            ),
        ),
    ),
    KindRules(
        kind="policy/PodDisruptionBudget",
        parts=(Selection(at="spec.selector", to="Pod", means=Means.MANAGES),),
    ),
    KindRules(
        kind="ResourceQuota",
        parts=(
            Reference(at="spec.hard{@}", to=STORAGE_CLASS, form=Form.QUOTA, means=Means.MENTIONS),
            Reference(
                at="spec.scopeSelector.matchExpressions[]",
                name="values[]",
                when_at="scopeName",
                when=("PriorityClass",),
                to="scheduling.k8s.io/PriorityClass",
                means=Means.MENTIONS,
            ),
            Reference(
                at="spec.scopeSelector.matchExpressions[]",
                name="values[]",
                when_at="scopeName",
                when=("VolumeAttributesClass",),
                to="storage.k8s.io/VolumeAttributesClass",
                means=Means.MENTIONS,
            ),
        ),
    ),
    KindRules(
        kind="coordination.k8s.io/LeaseCandidate",
        parts=(Reference(at="spec.leaseName", to="coordination.k8s.io/Lease"),),
    ),
    KindRules(
        kind="Node",
        cluster=True,
        parts=(
            # Kubelets took their settings from here once; the fields are still there.
            _version_of_kubelet("spec.configSource"),
            _version_of_kubelet("status.config.active"),
            _version_of_kubelet("status.config.assigned"),
            _version_of_kubelet("status.config.lastKnownGood"),
            # Named for it, and written by its kubelet.
            Implied(to="storage.k8s.io/CSINode", name="{metadata.name}"),
            Implied(to="coordination.k8s.io/Lease", name="{metadata.name}", namespace="kube-node-lease"),
        ),
    ),
    KindRules(
        kind="certificates.k8s.io/PodCertificateRequest",
        parts=(
            Reference(at="spec.serviceAccountName", to="ServiceAccount"),
            Reference(at="spec.podName", to="Pod", means=Means.CONCERNS),
            Reference(at="spec.nodeName", to="Node", means=Means.MENTIONS),
        ),
    ),
    KindRules(
        kind="scheduling.k8s.io/Workload",
        parts=(
            Reference(
                at="spec.controllerRef",
                name="name",
                kind_at="kind",
                group_at="apiGroup",
                means=Means.CONCERNS,
            ),
        ),
    ),
)
