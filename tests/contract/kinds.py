"""Built-in kinds that rules use beside those that the client names, and small objects of them."""

from __future__ import annotations

from typing import Any

from skoupa.kube.resources import Resource

SECRETS = Resource(version="v1", plural="secrets", kind="Secret", namespaced=True)
SERVICES = Resource(version="v1", plural="services", kind="Service", namespaced=True)
SERVICE_ACCOUNTS = Resource(version="v1", plural="serviceaccounts", kind="ServiceAccount", namespaced=True)
CORE_EVENTS = Resource(version="v1", plural="events", kind="Event", namespaced=True)
DEPLOYMENTS = Resource(group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True)
JOBS = Resource(group="batch", version="v1", plural="jobs", kind="Job", namespaced=True)
CLAIMS = Resource(
    version="v1", plural="persistentvolumeclaims", kind="PersistentVolumeClaim", namespaced=True
)
VOLUMES = Resource(version="v1", plural="persistentvolumes", kind="PersistentVolume", namespaced=False)
CLUSTER_ROLES = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    plural="clusterroles",
    kind="ClusterRole",
    namespaced=False,
)

CONTAINER = {"name": "main", "image": "example.org/nothing:1"}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [CONTAINER], **spec},
    }


def deployment(name: str, **spec: Any) -> dict[str, Any]:
    """Paused, so that no controller touches it."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 0,
            "paused": True,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [CONTAINER]}},
            **spec,
        },
    }


def job(name: str) -> dict[str, Any]:
    """Suspended, so that no Pod is made for it."""
    template = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"suspend": True, "template": template},
    }


def owner(of: dict[str, Any], **more: Any) -> dict[str, Any]:
    """An owner reference to an object."""
    metadata = of["metadata"]
    return {
        "apiVersion": of["apiVersion"],
        "kind": of["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        **more,
    }


def secret(name: str, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, **metadata},
        "stringData": {"word": "mum"},
    }


def claim(name: str) -> dict[str, Any]:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def volume(name: str) -> dict[str, Any]:
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/nowhere"},
        "storageClassName": "none",
    }
    return {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": spec}
