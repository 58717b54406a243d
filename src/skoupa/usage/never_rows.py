"""Names, labels, annotations and types by which an object is known never to be garbage, each with its reason.

They are found by their name, by a label or by what they are, and no field of any object points at them. What is said here is of Kubernetes,
deployers and ourselves; `usage/never_found.py` has what other tools find, and `usage/never.py` reads both.
"""

from __future__ import annotations

from typing import Final

from skoupa import names
from skoupa.usage.never_found import FOUND
from skoupa.usage.never_shape import Never

_RBAC: Final = "rbac.authorization.k8s.io"
_CONFIG: Final = ("ConfigMap", "Secret")

_KUBERNETES: Final = (
    Never(
        kinds=("ConfigMap",),
        names=("kube-root-ca.crt", "openshift-service-ca.crt"),
        because="it is the certificate authority of the cluster, which every Namespace has",
    ),
    Never(
        kinds=("ConfigMap",),
        namespaces=("kube-system",),
        names=("extension-apiserver-authentication", "kube-apiserver-legacy-service-account-token-tracking"),
        because="the API server keeps it",
    ),
    Never(
        kinds=("ConfigMap",),
        namespaces=("kube-system",),
        names=(
            "kubeadm-config", "kubelet-config", "kubelet-config-*", "kube-proxy", "kube-proxy-config", "coredns",
            "coredns-custom", "kube-dns", "*-autoscaler", "cluster-autoscaler-status", "aws-auth",
            "amazon-vpc-cni", "ip-masq-agent", "azure-ip-masq-agent-config*", "ingress-uid", "local-path-config",
            "cluster-autoscaler-priority-expander",
        ),
        because="a part of the cluster reads it by its name",
    ),
    Never(
        kinds=("ConfigMap",),
        namespaces=("kube-public",),
        names=("cluster-info", "local-registry-hosting"),
        because="whoever joins the cluster reads it",
    ),
    Never(kinds=("ServiceAccount",), names=("default",), because="every Namespace has it, and Pods that name none run as it"),
    Never(
        kinds=("ServiceAccount",),
        names=("builder", "deployer"),
        because="OpenShift makes it in every Namespace",
    ),
    Never(
        kinds=("Service", "Endpoints", "discovery.k8s.io/EndpointSlice"),
        namespaces=("default",),
        names=("kubernetes",),
        because="it is the API server itself",
    ),
    Never(
        kinds=("Namespace",),
        names=("default", "kube-system", "kube-public", "kube-node-lease"),
        because="the API server makes it again",
    ),
    Never(kinds=("Node", "storage.k8s.io/CSINode"), because="it stands for a machine"),
    Never(kinds=("Pod",), annotations=("kubernetes.io/config.mirror",), because="it mirrors a Pod that a node runs by itself"),
    Never(
        kinds=(f"{_RBAC}/Role", f"{_RBAC}/ClusterRole", f"{_RBAC}/RoleBinding", f"{_RBAC}/ClusterRoleBinding"),
        names=("system:*", "kubeadm:*"),
        because="it comes with the cluster",
    ),
    Never(
        kinds=(f"{_RBAC}/ClusterRole", f"{_RBAC}/ClusterRoleBinding"),
        names=("cluster-admin", "admin", "edit", "view"),
        because="it comes with the cluster",
    ),
    Never(labels=("kubernetes.io/bootstrapping",), because="it comes with the cluster"),
    Never(
        kinds=(f"{_RBAC}/ClusterRole",),
        labels=("rbac.authorization.k8s.io/aggregate-to-*",),
        because="other roles take its rules by a label",
    ),
    Never(
        kinds=("scheduling.k8s.io/PriorityClass",),
        names=("system-cluster-critical", "system-node-critical"),
        because="it comes with the cluster",
    ),
    Never(
        kinds=("flowcontrol.apiserver.k8s.io/FlowSchema", "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration"),
        annotations=("apf.kubernetes.io/autoupdate-spec",),
        because="the API server keeps it",
    ),
    Never(
        kinds=("apiregistration.k8s.io/APIService",),
        labels=("kube-aggregator.kubernetes.io/automanaged",),
        because="the API server keeps it",
    ),
    Never(
        kinds=("coordination.k8s.io/Lease",),
        labels=("apiserver.kubernetes.io/identity",),
        because="it stands for an API server",
    ),
    Never(
        annotations=(
            "storageclass.kubernetes.io/is-default-class=true", "storageclass.beta.kubernetes.io/is-default-class=true",
            "ingressclass.kubernetes.io/is-default-class=true", "snapshot.storage.kubernetes.io/is-default-class=true",
        ),
        because="it is the default, which is meant where none is named",
    ),
    Never(labels=("addonmanager.kubernetes.io/mode",), because="the addon manager makes it again"),
    Never(
        annotations=("control-plane.alpha.kubernetes.io/leader",),
        because="somebody is elected leader by it",
    ),
    Never(
        kinds=("Secret",),
        types=("kubernetes.io/service-account-token",),
        because="it is a token of a ServiceAccount, which somebody outside of the cluster may hold",
    ),
    # The same where only its metadata was read.
    Never(
        kinds=("Secret",),
        annotations=("kubernetes.io/service-account.uid",),
        because="it is a token of a ServiceAccount, which somebody outside of the cluster may hold",
    ),
    Never(
        kinds=("Secret",),
        namespaces=("kube-system",),
        names=("bootstrap-token-*",),
        because="nodes join by it, and it ends by itself",
    ),
    Never(kinds=("Secret",), types=("bootstrap.kubernetes.io/token",), because="nodes join by it, and it ends by itself"),
)  # fmt: skip

_DEPLOYERS: Final = (
    Never(
        kinds=("Secret",),
        types=("helm.sh/release.v1", "helm.sh/release"),
        because="it is what Helm remembers of a release",
    ),
    Never(kinds=_CONFIG, labels=("owner=helm", "OWNER=TILLER"), because="it is what Helm remembers of a release"),
    Never(
        kinds=_CONFIG,
        labels=("argocd.argoproj.io/secret-type",),
        because="Argo CD finds repositories and clusters by this label",
    ),
    Never(
        kinds=_CONFIG,
        names=(
            "argocd-cm", "argocd-secret", "argocd-*-cm", "argocd-notifications-secret", "argocd-initial-admin-secret",
            "argocd-server-tls", "argocd-image-updater-*", "argo-rollouts-config", "argo-rollouts-notification-*",
        ),
        because="Argo CD reads it by its name",
    ),
    Never(labels=("applyset.kubernetes.io/id",), because="it is what an ApplySet hangs on"),
    Never(
        kinds=("ConfigMap",),
        labels=("kapp.k14s.io/is-app", "kapp.k14s.io/is-app-change", "cli-utils.sigs.k8s.io/inventory-id"),
        because="it is what a deployer remembers of what it deployed",
    ),
    Never(kinds=("Secret",), labels=("tfstate=true",), because="it is the state of Terraform"),
    Never(labels=("olm.managed=true",), because="the Operator Lifecycle Manager makes it again"),
    Never(
        labels=("objectset.rio.cattle.io/hash",),
        because="Rancher makes it again",
    ),
    Never(kinds=_CONFIG, labels=("reconcile.fluxcd.io/watch",), because="Flux watches it by this label"),
)  # fmt: skip

_WITH_A_WAY_OF_THEIR_OWN: Final = (
    Never(
        kinds=("velero.io/Backup",),
        because="a backup that is deleted like this comes back, and its data stays: make a DeleteBackupRequest",
    ),
    Never(
        kinds=("velero.io/BackupRepository", "velero.io/BackupStorageLocation"),
        because="the backups in it would be lost sight of",
    ),
    Never(
        kinds=("argoproj.io/Workflow",),
        labels=("workflows.argoproj.io/workflow-archiving-status=Pending",),
        because="it waits to be archived",
    ),
    Never(
        finalizers=("chains.tekton.dev*", "results.tekton.dev*"),
        because="Tekton has not signed or stored its results yet",
    ),
)

_OWN: Final = (
    Never(labels=(f"{names.PART_OF_LABEL}={names.COMPONENT}",), because="it is a part of Skoupa"),
    Never(
        kinds=("ConfigMap",),
        names=(names.STATE_CONFIG_MAP, names.SETTINGS_CONFIG_MAP),
        because="it is a part of Skoupa",
    ),
)

ROWS: Final = (*_KUBERNETES, *_DEPLOYERS, *FOUND, *_WITH_A_WAY_OF_THEIR_OWN, *_OWN)
