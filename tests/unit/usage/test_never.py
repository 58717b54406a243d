"""What is never garbage, though nothing points at it."""

from __future__ import annotations

from typing import Any

import pytest

from skoupa.kube.objects import Metadata
from skoupa.usage.never import needs_to_be_named, reason
from skoupa.usage.never_rows import ROWS

pytestmark = pytest.mark.unit

RBAC = "rbac.authorization.k8s.io"


def meta(name: str = "x", namespace: str = "shop", **more: Any) -> Metadata:
    return Metadata(name=name, namespace=namespace, **more)


@pytest.mark.parametrize(
    ("kind", "metadata", "type_"),
    [
        ("ConfigMap", meta("kube-root-ca.crt"), ""),
        ("ConfigMap", meta("extension-apiserver-authentication", "kube-system"), ""),
        ("ConfigMap", meta("kubeadm-config", "kube-system"), ""),
        ("ConfigMap", meta("kubelet-config-1.35", "kube-system"), ""),
        ("ConfigMap", meta("coredns", "kube-system"), ""),
        ("ConfigMap", meta("kube-proxy", "kube-system"), ""),
        ("ConfigMap", meta("cluster-info", "kube-public"), ""),
        ("ConfigMap", meta("election", annotations={"control-plane.alpha.kubernetes.io/leader": "{}"}), ""),
        ("Endpoints", meta("election", annotations={"control-plane.alpha.kubernetes.io/leader": "{}"}), ""),
        ("Secret", meta("web-token-abc"), "kubernetes.io/service-account-token"),
        ("Secret", meta("web-token-abc", annotations={"kubernetes.io/service-account.uid": "1"}), ""),
        ("Secret", meta("bootstrap-token-abcdef", "kube-system"), ""),
        ("Secret", meta("anything"), "bootstrap.kubernetes.io/token"),
        ("Secret", meta("sh.helm.release.v1.web.v1"), "helm.sh/release.v1"),
        ("Secret", meta("sh.helm.release.v1.web.v1", labels={"owner": "helm", "status": "superseded"}), ""),
        ("ConfigMap", meta("web.v1", labels={"owner": "helm"}), ""),
        ("Secret", meta("key", labels={"sealedsecrets.bitnami.com/sealed-secrets-key": "active"}), ""),
        ("Secret", meta("repo", labels={"argocd.argoproj.io/secret-type": "repository"}), ""),
        ("ConfigMap", meta("argocd-rbac-cm", "argocd"), ""),
        ("Secret", meta("remote", labels={"istio/multiCluster": "true"}), ""),
        ("ConfigMap", meta("board", labels={"grafana_dashboard": "1"}), ""),
        ("ConfigMap", meta("rules", labels={"prometheus_rule": "1"}), ""),
        ("ConfigMap", meta("casc", labels={"ci-jenkins-config": "true"}), ""),
        ("ConfigMap", meta("dir", annotations={"k8s-sidecar-target-directory": "/tmp"}), ""),
        ("Secret", meta("copy", annotations={"reflector.v1.k8s.emberstack.com/reflects": "a/b"}), ""),
        ("PersistentVolumeClaim", meta("claim-bob", annotations={"hub.jupyter.org/username": "bob"}), ""),
        ("PersistentVolumeClaim", meta("home", labels={"com.coder.resource": "true"}), ""),
        ("ConfigMap", meta("config-autoscaler", "knative-serving"), ""),
        ("ConfigMap", meta("feature-flags", "tekton-pipelines"), ""),
        ("ServiceAccount", meta("default"), ""),
        ("Service", meta("kubernetes", "default"), ""),
        ("Namespace", meta("kube-system", ""), ""),
        (f"{RBAC}/ClusterRole", meta("system:node", ""), ""),
        (f"{RBAC}/ClusterRole", meta("cluster-admin", ""), ""),
        (f"{RBAC}/ClusterRole", meta("a", "", labels={f"{RBAC}/aggregate-to-view": "true"}), ""),
        (f"{RBAC}/RoleBinding", meta("system::leader-locking", "kube-system"), ""),
        ("scheduling.k8s.io/PriorityClass", meta("system-node-critical", ""), ""),
        (
            "storage.k8s.io/StorageClass",
            meta("fast", "", annotations={"storageclass.kubernetes.io/is-default-class": "true"}),
            "",
        ),
        ("Pod", meta("etcd-node", annotations={"kubernetes.io/config.mirror": "1"}), ""),
        ("velero.io/Backup", meta("nightly", "velero"), ""),
        (
            "argoproj.io/Workflow",
            meta(labels={"workflows.argoproj.io/workflow-archiving-status": "Pending"}),
            "",
        ),
        ("tekton.dev/TaskRun", meta(finalizers=["chains.tekton.dev"]), ""),
        ("tekton.dev/PipelineRun", meta(finalizers=["results.tekton.dev/pipelinerun"]), ""),
        ("ConfigMap", meta("skoupa-state", "skoupa"), ""),
        ("Secret", meta("parent", labels={"applyset.kubernetes.io/id": "applyset-x-v1"}), ""),
        ("Secret", meta("tfstate-default-x", labels={"tfstate": "true"}), ""),
        ("Secret", meta("argocd-server-tls", "argocd"), ""),
        ("Secret", meta("webhook-certs", "knative-serving"), ""),
        ("Secret", meta("net-istio-webhook-certs", "knative-serving"), ""),
        ("Secret", meta("serving-certs-ctrl-ca", "knative-serving"), ""),
        ("Secret", meta("webhook-certs", "kpack"), ""),
        ("ConfigMap", meta("pipelines-info", "tekton-pipelines"), ""),
        ("Secret", meta("git", labels={"jenkins.io/credentials-type": "usernamePassword"}), ""),
        ("Secret", meta("git", labels={"kargo.akuity.io/cred-type": "git"}), ""),
        ("Secret", meta("ca", labels={"konghq.com/ca-cert": "true"}), ""),
        ("ConfigMap", meta("policy", "opa", labels={"openpolicyagent.org/policy": "rego"}), ""),
        ("Secret", meta("eck-license", labels={"license.k8s.elastic.co/scope": "operator"}), ""),
        ("ConfigMap", meta("elastic-operator-uuid", "elastic-system"), ""),
        ("Secret", meta("consul-bootstrap-acl-token", labels={"managed-by": "consul-k8s"}), ""),
        ("Secret", meta("ca", labels={"managed-by": "secrets-manager"}), ""),
        ("Secret", meta("default.ca-builtin-key-ca-1", labels={"kuma.io/mesh": "default"}), ""),
        ("Secret", meta("zone-token-signing-key-0001", "kuma-system"), ""),
        ("Secret", meta("link", labels={"skupper.io/type": "connection-token"}), ""),
        ("Secret", meta("serving-cert", annotations={"listener.cattle.io/fingerprint": "SHA1=0"}), ""),
        ("Secret", meta("longhorn-webhook-ca", "longhorn-system"), ""),
        ("Secret", meta("k10-dr-secret", "kasten-io"), ""),
        ("Secret", meta("timoni.web", labels={"app.kubernetes.io/managed-by": "timoni"}), ""),
        ("ConfigMap", meta("kubernetes-dashboard-settings", "kubernetes-dashboard"), ""),
        ("ConfigMap", meta("cluster-autoscaler-priority-expander", "autoscaling"), ""),
        ("ConfigMap", meta("job-config-map", labels={"configmap-type": "high-availability"}), ""),
        ("ConfigMap", meta("db-config", annotations={"initialize": "7012", "config": "{}"}), ""),
        ("ConfigMap", meta("db-leader", annotations={"acquireTime": "1", "leader": "db-0"}), ""),
        ("PersistentVolumeClaim", meta("claim-devworkspace"), ""),
        ("PersistentVolumeClaim", meta("db-1", annotations={"cnpg.io/hibernateClusterManifest": "{}"}), ""),
    ],
    ids=lambda value: value.name if isinstance(value, Metadata) else str(value),
)
def test_it_is_never_garbage_and_the_reason_says_why(kind: str, metadata: Metadata, type_: str) -> None:
    because = reason(metadata, kind, type_)
    assert because is not None
    assert not because.endswith(".")


@pytest.mark.parametrize(
    ("kind", "metadata", "type_"),
    [
        ("ConfigMap", meta("settings"), ""),
        ("ConfigMap", meta("coredns", "shop"), ""),
        ("ConfigMap", meta("kubeadm-config", "shop"), ""),
        ("Secret", meta("db"), "Opaque"),
        ("Secret", meta("web-tls"), "kubernetes.io/tls"),
        ("Secret", meta("owned", labels={"owner": "team-a"}), "Opaque"),
        ("ConfigMap", meta("app", labels={"app.kubernetes.io/managed-by": "Helm"}), ""),
        ("ServiceAccount", meta("web"), ""),
        ("Service", meta("kubernetes", "shop"), ""),
        ("Namespace", meta("shop", ""), ""),
        (f"{RBAC}/ClusterRole", meta("team-a-view", ""), ""),
        (f"{RBAC}/Role", meta("admin"), ""),
        (
            "storage.k8s.io/StorageClass",
            meta("slow", "", annotations={"storageclass.kubernetes.io/is-default-class": "false"}),
            "",
        ),
        ("Pod", meta("web"), ""),
        ("velero.io/Restore", meta("once", "velero"), ""),
        (
            "argoproj.io/Workflow",
            meta(labels={"workflows.argoproj.io/workflow-archiving-status": "Archived"}),
            "",
        ),
        ("Secret", meta("my-certs", "shop"), ""),
        ("Secret", meta("web", "knative-serving"), ""),
        ("ConfigMap", meta("web-info", "shop"), ""),
        ("ConfigMap", meta("web", labels={"configmap-type": "settings"}), ""),
        ("Secret", meta("web", labels={"managed-by": "terraform"}), ""),
        ("ConfigMap", meta("web", annotations={"leader": "web-0"}), ""),
        ("PersistentVolumeClaim", meta("claim-bob"), ""),
        # A name that is never garbage for one kind says nothing about another.
        ("Secret", meta("kube-root-ca.crt"), "Opaque"),
    ],
    ids=lambda value: value.name if isinstance(value, Metadata) else str(value),
)
def test_what_only_resembles_it_may_be_garbage(kind: str, metadata: Metadata, type_: str) -> None:
    assert reason(metadata, kind, type_) is None


def test_every_row_asks_for_something_and_says_why() -> None:
    for row in ROWS:
        assert row.kinds or row.labels or row.annotations or row.finalizers
        assert len(row.because) > 10


def test_what_holds_data_goes_only_where_somebody_names_it() -> None:
    assert needs_to_be_named("PersistentVolumeClaim")
    assert needs_to_be_named("PersistentVolume")
    assert not needs_to_be_named("ConfigMap")
