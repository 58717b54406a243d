"""A made-up cluster of any size: what teams leave lying about after a year, in realistic proportions.

Objects come one by one, owners before what they own, namespaces and definitions before what is in them, so that a
stream of a million takes no memory. The same arguments give the same objects, uids and times included. Secrets have
keys and no content. A Pod and the template it came from may share parts below `spec`: copy before changing those.
Nothing here is loaded or judged.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count as numbers
from itertools import islice
from typing import Any, Final

from skoupa.names import TTL_LABEL

Body = dict[str, Any]

MINUTE: Final = 60.0
DAY: Final = 86_400.0
OLDEST: Final = 400 * DAY

_TEAMS: Final = ("shop", "search", "billing", "media", "maps", "mail", "chat", "data", "edge", "login")
_STAGES: Final = ("prod", "staging", "dev", "preview")
_PARTS: Final = ("web", "api", "worker", "cache", "cron", "auth", "feed", "index", "proxy", "report")
_TTLS: Final = ("30m", "2h", "12h", "1h30m", "24h", "72h", "168h", "720h")
_GROUP: Final = "demo.example.com"
_VERSIONS: Final = {
    "Backup": f"{_GROUP}/v1",
    "ConfigMap": "v1",
    "CronJob": "batch/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "Deployment": "apps/v1",
    "Job": "batch/v1",
    "Namespace": "v1",
    "PersistentVolumeClaim": "v1",
    "Pod": "v1",
    "Preview": f"{_GROUP}/v1",
    "ReplicaSet": "apps/v1",
    "Secret": "v1",
}
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def generate(
    count: int, *, now: float, seed: int = 0, expiring: float = 0.1, per_namespace: int = 200
) -> Iterator[Body]:
    """`count` objects as of `now`, at most `per_namespace` in one.

    `expiring` is the share that has a TTL label, among all but namespaces, definitions and the Pods of a controller.
    """
    return islice(_Maker(now=now, seed=seed, expiring=expiring).everything(per_namespace), count)


class _Maker:
    def __init__(self, *, now: float, seed: int, expiring: float) -> None:
        self._random = random.Random(seed)  # noqa: S311 - it has to repeat, and guards nothing
        self._now = now
        self._expiring = expiring

    def everything(self, per_namespace: int) -> Iterator[Body]:
        yield self._definition("Preview", "previews")
        yield self._definition("Backup", "backups")
        for number in numbers():
            stage = _STAGES[number % len(_STAGES)]
            namespace = f"{_TEAMS[number // len(_STAGES) % len(_TEAMS)]}-{stage}-{number}"
            yield self._namespace(namespace, stage)
            yield from islice(self._inhabitants(namespace), per_namespace)

    def _inhabitants(self, namespace: str) -> Iterator[Body]:
        roll = self._random.random
        for number in numbers():
            part = f"{_PARTS[number % len(_PARTS)]}-{number}"
            yield from self._application(namespace, part)
            if roll() < 0.3:
                yield from self._nightly(namespace, part)
            if roll() < 0.3:
                yield self._claim(namespace, part)
            if roll() < 0.4:
                yield self._custom(namespace, part)
            if roll() < 0.5:
                yield self._lost_config(namespace, part)
            if roll() < 0.2:
                yield self._bare_pod(namespace, part)

    def _application(self, namespace: str, part: str) -> Iterator[Body]:
        """A Deployment with its history: each rollout left a ReplicaSet, and its ConfigMap behind."""
        at = self._moment(OLDEST)
        labels = {"app.kubernetes.io/name": part, "app.kubernetes.io/part-of": namespace}
        secret = self._object("Secret", namespace, f"{part}-credentials", at, labels)
        secret |= {"type": "Opaque", "data": {"username": "", "password": ""}}
        yield secret
        replicas = self._random.randint(1, 4)
        deployment = self._object("Deployment", namespace, part, at, labels)
        rollouts = self._random.randint(1, 3)
        deployment["spec"] = {
            "replicas": replicas,
            "selector": {"matchLabels": {"app.kubernetes.io/name": part}},
            "template": self._template(part, labels, f"{part}-{rollouts}"),
        }
        deployment["status"] = {
            "replicas": replicas,
            "readyReplicas": replicas,
            "availableReplicas": replicas,
        }
        yield deployment
        for rollout in range(1, rollouts + 1):
            at = self._moment(self._now - at)
            config = self._object("ConfigMap", namespace, f"{part}-{rollout}", at, labels)
            config |= {"data": {"settings.yaml": f"rollout: {rollout}\nlevel: info\n"}, "immutable": True}
            yield config
            alive = replicas if rollout == rollouts else 0
            pod_hash = self._suffix(10)
            pod_labels = {**labels, "pod-template-hash": pod_hash}
            replica_set = self._object("ReplicaSet", namespace, f"{part}-{pod_hash}", at, pod_labels)
            _own(replica_set, deployment)
            replica_set["spec"] = {
                "replicas": alive,
                "selector": {"matchLabels": {"pod-template-hash": pod_hash}},
                "template": self._template(part, pod_labels, f"{part}-{rollout}"),
            }
            replica_set["status"] = {"replicas": alive}
            yield replica_set
            for _ in range(alive):
                name = f"{part}-{pod_hash}-{self._suffix(5)}"
                yield self._pod(namespace, name, self._moment(self._now - at), pod_labels, replica_set)

    def _nightly(self, namespace: str, part: str) -> Iterator[Body]:
        """A CronJob and its last runs, finished or failed, each with its Pod."""
        at = self._moment(OLDEST)
        labels = {"app.kubernetes.io/name": f"{part}-nightly"}
        cron = self._object("CronJob", namespace, f"{part}-nightly", at, labels)
        job_spec = {"template": self._template(part, labels, f"{part}-1", restart="Never")}
        cron["spec"] = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job_spec}}
        cron["status"] = {}
        yield cron
        for _ in range(self._random.randint(1, 4)):
            started = self._moment(min(self._now - at, 30 * DAY))
            ended = min(started + self._random.uniform(5, 3600), self._now)
            failed = self._random.random() < 0.15
            job = self._object("Job", namespace, f"{part}-nightly-{self._suffix(8)}", started, labels)
            _own(job, cron)
            job["spec"] = job_spec
            job["status"] = _finished(failed=failed, started=_text(started), ended=_text(ended))
            yield job
            pod = self._pod(namespace, f"{job['metadata']['name']}-{self._suffix(5)}", started, labels, job)
            pod["status"] = {"phase": "Failed" if failed else "Succeeded", "startTime": _text(started)}
            yield pod

    def _claim(self, namespace: str, part: str) -> Body:
        claim = self._object("PersistentVolumeClaim", namespace, f"{part}-data", self._moment(OLDEST), {})
        claim["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}}
        claim["status"] = {"phase": "Bound"}
        return claim

    def _custom(self, namespace: str, part: str) -> Body:
        kind = "Preview" if self._random.random() < 0.6 else "Backup"
        name = f"{part}-{kind.lower()}-{self._suffix(4)}"
        custom = self._object(kind, namespace, name, self._moment(60 * DAY), {"demo": part})
        custom["spec"] = {"of": part, "size": self._random.randint(1, 9)}
        custom["status"] = {"phase": self._random.choice(("Ready", "Done", "Failed"))}
        return custom

    def _lost_config(self, namespace: str, part: str) -> Body:
        config = self._object("ConfigMap", namespace, f"{part}-{self._suffix(10)}", self._moment(OLDEST), {})
        config["data"] = {"settings.yaml": "nobody: reads this\n"}
        return config

    def _bare_pod(self, namespace: str, part: str) -> Body:
        name = f"debug-{part}-{self._suffix(5)}"
        return self._pod(namespace, name, self._moment(90 * DAY), {"run": "debug"}, None)

    def _namespace(self, name: str, stage: str) -> Body:
        namespace = self._object(
            "Namespace", "", name, self._now - OLDEST, {"stage": stage}, may_expire=False
        )
        namespace["metadata"]["labels"]["kubernetes.io/metadata.name"] = name
        namespace["spec"] = {"finalizers": ["kubernetes"]}
        namespace["status"] = {"phase": "Active"}
        return namespace

    def _definition(self, kind: str, plural: str) -> Body:
        definition = self._object(
            "CustomResourceDefinition",
            "",
            f"{plural}.{_GROUP}",
            self._now - OLDEST,
            {},
            may_expire=False,
        )
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
        version = {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {
                "openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}
            },
            "subresources": {"status": {}},
        }
        definition["spec"] = {"group": _GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
        return definition

    def _pod(self, namespace: str, name: str, at: float, labels: dict[str, str], owner: Body | None) -> Body:
        pod = self._object("Pod", namespace, name, at, labels, may_expire=owner is None)
        if owner is None:
            pod["spec"] = {"containers": [{"name": "shell", "image": "busybox:1"}], "restartPolicy": "Never"}
        else:
            _own(pod, owner)
            pod["spec"] = owner["spec"]["template"]["spec"] | {
                "nodeName": f"node-{self._random.randint(1, 50)}"
            }
        pod["status"] = {"phase": "Running", "startTime": pod["metadata"]["creationTimestamp"]}
        return pod

    def _template(self, part: str, labels: dict[str, str], config: str, *, restart: str = "Always") -> Body:
        container = {
            "name": part,
            "image": f"registry.example.com/{part}:{self._random.randint(1, 99)}",
            "envFrom": [{"secretRef": {"name": f"{part}-credentials"}}],
            "volumeMounts": [{"name": "settings", "mountPath": "/etc/settings"}],
        }
        volume = {"name": "settings", "configMap": {"name": config}}
        return {
            "metadata": {"labels": labels},
            "spec": {"containers": [container], "volumes": [volume], "restartPolicy": restart},
        }

    def _object(
        self,
        kind: str,
        namespace: str,
        name: str,
        at: float,
        labels: dict[str, str],
        *,
        may_expire: bool = True,
    ) -> Body:
        if may_expire and self._random.random() < self._expiring:
            labels = {**labels, TTL_LABEL: self._ttl()}
        metadata: Body = {
            "name": name,
            "uid": self._uid(),
            "creationTimestamp": _text(at),
            "labels": dict(labels),
        }
        if namespace:
            metadata["namespace"] = namespace
        return {"apiVersion": _VERSIONS[kind], "kind": kind, "metadata": metadata}

    def _ttl(self) -> str:
        if self._random.random() < 0.1:
            return _moment(self._now + self._random.uniform(-30, 60) * DAY).strftime("%Y-%m-%dT%H%M%SZ")
        return self._random.choice(_TTLS)

    def _moment(self, oldest: float) -> float:
        """A time at most `oldest` ago; small ages are as likely as big ones, as in real clusters."""
        return self._now - min(oldest, MINUTE * math.pow(OLDEST / MINUTE, self._random.random()))

    def _uid(self) -> str:
        bits = f"{self._random.getrandbits(128):032x}"
        return f"{bits[:8]}-{bits[8:12]}-4{bits[13:16]}-a{bits[17:20]}-{bits[20:]}"

    def _suffix(self, length: int) -> str:
        return "".join(self._random.choices(_LETTERS, k=length))


def _own(obj: Body, owner: Body) -> None:
    obj["metadata"]["ownerReferences"] = [
        {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


def _finished(*, failed: bool, started: str, ended: str) -> Body:
    condition = {"type": "Failed" if failed else "Complete", "status": "True", "lastTransitionTime": ended}
    outcome = {"failed": 1} if failed else {"succeeded": 1, "completionTime": ended}
    return {"startTime": started, **outcome, "conditions": [condition]}


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(at: float) -> datetime:
    return _EPOCH + timedelta(seconds=int(at))


def _text(at: float) -> str:
    return f"{_moment(at).isoformat()[:19]}Z"
