"""A cluster with Kyverno in it, in memory: its Lease, Deployment, ConfigMap and webhooks, and `skoupa migrate` against it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

import pytest

from skoupa.cli.migrating import migrate
from skoupa.cli.options import Connecting
from skoupa.cli.worlds import World
from skoupa.kinds.policies import policy_definitions
from skoupa.kube.client import Client
from skoupa.sim.cluster import EmbeddedCluster
from tests.unit.cli.saying import Said, Shell
from tests.unit.cli.worlds import Standing, obj

R = TypeVar("R")

COMPONENT = {"app.kubernetes.io/component": "cleanup-controller"}
IMAGE = "reg.kyverno.io/kyverno/cleanup-controller:v1.19.1"


def lease(
    *, namespace: str = "kyverno", renewed: str = "2026-05-01T11:59:50.000000Z", holder: str = "x"
) -> dict[str, Any]:
    return obj(
        "Lease",
        "kyverno-cleanup-controller",
        namespace=namespace,
        api="coordination.k8s.io/v1",
        spec={"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15},
    )


def deployment(
    *, name: str = "kyverno-cleanup-controller", image: str = IMAGE, replicas: int = 1, **container: Any
) -> dict[str, Any]:
    return obj(
        "Deployment",
        name,
        namespace="kyverno",
        api="apps/v1",
        labels=COMPONENT,
        spec={
            "replicas": replicas,
            "selector": {"matchLabels": COMPONENT},
            "template": {
                "metadata": {"labels": COMPONENT},
                "spec": {
                    "serviceAccountName": "kyverno-cleanup-controller",
                    "containers": [{"name": "controller", "image": image, **container}],
                },
            },
        },
    )


def filters(text: str) -> dict[str, Any]:
    return obj("ConfigMap", "kyverno", namespace="kyverno", data={"resourceFilters": text})


def webhook(name: str, *, failure: str) -> dict[str, Any]:
    return obj(
        "ValidatingWebhookConfiguration",
        name,
        api="admissionregistration.k8s.io/v1",
        webhooks=[
            {
                "name": "a.kyverno.svc",
                "failurePolicy": failure,
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
                "clientConfig": {"service": {"namespace": "kyverno", "name": "kyverno-cleanup-controller"}},
            }
        ],
    )


def cleanup(
    name: str, *kinds: str, namespace: str = "", annotations: Mapping[str, str] | None = None, **spec: Any
) -> dict[str, Any]:
    match = {"any": [{"resources": {"kinds": list(kinds) or ["ConfigMap"]}}]}
    return obj(
        "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        name,
        namespace=namespace,
        api="kyverno.io/v2",
        annotations=dict(annotations or {}),
        spec={"schedule": "@daily", "match": match, **spec},
    )


class Migrating:
    """`skoupa migrate` by an administrator or `user`, at noon of the first of May 2026."""

    def __init__(self, skoupa: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
        self.clock = Standing()
        self.cluster = EmbeddedCluster(clock=self.clock)
        self.cluster.load(policy_definitions())
        self.user = ""
        self._skoupa = skoupa
        monkeypatch.setattr(migrate, "in_cluster", self._in_cluster)

    def holding(self, *objects: Mapping[str, Any]) -> Migrating:
        self.cluster.load(objects)
        return self

    def _in_cluster(self, work: Callable[[World], Coroutine[Any, Any, R]], *, connecting: Connecting) -> R:
        transport = self.cluster.as_user(self.user) if self.user else self.cluster
        world = World(
            client=Client(transport, self.clock), namespace="default", as_user=connecting.as_user or ""
        )
        return asyncio.run(work(world))

    def __call__(self, *args: str) -> Said:
        return self._skoupa("migrate", *args, env={"TZ": "UTC"})

    def document(self, *args: str, code: int = 0) -> dict[str, Any]:
        said = self(*args, "-o", "json")
        assert said.code == code, said.err
        found: dict[str, Any] = json.loads(said.out)
        return found


def codes(told: Mapping[str, Any]) -> list[str]:
    """The differences of one object, one policy, or the whole cluster."""
    return [one["code"] for one in told["differences"]]


def named(many: list[dict[str, Any]], name: str) -> dict[str, Any]:
    (found,) = (one for one in many if one["name"] == name)
    return found
