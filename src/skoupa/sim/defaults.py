"""What the server fills in when an object is created, for the kinds where somebody looks at it.

Fields of metadata and status that life-cycles depend on: phases, finalizers of the protection plugins, grace periods,
history limits. Nothing is defaulted that only a kubelet or a scheduler would read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from skoupa.sim import kinds
from skoupa.sim.catalogue import Served

Body = dict[str, Any]


def prepare(served: Served, obj: Body) -> None:
    """Brings a new object into the form in which it is kept: no status from the client, defaults, generation 1."""
    resource = served.resource
    row = (resource.group, resource.plural)
    metadata = obj["metadata"]
    if served.has_status and row not in kinds.STATUS_ON_CREATE:
        obj.pop("status", None)
    if served.custom or row in kinds.WITH_GENERATION:
        metadata["generation"] = 1
    elif metadata.get("generation"):
        del metadata["generation"]
    if not served.custom and served.has_status:
        obj.setdefault("status", {})
        if "spec" in _SPECLESS.get(row, ("spec",)):
            obj.setdefault("spec", {})
    fill = _FILLED.get(row)
    if fill is not None and not served.custom:
        fill(obj)


# Kinds with a status and no spec.
_SPECLESS: dict[tuple[str, str], tuple[str, ...]] = {}


def _namespace(obj: Body) -> None:
    metadata = obj["metadata"]
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        "kubernetes.io/metadata.name": metadata.get("name") or "",
    }
    finalizers = list(obj["spec"].get("finalizers") or ())
    if "kubernetes" not in finalizers:
        finalizers.append("kubernetes")
    obj["spec"] = {"finalizers": finalizers}
    obj["status"] = {"phase": "Active"}


def _pod(obj: Body) -> None:
    spec = obj["spec"]
    for field, value in (
        ("restartPolicy", "Always"),
        ("terminationGracePeriodSeconds", 30),
        ("dnsPolicy", "ClusterFirst"),
        ("schedulerName", "default-scheduler"),
        ("serviceAccountName", "default"),
    ):
        spec.setdefault(field, value)
    obj["status"] = {"phase": "Pending", "qosClass": "BestEffort"}


def _claim(obj: Body) -> None:
    _protect(obj, "kubernetes.io/pvc-protection")
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["status"] = {"phase": "Pending"}


def _volume(obj: Body) -> None:
    _protect(obj, "kubernetes.io/pv-protection")
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")
    obj["status"].setdefault("phase", "Pending")


def _protect(obj: Body, finalizer: str) -> None:
    finalizers = obj["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)


def _secret(obj: Body) -> None:
    obj.setdefault("type", "Opaque")
    texts = obj.pop("stringData", None)
    if texts:
        data = obj.setdefault("data", {})
        data |= {key: _base64(value) for key, value in texts.items()}


def _base64(text: str) -> str:
    import base64  # noqa: PLC0415 - one caller

    return base64.b64encode(text.encode()).decode()


def _spec(**values: object) -> Callable[[Body], None]:
    def fill(obj: Body) -> None:
        spec = obj["spec"]
        for field, value in values.items():
            spec.setdefault(field, value)

    return fill


_FILLED: dict[tuple[str, str], Callable[[Body], None]] = {
    ("", "namespaces"): _namespace,
    ("", "pods"): _pod,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("", "secrets"): _secret,
    ("", "replicationcontrollers"): _spec(replicas=1),
    ("apps", "deployments"): _spec(replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600),
    ("apps", "replicasets"): _spec(replicas=1),
    ("apps", "statefulsets"): _spec(replicas=1, revisionHistoryLimit=10, podManagementPolicy="OrderedReady"),
    ("apps", "daemonsets"): _spec(revisionHistoryLimit=10),
    ("batch", "jobs"): _spec(
        parallelism=1, completions=1, backoffLimit=6, completionMode="NonIndexed", suspend=False
    ),
    ("batch", "cronjobs"): _spec(
        concurrencyPolicy="Allow", suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1
    ),
}
