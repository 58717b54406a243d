"""Which fields of an object are the server's: never kept, because the server fills them in or refuses them on create.

Tables only; `manifests` applies them. A path is a tuple of keys, `*` is every element of a list. A kind is named as
kubectl shows it (`jobs.batch`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from skoupa import names

Path = tuple[str, ...]
_LABELS: Final = ("metadata", "labels")
_NOTES: Final = ("metadata", "annotations")
_POD_LABELS: Final = ("spec", "template", "metadata", "labels")
_CONTAINERS: Final = ("containers", "initContainers")


class Elements(msgspec.Struct, frozen=True, kw_only=True):
    """Elements of the list at `path` whose `key` begins with `prefix`, in which `{name}` is the object's own name.

    Without a `key` the elements are texts, and only the very text goes.
    """

    path: Path
    prefix: str
    key: str = ""


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """Server fields of one kind (empty: of every kind); `unless` is a path whose value being this one excepts an object.

    With `only` it is the other way round: the rule is for objects that have that value there.
    """

    kind: str = ""
    paths: tuple[Path, ...] = ()
    elements: tuple[Elements, ...] = ()
    unless: tuple[Path, object] | None = None
    only: tuple[Path, object] | None = None


RULES: Final[tuple[Rule, ...]] = (
    Rule(
        paths=tuple(
            ("metadata", field)
            for field in (
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "generation",
                "selfLink",
                "managedFields",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
            )
        ),
        # They say how it was to be deleted; with them it would hang when it is deleted again.
        elements=tuple(
            Elements(path=("metadata", "finalizers"), prefix=finalizer)
            for finalizer in (
                names.FOREGROUND_FINALIZER,
                names.ORPHAN_FINALIZER,
                names.CUSTOM_RESOURCE_CLEANUP_FINALIZER,
            )
        ),
    ),
    Rule(kind="namespaces", paths=(("spec", "finalizers"),)),
    Rule(
        kind="pods",
        # The server refuses ephemeral containers on create, and a priority that differs from its class.
        paths=(("spec", "nodeName"), ("spec", "ephemeralContainers"), ("spec", "priority")),
        elements=(
            Elements(path=("spec", "volumes"), key="name", prefix="kube-api-access-"),
            *(
                Elements(path=("spec", where, "*", "volumeMounts"), key="name", prefix="kube-api-access-")
                for where in _CONTAINERS
            ),
        ),
    ),
    Rule(
        kind="jobs.batch",
        # They name the uid of the Job that was; the server writes those of the new one.
        paths=(
            ("spec", "selector"),
            *(
                (*place, label)
                for place in (_LABELS, _POD_LABELS)
                for label in (
                    "controller-uid",
                    "batch.kubernetes.io/controller-uid",
                    "job-name",
                    "batch.kubernetes.io/job-name",
                )
            ),
            (*_NOTES, "batch.kubernetes.io/job-tracking"),
        ),
        unless=(("spec", "manualSelector"), True),
    ),
    Rule(kind="deployments.apps", paths=((*_NOTES, "deployment.kubernetes.io/revision"),)),
    Rule(kind="statefulsets.apps", paths=(("spec", "volumeClaimTemplates", "*", "status"),)),
    Rule(
        kind="serviceaccounts",
        elements=(Elements(path=("secrets",), key="name", prefix="{name}-token-"),),
    ),
    Rule(
        kind="secrets",
        # A token of an account that is another one now; a controller writes a new one.
        paths=(("data",), (*_NOTES, "kubernetes.io/service-account.uid")),
        only=(("type",), "kubernetes.io/service-account-token"),
    ),
    Rule(
        kind="persistentvolumeclaims",
        # With them, and without its volume, a claim is Lost.
        paths=tuple(
            (*_NOTES, key)
            for key in (
                "pv.kubernetes.io/bind-completed",
                "pv.kubernetes.io/bound-by-controller",
                "volume.kubernetes.io/selected-node",
                "volume.kubernetes.io/storage-provisioner",
                "volume.beta.kubernetes.io/storage-provisioner",
            )
        ),
    ),
    Rule(
        kind="persistentvolumes",
        # Namespace and name of the claim stay: a claim of that name may have it again, and nobody else.
        paths=(
            ("spec", "claimRef", "uid"),
            ("spec", "claimRef", "resourceVersion"),
            (*_NOTES, "pv.kubernetes.io/bound-by-controller"),
        ),
    ),
)

# Kept, and asked for again; where somebody else has got them by now the object comes back with others.
ADDRESSES: Final[tuple[Rule, ...]] = (
    Rule(
        kind="services",
        paths=(
            ("spec", "clusterIP"),
            ("spec", "clusterIPs"),
            ("spec", "healthCheckNodePort"),
            ("spec", "ports", "*", "nodePort"),
        ),
        # A Service without an address has none on purpose.
        unless=(("spec", "clusterIP"), "None"),
    ),
)

# Made again by controllers of the cluster: they are neither kept with what goes nor brought back.
MADE_AGAIN: Final = frozenset(
    {
        "events",
        "events.events.k8s.io",
        "leases.coordination.k8s.io",
        "endpoints",
        "endpointslices.discovery.k8s.io",
        "controllerrevisions.apps",
    }
)
# Likewise, when the controller that owns them comes back: (kind of the owner, kind of the object).
MADE_BY_OWNER: Final = frozenset(
    {
        ("Deployment", "ReplicaSet"),
        ("ReplicaSet", "Pod"),
        ("ReplicationController", "Pod"),
        ("StatefulSet", "Pod"),
        ("DaemonSet", "Pod"),
        ("Job", "Pod"),
        # The claim of an ephemeral volume.
        ("Pod", "PersistentVolumeClaim"),
    }
)
# In every Namespace, from its first moment on.
MADE_WITH_NAMESPACE: Final = frozenset({("configmaps", "kube-root-ca.crt")})
