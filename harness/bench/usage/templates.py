"""Masses of objects that point at each other, as manifests: Pod templates, and the ConfigMaps and Secrets that they name.

Each namespace has the same number of both, and each template makes `REFERENCES` references to some of what is in its namespace, in the
ways of everyday: volumes, projected ones, environment, credentials for images. A tenth of the ConfigMaps and Secrets is
named by nobody. Nothing here is random.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Final

Body = dict[str, Any]

TEMPLATES_EACH: Final = 100
CONFIGS_EACH: Final = 50
OBJECTS_EACH: Final = TEMPLATES_EACH + CONFIGS_EACH
# Of one template: ten to ConfigMaps and Secrets. Beside these it has a ServiceAccount, and a selector of its Pods.
REFERENCES: Final = 10
UNUSED_EACH: Final = 5
_USED: Final = CONFIGS_EACH - UNUSED_EACH
_MOMENT: Final = "2026-01-01T00:00:00Z"
# Four ReplicaSets of every two Deployments, three Jobs, and a CronJob.
_KINDS: Final = (
    "Deployment",
    "ReplicaSet",
    "ReplicaSet",
    "Job",
    "Deployment",
    "ReplicaSet",
    "ReplicaSet",
    "Job",
    "CronJob",
    "Job",
)
KINDS: Final = ("ConfigMap", "Secret", "CronJob", "Deployment", "Job", "ReplicaSet")
_VERSIONS: Final = {
    "CronJob": "batch/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "ReplicaSet": "apps/v1",
}


def namespace_name(place: int) -> str:
    return f"team-{place:05d}"


def objects(namespaces: int) -> Iterator[Body]:
    """Of so many namespaces, `OBJECTS_EACH` in each."""
    for place in range(namespaces):
        namespace = namespace_name(place)
        for index in range(CONFIGS_EACH):
            yield written(config(namespace, index))
        for index in range(TEMPLATES_EACH):
            yield written(workload(namespace, index))


def of_kind(kind: str, namespace: str) -> Iterator[Body]:
    """Those of one kind among them."""
    if kind in ("ConfigMap", "Secret"):
        for index in range(0 if kind == "ConfigMap" else 1, CONFIGS_EACH, 2):
            yield written(config(namespace, index))
        return
    for index in range(TEMPLATES_EACH):
        if _KINDS[index % len(_KINDS)] == kind:
            yield written(workload(namespace, index))


def config(namespace: str, index: int) -> Body:
    """ConfigMaps and Secrets in turns; the last ones of a namespace are those that nobody names."""
    data = {"settings.yaml": f"level: info\nnumber: {index}\n" + "x" * 400}
    kind = "ConfigMap" if index % 2 == 0 else "Secret"
    return _body("v1", kind, namespace, config_name(index), {"data": data})


def config_name(index: int) -> str:
    return f"{'settings' if index % 2 == 0 else 'credentials'}-{index:03d}"


def workload(namespace: str, index: int) -> Body:
    kind = _KINDS[index % len(_KINDS)]
    name = f"{kind.lower()}-{index:03d}"
    template = pod_template(name, index)
    labels = {"matchLabels": {"app": name}}
    spec: Body
    match kind:
        case "CronJob":
            spec = {"schedule": "0 * * * *", "jobTemplate": {"spec": {"template": template}}}
        case "Job":
            spec = {"parallelism": 1, "selector": labels, "template": template}
        case _:
            spec = {"replicas": 1, "selector": labels, "template": template}
    return _body(_VERSIONS[kind], kind, namespace, name, {"spec": spec, "status": {"observedGeneration": 1}})


def pod_template(name: str, index: int) -> Body:
    return {
        "metadata": {"labels": {"app": name}, "annotations": {"prometheus.io/scrape": "true"}},
        "spec": pod_spec(index),
    }


def pod_spec(index: int) -> Body:
    """`REFERENCES` of them, to ten different ConfigMaps and Secrets."""
    used = [(index + 3 * step) for step in range(REFERENCES // 2)]
    maps = [config_name(2 * (one % -(-_USED // 2))) for one in used]
    secrets = [config_name(2 * (one % (_USED // 2)) + 1) for one in used]
    environment = [
        {"name": "LEVEL", "value": "info"},
        {"name": "DATABASE", "value": "postgres://database.storage.svc:5432/main"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": secrets[0], "key": "token"}}},
        {"name": "REGION", "valueFrom": {"configMapKeyRef": {"name": maps[0], "key": "region"}}},
    ]
    container = {
        "name": "main",
        "image": "registry.example/team/main:1.4.2",
        "args": ["serve", "--port=8080", "--log-level=info"],
        "env": environment,
        "envFrom": [{"configMapRef": {"name": maps[1]}}, {"secretRef": {"name": secrets[1]}}],
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}},
        "volumeMounts": [
            {"name": "settings", "mountPath": "/etc/settings"},
            {"name": "credentials", "mountPath": "/etc/credentials"},
            {"name": "all", "mountPath": "/etc/all"},
        ],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
    }
    both = [{"configMap": {"name": maps[3]}}, {"secret": {"name": secrets[3]}}]
    return {
        "containers": [container],
        "volumes": [
            {"name": "settings", "configMap": {"name": maps[2]}},
            {"name": "credentials", "secret": {"secretName": secrets[2]}},
            {"name": "all", "projected": {"sources": both}},
            {"name": "extra", "configMap": {"name": maps[4], "optional": True}},
        ],
        "imagePullSecrets": [{"name": secrets[4]}],
        "serviceAccountName": "default",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
    }


def _body(version: str, kind: str, namespace: str, name: str, rest: Mapping[str, Any]) -> Body:
    uid = uuid.uuid5(uuid.NAMESPACE_URL, f"{kind}/{namespace}/{name}")
    metadata = {
        "name": name,
        "namespace": namespace,
        "uid": str(uid),
        "creationTimestamp": _MOMENT,
        "labels": {"app.kubernetes.io/name": name, "app.kubernetes.io/part-of": namespace},
    }
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def written(body: Body) -> Body:
    """It says who wrote its fields, as a server adds it."""
    fields = {f"f:{key}": _fields(value) for key, value in body.items() if key in ("spec", "data")}
    body["metadata"]["managedFields"] = [
        {
            "manager": "kubectl-client-side-apply",
            "operation": "Update",
            "apiVersion": body["apiVersion"],
            "time": _MOMENT,
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:metadata": {"f:labels": {".": {}}}, **fields},
        }
    ]
    return body


def _fields(value: Any) -> Body:
    """Which fields there are, roughly as a server writes it down: lists whose items have names by these."""
    if isinstance(value, dict):
        return {".": {}, **{f"f:{key}": _fields(one) for key, one in value.items()}}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        return {f'k:{{"name":"{one["name"]}"}}': _fields(one) for one in value}
    return {}
