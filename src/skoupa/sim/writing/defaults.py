"""What the server fills in when an object is created, for the kinds where somebody looks at it.

Fields of metadata and status that life-cycles depend on: phases, finalizers of the protection plugins, grace periods,
history limits. Nothing is defaulted that only a kubelet or a scheduler would read.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from skoupa.sim.state import kinds
from skoupa.sim.state.catalogue import Served

Body = dict[str, Any]


def default(served: Served, obj: Body) -> None:
    """Fills in what the writer then owns as if it had said so; what it may not say on create is dropped."""
    resource = served.resource
    row = (resource.group, resource.plural)
    if served.has_status and row not in kinds.STATUS_ON_CREATE:
        obj.pop("status", None)
    obj["metadata"].pop("generation", None)
    if served.custom:
        return
    if served.has_status:
        # A copy: what is restored may share its spec with other objects.
        obj["spec"] = dict(obj.get("spec") or {})
    keep_labels(served, obj)
    fill = _FILLED.get(row)
    if fill is not None:
        fill(obj)
    if not obj.get("spec", True):
        del obj["spec"]


def default_again(served: Served, before: Body, after: Body) -> None:
    """Fills in what a change left out.

    An object that was restored without its defaults stays as it came: filling them in would look like a change.
    """
    row = (served.resource.group, served.resource.plural)
    fill = _FILLED.get(row)
    if (
        fill is None
        or row in _PROTECTED
        or (served.has_status and not ("spec" in before and "spec" in after))
    ):
        return
    was, now = ({**obj, "spec": dict(obj["spec"])} if "spec" in obj else dict(obj) for obj in (before, after))
    fill(was)
    if was == before:
        fill(now)
        after.update(now)


def begin(served: Served, obj: Body) -> None:
    """Sets what belongs to the server alone: the first generation and the first status."""
    resource = served.resource
    row = (resource.group, resource.plural)
    if served.custom or row in kinds.WITH_GENERATION:
        obj["metadata"]["generation"] = 1
    if served.has_status and not served.custom:
        obj.setdefault("spec", {})
        obj["status"] = {**_FIRST_STATUS.get(row, {}), **(obj.get("status") or {})}
    if row == ("", "namespaces"):
        obj["spec"]["finalizers"] = [
            *(entry for entry in obj["spec"].get("finalizers") or () if entry != "kubernetes"),
            "kubernetes",
        ]
    elif row == ("apiextensions.k8s.io", "customresourcedefinitions"):
        stored = [version["name"] for version in obj["spec"].get("versions") or () if version.get("storage")]
        names = {"plural": "", "kind": ""}
        obj["status"] = {"conditions": None, "acceptedNames": names, "storedVersions": stored}


_FIRST_STATUS: dict[tuple[str, str], Body] = {
    ("", "namespaces"): {"phase": "Active"},
    ("", "pods"): {"phase": "Pending", "qosClass": "BestEffort"},
    ("", "persistentvolumeclaims"): {"phase": "Pending"},
    ("", "persistentvolumes"): {"phase": "Pending"},
}


# Labels that hold the name of their object, whatever a client says.
_KEPT_LABELS = {("", "namespaces"): "kubernetes.io/metadata.name"}


def keep_labels(served: Served, obj: Body) -> None:
    label = _KEPT_LABELS.get((served.resource.group, served.resource.plural))
    if label is not None:
        metadata = obj["metadata"]
        metadata["labels"] = {**(metadata.get("labels") or {}), label: metadata.get("name") or ""}


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


def _claim(obj: Body) -> None:
    _protect(obj, "kubernetes.io/pvc-protection")
    obj["spec"].setdefault("volumeMode", "Filesystem")


def _volume(obj: Body) -> None:
    _protect(obj, "kubernetes.io/pv-protection")
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")


def _protect(obj: Body, finalizer: str) -> None:
    held = obj["metadata"].get("finalizers") or []
    if finalizer not in held:
        obj["metadata"]["finalizers"] = [*held, finalizer]


def _secret(obj: Body) -> None:
    obj.setdefault("type", "Opaque")


def secret_texts(served: Served, obj: Body) -> Body:
    """A Secret with its stringData, which can only be written, in its data."""
    if "stringData" not in obj or (served.resource.group, served.resource.plural) != ("", "secrets"):
        return obj
    obj = dict(obj)
    texts = obj.pop("stringData") or {}
    data = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    obj["data"] = {**(obj.get("data") or {}), **data}
    return obj


def _definition(obj: Body) -> None:
    spec = obj["spec"]
    given = spec.get("names") or {}
    kind = given.get("kind") or ""
    spec["names"] = {"singular": kind.lower(), "listKind": f"{kind}List", **given}
    spec.setdefault("conversion", {"strategy": "None"})


def _spec(**values: object) -> Callable[[Body], None]:
    def fill(obj: Body) -> None:
        spec = obj["spec"]
        for field, value in values.items():
            spec.setdefault(field, value)

    return fill


# Kinds that get a finalizer besides their defaults, once in their life.
_PROTECTED = frozenset({("", "persistentvolumeclaims"), ("", "persistentvolumes")})
_FILLED: dict[tuple[str, str], Callable[[Body], None]] = {
    ("", "pods"): _pod,
    ("", "persistentvolumeclaims"): _claim,
    ("", "persistentvolumes"): _volume,
    ("", "secrets"): _secret,
    ("", "replicationcontrollers"): _spec(replicas=1),
    ("apiextensions.k8s.io", "customresourcedefinitions"): _definition,
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
