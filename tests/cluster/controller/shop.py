"""Policies on a real server: their kinds brought and taken away, policies written, and what became of them."""

from __future__ import annotations

import time
from typing import Any

from skoupa.errors import NotFound
from skoupa.kinds.policies import DEFINITIONS, policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.cluster.controller.objects import People
from tests.cluster.reaching import eventually

POLICIES = (CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES, DELETING_POLICIES, NAMESPACED_DELETING_POLICIES)
# A tick is never further away, and then it has to be read, weighed and deleted.
TICK_SECONDS = 100.0
# So long before a tick it is still chosen for policies that are being written.
WRITING_SECONDS = 15
MINUTE = 60
MINUTELY = {"schedule": "* * * * *"}


def coming() -> float:
    """A tick within a minute or so."""
    return ((time.time() + WRITING_SECONDS) // MINUTE + 1) * MINUTE


async def passed(moment: float) -> None:
    """Waits, and asks nobody meanwhile."""

    async def is_past() -> bool:
        return time.time() > moment

    await eventually(is_past, what=f"{time.ctime(moment)} to pass", seconds=moment - time.time() + MINUTE)


async def bring_kinds(boss: Client) -> None:
    for definition in policy_definitions():
        await boss.create(CUSTOM_RESOURCE_DEFINITIONS, definition)

    async def served() -> bool:
        try:
            for kind in (*POLICIES, POLICY_EXCEPTIONS):
                await everything(boss, kind, METADATA)
        except NotFound:
            return False
        return True

    await eventually(served, what="the kinds of policies to be served")


async def take_kinds_away(boss: Client) -> None:
    for each in DEFINITIONS:
        found = await boss.get(CUSTOM_RESOURCE_DEFINITIONS, each.name, view=METADATA)
        await boss.delete(
            CUSTOM_RESOURCE_DEFINITIONS, each.name, uid=found.metadata.uid, propagation="Background"
        )

    async def gone() -> bool:
        left = await everything(boss, CUSTOM_RESOURCE_DEFINITIONS, METADATA)
        return not {each.name for each in DEFINITIONS} & {found.metadata.name for found in left.items}

    await eventually(gone, what="the kinds of policies to go", seconds=60)


class Shop:
    """One namespace, its ConfigMaps, and policies about them, which run at one tick until another one is chosen."""

    def __init__(self, people: People) -> None:
        self.client = people.client
        self.people = people
        self.namespace = people.namespace
        self.tick = coming()

    def choose_tick(self) -> None:
        """Once all that takes long is done."""
        self.tick = coming()

    async def ticked(self) -> None:
        await passed(self.tick)

    @property
    def schedule(self) -> str:
        """Its tick, and no other on this day."""
        tick = time.gmtime(self.tick)
        return f"{tick.tm_min} {tick.tm_hour} * * *"

    async def write(self, kind: Resource, name: str, spec: dict[str, Any], **annotations: str) -> None:
        metadata = {"name": name, "annotations": annotations}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": spec}
        await self.client.create(kind, body, namespace=self.namespace if kind.namespaced else "")

    async def names(self) -> set[str]:
        found = await everything(self.client, CONFIG_MAPS, METADATA, scope=Scope(namespace=self.namespace))
        return {one.metadata.name for one in found.items} - {"kube-root-ca.crt"}

    async def left(self, *names: str) -> None:
        async def are() -> bool:
            return await self.names() == set(names)

        await eventually(are, what=f"only {names} to be left", seconds=TICK_SECONDS)

    async def status(self, kind: Resource, name: str) -> dict[str, Any]:
        where = self.namespace if kind.namespaced else ""
        found = await self.client.get(kind, name, namespace=where, view=WHOLE)
        status: dict[str, Any] = found.get("status") or {}
        return status

    async def ran(self, kind: Resource, name: str, **counts: int) -> dict[str, Any]:
        async def has() -> bool:
            return bool(
                (await self.status(kind, name)).get("lastRun")
                == {"matched": 0, "deleted": 0, "held": 0, "failed": 0, **counts}
            )

        await eventually(has, what=f"{kind.kind}/{name} to have run with {counts}", seconds=TICK_SECONDS)
        return await self.status(kind, name)

    async def ready(self, kind: Resource, name: str) -> dict[str, Any]:
        async def is_told() -> dict[str, Any]:
            status = await self.status(kind, name)
            return status if "nextExecutionTime" in status else {}

        return await eventually(is_told, what=f"the status of {name}")

    def cleaning(self, *patterns: str, **spec: Any) -> dict[str, Any]:
        resources: dict[str, Any] = {"kinds": ["ConfigMap"], "names": list(patterns), **spec.pop("where", {})}
        return {"schedule": self.schedule, "match": {"any": [{"resources": resources}]}, **spec}

    def deleting(self, expression: str) -> dict[str, Any]:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        return {
            "schedule": self.schedule,
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
            "conditions": [{"name": "old", "expression": expression}],
        }
