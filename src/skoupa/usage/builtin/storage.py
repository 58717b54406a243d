"""Storage: claims, volumes, classes, attachments and drivers.

A volume names the Secrets of its driver together with their namespace. The parameters of a class may be templates, of which
nobody knows what they become: `${pvc.name}`.
"""

from __future__ import annotations

from typing import Final

from skoupa.usage.builtin.shapes import (
    CLAIM,
    CLAIM_TEMPLATE,
    CSI_DRIVER,
    DRIVER_ATTRIBUTES,
    SECRET,
    STORAGE_CLASS,
)
from skoupa.usage.rules import ANY_NAMESPACE, Annotated, Embedded, Form, KindRules, Means, Reference, Shape

_ATTRIBUTES: Final = "storage.k8s.io/VolumeAttributesClass"
_VOLUME: Final = "PersistentVolume"


def _secret_at(at: str) -> Reference:
    return Reference(at=at, name="name", namespace_at="namespace", to=SECRET)


def _parameter(name: str, namespace: str) -> Reference:
    return Reference(at=f'parameters."{name}"', namespace_at=f'"{namespace}"', to=SECRET, form=Form.TEMPLATE)


VOLUME_SPEC: Final = Shape(
    name="persistent volume",
    parts=(
        Reference(at="storageClassName", to=STORAGE_CLASS),
        Reference(at="volumeAttributesClassName", to=_ATTRIBUTES),
        # The claim that it is bound to, or kept for: the claim needs the volume, and not the other way round.
        Reference(at="claimRef", name="name", namespace_at="namespace", to=CLAIM, means=Means.CONCERNS),
        Reference(at="csi.driver", to=CSI_DRIVER),
        *DRIVER_ATTRIBUTES,
        _secret_at("csi.controllerExpandSecretRef"),
        _secret_at("csi.controllerPublishSecretRef"),
        _secret_at("csi.nodeExpandSecretRef"),
        _secret_at("csi.nodePublishSecretRef"),
        _secret_at("csi.nodeStageSecretRef"),
        Reference(at="azureFile.secretName", namespace_at="secretNamespace", to=SECRET),
        _secret_at("cephfs.secretRef"),
        _secret_at("cinder.secretRef"),
        _secret_at("flexVolume.secretRef"),
        _secret_at("iscsi.secretRef"),
        _secret_at("rbd.secretRef"),
        _secret_at("scaleIO.secretRef"),
        _secret_at("storageos.secretRef"),
        Reference(at="glusterfs.endpoints", namespace_at="endpointsNamespace", to="Endpoints"),
        Reference(at="glusterfs.endpoints", namespace_at="endpointsNamespace", to="Service"),
    ),
)

# By the driver's sidecars, and by their names before 1.13.
_PREFIXES: Final = (
    "provisioner",
    "controller-publish",
    "controller-expand",
    "node-stage",
    "node-publish",
    "node-expand",
)
_OLD_PREFIXES: Final = ("csiProvisioner", "csiControllerPublish", "csiNodeStage", "csiNodePublish")

RULES: Final = (
    KindRules(
        kind=CLAIM,
        parts=(
            Embedded(at="", shape=CLAIM_TEMPLATE),
            Reference(at="status.currentVolumeAttributesClassName", to=_ATTRIBUTES),
            Reference(at="status.modifyVolumeStatus.targetVolumeAttributesClassName", to=_ATTRIBUTES),
        ),
    ),
    KindRules(kind=_VOLUME, cluster=True, parts=(Embedded(at="spec", shape=VOLUME_SPEC),)),
    KindRules(
        kind=STORAGE_CLASS,
        cluster=True,
        parts=(
            Reference(at="provisioner", to=CSI_DRIVER),
            *(
                _parameter(
                    f"csi.storage.k8s.io/{prefix}-secret-name",
                    f"csi.storage.k8s.io/{prefix}-secret-namespace",
                )
                for prefix in _PREFIXES
            ),
            *(_parameter(f"{prefix}SecretName", f"{prefix}SecretNamespace") for prefix in _OLD_PREFIXES),
            # The drivers that were in Kubernetes itself.
            _parameter("adminSecretName", "adminSecretNamespace"),
            _parameter("userSecretName", "userSecretNamespace"),
            _parameter("secretName", "secretNamespace"),
            _parameter("secretRef", "secretNamespace"),
            _parameter("openstorage.io/auth-secret-name", "openstorage.io/auth-secret-namespace"),
        ),
    ),
    KindRules(kind=_ATTRIBUTES, cluster=True, parts=(Reference(at="driverName", to=CSI_DRIVER),)),
    KindRules(
        kind="storage.k8s.io/VolumeAttachment",
        cluster=True,
        parts=(
            Reference(at="spec.attacher", to=CSI_DRIVER),
            Reference(at="spec.nodeName", to="Node", means=Means.MENTIONS),
            Reference(at="spec.source.persistentVolumeName", to=_VOLUME),
            Embedded(at="spec.source.inlineVolumeSpec", shape=VOLUME_SPEC),
        ),
    ),
    KindRules(
        kind="storage.k8s.io/CSINode",
        cluster=True,
        parts=(Reference(at="spec.drivers[].name", to=CSI_DRIVER),),
    ),
    # Drivers write these for each class that there is.
    KindRules(
        kind="storage.k8s.io/CSIStorageCapacity",
        parts=(Reference(at="storageClassName", to=STORAGE_CLASS, means=Means.CONCERNS),),
    ),
)

ANNOTATED: Final = (
    Annotated(
        key="volume.kubernetes.io/selected-node",
        to="Node",
        of=(CLAIM,),
        form=Form.NAME,
        means=Means.MENTIONS,
    ),
    *(
        Annotated(key=key, to=CSI_DRIVER, of=(CLAIM,), form=Form.NAME)
        for key in (
            "volume.kubernetes.io/storage-provisioner",
            "volume.beta.kubernetes.io/storage-provisioner",
        )
    ),
    Annotated(key="pv.kubernetes.io/provisioned-by", to=CSI_DRIVER, of=(_VOLUME,), form=Form.NAME),
    Annotated(key="volume.beta.kubernetes.io/storage-class", to=STORAGE_CLASS, of=(_VOLUME,), form=Form.NAME),
    # With which the driver is asked to delete it in the end; its namespace is in another annotation.
    Annotated(
        key="volume.kubernetes.io/provisioner-deletion-secret-name",
        to=SECRET,
        of=(_VOLUME,),
        form=Form.NAME,
        namespace=ANY_NAMESPACE,
    ),
)
