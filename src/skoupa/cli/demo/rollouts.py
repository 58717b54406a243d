"""A team that rolls out now and then, each time with a ConfigMap of its own, and the RetentionPolicy that clears up after it.

What the Deployment controller does stands here, since nobody runs one in memory: a ReplicaSet for each rollout, those before it at
no replicas, the oldest gone. A ConfigMap stays while a ReplicaSet that one may roll back to names it, and goes a while after.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

from skoupa.clock import Clock
from skoupa.kinds.definition import document
from skoupa.kinds.retention import DEFINITIONS
from skoupa.kinds.retention.policy import RETENTION_POLICIES
from skoupa.kube.client import Client
from skoupa.kube.resources import CONFIG_MAPS, Resource
from skoupa.kube.timestamps import whole_seconds

DEPLOYMENTS: Final = Resource(
    group="apps", version="v1", plural="deployments", kind="Deployment", namespaced=True
)
REPLICA_SETS: Final = Resource(
    group="apps", version="v1", plural="replicasets", kind="ReplicaSet", namespaced=True
)
NAMESPACE: Final = "shop"
NAME: Final = "cart"
HISTORY: Final = 2
_UNUSED: Final = "2h"
_FIRST_SECONDS: Final = 40 * 60.0
_BETWEEN_SECONDS: Final = (2.0 * 3600, 3.5 * 3600)
_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


def retention(now: float) -> list[dict[str, Any]]:
    """The kinds, the policy, and the Deployment before its first rollout."""
    policy = {
        "apiVersion": RETENTION_POLICIES.api_version,
        "kind": RETENTION_POLICIES.kind,
        "metadata": {"name": "settings-of-old-rollouts", "namespace": NAMESPACE},
        "spec": {
            "match": {"any": [{"resources": {"kinds": ["ConfigMap"], "names": [f"{NAME}-config-*"]}}]},
            "after": {"unused": _UNUSED},
        },
    }
    deployment = {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "creationTimestamp": whole_seconds(now - 24 * 3600),
        },
        "spec": {"replicas": 2, "revisionHistoryLimit": HISTORY} | _running(""),
    }
    return [*map(document, DEFINITIONS), policy, deployment]


class Rollouts:
    """`tell` hears of each."""

    def __init__(self, client: Client, *, seed: int, tell: Callable[[str], None]) -> None:
        self._client = client
        self._clock: Clock = client.clock
        self._random = random.Random(f"rollouts of {seed}")  # noqa: S311 - a story, not a secret
        self._tell = tell
        self._history: list[tuple[str, str]] = []

    async def live(self) -> None:
        await self._clock.sleep(_FIRST_SECONDS)
        while True:
            await self._roll_out()
            await self._clock.sleep(self._random.uniform(*_BETWEEN_SECONDS))

    async def _roll_out(self) -> None:
        config = f"{NAME}-config-{self._hash()}"
        await self._client.create(CONFIG_MAPS, {"metadata": {"name": config}}, namespace=NAMESPACE)
        patch = {"spec": _running(config)}
        deployment = await self._client.merge_patch(DEPLOYMENTS, NAME, patch, namespace=NAMESPACE)
        if self._history:
            former = {"spec": {"replicas": 0}}
            await self._client.merge_patch(REPLICA_SETS, self._history[-1][0], former, namespace=NAMESPACE)
        made = await self._client.create(
            REPLICA_SETS, _replica_set(f"{NAME}-{self._hash()}", deployment, config), namespace=NAMESPACE
        )
        self._history.append((made["metadata"]["name"], made["metadata"]["uid"]))
        self._tell(f"{NAMESPACE} rolled out {NAME} with {config}")
        # The one that runs, and those that one may roll back to.
        if len(self._history) > HISTORY + 1:
            name, uid = self._history.pop(0)
            await self._client.delete(
                REPLICA_SETS, name, namespace=NAMESPACE, uid=uid, propagation="Background"
            )
            self._tell(f"nobody can roll back to {name} any more: {NAME} keeps {HISTORY} of its history")

    def _hash(self) -> str:
        return "".join(self._random.choices(_LETTERS, k=10))


def _replica_set(name: str, deployment: dict[str, Any], config: str) -> dict[str, Any]:
    owner = {
        "apiVersion": DEPLOYMENTS.api_version,
        "kind": DEPLOYMENTS.kind,
        "name": NAME,
        "uid": deployment["metadata"]["uid"],
        "controller": True,
    }
    return {
        "metadata": {"name": name, "ownerReferences": [owner]},
        "spec": {"replicas": 2} | _running(config),
    }


def _running(config: str) -> dict[str, Any]:
    """What of a spec says which ConfigMap its Pods read; none before the first rollout."""
    labels = {"app": NAME}
    container: dict[str, Any] = {"name": NAME, "image": f"{NAME}:1"}
    if config:
        container["envFrom"] = [{"configMapRef": {"name": config}}]
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    return {"selector": {"matchLabels": labels}, "template": template}
