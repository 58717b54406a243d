"""What widely used tools find by a label, a name or a type, each with its reason: no field of any object points at it.

Each is written down in the documentation, or in the code, of the tool that reads it. `usage/never_rows.py` has the rest.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.never_shape import Never

_CONFIG: Final = ("ConfigMap", "Secret")
_CLAIM: Final = ("PersistentVolumeClaim",)
_KNATIVE: Final = (
    "knative-serving", "knative-eventing", "tekton-pipelines", "tekton-chains", "tekton-pipelines-resolvers",
)  # fmt: skip

_BY_LABEL: Final = (
    Never(
        kinds=_CONFIG,
        labels=(
            "grafana_dashboard", "grafana_datasource", "grafana_alert", "grafana_notifier", "grafana_plugin",
            "grafana-dashboard", "grafana_folder", "prometheus_rule", "prometheus_config", "loki_rule", "fluentd_config",
            "fluentbit_config", "alertmanager_config", "console.openshift.io/dashboard", "*-jenkins-config",
        ),
        because="a sidecar finds it by this label",
    ),
    Never(kinds=_CONFIG, annotations=("k8s-sidecar-target-directory",), because="a sidecar finds it by a label"),
    Never(
        kinds=("Secret",),
        labels=("sealedsecrets.bitnami.com/sealed-secrets-key",),
        because="every SealedSecret that was sealed with this key is lost without it",
    ),
    Never(kinds=("Secret",), labels=("istio/multiCluster",), because="Istio finds other clusters by this label"),
    Never(
        kinds=("Secret",),
        labels=("app.kubernetes.io/managed-by=cert-manager-webhook",),
        because="the webhook of cert-manager makes it again",
    ),
    Never(
        kinds=("ConfigMap",),
        labels=("workflows.argoproj.io/configmap-type",),
        because="Argo Workflows finds it by this label",
    ),
    Never(
        kinds=_CONFIG,
        labels=("velero.io/plugin-config", "velero.io/change-storage-class", "velero.io/change-pvc-node-selector"),
        because="Velero finds it by this label",
    ),
    Never(
        annotations=(
            "reflector.v1.k8s.emberstack.com/reflects", "reflector.v1.k8s.emberstack.com/reflection-allowed=true",
            "replicator.v1.mittwald.de/replicate-from", "replicator.v1.mittwald.de/replicate-to",
            "replicator.v1.mittwald.de/replicate-to-matching", "replicator.v1.mittwald.de/replicated-from-version",
            "kubed.appscode.com/sync",
        ),
        because="it is copied between namespaces, and a copy would be made again",
    ),
    Never(labels=("app.kubernetes.io/managed-by=kyverno",), because="a policy of Kyverno makes it again"),
    Never(
        kinds=("Secret",),
        labels=("cluster.x-k8s.io/cluster-name",),
        because="it belongs to a cluster of Cluster API, which finds it by its name",
    ),
    Never(kinds=("Secret",), labels=("jenkins.io/credentials-type",), because="Jenkins finds credentials by this label"),
    Never(kinds=("Secret",), labels=("kargo.akuity.io/cred-type",), because="Kargo finds credentials by this label"),
    Never(kinds=_CONFIG, labels=("konghq.com/ca-cert",), because="Kong finds authorities by this label"),
    Never(
        kinds=("ConfigMap",),
        labels=("openpolicyagent.org/policy", "openpolicyagent.org/data"),
        because="the sidecar of Open Policy Agent finds it by this label",
    ),
    Never(kinds=_CONFIG, labels=("skupper.io/type",), because="Skupper finds it by this label"),
    Never(
        kinds=("Secret",),
        labels=("license.k8s.elastic.co/scope", "license.k8s.elastic.co/type"),
        because="the operator of Elastic finds licenses by this label",
    ),
    Never(
        kinds=("Secret",),
        labels=("managed-by=consul-k8s",),
        because="Consul made it once, and has the token that is in it nowhere else",
    ),
    Never(
        kinds=("Secret",),
        labels=("managed-by=secrets-manager",),
        because="Gardener finds it by its labels",
    ),
    Never(kinds=("Secret",), labels=("kuma.io/mesh",), because="it is a key or a certificate of a mesh of Kuma"),
    Never(
        kinds=("Secret",),
        annotations=("listener.cattle.io/fingerprint",),
        because="it is the certificate that a server of Rancher or Longhorn shows",
    ),
)  # fmt: skip

# What would be lost with these is in no other place.
_STATE: Final = (
    Never(
        kinds=("ConfigMap",),
        labels=("configmap-type=high-availability",),
        because="Flink finds by it the checkpoint that a job goes on from",
    ),
    Never(
        kinds=("ConfigMap",),
        annotations=("initialize", "acquireTime", "sync_standby"),
        because="Patroni keeps in it which of its databases leads",
    ),
    Never(kinds=("ConfigMap",), annotations=("stolon-clusterdata",), because="Stolon keeps the state of its databases in it"),
    Never(kinds=("Secret",), names=("sleepinfo-*",), because="kube-green remembers by it what it put to sleep"),
    Never(kinds=("Secret",), labels=("app.kubernetes.io/managed-by=timoni",), because="it is what Timoni remembers of what it deployed"),
    Never(kinds=_CLAIM, annotations=("hub.jupyter.org/username",), because="JupyterHub mounts it when its user comes back"),
    Never(kinds=_CLAIM, labels=("com.coder.resource=true",), because="Coder mounts it when its workspace starts"),
    Never(
        kinds=_CLAIM,
        names=("claim-devworkspace", "claim-che-workspace"),
        because="workspaces of developers mount it when one of them starts",
    ),
    Never(
        kinds=_CLAIM,
        annotations=("cnpg.io/hibernateClusterManifest", "cnpg.io/clusterManifest"),
        because="a database of CloudNativePG hibernates in it",
    ),
)  # fmt: skip

_BY_NAME: Final = (
    Never(
        kinds=_CONFIG,
        names=("istio-ca-root-cert", "istio-ca-secret", "istio-ca-crl", "cacerts", "istio", "istio-sidecar-injector*"),
        because="Istio reads it by its name",
    ),
    Never(
        kinds=_CONFIG,
        names=("linkerd-identity-trust-roots", "linkerd-config", "linkerd-config-overrides"),
        because="Linkerd reads it by its name",
    ),
    Never(
        kinds=("ConfigMap",),
        namespaces=_KNATIVE,
        names=("config-*", "*-config", "*-info", "feature-flags", "*-leader-election"),
        because="Knative and Tekton read it by its name",
    ),
    Never(
        kinds=("Secret",),
        namespaces=_KNATIVE,
        names=("*-certs", "*-ctrl-ca"),
        because="Knative and Tekton read their certificates by this name",
    ),
    Never(
        kinds=("Secret",),
        names=("webhook-certs",),
        because="webhooks that are built with the libraries of Knative read their certificate by this name",
    ),
    Never(
        kinds=("ConfigMap",),
        names=("workflow-controller-configmap", "artifact-repositories"),
        because="Argo Workflows reads it by its name",
    ),
    Never(
        kinds=("Secret",),
        types=("cluster.x-k8s.io/secret",),
        because="it belongs to a cluster of Cluster API, which finds it by its name",
    ),
    Never(kinds=("Secret",), types=("kubernetes.io/rook",), because="Rook finds it by its name"),
    Never(
        kinds=("Secret",),
        namespaces=("kuma-system", "kong-mesh-system"),
        because="the control plane of Kuma finds it by its type",
    ),
    Never(kinds=_CONFIG, names=("kubernetes-dashboard-*",), because="the Kubernetes dashboard reads it by its name"),
    Never(kinds=("ConfigMap",), names=("portainer-config",), because="Portainer reads it by its name"),
    Never(kinds=("Secret",), names=("velero-repo-credentials",), because="no backup of Velero can be read without it"),
    Never(kinds=("ConfigMap",), names=("node-agent-config",), because="Velero reads it by its name"),
    Never(
        kinds=("Secret",),
        namespaces=("kasten-io",),
        names=("k10-*",),
        because="Kasten K10 reads it by its name, and no backup of its own without it",
    ),
    Never(
        kinds=_CONFIG,
        names=(
            "rook-ceph-operator-config", "rook-ceph-mon*", "rook-config-override", "inferenceservice-config", "aso-credential",
            "elastic-licensing", "elastic-operator-uuid",
        ),
        because="an operator reads it by its name",
    ),
    Never(
        kinds=("Secret",),
        names=("longhorn-webhook-ca", "longhorn-webhook-tls", "tls-rancher", "tls-rancher-internal", "tls-rancher-internal-ca"),
        because="it is the certificate that a server of Rancher or Longhorn shows",
    ),
    Never(
        kinds=("ConfigMap",),
        names=("cluster-autoscaler-status", "cluster-autoscaler-priority-expander"),
        because="the cluster autoscaler reads it by its name",
    ),
    Never(
        kinds=("ConfigMap",),
        names=("ingress-controller-leader*", "tcp-services", "udp-services", "nginx-configuration"),
        because="the ingress controller reads it by its name",
    ),
    Never(kinds=("ConfigMap",), names=("skupper-site", "skupper-services"), because="Skupper reads it by its name"),
)  # fmt: skip

FOUND: Final = (*_BY_LABEL, *_STATE, *_BY_NAME)
