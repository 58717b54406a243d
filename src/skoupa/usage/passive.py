"""Which kinds do nothing by themselves, so that it says something when nothing uses an object of theirs.

That others may point at an object does not make it something to be used: a Kustomization of Flux waits for another and deploys all the
same, a Gateway has an address without any route. So each kind that some table names as used stands in one of two lists, which a test
compares with the tables; `usage/leftovers/questions.py` has those of which more is asked. A kind of Kubernetes itself that is in neither, and
a custom one that has a table of its own and is in neither, is there for itself.
"""

from __future__ import annotations

from typing import Final

from skoupa.kube.resources import BUILT_IN_GROUPS
from skoupa.usage.edges.patterns import ANYTHING

# Templates, credentials, settings: made to be named by somebody.
PASSIVE: Final = frozenset(
    {
        "admissionregistration.k8s.io/MutatingAdmissionPolicy",
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        "argoproj.io/AnalysisTemplate",
        "argoproj.io/ClusterAnalysisTemplate",
        "cert-manager.io/Issuer",
        "certificates.k8s.io/ClusterTrustBundle",
        "external-secrets.io/SecretStore",
        "flowcontrol.apiserver.k8s.io/PriorityLevelConfiguration",
        "gateway.networking.k8s.io/GatewayClass",
        "k8s.cni.cncf.io/NetworkAttachmentDefinition",
        "keda.sh/TriggerAuthentication",
        "notification.toolkit.fluxcd.io/Provider",
        "resource.k8s.io/DeviceClass",
        "resource.k8s.io/ResourceClaim",
        "secrets-store.csi.x-k8s.io/SecretProviderClass",
        "snapshot.storage.k8s.io/VolumeSnapshot",
        "snapshot.storage.k8s.io/VolumeSnapshotClass",
        "snapshot.storage.k8s.io/VolumeSnapshotContent",
        "source.toolkit.fluxcd.io/GitRepository",
        "source.toolkit.fluxcd.io/HelmRepository",
        "tekton.dev/StepAction",
        "traefik.containo.us/Middleware",
        "traefik.containo.us/MiddlewareTCP",
        "traefik.containo.us/ServersTransport",
        "traefik.containo.us/ServersTransportTCP",
        "traefik.io/Middleware",
        "traefik.io/MiddlewareTCP",
        "traefik.io/ServersTransport",
        "traefik.io/ServersTransportTCP",
        "traefik.io/TraefikService",
        "triggers.tekton.dev/ClusterTriggerBinding",
        "triggers.tekton.dev/TriggerBinding",
        "triggers.tekton.dev/TriggerTemplate",
        # It has a way of its own to go (`usage/never_rows.py`).
        "velero.io/Backup",
        "windows.k8s.io/GMSACredentialSpec",
    }
)
AT_WORK: Final = frozenset(
    {
        # They deploy, back up, run, or have an address, whoever points at them.
        "eventing.knative.dev/Broker",
        "gateway.networking.k8s.io/Gateway",
        "helm.toolkit.fluxcd.io/HelmRelease",
        "image.toolkit.fluxcd.io/ImageRepository",
        "kustomize.toolkit.fluxcd.io/Kustomization",
        "networking.istio.io/DestinationRule",
        "networking.istio.io/Gateway",
        "networking.istio.io/VirtualService",
        "pkg.crossplane.io/Function",
        "ray.io/RayCluster",
        "serving.knative.dev/Configuration",
        "serving.knative.dev/Revision",
        "split.smi-spec.io/TrafficSplit",
        "traefik.containo.us/IngressRoute",
        "traefik.io/IngressRoute",
        "triggers.tekton.dev/ClusterInterceptor",
        "triggers.tekton.dev/Trigger",
        "velero.io/Schedule",
        # Found by what they are, by a label, or by a name that nobody writes down.
        "apiextensions.crossplane.io/Composition",
        "argoproj.io/AppProject",
        "monitoring.coreos.com/AlertmanagerConfig",
        "pkg.crossplane.io/ControllerConfig",
        "pkg.crossplane.io/DeploymentRuntimeConfig",
        "traefik.containo.us/TLSOption",
        "traefik.containo.us/TLSStore",
        "traefik.io/TLSOption",
        "traefik.io/TLSStore",
        "velero.io/BackupStorageLocation",
        "velero.io/VolumeSnapshotLocation",
        # People and pipelines start runs of them, and these are gone in between.
        "argoproj.io/ClusterWorkflowTemplate",
        "argoproj.io/WorkflowTemplate",
        "flow.volcano.sh/JobTemplate",
        "kueue.x-k8s.io/AdmissionCheck",
        "kueue.x-k8s.io/ClusterQueue",
        "kueue.x-k8s.io/Cohort",
        "kueue.x-k8s.io/LocalQueue",
        "kueue.x-k8s.io/ResourceFlavor",
        "scheduling.volcano.sh/Queue",
        "tekton.dev/Pipeline",
        "tekton.dev/Task",
        "trainer.kubeflow.org/ClusterTrainingRuntime",
        # Kubernetes and its drivers keep these by themselves.
        "Endpoints",
        "discovery.k8s.io/EndpointSlice",
        "networking.k8s.io/IPAddress",
        "scheduling.k8s.io/Workload",
        "storage.k8s.io/CSIDriver",
        "storage.k8s.io/CSINode",
    }
)


def is_passive(kind: str, *, has_table: bool) -> bool:
    """Whether an object of this kind, which some table names as used, is nothing but that; `has_table`: one that is shipped.

    Of a custom kind of which nothing else is known, who teaches that it is used says so.
    """
    if kind in PASSIVE:
        return True
    known = has_table or kind in AT_WORK or kind.rpartition("/")[0] in BUILT_IN_GROUPS
    return not known and ANYTHING not in kind
