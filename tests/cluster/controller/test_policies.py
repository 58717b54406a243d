"""Policies on a real server: all four kinds run at the tick, exceptions hold, the status tells, a restart runs nothing twice."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest

from skoupa import names
from skoupa.errors import NotFound
from skoupa.kinds.policies import DEFINITIONS, policy_definitions
from skoupa.kinds.policies.cleanup import CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES
from skoupa.kinds.policies.deleting import DELETING_POLICIES, NAMESPACED_DELETING_POLICIES
from skoupa.kinds.policies.exception import POLICY_EXCEPTIONS
from skoupa.kube.client import Client
from skoupa.kube.lists import Scope, everything
from skoupa.kube.objects import METADATA, WHOLE
from skoupa.kube.resources import CONFIG_MAPS, CUSTOM_RESOURCE_DEFINITIONS, Resource
from tests.cluster.controller.objects import RBAC, SECRETS, People
from tests.cluster.controller.running import Yard
from tests.cluster.reaching import eventually

pytestmark = pytest.mark.cluster

ROLES = Resource(group=RBAC, version="v1", plural="roles", kind="Role", namespaced=True)
ROLE_BINDINGS = Resource(group=RBAC, version="v1", plural="rolebindings", kind="RoleBinding", namespaced=True)
POLICIES = (CLEANUP_POLICIES, CLUSTER_CLEANUP_POLICIES, DELETING_POLICIES, NAMESPACED_DELETING_POLICIES)
# A tick is never further away, and then it has to be read, weighed and deleted.
TICK_SECONDS = 100.0
# So long before a tick it is still chosen for policies that are being written.
WRITING_SECONDS = 15


def soon() -> str:
    """A schedule with a tick within a minute or so, and no other on this day."""
    tick = time.gmtime(((int(time.time()) + WRITING_SECONDS) // 60 + 1) * 60)
    return f"{tick.tm_min} {tick.tm_hour} * * *"


@pytest.fixture
async def policies(boss: Client) -> AsyncIterator[None]:
    """The kinds of policies; other tests of this control plane do without."""
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
    yield
    for each in DEFINITIONS:
        found = await boss.get(CUSTOM_RESOURCE_DEFINITIONS, each.name, view=METADATA)
        await boss.delete(
            CUSTOM_RESOURCE_DEFINITIONS, each.name, uid=found.metadata.uid, propagation="Background"
        )

    async def gone() -> bool:
        left = await everything(boss, CUSTOM_RESOURCE_DEFINITIONS, METADATA)
        return not {each.name for each in DEFINITIONS} & {found.metadata.name for found in left.items}

    await eventually(gone, what="the kinds of policies to go", seconds=60)


@pytest.fixture
def running(policies: None, yard: Yard) -> Yard:
    """Processes that end before the kinds are taken away."""
    return yard


class Shop:
    """One namespace, its ConfigMaps, and policies about them."""

    def __init__(self, people: People) -> None:
        self.client = people.client
        self.people = people
        self.namespace = people.namespace

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
        return {"schedule": soon(), "match": {"any": [{"resources": resources}]}, **spec}

    def deleting(self, expression: str) -> dict[str, Any]:
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]}
        here = {"matchLabels": {"kubernetes.io/metadata.name": self.namespace}}
        return {
            "schedule": soon(),
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": here},
            "conditions": [{"name": "old", "expression": expression}],
        }


async def test_all_kinds_of_policies_run_at_the_tick(running: Yard, people: People) -> None:
    shop = Shop(people)
    process = await running.started()
    for name in ("meta-1", "meta-2", "own-1", "cel-1", "cel-2", "cel-own", "stays-1", "exempt-1"):
        data = {"state": "old" if name.startswith(("cel", "exempt")) else "new"}
        await people.make(name, body={"data": data})
    await people.make("fenced-1", finalizers=["example.com/slow"])
    here = {"where": {"namespaces": [shop.namespace]}}
    await shop.write(CLUSTER_CLEANUP_POLICIES, "meta", shop.cleaning("meta-*", "fenced-*", **here))
    conditions = {"all": [{"key": "{{ target.data.state }}", "operator": "Equals", "value": "new"}]}
    await shop.write(CLEANUP_POLICIES, "own", shop.cleaning("own-*", conditions=conditions))
    old = "object.?data.state.orValue('') == 'old' && !object.metadata.name.endsWith('own')"
    await shop.write(DELETING_POLICIES, "cel", shop.deleting(old))
    await shop.write(
        NAMESPACED_DELETING_POLICIES, "cel-own", shop.deleting("object.metadata.name == 'cel-own'")
    )
    exempt = {"name": "named", "expression": "object.metadata.name.startsWith('exempt')"}
    references = [{"kind": "DeletingPolicy", "name": "cel"}]
    await shop.write(POLICY_EXCEPTIONS, "spare", {"policyRefs": references, "matchConditions": [exempt]})
    await shop.left("stays-1", "exempt-1", "fenced-1")
    status = await shop.ran(CLUSTER_CLEANUP_POLICIES, "meta", matched=3, deleted=3)
    assert {one["type"]: one["status"] for one in status["conditions"]} == {
        "Ready": "True",
        "LastRunSucceeded": "True",
    }
    assert status["observedGeneration"] == 1
    assert status["lastExecutionTime"] < status["nextExecutionTime"]
    await shop.ran(CLEANUP_POLICIES, "own", matched=1, deleted=1)
    status = await shop.ran(DELETING_POLICIES, "cel", matched=3, deleted=2, held=1)
    assert status["conditionStatus"]["ready"] is True
    await shop.ran(NAMESPACED_DELETING_POLICIES, "cel-own", matched=1, deleted=1)
    patch = {"metadata": {"finalizers": None}}
    await people.client.merge_patch(CONFIG_MAPS, "fenced-1", patch, namespace=people.namespace)
    await shop.left("stays-1", "exempt-1")
    assert process.said("deleted", name="cel-1")[0]["why"].startswith("DeletingPolicy/cel matched it")


async def test_a_policy_deletes_what_the_account_that_it_acts_as_may_delete(
    running: Yard, people: People
) -> None:
    shop = Shop(people)
    await running.started()
    for resource in (CONFIG_MAPS, SECRETS):
        await people.make("web-1", resource=resource)
    account = {"kind": "ServiceAccount", "name": "tidier", "namespace": shop.namespace}
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["delete"]}]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": "tidier"}
    await people.client.create(
        ROLES, {"metadata": {"name": "tidier"}, "rules": rules}, namespace=shop.namespace
    )
    binding = {"metadata": {"name": "tidier"}, "subjects": [account], "roleRef": reference}
    await people.client.create(ROLE_BINDINGS, binding, namespace=shop.namespace)
    spec = shop.cleaning("web-*", where={"kinds": ["ConfigMap", "Secret"]})
    await shop.write(CLEANUP_POLICIES, "acting", spec, **{names.SERVICE_ACCOUNT_ANNOTATION: "tidier"})
    await shop.left()
    await shop.ran(CLEANUP_POLICIES, "acting", matched=2, deleted=1, held=1)
    assert await people.there("web-1", resource=SECRETS)


async def test_a_restart_runs_nothing_twice_and_misses_nothing(running: Yard, people: People) -> None:
    shop = Shop(people)
    process = await running.started()
    here = {"where": {"namespaces": [shop.namespace]}}
    await people.make("web-1")
    await shop.write(CLUSTER_CLEANUP_POLICIES, "once", shop.cleaning("web-*", **here))
    await shop.left()
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "once", matched=1, deleted=1)
    await people.make("web-2")
    await people.make("late-1")
    await shop.write(CLUSTER_CLEANUP_POLICIES, "late", shop.cleaning("late-*", **here))
    tick = (await shop.ready(CLUSTER_CLEANUP_POLICIES, "late"))["nextExecutionTime"]
    process.end()
    await asyncio.sleep(max(0.0, datetime.fromisoformat(tick).timestamp() + 1 - time.time()))
    assert await shop.names() == {"web-2", "late-1"}
    await running.started()
    await shop.left("web-2")
    await shop.ran(CLUSTER_CLEANUP_POLICIES, "late", matched=1, deleted=1)
    assert await shop.names() == {"web-2"}
