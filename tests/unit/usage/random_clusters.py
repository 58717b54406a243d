"""Objects that refer to each other, and own each other, at random: what no cluster should have is among it."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from tests.unit.cli.worlds import obj

Manifest = dict[str, Any]
# Kind, namespace and name.
Key = tuple[str, str, str]

NAMES = ("red", "green", "blue")
PLACES = ("shop", "blog")
RBAC = "rbac.authorization.k8s.io/v1"
LOST = {"apiVersion": "lost.example/v1", "kind": "Lost", "name": "l"}
# These do their work by themselves; nobody asks what they are good for.
WORKING = ("Deployment", "StatefulSet", "CronJob", "Job", "ReplicaSet", "Pod")
APIS = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "CronJob": "batch/v1",
    "Job": "batch/v1",
    "Ingress": "networking.k8s.io/v1",
    "HorizontalPodAutoscaler": "autoscaling/v2",
    "Role": RBAC,
    "RoleBinding": RBAC,
    "VolumeAttachment": "storage.k8s.io/v1",
}
# What the question is asked of: plain things that are good for nothing but to be used.
THINGS = ("ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim", "Role")
OTHERS = (
    "Service",
    "Ingress",
    "HorizontalPodAutoscaler",
    "RoleBinding",
    "PersistentVolume",
    "VolumeAttachment",
)
IN_NO_NAMESPACE = ("PersistentVolume", "VolumeAttachment")


class Maker:
    """Objects that refer to each other at random, by names of which few exist."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._made: dict[Key, Manifest] = {}
        self._uids = 0

    def cluster(self) -> list[Manifest]:
        for kind in (*THINGS, *THINGS, *OTHERS, *WORKING, *self._some((*THINGS, *OTHERS, *WORKING), 20)):
            namespace = "" if kind in IN_NO_NAMESPACE else self._one(PLACES)
            name = self._name()
            if kind == "PersistentVolumeClaim" and self._random.random() < 0.4:
                # As a StatefulSet would name its own.
                name = f"data-{name}-{self._random.randrange(3)}"
            made = obj(
                kind, name, api=APIS.get(kind, "v1"), namespace=namespace, created="2026-04-01T12:00:00Z"
            )
            made["metadata"]["uid"] = self._uid()
            self._made.setdefault((kind, namespace, name), {**made, **self._body(kind)})
        self._bind()
        self._own()
        return list(self._made.values())

    def _uid(self) -> str:
        self._uids += 1
        return str(UUID(int=self._uids, version=4))

    def _one(self, choices: Any) -> Any:
        return self._random.choice(choices)

    def _some(self, choices: Any, most: int) -> list[Any]:
        return self._random.choices(choices, k=self._random.randrange(most + 1))

    def _name(self) -> str:
        return str(self._one(NAMES))

    def _refs(self, most: int = 1) -> list[dict[str, str]]:
        return [{"name": name} for name in self._some(NAMES, most)]

    def _body(self, kind: str) -> Manifest:
        return self._working(kind) if kind in WORKING else self._thing(kind)

    def _working(self, kind: str) -> Manifest:
        template = {"metadata": {"labels": {"app": self._name()}}, "spec": self._pod()}
        selector = {"matchLabels": template["metadata"]["labels"]}
        match kind:
            case "Pod":
                phase = self._one(("Running", "Pending", "Unknown", "Succeeded", "Failed"))
                return {"spec": self._pod(), "status": {"phase": phase}}
            case "Deployment" | "ReplicaSet":
                replicas = self._one((0, 1))
                return {"spec": {"replicas": replicas, "selector": selector, "template": template}}
            case "StatefulSet":
                claims = [{"metadata": {"name": "data"}, "spec": {}}] if self._one((True, False)) else []
                names = {"serviceName": self._name(), "volumeClaimTemplates": claims}
                return {"spec": {"replicas": 0, "selector": selector, "template": template, **names}}
            case "Job":
                return {"spec": {"suspend": self._one((True, False)), "template": template}}
            case _:
                job = {"spec": {"template": template}}
                return {
                    "spec": {"schedule": "0 1 * * *", "suspend": self._one((True, False)), "jobTemplate": job}
                }

    def _thing(self, kind: str) -> Manifest:
        match kind:
            case "ServiceAccount":
                return {"secrets": self._refs(), "imagePullSecrets": self._refs()}
            case "Service":
                return {"spec": {"selector": {"app": self._name()}, "ports": [{"port": 80}]}}
            case "Ingress":
                backend = {"service": {"name": self._name(), "port": {"number": 80}}}
                tls = [{"secretName": one["name"]} for one in self._refs()]
                return {"spec": {"defaultBackend": backend, "tls": tls}}
            case "HorizontalPodAutoscaler":
                target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": self._name()}
                return {"spec": {"scaleTargetRef": target, "maxReplicas": 3}}
            case "RoleBinding":
                subject = {"kind": "ServiceAccount", "name": self._name(), "namespace": self._one(PLACES)}
                role = {"apiGroup": RBAC.partition("/")[0], "kind": "Role", "name": self._name()}
                return {"subjects": [subject], "roleRef": role}
            case "Role":
                return {"rules": []}
            case "PersistentVolumeClaim":
                return {"spec": {"volumeName": self._name()} if self._one((True, False)) else {}}
            case "VolumeAttachment":
                source = {"persistentVolumeName": self._name()}
                return {"spec": {"attacher": "disks", "nodeName": "node-1", "source": source}}
            case "PersistentVolume":
                return {"spec": {}, "status": {"phase": self._one(("Available", "Released", "Bound"))}}
            case _:
                return {}

    def _pod(self) -> Manifest:
        volumes: list[Manifest] = [{"name": "c", "configMap": one} for one in self._refs()]
        volumes += [
            {"name": "s", "secret": {"secretName": one["name"], "optional": True}} for one in self._refs()
        ]
        volumes += [
            {"name": "d", "persistentVolumeClaim": {"claimName": one["name"]}} for one in self._refs()
        ]
        env = [{self._one(("configMapRef", "secretRef")): one} for one in self._refs()]
        place = self._one(("containers", "initContainers"))
        pod = {"volumes": volumes, "imagePullSecrets": self._refs(), place: [{"name": "c", "envFrom": env}]}
        return {**pod, "serviceAccountName": self._name()} if self._one((True, False)) else pod

    def _bind(self) -> None:
        """Volumes say the name of their claim, as provisioners write it; the driver of some keeps its data in another."""
        claims = [one for (kind, *_), one in self._made.items() if kind == "PersistentVolumeClaim"]
        for claim in claims:
            if self._random.random() < 0.2:
                other = self._one(claims)["metadata"]["name"]
                claim["spec"]["dataSource"] = {"kind": "PersistentVolumeClaim", "name": other}
        for (kind, *_), one in self._made.items():
            if kind != "PersistentVolume" or self._random.random() < 0.2:
                continue
            ref = _of(self._one(claims), "name", "namespace")
            told = {"csi.storage.k8s.io/pvc/name": ref["name"]}
            if self._random.random() < 0.3:
                told["share"] = self._one(claims)["metadata"]["name"]
            one["spec"] = {"claimRef": ref, "csi": {"driver": "disks", "volumeAttributes": told}}

    def _own(self) -> None:
        """Owners at random: of any kind and namespace, oneself, in circles, gone, or of a kind that is not there."""
        everything = list(self._made.values())
        for one in self._some(everything, 8):
            owner, how = self._one(everything), self._random.random()
            reference = {
                "apiVersion": owner["apiVersion"],
                "kind": owner["kind"],
                **_of(owner, "name", "uid"),
            }
            if how < 0.2:
                reference["uid"] = self._uid()
            elif how < 0.3:
                reference = {**LOST, "uid": reference["uid"][::-1].replace("-", "0")}
            elif how < 0.4:
                reference = {"apiVersion": one["apiVersion"], "kind": one["kind"], **_of(one, "name", "uid")}
            one["metadata"].setdefault("ownerReferences", []).append(reference)


def _of(one: Manifest, *fields: str) -> Manifest:
    return {field: one["metadata"][field] for field in fields}


def key_of(one: Manifest) -> Key:
    return one["kind"], one["metadata"].get("namespace", ""), one["metadata"]["name"]
