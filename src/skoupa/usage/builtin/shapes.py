"""What many kinds have inside: containers, volumes, pod specs and templates, claims.

Custom kinds embed these as well, whole or in part. Paths were compared with the OpenAPI of the server.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.rules import Embedded, Form, Means, Part, Reference, Selection, Shape

CONFIG_MAP: Final = "ConfigMap"
SECRET: Final = "Secret"  # noqa: S105
CLAIM: Final = "PersistentVolumeClaim"
STORAGE_CLASS: Final = "storage.k8s.io/StorageClass"
CSI_DRIVER: Final = "storage.k8s.io/CSIDriver"
NETWORK: Final = "k8s.cni.cncf.io/NetworkAttachmentDefinition"
GMSA: Final = "windows.k8s.io/GMSACredentialSpec"


def to_secret(at: str) -> Reference:
    return Reference(at=at, to=SECRET)


def to_config_map(at: str) -> Reference:
    return Reference(at=at, to=CONFIG_MAP)


CONTAINER: Final = Shape(
    name="container",
    parts=(
        to_config_map("env[].valueFrom.configMapKeyRef.name"),
        to_secret("env[].valueFrom.secretKeyRef.name"),
        to_config_map("envFrom[].configMapRef.name"),
        to_secret("envFrom[].secretRef.name"),
        Reference(at="securityContext.windowsOptions.gmsaCredentialSpecName", to=GMSA),
        # Controllers are told by a flag which ConfigMap is theirs.
        *(
            Reference(at=at, to=kind, form=Form.ARGUMENT, means=Means.MENTIONS)
            for at in ("args[]", "command[]")
            for kind in (CONFIG_MAP, SECRET)
        ),
    ),
)

CLAIM_SPEC: Final = Shape(
    name="claim",
    parts=(
        Reference(at="storageClassName", to=STORAGE_CLASS),
        Reference(at="volumeAttributesClassName", to="storage.k8s.io/VolumeAttributesClass"),
        Reference(at="volumeName", to="PersistentVolume"),
        Reference(at="dataSource", name="name", kind_at="kind", group_at="apiGroup", to=CLAIM),
        Reference(
            at="dataSourceRef",
            name="name",
            kind_at="kind",
            group_at="apiGroup",
            namespace_at="namespace",
            to=CLAIM,
        ),
        # Which volumes a claim would take, as long as it has none.
        Selection(at="selector", to="PersistentVolume", means=Means.MENTIONS),
    ),
)

CLAIM_TEMPLATE: Final = Shape(
    name="claim template",
    parts=(
        Reference(
            at='metadata.annotations."volume.beta.kubernetes.io/storage-class"',
            to=STORAGE_CLASS,
        ),
        Embedded(at="spec", shape=CLAIM_SPEC),
    ),
)

PROJECTED: Final = Shape(
    name="projected volume",
    parts=(
        to_config_map("sources[].configMap.name"),
        to_secret("sources[].secret.name"),
        Reference(at="sources[].clusterTrustBundle.name", to="certificates.k8s.io/ClusterTrustBundle"),
        Selection(
            at="sources[].clusterTrustBundle.labelSelector", to="certificates.k8s.io/ClusterTrustBundle"
        ),
    ),
)

# What some drivers are told beside the fields that are meant for it.
DRIVER_ATTRIBUTES: Final[tuple[Part, ...]] = (
    Reference(
        at="csi.volumeAttributes.secretProviderClass", to="secrets-store.csi.x-k8s.io/SecretProviderClass"
    ),
    Reference(at="csi.volumeAttributes.secretName", namespace_at="secretNamespace", to=SECRET),
    Reference(
        at='csi.volumeAttributes."csi.cert-manager.io/issuer-name"',
        kind_at='"csi.cert-manager.io/issuer-kind"',
        group_at='"csi.cert-manager.io/issuer-group"',
        to="cert-manager.io/Issuer",
    ),
)

VOLUME: Final = Shape(
    name="volume",
    parts=(
        to_config_map("configMap.name"),
        to_secret("secret.secretName"),
        Reference(at="persistentVolumeClaim.claimName", to=CLAIM),
        Embedded(at="projected", shape=PROJECTED),
        Embedded(at="ephemeral.volumeClaimTemplate", shape=CLAIM_TEMPLATE),
        Reference(at="csi.driver", to=CSI_DRIVER),
        to_secret("csi.nodePublishSecretRef.name"),
        *DRIVER_ATTRIBUTES,
        to_secret("azureFile.secretName"),
        to_secret("cephfs.secretRef.name"),
        to_secret("cinder.secretRef.name"),
        to_secret("flexVolume.secretRef.name"),
        to_secret("iscsi.secretRef.name"),
        to_secret("rbd.secretRef.name"),
        to_secret("scaleIO.secretRef.name"),
        to_secret("storageos.secretRef.name"),
        # Its endpoints are those of a Service of that name, which kept them alive.
        Reference(at="glusterfs.endpoints", to="Endpoints"),
        Reference(at="glusterfs.endpoints", to="Service"),
    ),
)


def _affinity(name: str, means: Means) -> tuple[Part, ...]:
    """Pods beside which, or away from which, a Pod wants to be; in other namespaces where it names these."""
    terms = (
        "requiredDuringSchedulingIgnoredDuringExecution[]",
        "preferredDuringSchedulingIgnoredDuringExecution[].podAffinityTerm",
    )
    return tuple(
        Selection(
            at=f"affinity.{name}.{term}.labelSelector",
            to="Pod",
            namespaces_at="namespaceSelector",
            listed_at="namespaces",
            means=means,
        )
        for term in terms
    )


POD_SPEC: Final = Shape(
    name="pod spec",
    parts=(
        Embedded(at="containers[]", shape=CONTAINER),
        Embedded(at="initContainers[]", shape=CONTAINER),
        Embedded(at="ephemeralContainers[]", shape=CONTAINER),
        Embedded(at="volumes[]", shape=VOLUME),
        to_secret("imagePullSecrets[].name"),
        Reference(at="serviceAccountName", to="ServiceAccount", otherwise="default"),
        Reference(at="serviceAccount", to="ServiceAccount"),
        Reference(at="priorityClassName", to="scheduling.k8s.io/PriorityClass"),
        Reference(at="runtimeClassName", to="node.k8s.io/RuntimeClass"),
        # The Service by which its Pods have names of their own.
        Reference(at="subdomain", to="Service"),
        Reference(at="nodeName", to="Node", means=Means.MENTIONS),
        Reference(at='nodeSelector."kubernetes.io/hostname"', to="Node", means=Means.MENTIONS),
        Reference(at="resourceClaims[].resourceClaimName", to="resource.k8s.io/ResourceClaim"),
        Reference(
            at="resourceClaims[].resourceClaimTemplateName", to="resource.k8s.io/ResourceClaimTemplate"
        ),
        Reference(at="workloadRef.name", to="scheduling.k8s.io/Workload"),
        Reference(at="securityContext.windowsOptions.gmsaCredentialSpecName", to=GMSA),
        *_affinity("podAffinity", Means.MENTIONS),
        # Not to be near others, and to be spread among others, needs no others.
        *_affinity("podAntiAffinity", Means.CONCERNS),
        Selection(at="topologySpreadConstraints[].labelSelector", to="Pod", means=Means.CONCERNS),
    ),
)


def _annotation(key: str, to: str, form: Form = Form.NAME) -> Reference:
    return Reference(at=f'metadata.annotations."{key}"', to=to, form=form)


# What is injected into a Pod is told by annotations of the template.
POD_TEMPLATE: Final = Shape(
    name="pod template",
    parts=(
        Embedded(at="spec", shape=POD_SPEC),
        _annotation("k8s.v1.cni.cncf.io/networks", NETWORK, Form.LISTED),
        _annotation("v1.multus-cni.io/default-network", NETWORK, Form.LISTED),
        _annotation("vault.hashicorp.com/agent-configmap", CONFIG_MAP),
        _annotation("vault.hashicorp.com/tls-secret", SECRET),
        _annotation("vault.hashicorp.com/agent-extra-secret", SECRET),
        _annotation("sidecar.istio.io/bootstrapOverride", CONFIG_MAP),
        _annotation("sidecar.istio.io/userVolume", SECRET, Form.JSON),
    ),
)
